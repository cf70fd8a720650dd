// node --expose-gc leaks.mjs ROUNDS   calls our engine, which HASHMILL_ENGINE names, again and again: what is freed, or left to
// the garbage collector, does not pile up. Says how many bytes the module has after a quarter of the rounds, and after all.
import { engine, size } from "./engine.mjs"
import { setImmediate } from "node:timers/promises"

const rounds = Number(process.argv[2])

const kept = engine.create({ actor: "aabb" })
kept.putObject("_root", "text", "a text")
kept.registerDatatype("counter", (value) => ({ value }), ({ value }) => value)
kept.put("_root", "count", 1, "counter")
kept.commit()
const file = kept.save()

// Each of them in turn; what they give is dropped. None leaves anything in the document that stays.
const calls = [
  (n) => kept.put("_root", "n", n),
  () => kept.text("/text"),
  () => kept.rollback(),
  () => kept.materialize(),
  () => kept.getHeads(),
  () => { try { kept.put("/nowhere", "x", 1) } catch {} },
  () => { try { engine.load(new Uint8Array([1, 2, 3])) } catch {} },
  (n) => {
    const doc = engine.load(file)
    const shown = doc.materialize()
    doc.put("_root", "n", n)
    doc.applyPatches(shown)
    doc.free()
  },
  () => kept.fork().free(),
  () => engine.decodeSyncMessage(kept.generateSyncMessage(engine.initSyncState())),
]
// These are never freed.
const dropped = [() => engine.load(file), () => kept.fork("cc"), () => engine.initSyncState()]

let early = 0
for (let n = 0; n < rounds; n += 1) {
  calls[n % calls.length](n)
  if (n % 10 === 9) dropped[(n / 10 | 0) % dropped.length]()
  // The collector tells what it found between two turns of the loop of events.
  if (n % 1000 === 999) {
    gc()
    await setImmediate()
  }
  if (n === (rounds / 4 | 0)) early = size()
}
// What is freed is gone, and says so however often it is asked.
const gone = engine.load(file)
gone.free()
const threw = []
for (const call of [() => gone.getHeads(), () => gone.free(), () => kept.merge(gone)]) {
  try {
    call()
    threw.push(null)
  } catch (error) {
    threw.push(error.constructor.name)
  }
}
console.log(JSON.stringify({ early, late: size(), threw, text: kept.text("/text") }))
