// Our engine, which HASHMILL_ENGINE names, and how many bytes its module has taken.
import { createRequire } from "node:module"

const { Instance } = WebAssembly
let memory
WebAssembly.Instance = function (...args) {
  const instance = new Instance(...args)
  memory = instance.exports.memory
  return instance
}
export const engine = createRequire(import.meta.url)(process.env.HASHMILL_ENGINE)
WebAssembly.Instance = Instance
export const size = () => memory.buffer.byteLength
