// BLAKE3: the names of the package `blake3`, and promises of digests for what is long.
import { blobDigest } from "./blob.js"
import { Hash, encode, kept, toBytes, toKey, toNumber } from "./bytes.js"
import { ROOM, load, loaded } from "./engine.js"
import { PIECE, pause, throwIfAborted } from "./pause.js"

export { Hash, load }

export const defaultHashLength = 32
export const maxHashBytes = 2n ** 64n - 1n
export const inputToArray = (input) => toBytes(input)

const MOST = Number.MAX_SAFE_INTEGER
/** Of a promise: more is what readers are for. */
const MOST_PROMISED = 2 ** 24
const [PLAIN, KEYED, DERIVED] = [0, 1, 2]

/** The digest of bytes or a text. */
export function hash(input, { length = 32 } = {}) {
  const engine = loaded()
  const bytes = toBytes(input)
  if (length !== 32 || bytes.length > ROOM) return new BrowserHasher(PLAIN).update(bytes).digest({ length })
  engine.bytes.set(bytes)
  engine.calls.blake3_hash(bytes.length)
  return new Hash(engine.digest)
}

/** The digest that only who has the key, of 32 bytes, can compute. */
export const keyedHash = (key, input, { length = 32 } = {}) => createKeyed(key).update(input).digest({ length })

/** A key for the purpose that `context` names, from other key material. */
export const deriveKey = (context, material, { length = 32 } = {}) =>
  createDeriveKey(context).update(material).digest({ length })

export const createHash = () => new BrowserHasher(PLAIN)
export const createKeyed = (key) => new BrowserHasher(KEYED, toKey(key))
export const createDeriveKey = (context) => new BrowserHasher(DERIVED, toBytes(context, "the context"))

/** A hash of what comes in pieces. Its state is in the module as long as no other one needs the place. */
export class BrowserHasher {
  #saved = null
  #disposed = false

  constructor(kind, given) {
    if (kind instanceof Uint8Array) {
      this.#saved = kind
      return
    }
    const engine = loaded()
    this.#take(engine)
    const length = given?.length ?? 0
    if (length > 0) engine.room(length).set(given)
    engine.calls.blake3_start(kind, length)
    engine.bytes.fill(0, 0, length)
  }

  update(input) {
    this.#updateAll(this.#enter(), toBytes(input))
    return this
  }

  digest(encoding, options) {
    if (typeof encoding === "object" && encoding !== null) [encoding, options] = [undefined, encoding]
    const digest = new Hash(toNumber(options?.length ?? 32, "the length", 0, MOST))
    this.#read(0n, digest)
    return encoding === undefined || encoding === null ? digest : encode(digest, encoding)
  }

  /** Reads output from any place on, of what has come in so far. */
  reader() {
    return new Reader(this.#copy())
  }

  /** Forgets the state, with its key. */
  dispose() {
    if (this.#disposed) return
    const engine = loaded()
    this.#take(engine)
    engine.calls.blake3_start(PLAIN, 0)
    engine.owner = null
    this.#disposed = true
  }

  /** Fills `target` with output from `position` on. Used by readers. */
  static read(hasher, position, target) {
    hasher.#read(position, target)
  }

  #read(position, target) {
    const engine = this.#enter()
    for (let at = 0; at < target.length; at += ROOM) {
      const from = position + BigInt(at)
      const length = Math.min(ROOM, target.length - at)
      engine.calls.blake3_read(Number(from & 0xffff_ffffn), Number(from >> 32n), length)
      target.set(engine.bytes.subarray(0, length), at)
    }
  }

  #updateAll(engine, bytes) {
    const length = bytes.length
    if (length <= ROOM) {
      engine.bytes.set(bytes)
      engine.calls.blake3_update(length)
      return
    }
    for (let at = 0; at < length; at += ROOM) {
      const piece = bytes.subarray(at, Math.min(at + ROOM, length))
      engine.bytes.set(piece)
      engine.calls.blake3_update(piece.length)
    }
  }

  #copy() {
    return new BrowserHasher(this.#enter().state.slice())
  }

  #enter() {
    if (this.#disposed) throw new Error("the hasher was disposed of")
    const engine = loaded()
    if (engine.owner !== this) this.#take(engine)
    return engine
  }

  /** Brings the state into the module, in place of another one, which is put aside. */
  #take(engine) {
    if (engine.owner) engine.owner.#saved = engine.state.slice()
    engine.owner = this
    if (this.#saved) engine.state.set(this.#saved)
    this.#saved?.fill(0)
    this.#saved = null
  }
}

/** Output without end, but for 2^64 - 1 bytes. */
class Reader {
  #hasher
  #position = 0n

  constructor(hasher) {
    this.#hasher = hasher
  }

  get position() {
    return this.#position
  }

