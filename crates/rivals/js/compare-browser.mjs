// node compare-browser.mjs CHROMIUM TRACE.json.gz ENGINE FOLDER [ROUNDS]   times both engines in a browser, turn by turn, as
// compare.mjs does in Node; ENGINE is the folder of our package, and FOLDER is made. Says medians in milliseconds.
import { build } from "esbuild"
import fs from "node:fs"
import path from "node:path"
import { gunzipSync } from "node:zlib"
import { launch, serve } from "../../../xtask/probes/browser.mjs"

const [program, trace, engine, folder, rounds = "5"] = process.argv.slice(2)
const edits = JSON.parse(gunzipSync(fs.readFileSync(trace))).txns.flatMap((txn) => txn.patches)
const theirs = path.join(import.meta.dirname, "node_modules/@automerge/automerge/dist")
fs.mkdirSync(folder, { recursive: true })
fs.writeFileSync(path.join(folder, "index.html"), '<!doctype html><link rel="icon" href="data:,">')
fs.writeFileSync(path.join(folder, "edits.json"), JSON.stringify(edits))
const module = { theirs: path.join(theirs, "automerge.wasm"), ours: path.join(engine, "engine_bg.wasm") }
for (const who of ["theirs", "ours"]) fs.copyFileSync(module[who], path.join(folder, `${who}.wasm`))
// As programs are published: one script for each engine, with the package in it and what calls the module.
const slim = JSON.stringify("@automerge/automerge/slim")
const scripts = {
  theirs: `import * as A from ${slim}
    export async function start(module) { await A.initializeWasm(module); return A }`,
  ours: `import * as A from ${slim}
    import init, * as engine from ${JSON.stringify(path.resolve(engine, "engine.js"))}
    export async function start(module) { await init({ module_or_path: module }); A.use(engine); return A }`,
}
for (const who of ["theirs", "ours"]) {
  await build({ stdin: { contents: scripts[who], resolveDir: import.meta.dirname }, outfile: path.join(folder, `${who}.js`),
    bundle: true, minify: true, format: "esm", platform: "browser", logLevel: "warning" })
}

// In a page of its own, what passes until there is an empty document: with all that is fetched for it, and with the script and
// the bytes of the module at hand.
const start = async (who, fetched) => {
  let module = `/${who}.wasm`
  const begun = performance.now()
  const { start } = await import(`/${who}.js`)
  if (fetched) module = await (await fetch(module)).arrayBuffer()
  const begin = fetched ? performance.now() : begun
  const A = await start(module)
  A.free(A.init())
  return performance.now() - begin
}
const times = async (rounds) => {
  const edits = await (await fetch("/edits.json")).json()
  const load = async (who) => (await import(`/${who}.js`)).start(`/${who}.wasm`)
  const A = { theirs: await load("theirs"), ours: await load("ours") }
  const paper = (A) => A.change(A.from({ text: "" }), (doc) => {
    for (const [at, del, text] of edits) A.splice(doc, ["text"], at, del, text)
  })
  const saved = A.ours.save(paper(A.ours))
  const times = { typed: { theirs: [], ours: [] }, loaded: { theirs: [], ours: [] }, saved: { theirs: [], ours: [] } }
  const texts = new Set()
  const timed = (into, run) => {
    const start = performance.now()
    const out = run()
    into.push(performance.now() - start)
    return out
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const who of round % 2 ? ["ours", "theirs"] : ["theirs", "ours"]) {
      // As often as each comes first, twice: the first time compiles it.
      if (round < 4) {
        const doc = timed(times.typed[who], () => paper(A[who]))
        texts.add(doc.text)
        A[who].free(doc)
      }
      const doc = timed(times.loaded[who], () => A[who].load(saved))
      texts.add(doc.text)
      timed(times.saved[who], () => A[who].save(doc))
      A[who].free(doc)
    }
  }
  if (texts.size !== 1) throw new Error("the engines disagree")
  return times
}

const median = (times) => {
  const [sorted, middle] = [times.toSorted((a, b) => a - b), times.length >> 1]
  return times.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
const site = await serve({ "/": folder })
const browser = await launch(program)
const tab = () => browser.tab(`${site.url}/index.html`)
const all = await (await tab()).run(times, Number(rounds))
for (const [name, fetched] of [["start", false], ["start, all fetched", true]]) {
  all[name] = { theirs: [], ours: [] }
  for (let round = 0; round < 11; round += 1) {
    for (const who of round % 2 ? ["ours", "theirs"] : ["theirs", "ours"]) {
      const page = await tab()
      all[name][who].push(await page.run(start, who, fetched))
      await page.close()
    }
  }
}
await browser.close()
site.close()
for (const row of Object.values(all)) {
  for (const who of ["theirs", "ours"]) row[who] = median(row[who])
  row.times = row.theirs / row.ours
}
console.log(JSON.stringify(all, null, 1))
