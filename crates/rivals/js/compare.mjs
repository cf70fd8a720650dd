// node compare.mjs TRACE.json.gz [ROUNDS]   times both engines in one process, turn by turn; HASHMILL_ENGINE names ours
//
// The trace is automerge-paper, by the name it has under shared/data/traces. Both run under the same published package, of
// which each engine has a copy of its own. Says medians in milliseconds, and bytes.
import fs from "node:fs"
import { createRequire } from "node:module"
import os from "node:os"
import path from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { execFileSync } from "node:child_process"

const [trace, rounds = "5"] = process.argv.slice(2)
const dist = path.join(import.meta.dirname, "node_modules/@automerge/automerge/dist/mjs")
const engines = { theirs: path.join(dist, "wasm_bindgen_output/nodejs/automerge_wasm.cjs"), ours: process.env.HASHMILL_ENGINE }
const edits = JSON.parse(gunzipSync(fs.readFileSync(trace))).txns.flatMap((txn) => txn.patches)
const require = createRequire(import.meta.url)

async function loaded(engine) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "compare-"))
  for (const name of fs.readdirSync(dist)) {
    if (name !== "wasm_bindgen_output") fs.cpSync(path.join(dist, name), path.join(folder, name), { recursive: true })
  }
  // What the package loads in a browser, which is not used here.
  fs.mkdirSync(path.join(folder, "wasm_bindgen_output/web"), { recursive: true })
  fs.writeFileSync(path.join(folder, "wasm_bindgen_output/web/automerge_wasm.js"), "export default () => {}\n")
  fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}')
  const A = await import(path.join(folder, "index.js"))
  A.use(require(engine))
  fs.rmSync(folder, { recursive: true })
  return A
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1]
const timed = (run) => { const start = performance.now(); const out = run(); return [performance.now() - start, out] }

// All in one change, as a paste; and the first of them in changes of their own, as typed.
const paper = (A, count) => A.change(A.from({ text: "" }), (doc) => {
  for (const [at, del, text] of edits.slice(0, count)) A.splice(doc, ["text"], at, del, text)
})
function typed(A, count) {
  let doc = A.from({ text: "" })
  for (const [at, del, text] of edits.slice(0, count)) doc = A.change(doc, (doc) => A.splice(doc, ["text"], at, del, text))
  return doc
}
// A new process each time: what it takes to have an engine and a document.
const start = (engine) => Number(execFileSync(process.execPath, ["-e",
  `const start = performance.now(); const e = require(${JSON.stringify(engine)}); e.create({}).free(); console.log(performance.now() - start)`]))

const A = { theirs: await loaded(engines.theirs), ours: await loaded(engines.ours) }
const saved = A.ours.save(paper(A.ours))
const cases = {
  "automerge-paper in one change": { run: (A) => paper(A, edits.length), most: 1 },
  "5,000 edits of it, a change each": { run: (A) => typed(A, 5_000) },
  "load it": { run: (A) => A.load(saved) },
  "save what was loaded": { before: (A) => A.load(saved), run: (A, doc) => A.save(doc) && doc },
}
const table = {}
for (const [name, { before = () => {}, run, most = Infinity }] of Object.entries(cases)) {
  const times = { theirs: [], ours: [] }
  const texts = {}
  for (let round = 0; round < Math.min(Number(rounds), most); round += 1) {
    for (const who of round % 2 ? ["ours", "theirs"] : ["theirs", "ours"]) {
      const given = before(A[who])
      const [time, doc] = timed(() => run(A[who], given))
      times[who].push(time)
      texts[who] = doc.text
      A[who].free(doc)
    }
  }
  if (texts.ours !== texts.theirs) throw new Error(`${name}: the engines disagree`)
  table[name] = { theirs: median(times.theirs), ours: median(times.ours) }
}
const starts = { theirs: [], ours: [] }
for (let round = 0; round < 11; round += 1) for (const who of ["theirs", "ours"]) starts[who].push(start(engines[who]))
table["start: engine and empty document"] = { theirs: median(starts.theirs), ours: median(starts.ours) }
for (const [name, row] of Object.entries(table)) row.times = row.theirs / row.ours
const module = (file) => fs.readFileSync(path.join(path.dirname(file), fs.readdirSync(path.dirname(file)).find((name) => name.endsWith("_bg.wasm"))))
const size = (of) => ({ theirs: of(module(engines.theirs)), ours: of(module(engines.ours)) })
console.log(JSON.stringify({ node: process.version, cpu: os.cpus()[0].model, milliseconds: table,
  bytes: { module: size((bytes) => bytes.length), gzip: size((bytes) => gzipSync(bytes, { level: 9 }).length) } }, null, 1))