  set position(position) {
    if (typeof position !== "bigint" || position < 0n || position > maxHashBytes) {
      throw new RangeError(`the position: expected a bigint from 0 to ${maxHashBytes}, got ${String(position)}`)
    }
    this.#position = position
  }

  /** Fills `target`, if there is as much; gives how many bytes there were. */
  readInto(target) {
    const left = maxHashBytes - this.#position
    const part = left < BigInt(target.length) ? target.subarray(0, Number(left)) : target
    BrowserHasher.read(this.#hasher, this.#position, part)
    this.#position += BigInt(part.length)
    return part.length
  }

  read(length) {
    const bytes = new Hash(toNumber(length, "the length", 0, MOST))
    return bytes.subarray(0, this.readInto(bytes))
  }

  view(length) {
    return this.read(length)
  }

  *[Symbol.iterator]() {
    for (let piece; (piece = this.read(1024)).length > 0;) yield piece
  }
}

/** What is asked for: the kind of hash, and the key or context with it. */
function asked({ key, context, length = 32 } = {}) {
  if (key !== undefined && context !== undefined) throw new TypeError("a key and a context exclude each other")
  toNumber(length, "the length", 0, MOST_PROMISED)
  if (key !== undefined) return { kind: KEYED, given: kept(toKey(key)), length }
  if (context !== undefined) return { kind: DERIVED, given: kept(context, "the context"), length }
  return { kind: PLAIN, given: new Uint8Array(0), length }
}

/** The digest of bytes or a text, in pieces between which others have their turn. */
export async function hashAsync(input, options = {}) {
  const bytes = toBytes(input)
  const { length } = bytes
  function* pieces() {
    for (let at = 0; at < length; at += PIECE) {
      // It may have been given away, or resized, while others had their turn.
      if (bytes.length !== length) throw new TypeError(`the input went from ${length} to ${bytes.length} bytes while it was hashed`)
      yield bytes.subarray(at, at + PIECE)
    }
  }
  return digestOf(pieces(), options, length)
}

/** The digest of what a ReadableStream, or anything else that can be iterated, gives in pieces. */
export async function hashStream(stream, options = {}) {
  if (stream?.[Symbol.asyncIterator] || stream?.[Symbol.iterator]) return digestOf(stream, options)
  if (typeof stream?.getReader === "function") return digestOf(iterated(stream), options)
  throw new TypeError("the stream: expected a ReadableStream or an iterable")
}

/** The digest of a Blob or a File, by workers. */
export async function hashBlob(blob, options = {}) {
  if (!(blob instanceof Blob)) throw new TypeError("expected a Blob or a File")
  const { kind, given, length } = asked(options)
  throwIfAborted(options.signal)
  await load()
  throwIfAborted(options.signal)
  return blobDigest(blob, { ...options, kind, given, length }, (pieces) => digestOf(pieces, options, blob.size))
}

/** Of pieces, whatever they come from; `total` is how many bytes there will be, if that is known. */
async function digestOf(pieces, options, total) {
  const { signal, onProgress } = options
  const { kind, given, length } = asked(options)
  throwIfAborted(signal)
  await load()
  throwIfAborted(signal)
  const hasher = new BrowserHasher(kind, given)
  given.fill(0)
  let [done, since] = [0, 0]
  try {
    for await (const piece of abortable(pieces, signal)) {
      const bytes = toBytes(piece, "a piece of the stream")
      hasher.update(bytes)
      done += bytes.length
      since += bytes.length
      onProgress?.(done, total)
      if (since >= PIECE) {
        since = 0
        await pause()
      }
      throwIfAborted(signal)
    }
    return hasher.digest({ length })
  } finally {
    hasher.dispose()
  }
}

/** Waits for the next piece or for the abort, whichever is first. */
async function* abortable(pieces, signal) {
  if (!signal) return yield* pieces
  const iterator = (pieces[Symbol.asyncIterator] ?? pieces[Symbol.iterator]).call(pieces)
  let stop
  const aborted = new Promise((_, reject) => (stop = () => reject(signal.reason)))
  aborted.catch(() => {})
  signal.addEventListener("abort", stop)
  if (signal.aborted) stop()
  let open = true
  try {
    while (open) {
      const next = await Promise.race([iterator.next(), aborted])
      open = !next.done
      if (open) yield await next.value
    }
  } finally {
    signal.removeEventListener("abort", stop)
    // Not waited for: it may be stuck in what was given up.
    if (open) Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

/** For browsers whose streams cannot be iterated. */
async function* iterated(stream) {
  const reader = stream.getReader()
  let open = true
  try {
    while (open) {
      const { done, value } = await reader.read()
      open = !done
      if (open) yield value
    }
  } finally {
    if (open) reader.cancel().catch(() => {})
    reader.releaseLock()
  }
}
