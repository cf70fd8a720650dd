// BLAKE3 and Argon2 for browsers, and other environments with WebAssembly.
export * as blake3 from "./blake3.js"
export { default as argon2 } from "./argon2.js"
export { load } from "./engine.js"
