// Benchmark in Node and in Chromium, after `cargo xtask web`: node bindings/web/bench/bench.mjs
import { createRequire } from "node:module"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { launch, serve } from "../../../xtask/probes/browser.mjs"
import { measure } from "./measure.js"

const built = path.join(import.meta.dirname, "../../../target/web")
const rivals = path.join(built, "rivals")
const ours = await import(pathToFileURL(path.join(built, "package/node-index.js")))
const theirs = createRequire(path.join(rivals, "package.json"))
const npm = theirs("blake3-wasm")
await npm.load?.()
console.log(`Node ${process.version}`)
for (const line of await measure(ours, theirs("hash-wasm"), npm)) console.log(line)

const site = await serve({ "/": import.meta.dirname, "/package/": path.join(built, "package"), "/modules/": path.join(rivals, "node_modules") })
const browser = await launch("chromium")
const tab = await browser.tab(`${site.url}/page.html`)
console.log(await tab.run(() => navigator.userAgent))
const lines = await tab.run(async () => {
  const [ours, hashWasm, npm, { measure }] = await Promise.all([
    import("/package/index.js"), import("/modules/hash-wasm/dist/index.esm.js"), import("/modules/blake3-wasm/esm/browser/index.js"), import("/measure.js"),
  ])
  await Promise.all([ours.load(), npm.load()])
  return measure(ours, hashWasm, npm)
})
for (const line of lines) console.log(line)
await browser.close()
site.close()
