// node dashboard.mjs CHROMIUM ADDRESS TOKEN DOCUMENT QUARANTINED   uses the dashboard as a person does, and prints what it shows.
// Asks for an edit of DOCUMENT with a line `edit`, and continues after a line. Writes screenshots into the folder SCREENSHOTS.
import { once } from "node:events"
import fs from "node:fs"
import path from "node:path"
import { launch } from "../../../../../../xtask/probes/browser.mjs"

const [program, address, token, documentId, quarantined] = process.argv.slice(2)
const results = { overflows: [], unreachable: [] }
const browser = await launch(program)
const tab = await browser.tab(`http://${address}/admin/`)
// As on a telephone: they take no room.
await tab.send("Emulation.setScrollbarsHidden", { hidden: true })

// Only a hang reaches the limit.
async function until(what, ask, ...args) {
  for (const end = Date.now() + 120_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const answer = await tab.run(ask, ...args)
    if (answer) return answer
  }
  throw new Error(`waited for ${what}: ${await tab.run(() => document.body.innerText)}`)
}

async function press(key, code, modifiers = 0) {
  const text = key === "Enter" ? "\r" : undefined
  await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key, windowsVirtualKeyCode: code, modifiers, text })
  await tab.send("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code, modifiers })
}

// Moves the focus to a visible element by the tabulator key alone.
async function focusByKeyboard(selector, text) {
  const isThere = (selector, text) => {
    const active = document.activeElement
    return active?.matches(selector) && (text === null || active.textContent === text)
  }
  for (let steps = 0; steps < 300; steps += 1) {
    if (await tab.run(isThere, selector, text ?? null)) return true
    await press("Tab", 9)
  }
  results.unreachable.push(`${selector} ${text ?? ""}`)
  return false
}

async function activate(selector, text) {
  if (!(await focusByKeyboard(selector, text))) throw new Error(`${selector} ${text ?? ""} is not reachable`)
  await press("Enter", 13)
}

async function confirm() {
  await until("a question", () => document.querySelector("dialog").open)
  await activate("#confirm-yes")
  await until("the end of the question", () => !document.querySelector("dialog").open)
}

// Every view fits into narrow and wide windows, in both colour schemes.
async function look(name) {
  for (const [width, height] of [[400, 860], [1400, 900]]) {
    for (const scheme of ["light", "dark"]) {
      await tab.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false })
      await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] })
      await tab.run(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
      const wide = await tab.run(() => {
        const limit = document.documentElement.clientWidth
        const isWide = (each) => each.getBoundingClientRect().right > limit + 1
        const all = [...document.querySelectorAll("body *")].filter((each) => !each.closest(".skip, thead, svg") && isWide(each))
        const names = all.map((each) => `${each.tagName} ${each.textContent.slice(0, 40)}`)
        return document.documentElement.scrollWidth > limit ? ["the page", ...names] : names
      })
      if (wide.length) results.overflows.push(`${name} ${width}: ${wide.slice(0, 3).join("; ")}`)
      if (process.env.SCREENSHOTS) {
        const { data } = await tab.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true })
        fs.writeFileSync(path.join(process.env.SCREENSHOTS, `${name}-${width}-${scheme}.png`), Buffer.from(data, "base64"))
      }
    }
  }
}

const shownText = (id) => !document.getElementById(id).hidden && document.getElementById(id).textContent
const go = (hash) => tab.run((hash) => { location.hash = hash }, hash)
const section = (name) => until(name, (name) => !document.getElementById(name).hidden, name)

// Log in, first with a wrong token.
await section("login")
await look("login")
for (const text of ["wrong", token]) {
  await tab.run(() => document.getElementById("token").focus())
  await tab.run(() => document.getElementById("token").select())
  await tab.send("Input.insertText", { text })
  await press("Enter", 13)
  if (text === "wrong") results["wrong token"] = await until("a notice", shownText, "notice")
}
await section("overview")
// Two samples make a line.
await until("charts", () => {
  const drawn = [...document.querySelectorAll("svg")].filter((each) => Number(each.dataset.samples) >= 2)
  return drawn.length === 5 && document.querySelectorAll("svg polyline").length === 10
})
await look("overview")
// The first request was refused on purpose, which the browser logs.
tab.complaints.splice(0, tab.complaints.length, ...tab.complaints.filter((text) => !text.includes("401")))

await activate("nav a", "Documents")
await section("documents")
const rows = () => [...document.querySelectorAll("#documents tbody tr")].map((row) => row.dataset.key)
await until("rows", () => document.querySelectorAll("#documents tbody tr").length === 2)
results.rows = (await tab.run(rows)).toSorted()
await look("documents")

await activate("nav a", "Connections")
await until("connections", () => document.querySelectorAll("#connections tbody tr").length === 2)
await look("connections")

// A document changes while it is shown.
await go(`#/document/${documentId}`)
function tile(name) {
  const term = [...document.querySelectorAll("#document-tiles dt")].find(({ textContent }) => textContent === name)
  return term?.nextElementSibling.firstChild.textContent
}
await until("a document", `() => (${tile})("Changes") === "1"`)
process.stdout.write("edit\n")
await once(process.stdin, "data")
await until("a change", `() => (${tile})("Changes") === "2"`)
results["live changes"] = await tab.run(tile, "Changes")
results.presence = await until("presence", () => {
  const text = document.querySelector("#participants tbody tr")?.cells[3].textContent
  return text !== "0" && text
})
await look("document")

await go(`#/document/${quarantined}`)
results.quarantine = await until("a quarantine", shownText, "quarantine")
await look("quarantine")
await activate("button", "End quarantine")
await confirm()
await until("the end of the quarantine", () => document.getElementById("quarantine").hidden)

await go(`#/document/${documentId}`)
await until("a document", `() => (${tile})("Changes") === "2"`)
await activate("button", "Delete")
await look("question")
await confirm()
await until("a deleted document", `() => (${tile})("State") === "deleted"`)
results.deleted = await tab.run(tile, "State")

await activate("nav a", "Messages")
await until("messages", () => document.querySelectorAll("#messages tbody tr").length >= 2)
await look("messages")

// The token is gone after a log-out, and comes back with the tab alone.
await tab.reload()
await section("messages")
await activate("#logout")
await section("login")
if (await tab.run(() => sessionStorage.length)) throw new Error("the token is still there")

results.complaints = tab.complaints
await browser.close()
process.stdout.write(JSON.stringify(results) + "\n", () => process.exit(0))
