import "./load.js"
export * from "../blake3.js"
