// Headless Chromium controlled through its debugging pipe, and a file server for it. Needs only Node, no packages.
//
//   const site = await serve({ "/": "folder", "/engine/": "another" })
//   const browser = await launch("chromium")
//   const tab = await browser.tab(`${site.url}/page.html`)     tabs of one browser share the storage of an origin
//   await tab.run(async (name) => (await greet(name)).length, "you")     run in the page; the result is passed as JSON
//   tab.complaints                                             errors that the page, or a worker of it, threw or logged
//   await browser.close()
//   site.close()
import { spawn } from "node:child_process"
import { once } from "node:events"
import fs from "node:fs"
import http from "node:http"
import os from "node:os"
import path from "node:path"

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" }
// Timeout for a browser that hangs. Each step takes far less.
const TIMEOUT_MS = 300_000

// Serves folders below paths that end in a slash, on a port of its own; pages may share memory with their workers.
export async function serve(folders) {
  const mounts = Object.entries(folders).toSorted(([a], [b]) => b.length - a.length)
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost")
    const [mount, folder] = mounts.find(([mount]) => pathname.startsWith(mount)) ?? []
    const file = folder && path.join(folder, path.normalize("/" + decodeURIComponent(pathname.slice(mount.length))))
    if (!file || !fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end()
    response.writeHead(200, {
      "content-type": TYPES[path.extname(file)] ?? "application/octet-stream",
      "cache-control": "no-store",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    })
    fs.createReadStream(file).pipe(response)
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const close = () => { server.close(); server.closeAllConnections() }
  return { url: `http://127.0.0.1:${server.address().port}`, close }
}

export async function launch(program) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "browser-"))
  const child = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
    `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] })
  const stop = () => child.kill("SIGKILL")
  process.once("exit", stop)
  const exited = once(child, "exit")
  const [, , , requests, responses] = child.stdio
  const pending = new Map()
  const listeners = new Map()
  let last = 0

  function fail(reason) {
    for (const { reject } of pending.values()) reject(new Error(reason))
    pending.clear()
  }
  exited.then(() => fail("the browser ended"), (error) => fail(error.message))
  requests.on("error", (error) => fail(error.message))

  function send(method, params = {}, sessionId) {
    const id = (last += 1)
    requests.write(JSON.stringify({ id, method, params, sessionId }) + "\0")
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => { pending.delete(id); reject(new Error(`the browser did not answer ${method}`)) }, TIMEOUT_MS)
      const stopTimer = (callback) => (value) => { clearTimeout(timer); callback(value) }
      pending.set(id, { resolve: stopTimer(resolve), reject: stopTimer(reject) })
    })
  }

  function receive({ id, method, params, sessionId, result, error }) {
    if (id === undefined) return listeners.get(sessionId)?.(method, params)
    const { resolve, reject } = pending.get(id) ?? {}
    pending.delete(id)
    if (error) reject?.(new Error(error.message))
    else resolve?.(result)
  }
  let rest = []
  responses.on("data", (bytes) => {
    let end
    while ((end = bytes.indexOf(0)) >= 0) {
      receive(JSON.parse(Buffer.concat([...rest, bytes.subarray(0, end)])))
      bytes = bytes.subarray(end + 1)
      rest = []
    }
    rest.push(bytes)
  })

  const errorMessage = ({ exception, text }) => exception?.description ?? (exception && "value" in exception ? String(exception.value) : text)

  async function tab(url) {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" })
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true })
    const sendToTab = (method, params) => send(method, params, sessionId)
    const complaints = []
    let loaded
    function onEvent(method, params) {
      if (method === "Runtime.exceptionThrown") complaints.push(errorMessage(params.exceptionDetails))
      if (method === "Log.entryAdded" && params.entry.level === "error") complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`)
      if (method === "Runtime.consoleAPICalled" && ["error", "assert"].includes(params.type)) {
        complaints.push(params.args.map(({ value, description }) => description ?? String(value)).join(" "))
      }
      if (method === "Target.attachedToTarget") {
        listeners.set(params.sessionId, onEvent)
        send("Runtime.enable", {}, params.sessionId).catch(() => {})
      }
      if (method === "Inspector.targetCrashed") fail("the page crashed")
      if (method === "Page.loadEventFired") loaded?.()
    }
    listeners.set(sessionId, onEvent)
    for (const domain of ["Inspector", "Page", "Runtime", "Log"]) await sendToTab(`${domain}.enable`)
    await sendToTab("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: true })
    // Each tab behaves as if it had the focus, so that tests can type into all of them.
    await sendToTab("Emulation.setFocusEmulationEnabled", { enabled: true })

    async function load(method, params) {
      const load = new Promise((resolve) => (loaded = resolve))
      const { errorText } = await sendToTab(method, params)
      if (errorText) throw new Error(`${url}: ${errorText}`)
      await load
    }
    await load("Page.navigate", { url })
    return {
      complaints,
      // The commands of the pipe: https://chromedevtools.github.io/devtools-protocol
      send: sendToTab,
      reload: () => load("Page.reload"),
      close: () => send("Target.closeTarget", { targetId }),
      async run(program, ...args) {
        const expression = `(${program})(...${JSON.stringify(args)})`
        const { result, exceptionDetails } = await sendToTab("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true })
        if (exceptionDetails) throw new Error(`in the page: ${errorMessage(exceptionDetails)}`)
        return result.value
      },
    }
  }

  async function close() {
    await Promise.all([send("Browser.close").catch(stop), exited])
    process.off("exit", stop)
    fs.rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
  }
  return { tab, close }
}
