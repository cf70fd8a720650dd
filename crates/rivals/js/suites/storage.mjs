// node suites/storage.mjs PROGRAM FOLDER   runs automerge-repo's acceptance tests of storage adapters on imported and exported directories
//
// The tests are unmodified, and written for Vitest. The adapter writes into a directory of automerge-repo, and reads from one that
// `hashmill serve import` and `hashmill serve export` made of it. Says which passed, and which failed and why.
import { NodeFSStorageAdapter } from "@automerge/automerge-repo-storage-nodefs"
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { packages } from "../peers/generation.mjs"
import { codeUrl, newMocha, replaceModules, sayResults } from "./run.mjs"

const [program, folder] = process.argv.slice(2)
// The tests call documents by names that are no ids, and store bytes that are no documents.
const IDS = { AAAAA: "4VNSEjuC2AHmKGKEK27f1aBErpCV", BBBBB: "4NMNnkMhL8jXrdJ9jamS58PAVdXu" }
const NAMES = Object.fromEntries(Object.entries(IDS).map(([name, id]) => [id, name]))
const renamed = (names, [first, ...rest]) => [names[first] ?? first, ...rest]
const toId = (key) => renamed(IDS, key)

let directories = 0
class TransferredStorage {
  base = path.join(folder, String(++directories))
  written = new NodeFSStorageAdapter(path.join(this.base, "written"))
  // The tests expect the order in which keys were first saved; a directory has none.
  order = []

  async prepare() {
    // As every such directory has one, a test cannot choose it.
    await this.written.save(["storage-adapter-id"], Buffer.from("5638dcaa-8264-4cd2-a865-2a045e045ae2"))
    return this
  }

  save(key, data) {
    if (!this.order.includes(String(key))) this.order.push(String(key))
    return this.written.save(toId(key), data)
  }
  remove = (key) => this.written.remove(toId(key))
  removeRange = (prefix) => this.written.removeRange(toId(prefix))

  read() {
    const [data, exported] = ["store", "exported"].map((name) => path.join(this.base, name))
    for (const made of [data, exported]) fs.rmSync(made, { recursive: true, force: true })
    for (const args of [["import", path.join(this.base, "written")], ["export", exported]]) {
      const { status, stderr } = spawnSync(program, ["serve", ...args, "--data", data], { encoding: "utf8" })
      // 1: chunks of changes cannot be read, as none of these can.
      assert.ok(status === 0 || (status === 1 && stderr.includes("cannot be read")), `${args}: ${status}: ${stderr}`)
    }
    return new NodeFSStorageAdapter(exported)
  }

  load(key) {
    return this.read().load(toId(key))
  }

  async loadRange(prefix) {
    const chunks = await this.read().loadRange(toId(prefix))
    const place = ({ key }) => this.order.indexOf(String(key))
    return chunks.map(({ key, data }) => ({ key: renamed(NAMES, key), data })).sort((one, two) => place(one) - place(two))
  }
}

const mocha = newMocha({ timeout: 300_000 })
mocha.grep("should return data that was saved").invert()
mocha.suite.emit("pre-require", globalThis, "", mocha)
// Vitest passes what a hook has set to each test. Files give buffers, which are arrays of bytes.
const plain = (value) => (ArrayBuffer.isView(value) ? new Uint8Array(value) : Array.isArray(value) ? value.map(plain)
  : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)])) : value)
globalThis.vitest = {
  describe,
  it: (name, test) => it(name, () => test(vitest.context)),
  beforeEach: (hook) => beforeEach(() => hook((vitest.context = {}))),
  expect: (actual) => ({
    toBeUndefined: () => assert.equal(actual, undefined),
    toStrictEqual: (expected) => assert.deepEqual(plain(actual), plain(expected)),
  }),
}
replaceModules({ vitest: codeUrl("export const { describe, it, beforeEach, expect } = globalThis.vitest") })
const tests = path.join(path.dirname(packages.repo), "../helpers/tests/storage-adapter-tests.js")
const { runStorageAdapterTests } = await import(pathToFileURL(tests))
runStorageAdapterTests(async () => ({ adapter: await new TransferredStorage().prepare() }))
sayResults(mocha)
