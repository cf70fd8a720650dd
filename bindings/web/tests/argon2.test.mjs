// Argon2 compared with hash-wasm and npm argon2's format, and with bad input. Run like blake3.test.mjs.
import assert from "node:assert/strict"
import { createRequire } from "node:module"
import path from "node:path"
import { test } from "node:test"
import { argon2, blake3 } from "./package.mjs"

const theirs = createRequire(path.join(process.env.WEB_RIVALS, "package.json"))("hash-wasm")
const salt = new Uint8Array(16).fill(2)
const cheap = { memoryCost: 64, timeCost: 2, parallelism: 1 }

test("the vector of RFC 9106", async () => {
  const tag = await argon2.hash(new Uint8Array(32).fill(1), {
    memoryCost: 32, timeCost: 3, parallelism: 4, salt, raw: true, secret: new Uint8Array(8).fill(3), associatedData: new Uint8Array(12).fill(4),
  })
  assert.equal(Buffer.from(tag).toString("hex"), "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659")
})

test("hashes equal those of hash-wasm, for every type and cost", async () => {
  for (const [type, name] of [[0, "argon2d"], [1, "argon2i"], [2, "argon2id"]]) {
    for (const [memoryCost, timeCost, parallelism, hashLength] of [[8, 1, 1, 4], [64, 3, 1, 32], [1000, 2, 2, 33], [256, 1, 4, 128]]) {
      const given = await argon2.hash("pässword", { type, memoryCost, timeCost, parallelism, hashLength, salt })
      const options = { password: "pässword", salt, iterations: timeCost, memorySize: memoryCost, parallelism, hashLength }
      assert.equal(given, await theirs[name]({ ...options, outputType: "encoded" }))
      assert.ok(await argon2.verify(given, "pässword"))
      assert.ok(!(await argon2.verify(given, "password")))
    }
  }
})

test("verifies strings of npm argon2; data and secret are part of the hash", async () => {
  const made = await argon2.hash("p", { ...cheap, salt, associatedData: Buffer.from("data"), secret: Buffer.from("pepper") })
  assert.match(made, /^\$argon2id\$v=19\$m=64,t=2,p=1,data=ZGF0YQ\$/)
  assert.ok(await argon2.verify(made, "p", { secret: Buffer.from("pepper") }))
  assert.ok(!(await argon2.verify(made, "p")))
  const plain = await argon2.hash("p", { ...cheap, salt })
  const reordered = plain.replace("m=64,t=2,p=1", "m=64,p=1,t=2")
  assert.ok(await argon2.verify(reordered, "p"))
  assert.equal(argon2.needsRehash(reordered, cheap), false)
  assert.equal(argon2.needsRehash(plain, { ...cheap, timeCost: 3 }), true)
  assert.equal(argon2.needsRehash(plain), true)
  assert.notEqual(await argon2.hash("p", cheap), await argon2.hash("p", cheap), "salts are random")
})

test("bad input has descriptive errors", async () => {
  for (const options of [{ memoryCost: 7 }, { timeCost: 0 }, { parallelism: 0 }, { hashLength: 3 }, { hashLength: 2 ** 31 }, { type: 3 }, { version: 17 }, { memoryCost: 2 ** 32 }, { memoryCost: 1.5 }, { salt: new Uint8Array(7) }]) {
    await assert.rejects(argon2.hash("p", { ...cheap, ...options }), (error) => error.message.length > 10, JSON.stringify(options))
  }
  await assert.rejects(argon2.hash("p", { ...cheap, memoryCost: 2 ** 32 - 1 }), /memory/)
  await assert.rejects(argon2.hash(5, cheap), TypeError)
  await assert.rejects(argon2.verify(5, "p"), TypeError)
  for (const text of ["", "$argon2id$", "$argon2id$v=19$m=64,t=2,p=1$!$!", "$argon2id$v=19$m=4294967295,t=4294967295,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA"]) {
    await assert.rejects(argon2.verify(text, "p"), /byte \d+/)
  }
  assert.throws(() => argon2.needsRehash("nothing"), /byte 0/)
  assert.equal(await argon2.hash("a\ud800", { ...cheap, salt }), await argon2.hash("a\ufffd", { ...cheap, salt }))
})

test("arguments are copied before the call returns", async () => {
  const given = { password: Buffer.from("password"), salt: Buffer.from("somesalt"), secret: Buffer.from("pepper"), associatedData: Buffer.from("data") }
  const { password, ...rest } = given
  const expected = await argon2.hash("password", { ...cheap, salt: Buffer.from(rest.salt), secret: "pepper", associatedData: "data" })
  const hashing = argon2.hash(password, { ...cheap, ...rest })
  for (const bytes of Object.values(given)) bytes.fill(0)
  assert.equal(await hashing, expected)
  const [again, pepper] = [Buffer.from("password"), Buffer.from("pepper")]
  const checking = argon2.verify(expected, again, { secret: pepper })
  again.fill(0)
  pepper.fill(0)
  assert.ok(await checking)
})

test("a long stored string is refused and does not affect later calls", async () => {
  const long = (salt) => "$argon2id$v=19$m=64,t=1,p=1$" + "A".repeat(salt) + "$" + "A".repeat(43)
  assert.throws(() => argon2.needsRehash(long(6e6)), RangeError)
  assert.throws(() => argon2.needsRehash(long(60_000)), /byte/)
  await assert.rejects(argon2.verify(long(6e6), "p"), RangeError)
  // Decoding many hashes grows the module's memory only now and then: views must be renewed.
  for (let i = 0; i < 200; i += 1) assert.throws(() => argon2.needsRehash("$argon2id$v=19$m=64,t=1,p=1,data=" + "A".repeat(4 * (10_000 - i)) + "$" + "A".repeat(22) + "$"), /byte/)
  assert.equal(blake3.hash("abc").toString(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85")
})

test("an abort stops the hash, and the event loop runs meanwhile", async () => {
  await assert.rejects(argon2.hash("p", { signal: AbortSignal.abort() }), { name: "AbortError" })
  const reason = new Error("enough")
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason))
  const steps = new AbortController()
  setTimeout(() => steps.abort(reason))
  await assert.rejects(argon2.hash("p", { memoryCost: 8, timeCost: 2 ** 30 + 1, parallelism: 1, signal: steps.signal }), reason)
  await assert.rejects(argon2.hash("p", { memoryCost: 65536, timeCost: 50, parallelism: 1, signal: controller.signal }), reason)
})
