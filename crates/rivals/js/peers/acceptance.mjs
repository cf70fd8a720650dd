// node peers/acceptance.mjs SERVER   runs automerge-repo's acceptance tests of network adapters with a server between the peers
//
// The tests are unmodified. Says which passed, and which failed and why. They are written for Vitest and run under Mocha. Some pause for
// 50 ms until a document has reached a direct neighbour; here it reaches a disk and another peer meanwhile, so pauses are longer and
// tests are repeated. Those that expect the peers to be direct neighbours are left out.
import "@automerge/automerge-repo"
import { WebSocketClientAdapter } from "@automerge/automerge-repo-network-websocket"
import Mocha from "mocha"
import { createRequire, register } from "node:module"
import path from "node:path"
import { pathToFileURL } from "node:url"

const [server] = process.argv.slice(2)
const NEIGHBOURS = [
  "emits a peer-candidate event with proper peer metadata when a peer connects",
  "should emit disconnect events on disconnect",
  "should not send messages after disconnect",
  // Asks a neighbour for a document that is on its way there, without a pause.
  "can broadcast a message",
]
const mocha = new Mocha({ reporter: class {}, retries: 5, timeout: 10_000 })
mocha.grep(new RegExp(NEIGHBOURS.join("|"))).invert()
mocha.suite.emit("pre-require", globalThis, "", mocha)

const replaced = {
  vitest: "export const { describe, it, expect } = globalThis",
  "../pause.js": "export const pause = (time) => new Promise((resolve) => setTimeout(resolve, 20 * time))",
}
const text = (code) => `data:text/javascript,${encodeURIComponent(code)}`
register(text(`const replaced = ${JSON.stringify(replaced)}
  export const resolve = (name, context, next) => name in replaced
    ? { url: "data:text/javascript," + encodeURIComponent(replaced[name]), shortCircuit: true }
    : next(name, context)`))
const entry = createRequire(import.meta.url).resolve("@automerge/automerge-repo")
const tests = path.join(path.dirname(entry), "../helpers/tests/network-adapter-tests.js")
const { runNetworkAdapterTests } = await import(pathToFileURL(tests))

let adapters = []
const teardown = () => adapters.filter((adapter) => adapter.socket).forEach((adapter) => adapter.disconnect())
runNetworkAdapterTests(async () => {
  // Peers of a failed test would go on to connect under the same names.
  teardown()
  adapters = [0, 1, 2].map(() => new WebSocketClientAdapter(server, 100))
  return { adapters, teardown }
})
const said = { passed: [], failed: {} }
const runner = mocha.run(() => process.stdout.write(JSON.stringify(said) + "\n", () => process.exit(0)))
runner.on("pass", (test) => said.passed.push(test.title))
runner.on("fail", (test, error) => (said.failed[test.title] = String(error?.message ?? error)))
