// What suites of others need: modules in the place of those that they import, Mocha, and the server.
import Mocha from "mocha"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { register } from "node:module"
import path from "node:path"
import readline from "node:readline"
import { pathToFileURL } from "node:url"

// The URL of a module with this text.
export const codeUrl = (code) => `data:text/javascript,${encodeURIComponent(code)}`

// The URL of a module of this folder.
export const moduleUrl = (name) => String(pathToFileURL(path.join(import.meta.dirname, name)))

// Replaces modules: `replaced` has URLs by the names under which they are imported. Modules below `folder`, which has no packages, get
// ours.
export function replaceModules(replaced, folder) {
  const [below, home] = [folder ? String(pathToFileURL(folder + "/")) : "none", moduleUrl("run.mjs")]
  register(codeUrl(`
    const [replaced, below, home] = ${JSON.stringify([replaced, below, home])}
    export function resolve(name, context, next) {
      if (name in replaced) return { url: replaced[name], shortCircuit: true }
      const isPackage = context.parentURL?.startsWith(below) && !/^([./]|[a-z]+:)/.test(name)
      return next(name, isPackage ? { ...context, parentURL: home } : context)
    }`))
}

// Runs Mocha, and says which tests passed, and which failed and why.
export function sayResults(mocha) {
  const said = { passed: [], failed: {} }
  const runner = mocha.run(() => process.stdout.write(JSON.stringify(said) + "\n", () => process.exit(0)))
  runner.on("pass", (test) => said.passed.push(test.title))
  runner.on("fail", (test, error) => (said.failed[test.title] = String(error?.stack ?? error)))
}

export const newMocha = (options) => new Mocha({ reporter: class {}, ...options })

// Starts `hashmill serve` as its users start Automerge's server: by the environment.
export async function startServer(program, data, { port = 0, args = [] } = {}) {
  const env = { ...process.env, PORT: String(port), DATA_DIR: data }
  const child = spawn(program, ["serve", ...args], { env, stdio: ["ignore", "pipe", "inherit"] })
  const stop = () => child.kill("SIGKILL")
  process.once("exit", stop)
  const lines = readline.createInterface(child.stdout)
  const [line] = await once(lines, "line")
  // Drains the output: a full pipe would block the server.
  lines.on("line", () => {})
  const [, found] = /^listening on ws:\/\/127\.0\.0\.1:(\d+),/.exec(line) ?? []
  if (!found) throw new Error(line)
  return {
    port: Number(found),
    url: `ws://127.0.0.1:${found}`,
    async kill(signal = "SIGKILL") {
      process.off("exit", stop)
      const ended = once(child, "exit")
      child.kill(signal)
      await ended
    },
  }
}
