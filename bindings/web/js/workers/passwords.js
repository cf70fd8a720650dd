// An Argon2 hash in an instance of its own.

const decoder = new TextDecoder()

/** Begins the hash, or throws an error for invalid arguments. */
export function begin(engine, { costs, text, password, salt, secret, data }) {
  const parts = costs ? [password, salt, secret, data] : [text, password, secret]
  const lengths = parts.map((part) => part.length)
  const buffer = engine.reserve(lengths.reduce((a, b) => a + b))
  let at = 0
  for (const part of parts) {
    buffer.set(part, at)
    at += part.length
  }
  const words = costs ? engine.calls.argon2_start(...costs, ...lengths) : engine.calls.argon2_verify(...lengths)
  if (words > 0) throw new Error(decoder.decode(readResult(engine, words)))
  engine.renew()
  engine.bytes.fill(0)
}

/** Whether steps are left. */
export const step = (engine) => engine.calls.argon2_step() !== 0

/** The tag, the string to store, or whether the password matches. */
export function finish(engine, { costs, raw }) {
  if (!costs) return engine.calls.argon2_matches() !== 0
  const bytes = readResult(engine, engine.calls.argon2_finish(raw ? 0 : 1))
  return raw ? bytes : decoder.decode(bytes)
}

/** All steps without a pause. */
export function compute(engine, task) {
  begin(engine, task)
  while (step(engine));
  return finish(engine, task)
}

/** The result in the buffer of the module, which may have moved. */
function readResult(engine, length) {
  engine.renew(length)
  return engine.bytes.slice(0, length)
}
