// The module of WebAssembly: compiled once, and instances of it, each with a room in its memory where arguments and answers lie.

/** Bytes that an instance takes at a time. A power of two, so that each piece of a long input is a whole subtree. */
export const ROOM = 128 * 1024

export class Engine {
  /** The hasher whose state is in the module. */
  owner = null

  constructor(instance) {
    this.calls = instance.exports
    this.room(ROOM)
  }

  /** Memory for `length` bytes at least, as it is now: a call that takes memory makes what was handed out before useless. */
  room(length) {
    if (!(this.bytes?.length >= length)) this.renew(Math.max(length, ROOM))
    return this.bytes
  }

  /** What was handed out, anew, after a call that may have taken memory, or moved the room and made it `length` bytes long. */
  renew(length = this.bytes.length) {
    const { memory, room, blake3_state, blake3_state_len } = this.calls
    const size = Math.max(length, this.bytes?.length || ROOM)
    const place = room(size)
    if (this.bytes?.buffer === memory.buffer && this.bytes.byteOffset === place && this.bytes.length === size) return
    this.bytes = new Uint8Array(memory.buffer, place, size)
    this.digest = this.bytes.subarray(0, 32)
    this.state = new Uint8Array(memory.buffer, blake3_state(), blake3_state_len())
  }
}

async function provide() {
  const answer = await fetch(new URL("./hashmill.wasm", import.meta.url))
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${answer.statusText}`)
  // A server that does not know the type of such files is no reason to fail.
  return WebAssembly.compile(await answer.arrayBuffer())
}
let compiling
let loading
let engine

/** The compiled module. What failed is tried again when it is asked for again. */
export function compiled() {
  compiling ??= provide().catch((error) => { compiling = undefined; throw error })
  return compiling
}

/** Loads the module. Whatever answers at once, and not with a promise, must come after this, but for Node. */
export async function load() {
  loading ??= compiled().then(instantiate).then((instance) => { engine = new Engine(instance) })
    .catch((error) => { loading = undefined; throw error })
  await loading
}

/** An instance of its own, whose memory goes when it goes. */
export const fresh = async () => new Engine(await instantiate(await compiled()))

const instantiate = (module) => WebAssembly.instantiate(module, {})

export function loaded() {
  if (!engine) throw new Error("the module is not loaded: await load() first")
  return engine
}

/** Where the module is there at once. */
export function use(module) {
  compiling = Promise.resolve(module)
  engine = new Engine(new WebAssembly.Instance(module, {}))
  loading = Promise.resolve()
}
