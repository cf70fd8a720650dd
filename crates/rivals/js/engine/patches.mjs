// node patches.mjs RUNS   edits and merges documents at random on our engine, which HASHMILL_ENGINE names, and on theirs
//
// Says how many answers of `diffIncremental` were compared, and those that differ. There is no unmark: theirs also tells one that
// takes nothing off. Patches that only say `conflict` are left out: theirs tells a conflict again when another value loses.
import { createRequire } from "node:module"
import path from "node:path"

const runs = Number(process.argv[2])
const require = createRequire(import.meta.url)
const packages = path.join(import.meta.dirname, "../node_modules")
const theirs = "@automerge/automerge/dist/mjs/wasm_bindgen_output/nodejs/automerge_wasm.cjs"
const engines = [require(process.env.HASHMILL_ENGINE), require(path.join(packages, theirs))]

/** Numbers below a limit, the same for the same seed. */
function numbers(seed) {
  let state = (seed + 1) * 7919
  return (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return (state >>> 8) % limit
  }
}

/** One edit; on an empty list or text, or on a key without a value, there may be none. */
function edit(doc, below, step) {
  const key = "kmn"[below(3)]
  const list = doc.length("/list")
  const text = doc.length("/text")
  const at = below(text + 1)
  const edits = [
    () => doc.put("/", key, step),
    () => doc.delete("/", key),
    () => doc.putObject("/map", key, { a: step, l: [step] }),
    () => doc.get("/map", key) && doc.put(`/map/${key}`, "a", step),
    () => doc.delete("/map", key),
    () => doc.insert("/list", below(list + 1), step),
    () => list > 0 && doc.put("/list", below(list), step),
    () => list > 0 && doc.delete("/list", below(list)),
    () => doc.splice("/text", at, 0, "ab"),
    () => at < text && doc.splice("/text", at, 1, "X"),
    () => at < text && doc.mark("/text", { start: at, end: at + 1 + below(text - at), expand: "none" }, "m", step),
    () => doc.increment("/", "counter", 2),
  ]
  edits[below(edits.length)]()
}

/** What is said to be new, time after time. */
function told(engine, seed) {
  const below = numbers(seed)
  const doc = engine.create({ actor: "aa" })
  doc.putObject("/", "list", [1, 2, { x: 1 }])
  doc.putObject("/", "text", "hello")
  doc.putObject("/", "map", {})
  doc.put("/", "counter", 1, "counter")
  const other = doc.fork("bb")
  doc.updateDiffCursor()
  const answers = []
  for (let step = 0; step < 40; step++) {
    const choice = below(10)
    if (choice === 0) {
      edit(other, below, step)
      edit(other, below, step)
      doc.merge(other)
    } else if (choice === 1) {
      answers.push(doc.diffIncremental())
    } else if (choice === 2) {
      other.merge(doc)
    } else {
      edit(doc, below, step)
    }
  }
  answers.push(doc.diffIncremental())
  return answers.map((answer) => JSON.stringify(answer.filter((patch) => patch.action !== "conflict")))
}

const said = { compared: 0, different: [] }
for (let seed = 0; seed < runs; seed++) {
  const [ours, expected] = engines.map((engine) => told(engine, seed))
  said.compared += expected.length
  expected.forEach((answer, at) => answer !== ours[at] && said.different.push({ seed, at, ours: ours[at], theirs: answer }))
}
process.stdout.write(JSON.stringify(said) + "\n")
