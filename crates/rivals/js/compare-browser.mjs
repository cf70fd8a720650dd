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
await build({ entryPoints: ["@automerge/automerge/slim"], absWorkingDir: import.meta.dirname, outfile: path.join(folder, "slim.js"),
  bundle: true, format: "esm", platform: "browser", logLevel: "warning" })
fs.copyFileSync(path.join(theirs, "automerge.wasm"), path.join(folder, "automerge.wasm"))

// In the page: the package, of which each engine has a copy of its own.
const load = async (who) => {
  const A = await import(`/slim.js?${who}`)
  if (who === "theirs") {
    await A.initializeWasm("/automerge.wasm")
  } else {
    const engine = await import("/engine/engine.js")
    await engine.default()
    A.use(engine)
  }
  return A
}
const start = async (load, who) => {
  const start = performance.now()
  const A = await (0, eval)(load)(who)
  A.free(A.init())
  return performance.now() - start
}
const times = async (load, rounds) => {
  load = (0, eval)(load)
  const edits = await (await fetch("/edits.json")).json()
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
const site = await serve({ "/": folder, "/engine/": engine })
const browser = await launch(program)
const tab = () => browser.tab(`${site.url}/index.html`)
const all = await (await tab()).run(times, load.toString(), Number(rounds))
all.start = { theirs: [], ours: [] }
for (let round = 0; round < 11; round += 1) {
  for (const who of round % 2 ? ["ours", "theirs"] : ["theirs", "ours"]) {
    const page = await tab()
    all.start[who].push(await page.run(start, load.toString(), who))
    await page.close()
  }
}
await browser.close()
site.close()
for (const row of Object.values(all)) {
  for (const who of ["theirs", "ours"]) row[who] = median(row[who])
  row.times = row.theirs / row.ours
}
console.log(JSON.stringify(all, null, 1))
