// BLAKE3: the names of the package `blake3`, and asynchronous functions for long input.
import { blobDigest } from "./blob.js"
import { Hash, encode, kept, toBytes, toKey, toNumber } from "./bytes.js"
import { BUFFER_LEN, load, loaded } from "./engine.js"
import { PIECE, pause, throwIfAborted } from "./pause.js"

export { Hash, load }

export const defaultHashLength = 32
export const maxHashBytes = 2n ** 64n - 1n
export const inputToArray = (input) => toBytes(input)

const MOST = Number.MAX_SAFE_INTEGER
/** Maximum output of a promise; readers give more. */
const MOST_PROMISED = 2 ** 24
const [PLAIN, KEYED, DERIVED] = [0, 1, 2]

/** The digest of bytes or a string. */
export function hash(input, { length = 32 } = {}) {
  const engine = loaded()
  const bytes = toBytes(input)
  if (length !== 32 || bytes.length > BUFFER_LEN) return new BrowserHasher(PLAIN).update(bytes).digest({ length })
  engine.bytes.set(bytes)
  engine.calls.blake3_hash(bytes.length)
  return new Hash(engine.digest)
}

/** The keyed digest, with a key of 32 bytes. */
export const keyedHash = (key, input, { length = 32 } = {}) => createKeyed(key).update(input).digest({ length })

/** A key for the purpose in `context`, derived from other key material. */
export const deriveKey = (context, material, { length = 32 } = {}) =>
  createDeriveKey(context).update(material).digest({ length })

export const createHash = () => new BrowserHasher(PLAIN)
export const createKeyed = (key) => new BrowserHasher(KEYED, toKey(key))
export const createDeriveKey = (context) => new BrowserHasher(DERIVED, toBytes(context, "the context"))

/** A hasher for input in pieces. Its state stays in the module until another hasher needs the place. */
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
    if (length > 0) engine.reserve(length).set(given)
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

  /** Reads output from any position on, for the input so far. */
  reader() {
    return new Reader(this.#copy())
  }

  /** Discards the state and its key. */
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
    for (let at = 0; at < target.length; at += BUFFER_LEN) {
      const from = position + BigInt(at)
      const length = Math.min(BUFFER_LEN, target.length - at)
      engine.calls.blake3_read(Number(from & 0xffff_ffffn), Number(from >> 32n), length)
      target.set(engine.bytes.subarray(0, length), at)
    }
  }

  #updateAll(engine, bytes) {
    const length = bytes.length
    if (length <= BUFFER_LEN) {
      engine.bytes.set(bytes)
      engine.calls.blake3_update(length)
      return
    }
    for (let at = 0; at < length; at += BUFFER_LEN) {
      const piece = bytes.subarray(at, Math.min(at + BUFFER_LEN, length))
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

  /** Loads the state into the module, and saves the state that was there. */
  #take(engine) {
    if (engine.owner) engine.owner.#saved = engine.state.slice()
    engine.owner = this
    if (this.#saved) engine.state.set(this.#saved)
    this.#saved?.fill(0)
    this.#saved = null
  }
}

/** Output of up to 2^64 - 1 bytes. */
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

  /** Fills `target` as far as possible; returns the number of bytes. */
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

/** The mode of the hash, and its key or context. */
function parseOptions({ key, context, length = 32 } = {}) {
  if (key !== undefined && context !== undefined) throw new TypeError("a key and a context exclude each other")
  toNumber(length, "the length", 0, MOST_PROMISED)
  if (key !== undefined) return { kind: KEYED, given: kept(toKey(key)), length }
  if (context !== undefined) return { kind: DERIVED, given: kept(context, "the context"), length }
  return { kind: PLAIN, given: new Uint8Array(0), length }
}

/** The digest of bytes or a string, in pieces between which the event loop runs. */
export async function hashAsync(input, options = {}) {
  const bytes = toBytes(input)
  const { length } = bytes
  function* pieces() {
    for (let at = 0; at < length; at += PIECE) {
      // The buffer may have been transferred or resized while the event loop ran.
      if (bytes.length !== length) throw new TypeError(`the input went from ${length} to ${bytes.length} bytes while it was hashed`)
      yield bytes.subarray(at, at + PIECE)
    }
  }
  return digestPieces(pieces(), options, length)
}

/** The digest of the output of a ReadableStream or another iterable. */
export async function hashStream(stream, options = {}) {
  if (stream?.[Symbol.asyncIterator] || stream?.[Symbol.iterator]) return digestPieces(stream, options)
  if (typeof stream?.getReader === "function") return digestPieces(iterated(stream), options)
  throw new TypeError("the stream: expected a ReadableStream or an iterable")
}

/** The digest of a Blob or a File, by workers. */
export async function hashBlob(blob, options = {}) {
  if (!(blob instanceof Blob)) throw new TypeError("expected a Blob or a File")
  const { kind, given, length } = parseOptions(options)
  throwIfAborted(options.signal)
  await load()
  throwIfAborted(options.signal)
  return blobDigest(blob, { ...options, kind, given, length }, (pieces) => digestPieces(pieces, options, blob.size))
}

/** The digest of pieces from any source; `total` is the number of bytes, if known. */
async function digestPieces(pieces, options, total) {
  const { signal, onProgress } = options
  const { kind, given, length } = parseOptions(options)
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

/** Waits for the next piece or for the abort, whichever comes first. */
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
    // Not awaited: it may be stuck in the abandoned read.
    if (open) Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

/** For browsers whose streams are not iterable. */
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
