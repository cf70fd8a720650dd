// Hashes a Blob or a File, on as many workers as tiles and processors allow.
import { Hash, toNumber } from "./bytes.js"
import { fresh } from "./engine.js"
import { hasWorkers, team } from "./workers/team.js"

/** Up to this many bytes, starting a worker takes longer than hashing. */
const TILE = 2 * 1024 * 1024
/** Longer files have larger tiles. */
const MOST_TILES = 8192
const MOST_WORKERS = 4
/** The number of a chunk is passed in 32 bits. */
const MOST = 2 ** 42
/** Number of tiles queued per worker: one is read while another one is hashed. */
const AHEAD = 2

export async function blobDigest(blob, { kind, given, length, signal, onProgress, threads }, here) {
  if (threads !== undefined) toNumber(threads, "the threads", 0, 64)
  if (blob.size <= TILE || threads === 0 || !hasWorkers()) return here(pieces(blob))
  if (blob.size > MOST) throw new RangeError(`a file of ${blob.size} bytes: at most ${MOST}`)
  let size = TILE
  while (blob.size / size > MOST_TILES) size *= 2
  const count = Math.ceil(blob.size / size)
  const workers = Math.min(threads ?? Math.min(navigator.hardwareConcurrency ?? 1, MOST_WORKERS), count)
  const values = new Uint8Array(32 * count)
  let [next, done] = [0, 0]
  function give(worker) {
    if (next < count) worker.postMessage({ index: next })
    next += 1
  }
  await team(workers, { blob, size, kind, given }, signal, ({ ready, index, value }, worker) => {
    if (ready) {
      for (let i = 0; i < AHEAD; i += 1) give(worker)
      return undefined
    }
    values.set(value, 32 * index)
    done += 1
    give(worker)
    onProgress?.(done === count ? blob.size : done * size, blob.size)
    return done === count || undefined
  })
  return merged(await fresh(), { kind, given, values, count, length })
}

function merged(engine, { kind, given, values, count, length }) {
  const buffer = engine.reserve(Math.max(given.length + values.length, length))
  buffer.set(given)
  buffer.set(values, given.length)
  engine.calls.blake3_merge(kind, given.length, count, length)
  return new Hash(buffer.subarray(0, length))
}

/** Hashes on this thread: the next piece is read while the previous one is hashed. */
async function* pieces(blob) {
  const read = (at) => blob.slice(at, at + TILE).arrayBuffer()
  let coming = read(0)
  for (let at = 0; at < blob.size; at += TILE) {
    const piece = await coming
    const expected = Math.min(TILE, blob.size - at)
    if (piece.byteLength !== expected) throw new Error(`the file changed: ${piece.byteLength} bytes at ${at}, expected ${expected}`)
    if (at + TILE < blob.size) {
      coming = read(at + TILE)
      coming.catch(() => {})
    }
    yield piece
  }
}
