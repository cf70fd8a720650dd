// Tests of the package in a real browser: node browser.mjs, with WEB_PACKAGE set. Prints a line for each test, like Rust's tests.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { launch, serve } from "../../../xtask/probes/browser.mjs"
import { blake3 } from "./package.mjs"

const pages = path.join(import.meta.dirname, "pages")
const site = await serve({ "/": pages, "/package/": process.env.WEB_PACKAGE })
const BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
const program = BROWSERS.find((name) => spawnSync(name, ["--version"]).status === 0)
if (!program) {
  console.log("SKIPPED: the package in a browser: no chromium here; Debian: apt-get install chromium")
  process.exit()
}
const browser = await launch(program)
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "web-"))

let passed = 0

async function on(page, tests) {
  const tab = await browser.tab(`${site.url}/${page}`)
  for (const [name, test] of Object.entries(tests)) {
    await test(tab)
    console.log(`test ${name} ... ok`)
    passed += 1
  }
  return tab
}

const paint = (length) => new Uint8Array(length).map((_, i) => i % 251)

const tab = await on("index.html", {
  async "calls before load() fail; later results equal those of Node"(tab) {
    const given = await tab.run(async () => {
      const { blake3 } = await import("/package/index.js")
      let words
      try { blake3.hash("abc") } catch (error) { words = error.message }
      await blake3.load()
      return [words, String(blake3.hash("abc")), blake3.createKeyed(new Uint8Array(32)).update("abc").digest("hex")]
    })
    assert.deepEqual(given, [
      "the module is not loaded: await load() first",
      String(blake3.hash("abc")),
      String(blake3.keyedHash(new Uint8Array(32), "abc")),
    ])
  },
  async "a file is hashed by several workers, with progress"(tab) {
    const length = 21_000_003
    const [digests, progress, long] = await tab.run(async (length) => {
      const { blake3 } = await import("/package/index.js")
      const file = new File([new Uint8Array(length).map((_, i) => i % 251)], "name")
      const progress = []
      const onProgress = (done, total) => progress.push([done, total])
      const digests = []
      for (const threads of [undefined, 0, 1, 3]) digests.push(String(await blake3.hashBlob(file, { threads, onProgress: threads === 3 ? onProgress : undefined })))
      return [digests, progress, String(await blake3.hashBlob(file, { context: "c", length: 100 }))]
    }, length)
    const expected = String(blake3.hash(paint(length)))
    assert.deepEqual(digests, [expected, expected, expected, expected])
    assert.equal(long, String(blake3.deriveKey("c", paint(length), { length: 100 })))
    assert.equal(progress.length, 11)
    assert.deepEqual(progress.at(-1), [length, length])
    assert.ok(progress.every(([done], i) => i === 0 || progress[i - 1][0] < done))
  },
  async "an abort ends workers at once"(tab) {
    const given = await tab.run(async () => {
      const { argon2, blake3 } = await import("/package/index.js")
      const said = (promise) => promise.then(() => "done", (error) => error.message ?? error)
      const one = new AbortController()
      const two = new AbortController()
      const file = new Blob([new Uint8Array(60_000_000)])
      const hashed = said(blake3.hashBlob(file, { signal: one.signal, onProgress: () => one.abort("enough") }))
      const years = said(argon2.hash("p", { memoryCost: 65536, timeCost: 4_000_000_000, signal: two.signal }))
      setTimeout(() => two.abort(new Error("too long")), 200)
      return [await hashed, await years]
    })
    assert.deepEqual(given, ["enough", "too long"])
  },
  async "concurrent hashes use at most one worker per processor"(tab) {
    const [most, all, queued] = await tab.run(async () => {
      const { argon2, blake3 } = await import("/package/index.js")
      let [now, most] = [0, 0]
      const Real = Worker
      globalThis.Worker = class extends Real {
        constructor(...words) { super(...words); now += 1; most = Math.max(most, now) }
        terminate() { now -= 1; super.terminate() }
      }
      const costs = { memoryCost: 64, timeCost: 1, parallelism: 1 }
      const many = Array.from({ length: 20 }, () => argon2.hash("p", costs))
      const file = new Blob([new Uint8Array(9_000_000)])
      const controller = new AbortController()
      const queued = argon2.hash("p", { ...costs, signal: controller.signal }).catch((error) => error)
      const hashed = blake3.hashBlob(file, { threads: 8 })
      await Promise.resolve()
      controller.abort("enough")
      const all = (await Promise.all(many)).length + (await hashed).length
      globalThis.Worker = Real
      return [most <= navigator.hardwareConcurrency, all, await queued]
    })
    assert.deepEqual([most, all, queued], [true, 52, "enough"])
  },
  async "passwords are hashed and checked in a worker"(tab) {
    const given = await tab.run(async () => {
      const { argon2 } = await import("/package/index.js")
      const salt = new Uint8Array(16).fill(2)
      const text = await argon2.hash("password", { salt, memoryCost: 1024, timeCost: 2, parallelism: 1 })
      const refused = await argon2.verify("$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$c29tZXNhbHRzb21lc2FsdA", "p").catch((error) => error.message)
      return [text, await argon2.verify(text, "password"), await argon2.verify(text, "other"), argon2.needsRehash(text), refused]
    })
    assert.match(given[0], /^\$argon2id\$v=19\$m=1024,t=2,p=1\$/)
    assert.deepEqual(given.slice(1, 4), [true, false, true])
    assert.match(given[4], /memory/)
  },
  async "one idle worker is kept, but none that had a password"(tab) {
    const [texts, started, ended] = await tab.run(async () => {
      const { argon2 } = await import("/package/index.js")
      const [started, ended] = [[], []]
      const Real = Worker
      globalThis.Worker = class extends Real {
        constructor(...words) { super(...words); started.push(this) }
        terminate() { ended.push(this); super.terminate() }
      }
      const costs = { salt: new Uint8Array(16), memoryCost: 64, timeCost: 1, parallelism: 1 }
      const texts = []
      for (const password of ["one", "two", "two"]) {
        texts.push(await argon2.hash(password, costs))
        const enough = ended.length + 1
        while (started.length < enough) await new Promise((resume) => setTimeout(resume, 1))
      }
      globalThis.Worker = Real
      return [texts, started.length, ended.length]
    })
    assert.equal(texts[1], texts[2])
    assert.notEqual(texts[0], texts[1])
    // The first one may have been idle since the previous test.
    assert.ok(ended === 3 || ended === 2, ended)
    assert.equal(started, ended + 1)
  },
  async "a file that changes on disk is an error of the browser"(tab) {
    const file = path.join(folder, "file")
    fs.writeFileSync(file, paint(9_000_000))
    const { root } = await tab.send("DOM.getDocument")
    const { nodeId } = await tab.send("DOM.querySelector", { nodeId: root.nodeId, selector: "input" })
    await tab.send("DOM.setFileInputFiles", { files: [file], nodeId })
    const hash = () => tab.run(async () => {
      const { blake3 } = await import("/package/index.js")
      const [file] = document.querySelector("input").files
      return blake3.hashBlob(file).then(String, (error) => error.name)
    })
    assert.equal(await hash(), String(blake3.hash(paint(9_000_000))))
    fs.writeFileSync(file, "short")
    assert.equal(await hash(), "NotReadableError")
  },
})
assert.deepEqual(tab.complaints, [])

