// Programs written for the replaced packages compile with ours.
import * as theirBlake3 from "blake3-wasm"
import theirArgon2 from "argon2"
import { argon2, blake3 } from "@hashmill/web"
import ours, { argon2id, hash } from "@hashmill/web/argon2"
import * as same from "@hashmill/web/blake3"

// Ours accepts their arguments, and returns compatible results.
type Input = Parameters<typeof theirBlake3.hash>[0]
const input: Input = "text"
const digest: Uint8Array = blake3.hash(input, { length: 64 })
const text: string = blake3.createHash().update(input).digest("hex")
const reader = same.createKeyed(digest.subarray(0, 32)).update(input).reader()
reader.position = 5n
const read: Uint8Array = reader.read(10)

const settings: Parameters<typeof theirArgon2.hash>[1] = { memoryCost: 1024, type: theirArgon2.argon2id, salt: Buffer.alloc(16) }
const stored: Promise<string> = argon2.hash("password", { ...settings, raw: false })
const raw: Promise<Uint8Array> = hash("password", { raw: true, type: argon2id, signal: new AbortController().signal })
const matches: Promise<boolean> = ours.verify("$argon2id$", Buffer.from("password"), { secret: Buffer.from("pepper") })
const old: boolean = ours.needsRehash("$argon2id$", { timeCost: 4 })

const whole: Promise<same.Hash> = blake3.hashBlob(new Blob([]), { threads: 2, onProgress: (done: number, total: number) => done / total })

// @ts-expect-error a number is not an input
blake3.hash(5)
// @ts-expect-error an encoding that does not exist
blake3.createHash().digest("latin1")
// @ts-expect-error a type that does not exist
ours.hash("password", { type: 3 })

export { text, read, stored, raw, matches, old, whole }
