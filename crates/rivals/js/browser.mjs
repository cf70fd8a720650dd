// node browser.mjs CHROMIUM ENGINE SERVER FOLDER   two tabs on our engine, of which ENGINE is the folder for browsers, and a peer
// here on theirs, around a sync server. What is served is made in FOLDER. Says what each of them has in the end.
import * as A from "@automerge/automerge"
import { Repo } from "@automerge/automerge-repo"
import { WebSocketClientAdapter } from "@automerge/automerge-repo-network-websocket"
import { pmDocFromSpans, basicSchemaAdapter } from "@automerge/prosemirror"
import { build } from "esbuild"
import fs from "node:fs"
import path from "node:path"
import { isDeepStrictEqual } from "node:util"
import { launch, serve } from "../../../xtask/probes/browser.mjs"
import { find, state } from "./handles.mjs"

const [program, engine, server, folder] = process.argv.slice(2)
fs.mkdirSync(folder, { recursive: true })
fs.writeFileSync(path.join(folder, "index.html"),
  '<!doctype html><link rel="icon" href="data:,"><style>.ProseMirror { white-space: pre-wrap }</style><body>')
await build({
  entryPoints: [path.join(import.meta.dirname, "page.mjs")],
  outfile: path.join(folder, "page.js"),
  bundle: true,
  external: ["/engine/*"],
  format: "esm",
  platform: "browser",
  define: { "process.env.NODE_ENV": '"development"' },
  logLevel: "warning",
})

const site = await serve({ "/": folder, "/engine/": engine })
const browser = await launch(program)
const repo = new Repo({ network: [new WebSocketClientAdapter(server, 100)] })

// Waits until all answers are the same, and returns the last ones. Only a hang reaches the limit.
async function agreed(...asked) {
  for (const end = Date.now() + 300_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const answers = await Promise.all(asked.map((ask) => ask()))
    if (answers.every((answer) => isDeepStrictEqual(answer, answers[0])) || Date.now() > end) return answers
  }
}

// The first tab keeps what it has and speaks to the server, the second knows only the first.
const page = `${site.url}/index.html`
const [one, two] = [await browser.tab(page), await browser.tab(page)]
async function start(tab, options) {
  await tab.run((options) => import("/page.js").then(() => open(options)), options)
}
await start(one, { server, channel: "tabs", store: "kept" })
await start(two, { channel: "tabs" })
const said = { engine: await one.run(() => engineName()) }

// Everyone writes at once.
const url = await one.run(() => create({ list: [], count: 0, names: ["nobody"], text: "" }))
const mine = await find(repo, url)
const read = (tab) => () => tab.run((url) => read(url), url)
const numbers = (from) => Array.from({ length: 50 }, (_, n) => from + n)
const push = (tab, from) => tab.run((url, values) => push(url, values), url, numbers(from))
await Promise.all([push(one, 0), push(two, 100), (async () => {
  for (const value of numbers(200)) mine.change((doc) => { doc.list.push(value) })
})()])
const whole = (ask) => async () => {
  const { heads, doc } = await ask()
  return { heads, list: doc.list.length, doc }
}
said.lists = await agreed(...[read(one), read(two), () => state(mine)].map(whole))

// Type into two editors at once, with keys that make headings, paragraphs and bold text.
const type = (tab, text) => tab.send("Input.insertText", { text })
const letters = async (tab, text) => { for (const letter of text) await type(tab, letter) }
async function press(tab, key, code, modifiers = 0) {
  for (const type of ["rawKeyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type, key, windowsVirtualKeyCode: code, modifiers })
}
const control = (tab, key) => press(tab, key, key.toUpperCase().charCodeAt(0), 2)
const enter = (tab) => press(tab, "Enter", 13)
// Without what the binding notes down for itself.
const plain = (node) => JSON.parse(JSON.stringify(node, (key, value) => (/^(isAmgBlock|unknownAttrs)$/.test(key) ? undefined : value)))
const shown = (tab) => async () => plain(await tab.run(() => view.state.doc.toJSON()))
for (const tab of [one, two]) await tab.run((url) => edit(url), url)
await type(one, "Hello")
await control(one, "h")
await enter(one)
await agreed(shown(one), shown(two))
await Promise.all([
  (async () => {
    await letters(one, "plain, then bold 😀")
    await enter(one)
    await letters(one, "the end")
    await one.run(() => select("bold"))
    await control(one, "b")
  })(),
  (async () => {
    await two.run(() => select(""))
    await letters(two, "Title. ")
  })(),
])
const theirs = () => plain(pmDocFromSpans(basicSchemaAdapter, A.spans(mine.doc(), ["text"])).toJSON())
said.editors = await agreed(shown(one), shown(two), theirs)

// A component follows a peer, and a peer follows it.
await two.run((url) => render(url), url)
const button = () => two.run(() => document.querySelector("button")?.textContent)
const expected = () => `${mine.doc().count} of ${mine.doc().names.join(", ")}`
mine.change((doc) => { doc.count = 41; doc.names.splice(0, 1, "Ada", "Grace") })
await agreed(button, () => "41 of Ada, Grace")
await two.run(() => document.querySelector("button").click())
said.buttons = await agreed(button, expected, () => "42 of Ada, Grace")

// Only the disk of the browser has it.
const last = await agreed(read(one), () => state(mine))
await one.run(() => kept())
await one.reload()
await start(one, { store: "kept" })
said.kept = [last[0], await read(one)()]

said.complaints = [...one.complaints, ...two.complaints]
await browser.close()
site.close()
process.stdout.write(JSON.stringify(said) + "\n", () => process.exit(0))
