import "./node.js"
export * from "./blake3.js"
