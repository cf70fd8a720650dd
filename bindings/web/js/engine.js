// The WebAssembly module, compiled once, and its instances, each with a buffer in its memory for arguments and results.

/** Bytes that an instance takes at a time. A power of two, so that each piece of a long input is a whole subtree. */
export const BUFFER_LEN = 128 * 1024

export class Engine {
  /** The hasher whose state is in the module. */
  owner = null

  constructor(instance) {
    this.calls = instance.exports
    this.reserve(BUFFER_LEN)
  }

  /** A view of at least `length` bytes of memory. A call that grows memory detaches earlier views. */
  reserve(length) {
    if (!(this.bytes?.length >= length)) this.renew(Math.max(length, BUFFER_LEN))
    return this.bytes
  }

  /** A new view after a call that may have grown memory, or moved the buffer and changed its length to `length` bytes. */
  renew(length = this.bytes.length) {
    const { memory, buffer, blake3_state, blake3_state_len } = this.calls
    const size = Math.max(length, this.bytes?.length || BUFFER_LEN)
    const address = buffer(size)
    if (this.bytes?.buffer === memory.buffer && this.bytes.byteOffset === address && this.bytes.length === size) return
    this.bytes = new Uint8Array(memory.buffer, address, size)
    this.digest = this.bytes.subarray(0, 32)
    this.state = new Uint8Array(memory.buffer, blake3_state(), blake3_state_len())
  }
}

async function fetchModule() {
  const response = await fetch(new URL("./hashmill.wasm", import.meta.url))
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`)
  // Also works with a server that sends a wrong content type.
  return WebAssembly.compile(await response.arrayBuffer())
}
let compiling
let loading
let engine

/** The compiled module. After a failure the next call tries again. */
export function compiled() {
  compiling ??= fetchModule().catch((error) => { compiling = undefined; throw error })
  return compiling
}

/** Loads the module. Except in Node, this must precede all synchronous functions. */
export async function load() {
  loading ??= compiled().then(instantiate).then((instance) => { engine = new Engine(instance) })
    .catch((error) => { loading = undefined; throw error })
  await loading
}

/** A separate instance, whose memory is freed with it. */
export const fresh = async () => new Engine(await instantiate(await compiled()))

const instantiate = (module) => WebAssembly.instantiate(module, {})

export function loaded() {
  if (!engine) throw new Error("the module is not loaded: await load() first")
  return engine
}

/** For environments where the module is loaded synchronously. */
export function use(module) {
  compiling = Promise.resolve(module)
  engine = new Engine(new WebAssembly.Instance(module, {}))
  loading = Promise.resolve()
}