await on("strict.html", {
  async "works under a policy without eval and foreign sources"(tab) {
    const given = await tab.run(async () => {
      const { argon2, blake3 } = await import("/package/index.js")
      const salt = new Uint8Array(16)
      return [
        String(await blake3.hashBlob(new Blob([new Uint8Array(5_000_000)]))),
        await argon2.hash("p", { salt, memoryCost: 64, timeCost: 1, parallelism: 1 }),
      ]
    })
    assert.equal(given[0], String(blake3.hash(new Uint8Array(5_000_000))))
    assert.match(given[1], /^\$argon2id\$/)
    assert.deepEqual(tab.complaints, [])
  },
})

await on("no-workers.html", {
  async "a policy without workers is an error"(tab) {
    const given = await tab.run(async () => {
      const { argon2, blake3 } = await import("/package/index.js")
      const file = new Blob([new Uint8Array(5_000_000)])
      const said = (promise) => promise.then(String, (error) => `${error.name}: ${error.message}`)
      return [await said(blake3.hashBlob(file)), await said(argon2.hash("p")), await said(blake3.hashBlob(file, { threads: 0 }))]
    })
    assert.match(given[0], /worker/)
    assert.match(given[1], /worker/)
    assert.equal(given[2], String(blake3.hash(new Uint8Array(5_000_000))))
  },
})

await browser.close()
site.close()
fs.rmSync(folder, { recursive: true })
console.log(`test result: ok. ${passed} passed; 0 failed`)
