// Tiles of a Blob: pieces of one power of two of chunks, each a subtree that can be hashed anywhere.
import { BUFFER_LEN } from "../engine.js"

export function tiles(engine, { blob, size, kind, given }) {
  const from = (index) => index * size
  const expected = (index) => Math.min(size, blob.size - from(index))
  return {
    async read(index) {
      const buffer = await blob.slice(from(index), from(index) + expected(index)).arrayBuffer()
      if (buffer.byteLength !== expected(index)) {
        throw new Error(`the file changed: ${buffer.byteLength} bytes at ${from(index)}, expected ${expected(index)}`)
      }
      return new Uint8Array(buffer)
    },
    /** The chaining value. */
    hash(index, bytes) {
      engine.reserve(given.length).set(given)
      engine.calls.blake3_tile_start(kind, given.length, from(index) / 1024)
      for (let at = 0; at < bytes.length; at += BUFFER_LEN) {
        const piece = bytes.subarray(at, at + BUFFER_LEN)
        engine.bytes.set(piece)
        engine.calls.blake3_tile_update(piece.length)
      }
      engine.calls.blake3_tile_end()
      return engine.digest.slice()
    },
  }
}
