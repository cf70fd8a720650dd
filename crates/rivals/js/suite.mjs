// node suite.mjs TESTS FOLDER   runs the tests of the JavaScript implementation on our engine, which HASHMILL_ENGINE names
//
// Says how many passed and were left out, and which failed. The implementation is the published package, copied to FOLDER;
// what it loads as its own module there is ours. The tests lose their types and nothing else.
import { build } from "esbuild"
import Mocha from "mocha"
import fs from "node:fs"
import path from "node:path"

const [tests, folder] = process.argv.slice(2).map((argument) => path.resolve(argument))
const packages = path.join(import.meta.dirname, "node_modules")
const module = path.join(folder, "src/wasm_bindgen_output/nodejs/automerge_wasm.cjs")

fs.rmSync(folder, { recursive: true, force: true })
fs.cpSync(path.join(packages, "@automerge/automerge/dist/mjs"), path.join(folder, "src"), { recursive: true })
fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}')
fs.symlinkSync(packages, path.join(folder, "node_modules"))
fs.writeFileSync(module, `module.exports = require(${JSON.stringify(process.env.HASHMILL_ENGINE)})\n`)
await build({
  entryPoints: fs.readdirSync(tests).filter((name) => name.endsWith(".ts")).map((name) => path.join(tests, name)),
  outdir: path.join(folder, "test"),
  bundle: true,
  external: ["../src/*"],
  packages: "external",
  format: "esm",
  platform: "node",
  logLevel: "warning",
})

const mocha = new Mocha({ reporter: class {} })
for (const name of fs.readdirSync(path.join(folder, "test"))) mocha.addFile(path.join(folder, "test", name))
await mocha.loadFilesAsync()
const said = { passed: 0, pending: 0, failed: {} }
const runner = mocha.run(() => process.stdout.write(JSON.stringify(said) + "\n", () => process.exit(0)))
runner.on("pass", () => (said.passed += 1))
runner.on("pending", () => (said.pending += 1))
runner.on("fail", (test, error) => (said.failed[test.fullTitle()] = String(error?.message ?? error)))
