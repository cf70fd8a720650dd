// node suites/fuzz.mjs CHECKOUT PROGRAM DATA ROUNDS   runs automerge-repo's fuzz program with our servers between its peers
//
// CHECKOUT has the repository with the program, which loses its types and nothing else. It connects Alice to Bob, and Bob to Charlie, by
// channels; here a server is in the place of each channel. It edits a random document of a random peer, waits until all others have the
// edit, and compares them. Charlie must never get one of the two documents: the server between Bob and Charlie bears the name by which Bob
// withholds it. Says how many edits were compared.
import { build } from "esbuild"
import fs from "node:fs"
import path from "node:path"
import { pathToFileURL } from "node:url"
import { packages } from "../peers/generation.mjs"
import { moduleUrl, startServer } from "./run.mjs"

const [checkout, program, data, rounds] = process.argv.slice(2)
const folder = path.join(checkout, "packages/automerge-repo")
const settings = path.join(data, "settings.toml")
fs.mkdirSync(data, { recursive: true })
fs.writeFileSync(settings, 'peer-id = "C"\n')
const servers = [
  await startServer(program, path.join(data, "alice-bob")),
  await startServer(program, path.join(data, "bob-charlie"), { args: ["--settings", settings] }),
]

// Its pair of ports: each is the address of the server in the place of the channel.
let channels = 0
globalThis.MessageChannel = class {
  constructor() {
    const { url } = servers[channels++]
    Object.assign(this, { port1: { url, close() {} }, port2: { url, close() {} } })
  }
}

const helpers = path.join(path.dirname(packages.repo), "../helpers")
const replaced = {
  "../../automerge-repo-network-messagechannel/src/index.js": moduleUrl("fuzz-peers.mjs"),
  "../src/index.js": moduleUrl("fuzz-peers.mjs"),
  "../src/helpers/pause.js": moduleUrl("fuzz-peers.mjs"),
  "../src/helpers/eventPromise.js": String(pathToFileURL(path.join(helpers, "eventPromise.js"))),
  "../src/helpers/headsAreSame.js": String(pathToFileURL(path.join(helpers, "headsAreSame.js"))),
  "@automerge/automerge": moduleUrl("../node_modules/@automerge/automerge/dist/mjs/entrypoints/fullfat_node.js"),
}
const replacements = {
  name: "replacements",
  setup: (build) => build.onResolve({ filter: /./ }, ({ path }) => path in replaced ? { path: replaced[path], external: true } : undefined),
}
const outfile = path.join(data, "fuzz.mjs")
await build({
  entryPoints: [path.join(folder, "fuzz/fuzz.ts")],
  outfile,
  bundle: true,
  plugins: [replacements],
  format: "esm",
  platform: "node",
  logLevel: "warning",
})

// It says each round, and would go on for a hundred thousand.
let compared = 0
console.log = (what) => {
  if (what !== "Changes:" || (compared += 1) < Number(rounds)) return
  process.stdout.write(JSON.stringify({ compared }) + "\n", () => process.exit(0))
}
await import(pathToFileURL(outfile))
