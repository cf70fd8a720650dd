// BLAKE3 compared with the packages that it replaces, and with bad input. node --test, with WEB_PACKAGE and WEB_RIVALS set.
import assert from "node:assert/strict"
import { openAsBlob, writeFileSync, mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import os from "node:os"
import path from "node:path"
import { test } from "node:test"
import { blake3 } from "./package.mjs"

const rivals = createRequire(path.join(process.env.WEB_RIVALS, "package.json"))
const theirs = rivals("hash-wasm")
const npm = rivals("blake3-wasm")
await npm.load?.()

const paint = (length) => new Uint8Array(length).map((_, i) => i % 251)
const key = paint(32)
const hex = (bytes) => Buffer.from(bytes).toString("hex")
const SIZES = [0, 1, 63, 64, 65, 127, 1023, 1024, 1025, 2048, 2049, 3072, 4096, 5000, 8193, 31744, 131071, 131072, 131073, 300_000, 1_048_577]

test("digests equal those of hash-wasm and npm blake3, in every mode", async () => {
  for (const size of SIZES) {
    const input = paint(size)
    assert.equal(blake3.hash(input).toString(), await theirs.blake3(input), `${size} bytes`)
    assert.equal(blake3.keyedHash(key, input, { length: 100 }).toString(), await theirs.blake3(input, 800, key), `keyed ${size}`)
    if (size > 100_000) continue // npm's hasher does not handle more than its scratch buffer correctly
    assert.equal(blake3.deriveKey("a context", input, { length: 70 }).toString("hex"), hex(npm.deriveKey("a context", input, { length: 70 })))
    assert.equal(blake3.hash(input, { length: 200 }).toString("base64"), npm.hash(input, { length: 200 }).toString("base64"))
  }
})

test("interleaved hashers with input in pieces", async () => {
  const input = paint(200_000)
  const hashers = Array.from({ length: 5 }, () => blake3.createHash())
  const keyed = blake3.createKeyed(key)
  for (let at = 0; at < input.length; at += 7777) {
    for (const hasher of hashers) hasher.update(input.subarray(at, at + 7777))
    keyed.update(input.subarray(at, at + 7777))
    blake3.hash("between")
  }
  const expected = await theirs.blake3(input)
  for (const hasher of hashers) assert.equal(hasher.digest("hex"), expected)
  assert.equal(keyed.digest("hex"), await theirs.blake3(input, 256, key))
  // A digest does not end the hasher.
  const whole = hashers[0].update("more").digest("hex")
  assert.equal(whole, await theirs.blake3(Buffer.concat([input, Buffer.from("more")])))
})

test("readers read from any position of the output at their creation", () => {
  const hasher = blake3.createHash().update("some bytes")
  const reader = hasher.reader()
  const expected = hasher.digest({ length: 1000 })
  hasher.update("more")
  assert.deepEqual(Buffer.from(reader.read(300)), Buffer.from(expected.subarray(0, 300)))
  assert.equal(reader.position, 300n)
  reader.position = 777n
  const target = new Uint8Array(100)
  assert.equal(reader.readInto(target), 100)
  assert.deepEqual(target, new Uint8Array(expected.subarray(777, 877)))
  reader.position = 2n ** 64n - 3n
  assert.equal(reader.read(10).length, 2)
  assert.equal(reader.read(10).length, 0)
  assert.throws(() => { reader.position = -1n }, RangeError)
  const far = npm.createHash().update("some bytes").reader()
  far.position = 2n ** 40n + 5n
  reader.position = far.position
  assert.equal(hex(reader.read(64)), hex(far.read(64)))
})

test("strings, views and buffers are converted to bytes", async () => {
  const bytes = paint(256)
  const expected = blake3.hash(bytes).toString()
  const shared = new Uint8Array(new SharedArrayBuffer(256))
  shared.set(bytes)
  for (const input of [bytes.buffer, shared, shared.buffer, new DataView(bytes.buffer), new Uint32Array(bytes.buffer)]) {
    assert.equal(blake3.hash(input).toString(), expected)
  }
  assert.equal(blake3.hash("aé€😀").toString(), await theirs.blake3("aé€😀"))
  assert.equal(blake3.hash("a\ud800b").toString(), blake3.hash("a\ufffdb").toString(), "half a surrogate pair is replaced")
})

test("bad input has descriptive errors", async () => {
  for (const input of [undefined, null, 5, {}, [1, 2], Symbol("s")]) assert.throws(() => blake3.hash(input), TypeError)
  const gone = new Uint8Array(100)
  structuredClone(gone.buffer, { transfer: [gone.buffer] })
  assert.throws(() => blake3.hash(gone), TypeError, "a detached buffer is not an empty one")
  assert.throws(() => blake3.hash(gone.buffer), TypeError)
  const resizable = new ArrayBuffer(100, { maxByteLength: 200 })
  const view = new Uint8Array(resizable, 50, 50)
  resizable.resize(60)
  assert.throws(() => blake3.hash(view), TypeError, "nor is a view beyond a shrunken buffer")
  assert.equal(blake3.hash(new Uint8Array(resizable)).toString(), blake3.hash(new Uint8Array(60)).toString())
  assert.throws(() => blake3.createKeyed(new Uint8Array(31)), { name: "RangeError", message: /expected 32 bytes, got 31/ })
  for (const length of [-1, 1.5, 2 ** 53, NaN, "32"]) assert.throws(() => blake3.hash("x", { length }), RangeError)
  assert.throws(() => blake3.createHash().digest("latin1"), TypeError)
  assert.equal(blake3.hash("x", { length: 0 }).length, 0)
  const disposed = blake3.createKeyed(key)
  disposed.dispose()
  disposed.dispose()
  assert.throws(() => disposed.update("x"), /disposed/)
  await assert.rejects(blake3.hashAsync("x", { key, context: "c" }), TypeError)
  await assert.rejects(blake3.hashStream(5), TypeError)
  const taken = new Uint8Array(100)
  const late = blake3.hashAsync(taken)
  structuredClone(taken.buffer, { transfer: [taken.buffer] })
  await assert.rejects(late, { name: "TypeError", message: /100 to 0 bytes/ }, "nor one that is transferred before it is hashed")
  const wiped = Buffer.from(key)
  const keyed = blake3.hashAsync("x", { key: wiped })
  wiped.fill(0)
  assert.equal(String(await keyed), String(blake3.keyedHash(key, "x")))
  await assert.rejects(blake3.hashBlob(new Blob(["x"]), { length: 3e9 }), RangeError)
  await assert.rejects(blake3.hashBlob("x"), TypeError)
})

test("promises: bytes, streams, blobs, in every mode, with progress", async () => {
  const input = paint(9_000_001)
  const expected = await theirs.blake3(input)
  const seen = []
  const onProgress = (done, total) => seen.push([done, total])
  assert.equal((await blake3.hashAsync(input, { onProgress })).toString(), expected)
  assert.deepEqual(seen.at(-1), [input.length, input.length])
  assert.ok(seen.length > 2)
  assert.equal((await blake3.hashStream(new Blob([input]).stream())).toString(), expected)
  assert.equal((await blake3.hashBlob(new Blob([input]), { key, length: 64 })).toString(), await theirs.blake3(input, 512, key))
  assert.equal((await blake3.hashAsync("material", { context: "c" })).toString(), blake3.deriveKey("c", "material").toString())
  const both = await Promise.all([blake3.hashAsync(input), blake3.hashStream([input.subarray(0, 5), "", input.subarray(5)])])
  assert.deepEqual(both.map(String), [expected, expected])
})

test("an abort rejects with the reason, before, between and during reads", async () => {
  const reason = new Error("enough")
  await assert.rejects(blake3.hashAsync("x", { signal: AbortSignal.abort(reason) }), reason)
  await assert.rejects(blake3.hashBlob(new Blob(["x"]), { signal: AbortSignal.abort() }), { name: "AbortError" })
  const between = new AbortController()
  await assert.rejects(blake3.hashAsync(paint(20_000_000), { signal: between.signal, onProgress: () => between.abort(reason) }), reason)
  const soon = new AbortController()
  const begun = blake3.hashStream(new ReadableStream({ pull: () => new Promise(() => {}) }), { signal: soon.signal })
  soon.abort(reason)
  await assert.rejects(begun, reason)
  const waiting = new AbortController()
  let cancelled
  const never = new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => { cancelled = true } })
  setTimeout(() => waiting.abort(reason))
  await assert.rejects(blake3.hashStream(never, { signal: waiting.signal }), reason)
  // Later results are correct.
  assert.equal(blake3.hash("abc").toString(), await theirs.blake3("abc"))
})

