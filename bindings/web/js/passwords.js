// A hash of Argon2 in an instance that has nothing else to do.

const decoder = new TextDecoder()

/** Begins it, or throws what is wrong with it. */
export function begin(engine, { costs, text, password, salt, secret, data }) {
  const parts = costs ? [password, salt, secret, data] : [text, password, secret]
  const lengths = parts.map((part) => part.length)
  const room = engine.room(lengths.reduce((a, b) => a + b))
  let at = 0
  for (const part of parts) {
    room.set(part, at)
    at += part.length
  }
  const words = costs ? engine.calls.argon2_start(...costs, ...lengths) : engine.calls.argon2_verify(...lengths)
  if (words > 0) throw new Error(decoder.decode(answer(engine, words)))
  engine.renew()
  engine.bytes.fill(0)
}

/** Whether there is more to do. */
export const step = (engine) => engine.calls.argon2_step() !== 0

/** The tag, the string to store, or whether the password is the one. */
export function finish(engine, { costs, raw }) {
  if (!costs) return engine.calls.argon2_matches() !== 0
  const bytes = answer(engine, engine.calls.argon2_finish(raw ? 0 : 1))
  return raw ? bytes : decoder.decode(bytes)
}

/** All of it at once. */
export function compute(engine, task) {
  begin(engine, task)
  while (step(engine));
  return finish(engine, task)
}

/** What the module left in its room, which it may have moved. */
function answer(engine, length) {
  engine.renew(length)
  return engine.bytes.slice(0, length)
}
