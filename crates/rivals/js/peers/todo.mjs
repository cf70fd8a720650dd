// node peers/todo.mjs CHROMIUM PROGRAM FOLDER   two tabs with a to-do list in React, around `hashmill serve`, which is killed meanwhile
//
// What is served, and the storage of the server, are in FOLDER. Says what both tabs show after each part.
import { build } from "esbuild"
import fs from "node:fs"
import path from "node:path"
import { isDeepStrictEqual } from "node:util"
import { launch, serve } from "../../../../xtask/probes/browser.mjs"
import { startServer } from "../suites/run.mjs"

const [chromium, program, folder] = process.argv.slice(2)
const [pages, data] = [path.join(folder, "pages"), path.join(folder, "data")]
fs.mkdirSync(pages, { recursive: true })
fs.writeFileSync(path.join(pages, "index.html"),
  '<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="todo.js"></script>')
await build({
  entryPoints: [path.join(import.meta.dirname, "todo-page.mjs")],
  outfile: path.join(pages, "todo.js"),
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "esnext",
  define: { "process.env.NODE_ENV": '"development"' },
  logLevel: "warning",
})
const site = await serve({ "/": pages })
let server = await startServer(program, data)
const { port, url } = server
const browser = await launch(chromium)

// What a tab shows: the title of each task, with a mark if it is done.
const shown = (tab) => tab.run(() => Array.from(document.querySelectorAll("li"), (task) => {
  const [isDone, title] = task.querySelectorAll("input")
  return `${title.value}${isDone.checked ? " ✓" : ""}`
}))
async function waitFor(ask) {
  for (const end = Date.now() + 300_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > end) throw new Error(`never: ${ask}, ${JSON.stringify(await Promise.all(tabs.map(shown)))}`)
  }
}
async function add(tab, title) {
  await tab.run(() => document.getElementById("title").focus())
  await tab.send("Input.insertText", { text: title })
  for (const type of ["keyDown", "keyUp"]) {
    await tab.send("Input.dispatchKeyEvent", { type, key: "Enter", text: type === "keyDown" ? "\r" : undefined, windowsVirtualKeyCode: 13 })
  }
  await waitFor(() => tab.run((title) => document.getElementById("title").value !== title, title))
}
const toggle = (tab, title) => tab.run((title) => {
  const task = Array.from(document.querySelectorAll("li")).find((task) => task.querySelectorAll("input")[1].value === title)
  task.querySelector("input").click()
}, title)
async function append(tab, title, letters) {
  await tab.run((title) => {
    const input = Array.from(document.querySelectorAll("li input[type=text]")).find((input) => input.value === title)
    input.focus()
    input.setSelectionRange(title.length, title.length)
  }, title)
  for (const text of letters) await tab.send("Input.insertText", { text })
}
// Waits until both tabs show the same, with this number of tasks and all of these.
const agreed = (count, ...tasks) => waitFor(async () => {
  const [one, two] = await Promise.all(tabs.map(shown))
  return isDeepStrictEqual(one, two) && one.length === count && tasks.every((task) => one.includes(task)) ? one : undefined
})

const one = await browser.tab(`${site.url}/index.html?server=${url}`)
const address = await waitFor(() => one.run(() => document.location.hash.length > 1 && String(document.location)))
const two = await browser.tab(address)
const tabs = [one, two]
const said = {}

await Promise.all([(async () => {
  for (const title of ["bread", "milk"]) await add(one, title)
})(), waitFor(() => two.run(() => document.getElementById("title") !== null)).then(async () => {
  for (const title of ["pens", "paper"]) await add(two, title)
})])
said.together = await agreed(4, "bread", "milk", "pens", "paper")
await toggle(two, "bread")
await append(one, "milk", " and honey")
said.edited = await agreed(4, "bread ✓", "milk and honey")

// Both go on while there is no server.
await server.kill()
await Promise.all([add(one, "offline one"), add(two, "offline two")])
await toggle(one, "pens")
server = await startServer(program, data, { port })
said.offline = await agreed(6, "offline one", "offline two", "pens ✓")

// What both saw is there after a kill and a reload: only the server has it.
await server.kill()
server = await startServer(program, data, { port })
await Promise.all(tabs.map((tab) => tab.reload()))
said.reloaded = await agreed(6, ...said.offline)
await add(two, "last")
said.last = await agreed(7, "last")

// A browser reports each attempt to connect while there is no server.
said.complaints = tabs.flatMap((tab) => tab.complaints).filter((complaint) => !complaint.includes("ERR_CONNECTION_REFUSED"))
await browser.close()
site.close()
await server.kill()
process.stdout.write(JSON.stringify(said) + "\n", () => process.exit(0))