test("errors of streams, files and listeners are passed on", async () => {
  const broken = (async function* () { yield "a"; throw new RangeError("broken pipe") })()
  await assert.rejects(blake3.hashStream(broken), { message: "broken pipe" })
  await assert.rejects(blake3.hashAsync("x", { onProgress: () => { throw new Error("mine") } }), { message: "mine" })
  const folder = mkdtempSync(path.join(os.tmpdir(), "web-"))
  const file = path.join(folder, "file")
  writeFileSync(file, paint(5_000_000))
  const blob = await openAsBlob(file)
  assert.equal((await blake3.hashBlob(blob)).toString(), await theirs.blake3(paint(5_000_000)))
  writeFileSync(file, "short")
  await assert.rejects(blake3.hashBlob(blob), { name: "NotReadableError" })
  rmSync(folder, { recursive: true })
})

test("memory does not grow with hashers that are not disposed of", () => {
  const input = paint(100)
  const before = process.memoryUsage()
  for (let i = 0; i < Number(process.env.WEB_LEAKS ?? 20_000); i += 1) blake3.createHash().update(input).digest()
  globalThis.gc?.()
  const after = process.memoryUsage()
  assert.ok(after.external + after.arrayBuffers - before.external - before.arrayBuffers < 64 << 20)
})
