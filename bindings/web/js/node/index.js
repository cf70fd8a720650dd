import "./load.js"
export * from "../index.js"
