// node suites/acceptance.mjs SERVER   runs automerge-repo's acceptance tests of network adapters with a server between the peers
//
// The tests are unmodified. Says which passed, and which failed and why. They are written for Vitest and run under Mocha. Some pause for
// 50 ms until a document has reached a direct neighbour; here it reaches a disk and another peer meanwhile, so pauses are longer and
// tests are repeated. Those that expect the peers to be direct neighbours are left out.
import { packages } from "../peers/generation.mjs"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { codeUrl, newMocha, replaceModules, sayResults } from "./run.mjs"

const [server] = process.argv.slice(2)
const NEIGHBOURS = [
  "emits a peer-candidate event with proper peer metadata when a peer connects",
  "should emit disconnect events on disconnect",
  "should not send messages after disconnect",
  // Asks a neighbour for a document that is on its way there, without a pause.
  "can broadcast a message",
]
const mocha = newMocha({ retries: 5, timeout: 10_000 })
mocha.grep(new RegExp(NEIGHBOURS.join("|"))).invert()
mocha.suite.emit("pre-require", globalThis, "", mocha)

replaceModules({
  vitest: codeUrl("export const { describe, it, expect } = globalThis"),
  "../pause.js": codeUrl("export const pause = (time) => new Promise((resolve) => setTimeout(resolve, 20 * time))"),
})
const tests = path.join(path.dirname(packages.repo), "../helpers/tests/network-adapter-tests.js")
// It gives the modules of the tests their engine.
await import(pathToFileURL(packages.repo))
const { runNetworkAdapterTests } = await import(pathToFileURL(tests))
const { WebSocketClientAdapter } = await import(pathToFileURL(packages.sockets))

let adapters = []
const teardown = () => adapters.filter((adapter) => adapter.socket).forEach((adapter) => adapter.disconnect())
runNetworkAdapterTests(async () => {
  // Peers of a failed test would go on to connect under the same names.
  teardown()
  adapters = [0, 1, 2].map(() => new WebSocketClientAdapter(server, 100))
  return { adapters, teardown }
})
sayResults(mocha)
