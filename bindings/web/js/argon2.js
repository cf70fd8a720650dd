// Argon2: the names of the package `argon2`. Memory is freed with its worker or its instance.
import { kept, toBytes, toNumber } from "./bytes.js"
import { fresh, load, loaded } from "./engine.js"
import { begin, finish, step } from "./workers/passwords.js"
import { pause, throwIfAborted } from "./pause.js"
import { hasWorkers, team } from "./workers/team.js"

export { load }

export const argon2d = 0
export const argon2i = 1
export const argon2id = 2

const defaults = { hashLength: 32, memoryCost: 65536, parallelism: 4, timeCost: 3, type: argon2id, version: 0x13 }
const WORD = 2 ** 32 - 1
/** Larger than any stored hash, and smaller than the memory of a module. */
const MOST_HASH = 2 ** 24
const MOST_STORED = 65536
const SALT = 16
const LEAST_SALT = 8
const NONE = new Uint8Array(0)

/** The string to store for a password; with `raw`, only the bytes of the hash. */
export async function hash(password, options = {}) {
  const { hashLength, memoryCost, parallelism, timeCost, type, version, raw, signal, ...rest } = { ...defaults, ...options }
  const costs = [
    toNumber(type, "the type", 0, 2),
    toNumber(version, "the version", 0x10, 0x13),
    toNumber(memoryCost, "the memory", 1, WORD),
    toNumber(timeCost, "the time", 1, WORD),
    toNumber(parallelism, "the parallelism", 1, 2 ** 24 - 1),
    toNumber(hashLength, "the hash's length", 4, MOST_HASH),
  ]
  const salt = rest.salt === undefined ? crypto.getRandomValues(new Uint8Array(SALT)) : kept(rest.salt, "the salt")
  toNumber(salt.length, "the salt's length", LEAST_SALT, WORD)
  return work({
    costs,
    raw: Boolean(raw),
    password: kept(password, "the password"),
    salt,
    secret: kept(rest.secret ?? NONE, "the secret"),
    data: kept(rest.associatedData ?? NONE, "the associated data"),
  }, signal)
}

/** Whether the password matches the stored hash. A string that needs more than 2 GiB or 8 GiB of work is refused. */
export async function verify(digest, password, { secret = NONE, signal } = {}) {
  return work({
    text: toText(digest),
    password: kept(password, "the password"),
    secret: kept(secret, "the secret"),
  }, signal)
}

/** Whether a stored hash has other costs, or another version, than these. */
export function needsRehash(digest, options = {}) {
  const { version, memoryCost, timeCost, parallelism } = { ...defaults, ...options }
  const engine = loaded()
  const text = toText(digest)
  engine.reserve(text.length).set(text)
  const words = engine.calls.argon2_costs(text.length)
  engine.renew()
  if (words > 0) throw new Error(new TextDecoder().decode(engine.bytes.subarray(0, words)))
  const stored = new DataView(engine.bytes.buffer, engine.bytes.byteOffset, 16)
  return [version, memoryCost, timeCost, parallelism].some((number, i) => stored.getUint32(4 * i, true) !== Number(number))
}

function toText(digest) {
  if (typeof digest !== "string") throw new TypeError("the stored hash: expected a string")
  toNumber(digest.length, "the stored hash's length", 0, MOST_STORED)
  return toBytes(digest)
}

async function work(task, signal) {
  throwIfAborted(signal)
  if (hasWorkers()) return team(1, task, signal, ({ result }) => result)
  const engine = await fresh()
  begin(engine, task)
  do {
    await pause()
    throwIfAborted(signal)
  } while (step(engine))
  return finish(engine, task)
}

export default { argon2d, argon2i, argon2id, hash, needsRehash, verify }
