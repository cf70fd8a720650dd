// node suites/automerge.mjs package|module TESTS FOLDER   runs tests of the JavaScript implementation on our engine, which HASHMILL_ENGINE names
//
// Says how many passed and were left out, and which failed. Tests of the package get the published package, whose own module is
// replaced by our engine; tests of the module get our engine alone. Both lie in FOLDER. The tests lose their types and nothing else.
import { build } from "esbuild"
import Mocha from "mocha"
import fs from "node:fs"
import path from "node:path"

const [kind, ...folders] = process.argv.slice(2)
const [tests, folder] = folders.map((argument) => path.resolve(argument))
const packages = path.join(import.meta.dirname, "../node_modules")
const module = { package: "src/wasm_bindgen_output/nodejs/automerge_wasm.cjs", module: "nodejs/automerge_wasm.cjs" }[kind]

fs.rmSync(folder, { recursive: true, force: true })
fs.mkdirSync(folder, { recursive: true })
if (kind === "package") {
  fs.cpSync(path.join(packages, "@automerge/automerge/dist/mjs"), path.join(folder, "src"), { recursive: true })
}
fs.writeFileSync(path.join(folder, "package.json"), '{"type": "module"}')
fs.symlinkSync(packages, path.join(folder, "node_modules"))
fs.mkdirSync(path.dirname(path.join(folder, module)), { recursive: true })
fs.writeFileSync(
  path.join(folder, module),
  `module.exports = require(${JSON.stringify(process.env.HASHMILL_ENGINE)})\n`,
)
await build({
  entryPoints: fs.readdirSync(tests).filter((name) => /\.m?ts$/.test(name)).map((name) => path.join(tests, name)),
  outdir: path.join(folder, "test"),
  bundle: true,
  external: ["../src/*", "../nodejs/*"],
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
