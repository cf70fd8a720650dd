// Conversion of callers' bytes, lengths and strings.

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The bytes of `input`, not copied. A string is encoded as UTF-8: half a surrogate pair becomes U+FFFD. */
export function toBytes(input, what = "the input") {
  if (typeof input === "string") return encoder.encode(input)
  if (input instanceof Uint8Array) return alive(input)
  if (ArrayBuffer.isView(input)) return alive(new Uint8Array(input.buffer, input.byteOffset, input.byteLength))
  if (input instanceof ArrayBuffer || isShared(input)) return new Uint8Array(input)
  throw new TypeError(`${what}: expected a string, a Uint8Array or an ArrayBuffer, got ${named(input)}`)
}

/** A copy: the work begins later, and the caller may wipe its input. Not by `slice`, which for a Buffer is a view. */
export const kept = (input, what) => new Uint8Array(toBytes(input, what))

/** A view whose buffer was transferred or shortened looks empty. */
function alive(bytes) {
  if (bytes.length === 0) bytes.values()
  return bytes
}

const isShared = (input) => typeof SharedArrayBuffer !== "undefined" && input instanceof SharedArrayBuffer

const named = (value) => (value === null ? "null" : typeof value === "object" ? value.constructor?.name ?? "an object" : typeof value)

/** An integer from `least` to `most`. */
export function toNumber(value, what, least, most) {
  if (Number.isInteger(value) && least <= value && value <= most) return value
  throw new RangeError(`${what}: expected a whole number from ${least} to ${most}, got ${String(value)}`)
}

export function toKey(key) {
  const bytes = toBytes(key, "the key")
  if (bytes.length !== 32) throw new RangeError(`the key: expected 32 bytes, got ${bytes.length}`)
  return bytes
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

function hex(bytes) {
  let text = ""
  for (const byte of bytes) text += HEX[byte]
  return text
}

function base64(bytes) {
  let text = ""
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

const encodings = { hex, base64, utf8: (bytes) => decoder.decode(bytes) }

export function encode(bytes, encoding) {
  if (!Object.hasOwn(encodings, encoding)) throw new TypeError(`the encoding: expected hex, base64 or utf8, got ${String(encoding)}`)
  return encodings[encoding](bytes)
}

/** A digest: bytes with conversions to text. */
export class Hash extends Uint8Array {
  /** Whether the bytes are equal, in constant time. */
  equals(other) {
    if (!(other instanceof Uint8Array) || other.length !== this.length) return false
    let difference = 0
    for (let i = 0; i < this.length; i += 1) difference |= this[i] ^ other[i]
    return difference === 0
  }

  toString(encoding = "hex") {
    return encode(this, encoding)
  }
}
