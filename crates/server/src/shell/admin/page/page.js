// Dashboard of `hashmill serve`. Speaks with the server that it comes from, and shows texts of others as text alone.
import { drawCharts } from "./charts.js"
import { bytes, count, date, plural, span } from "./texts.js"

const TOKEN = "hashmill-admin-token"
const PAGE_ROWS = 50
const HOUR_S = 3600
const MAX_MESSAGES = 200
const RETRY_MS = 2000

const byId = (id) => document.getElementById(id)
let token = sessionStorage.getItem(TOKEN)
let server
let samples = []
const messages = []
// The stream of events, and the document that it follows.
let stream
let streamDocument = null
let view = { name: "overview" }

// ---- elements

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value
    else if (name === "onclick") made.addEventListener("click", value)
    else if (name in made) made[name] = value
    else made.setAttribute(name, value)
  }
  made.append(...children.filter((child) => child !== null && child !== undefined))
  return made
}

function setText(target, text) {
  if (target.textContent !== text) target.textContent = text
}

// Replaces terms and descriptions: [name, text, note].
function describe(list, rows) {
  const parts = rows.map(([name, text, note]) => {
    const description = element("dd", {}, text)
    if (note) description.append(element("small", {}, note))
    return element("div", {}, element("dt", {}, name), description)
  })
  list.replaceChildren(...parts)
}

// Fills a table. Rows keep their elements, so that the focus stays where it is. A cell is a text, an element, or {text, title}.
function fill(table, columns, rows, emptyText) {
  const head = table.tHead
  const names = columns.map(({ name }) => name).join("|")
  if (head.dataset.names !== names) {
    head.dataset.names = names
    const cells = columns.map(({ name, kind }) => element("th", { scope: "col", class: kind ?? "" }, name))
    head.replaceChildren(element("tr", {}, ...cells))
    table.tBodies[0].replaceChildren()
  }
  const body = table.tBodies[0]
  const known = new Map([...body.rows].map((row) => [row.dataset.key, row]))
  rows.forEach(({ key, cells }, index) => {
    const row = known.get(String(key)) ?? newRow(key, columns)
    known.delete(String(key))
    cells.forEach((cell, column) => setCell(row.cells[column], cell))
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null)
  })
  for (const row of known.values()) row.remove()
  table.hidden = rows.length === 0
  const empty = table.nextElementSibling
  if (empty?.classList.contains("empty")) {
    empty.hidden = rows.length > 0
    setText(empty, emptyText)
  }
}

function newRow(key, columns) {
  const row = element("tr")
  row.dataset.key = key
  for (const { name, kind } of columns) {
    const cell = element("td", { class: kind ?? "" })
    cell.dataset.label = name
    row.append(cell)
  }
  return row
}

function setCell(cell, content) {
  if (content instanceof Element) {
    // Buttons and links stay while they say the same.
    const same = cell.firstElementChild
    if (same && same.outerHTML === content.outerHTML) return
    cell.replaceChildren(content)
    return
  }
  const { text, title } = typeof content === "object" && content !== null ? content : { text: content ?? "" }
  setText(cell, String(text))
  if (title) cell.title = title
  cell.classList.toggle("blank", text === "")
}

// ---- requests

class Refused extends Error {
  constructor(status, code, message) {
    super(message)
    this.status = status
    this.code = code
  }
}

async function request(path, options = {}) {
  const answer = await fetch(path, { cache: "no-store", ...options, headers: { authorization: `Bearer ${token}` } })
  if (answer.status === 401) logOut("The token is wrong. Each start of the server without admin-token-file has a new one.")
  if (!answer.ok) {
    const { code, error } = await answer.json().catch(() => ({}))
    throw new Refused(answer.status, code, error ?? `status ${answer.status}`)
  }
  return answer
}

const get = async (path) => (await request(path)).json()

function notify(text) {
  byId("notice").hidden = !text
  setText(byId("notice"), text ?? "")
}

// Runs an action of the user, and shows why it fails.
async function attempt(action) {
  try {
    await action()
    notify("")
  } catch (error) {
    if (error.status !== 401) notify(error instanceof Refused ? error.message : "The server does not answer.")
  }
}

async function confirmed(title, text, yes) {
  const dialog = byId("confirm")
  setText(byId("confirm-title"), title)
  setText(byId("confirm-text"), text)
  setText(byId("confirm-yes"), yes)
  dialog.returnValue = "no"
  dialog.showModal()
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }))
  return dialog.returnValue === "yes"
}

function actionButton(label, title, text, path, after) {
  const act = async () => {
    if (!(await confirmed(title, text, label))) return
    await attempt(async () => {
      await request(path, { method: "POST" })
      await after?.()
    })
  }
  const danger = /^(Delete|Close)/.test(label) ? "danger" : ""
  return element("button", { type: "button", class: danger, onclick: act }, label)
}

// ---- the stream of events

// Follows events, and one document if the view shows one. Starts again when the connection ends.
function follow(documentId) {
  if (stream && !stream.signal.aborted && streamDocument === documentId) return
  stream?.abort()
  stream = new AbortController()
  streamDocument = documentId
  read(stream, documentId)
}

async function read(controller, documentId) {
  const { signal } = controller
  while (!signal.aborted && token) {
    try {
      const query = documentId ? `?document=${encodeURIComponent(documentId)}` : ""
      const answer = await request(`events${query}`, { signal })
      setOnline(true)
      messages.length = 0
      for await (const { name, data } of eventsOf(answer.body)) receive(name, data)
    } catch (error) {
      if (signal.aborted || error.status === 401) return
      if (error instanceof Refused) notify(error.message)
    }
    if (signal.aborted) return
    setOnline(false)
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    if (!signal.aborted) loadRates()
  }
}

async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    rest += value
    let end
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const lines = rest.slice(0, end).split("\n")
      rest = rest.slice(end + 2)
      const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      if (field("event")) yield { name: field("event"), data: JSON.parse(field("data")) }
    }
  }
}

function receive(name, data) {
  if (name === "sample") {
    samples.push(data)
    samples = samples.filter(({ time }) => time > data.time - HOUR_S)
    refresh()
  } else if (name === "fact") {
    messages.unshift(data)
    messages.length = Math.min(messages.length, MAX_MESSAGES)
    if (view.name === "messages") showMessages()
  } else if (name === "document" && view.name === "document" && data.document === view.id) {
    showDocument(data)
  } else if (name === "document-error" && view.name === "document") {
    showAbsentDocument(data.error)
  }
}

function setOnline(isOnline) {
  const badge = byId("state")
  badge.hidden = false
  const texts = { ready: "ready", "storage-failing": "storage failing", stopping: "stopping" }
  const text = isOnline ? texts[server?.state ?? "ready"] : "no connection"
  setText(badge, text)
  badge.className = `badge ${text === "ready" ? "good" : "bad"}`
}

// ---- views

const tableOf = (section) => byId(section).querySelector("table")
const documentLink = (id) => element("a", { href: `#/document/${id}`, class: "mono" }, id)

async function loadRates() {
  await attempt(async () => {
    samples = (await get("rates")).samples
    refresh()
  })
}

async function showOverview() {
  server = await get("server")
  setOnline(true)
  const { usage, limits, totals } = server
  describe(byId("tiles"), [
    ["Connections", count(usage.connections), `of ${count(limits.connections)}`],
    ["Documents in memory", count(usage.documents_open), `${count(totals.loads)} read since the start`],
    ["Memory of documents", bytes(usage.document_bytes), `of ${bytes(limits.memory_bytes)}`],
    ["Unread messages", bytes(usage.queue_bytes), "in the queues of clients"],
    ["Not stored yet", bytes(usage.unstored_bytes), `${count(totals.failed_commits)} failed commits`],
    ["In quarantine", count(usage.documents_quarantined), `${count(totals.refused_changes)} refused changes`],
    ["Changes", count(totals.changes), `in ${count(totals.commits)} commits`],
    ["Up", span(server.uptime_s), `since ${date(server.started_at)}`],
  ])
  describe(byId("server"), [
    ["Version", server.version],
    ["Address for clients", server.address],
    ["Id among peers", server.peer_id],
    ["Id of the storage", server.storage_id],
  ])
  const none = (value, format) => (value === null ? "none" : format(value))
  describe(byId("limits"), [
    ["Message", bytes(limits.message_bytes)],
    ["Connections per identity", none(limits.connections_per_identity, count)],
    ["Connections per address", none(limits.connections_per_address, count)],
    ["Messages per second", none(limits.messages_per_s, count)],
    ["Bytes per second", none(limits.bytes_per_s, bytes)],
    ["Document", none(limits.document_bytes, bytes)],
    ["Stored per identity", none(limits.stored_bytes_per_identity, bytes)],
    ["Deleted documents can be brought back for", span(limits.undelete_s)],
    ["Unused documents are deleted after", none(limits.delete_idle_s, span)],
  ])
  showCharts()
}

const showCharts = () => drawCharts(byId("charts"), samples)

function pager(section, next) {
  const [first, more] = byId(section).querySelectorAll(".pager button")
  first.disabled = !view.after
  more.disabled = next === null
  more.dataset.next = next ?? ""
  byId(section).querySelector(".pager").hidden = first.disabled && more.disabled
}

const DOCUMENT_COLUMNS = [
  { name: "Document", kind: "lead" }, { name: "State" }, { name: "Size", kind: "number" }, { name: "Parts", kind: "number" },
  { name: "Clients", kind: "number" }, { name: "Changes", kind: "number" }, { name: "Memory", kind: "number" }, { name: "Owner" },
  { name: "Last message", kind: "number" },
]

const DELETED_COLUMNS = [
  { name: "Document", kind: "lead" }, { name: "Deleted" }, { name: "Contents are removed" }, { name: "Action" },
]
const QUARANTINE_COLUMNS = [
  { name: "Document", kind: "lead" }, { name: "Reason" }, { name: "Ends in", kind: "number" }, { name: "Action" },
]
const marked = (text) => element("span", { class: "mark" }, text)

function stateOf(row) {
  if (row.is_quarantined) return marked("quarantine")
  return row.state === "open" ? "in memory" : row.state
}

async function showDocuments() {
  const state = byId("document-state").value
  const orders = { open: ["activity", "size", "id"], stored: ["size", "id"] }[state] ?? ["id"]
  const order = byId("document-order")
  for (const option of order.options) option.disabled = !orders.includes(option.value)
  if (order.selectedOptions[0].disabled) order.value = orders[0]
  const mark = view.after ? `&after=${encodeURIComponent(view.after)}` : ""
  const page = await get(`documents?state=${state}&order=${order.value}&limit=${PAGE_ROWS}${mark}`)
  const table = tableOf("documents")
  const again = () => showDocuments()
  if (state === "deleted") {
    const rows = page.documents.map(({ document: id, deleted }) => ({
      key: id,
      cells: [documentLink(id), date(deleted.at), deleted.is_purged ? "removed" : `from ${date(deleted.purged_from)}`,
        deleted.is_purged ? "" : actionButton("Bring back", "Bring the document back?", id, `documents/${id}/undelete`, again)],
    }))
    fill(table, DELETED_COLUMNS, rows, "No document is deleted.")
  } else if (state === "quarantined") {
    const rows = page.documents.map(({ document: id, quarantine }) => ({
      key: id,
      cells: [documentLink(id), quarantine.reason, span(quarantine.ends_in_s),
        actionButton("End quarantine", "Take changes of the document again?", id, `documents/${id}/end-quarantine`, again)],
    }))
    fill(table, QUARANTINE_COLUMNS, rows, "No document is in quarantine.")
  } else {
    const rows = page.documents.map((row) => ({
      key: row.document,
      cells: [documentLink(row.document), stateOf(row), bytes(row.bytes), count(row.chunks),
        count(row.clients), count(row.changes), row.memory_bytes ? bytes(row.memory_bytes) : "", row.owner ?? "",
        row.inactive_s === null ? "" : `${span(row.inactive_s)} ago`],
    }))
    fill(table, DOCUMENT_COLUMNS, rows, state === "open" ? "No document is in memory." : "No document is stored.")
  }
  pager("documents", page.next)
}

const CONNECTION_COLUMNS = [
  { name: "Client", kind: "lead" }, { name: "Identity" }, { name: "Address" }, { name: "Program" },
  { name: "Open for", kind: "number" },
  { name: "Documents", kind: "number" }, { name: "Received/s", kind: "number" }, { name: "Sent/s", kind: "number" },
  { name: "Unread", kind: "number" }, { name: "Action" },
]

async function showConnections() {
  const mark = view.after ? `&after=${view.after}` : ""
  const page = await get(`connections?limit=${PAGE_ROWS}${mark}`)
  const again = () => showConnections()
  const rows = page.connections.map((row) => {
    const question = `${row.peer ?? "A client"} of ${row.identity}. Clients connect again by themselves.`
    const close = actionButton("Close", "Close the connection?", question, `connections/${row.connection}/close`, again)
    return {
      key: row.connection,
      cells: [row.peer ?? "not joined", row.identity, row.address ?? "", { text: program(row.agent), title: row.agent ?? "" },
        span(row.age_s), count(row.documents), bytes(row.received_bytes_per_s), bytes(row.sent_bytes_per_s),
        row.is_paused ? marked("sends too fast") : bytes(row.queue_bytes), close],
    }
  })
  fill(tableOf("connections"), CONNECTION_COLUMNS, rows, "No client is connected.")
  pager("connections", page.next)
}

// A browser calls itself by many names: the last one is its own.
function program(agent) {
  if (!agent) return ""
  const browser = /(Edg|OPR|Firefox|Chrome|Version)\/([\d.]+)/.exec(agent)
  const names = { Edg: "Edge", OPR: "Opera", Version: "Safari" }
  if (!agent.startsWith("Mozilla/") || !browser) return agent.slice(0, 40)
  return `${names[browser[1]] ?? browser[1]} ${browser[2].split(".")[0]}`
}

function showMessages() {
  const columns = [{ name: "Time", kind: "time" }, { name: "Kind" }, { name: "Message" }, { name: "Document" }]
  const rows = messages.map(({ time, event, message, document: id }, index) => ({
    key: `${messages.length - index}`,
    cells: [date(time), event, message, id ? documentLink(id) : ""],
  }))
  fill(tableOf("messages"), columns, rows, "There are no messages since the start of the server, which keeps the latest ones.")
}

function showAbsentDocument(reason) {
  setText(byId("document-title"), view.id)
  byId("document-actions").replaceChildren()
  byId("document-tiles").replaceChildren()
  byId("heads").replaceChildren()
  byId("quarantine").hidden = false
  setText(byId("quarantine"), reason)
  const reset = (id, text) => fill(byId(id), [], [], text)
  reset("participants", "No client takes part.")
  reset("history", "No changes.")
  reset("chunks", "No parts.")
}

const PARTICIPANT_COLUMNS = [
  { name: "Client", kind: "lead" }, { name: "Identity" }, { name: "Right" }, { name: "Presence messages", kind: "number" },
  { name: "Last one", kind: "number" },
]
const HISTORY_COLUMNS = [
  { name: "Change", kind: "lead mono" }, { name: "Time", kind: "time" }, { name: "Actor", kind: "mono" }, { name: "Message" },
  { name: "Operations", kind: "number" },
]
const CHUNK_COLUMNS = [{ name: "Kind" }, { name: "Name", kind: "mono" }, { name: "Size", kind: "number" }]

// Actions that are possible for a document now: label, question, its details, request.
function actionsOf({ document: id, state, deleted, quarantine }) {
  const actions = []
  if (deleted && !deleted.is_purged) actions.push(["Bring back", "Bring the document back?", id, "undelete"])
  if (quarantine) {
    const details = `${id}. Clients send what was refused.`
    actions.push(["End quarantine", "Take changes of the document again?", details, "end-quarantine"])
  }
  if (deleted) return actions
  actions.push(["Compact", "Compact the document?", `${id}. One snapshot takes the place of its stored parts.`, "compact"])
  if (state === "open") {
    actions.push(["Remove from memory", "Remove the document from memory?", `${id}. It must have no clients.`, "evict"])
  }
  const details = `${id} will be absent for all clients at once. It can be brought back for ${span(server?.limits.undelete_s)}.`
  actions.push(["Delete", "Delete the document?", details, "delete"])
  return actions
}

function showActions(data) {
  const path = `documents/${data.document}`
  const again = async () => showDocument(await get(path))
  const actions = actionsOf(data)
  const target = byId("document-actions")
  // Buttons stay while they are the same, and with them the focus.
  const key = JSON.stringify([data.document, actions.map(([label]) => label)])
  if (target.dataset.key === key && target.children.length > 0) return
  target.dataset.key = key
  const buttons = actions.map(([label, title, text, verb]) => actionButton(label, title, text, `${path}/${verb}`, again))
  target.replaceChildren(...buttons)
}

function stateNote(data) {
  if (data.has_unstored) return "with changes that are not stored yet"
  return data.deleted ? `since ${date(data.deleted.at)}` : undefined
}

function showDocument(data) {
  const { quarantine } = data
  setText(byId("document-title"), data.document)
  const warning = () => `In quarantine: ${quarantine.reason}. It takes changes again in ${span(quarantine.ends_in_s)}.`
  byId("quarantine").hidden = !quarantine
  setText(byId("quarantine"), quarantine ? warning() : "")
  showActions(data)
  describe(byId("document-tiles"), [
    ["State", data.state === "open" ? "in memory" : data.state, stateNote(data)],
    ["Stored", bytes(data.bytes), plural(data.chunks, "part")],
    ["Memory", bytes(data.memory_bytes)],
    ["Clients", count(data.clients)],
    ["Changes", count(data.changes), data.operations === null ? "not read" : plural(data.operations, "operation")],
    ["Heads", count(data.head_count), data.actors === null ? undefined : plural(data.actors, "actor")],
    ["Owner", data.owner ?? "none"],
  ])
  const participants = data.participants.map((row) => ({
    key: row.connection,
    cells: [row.peer ?? "not joined", row.identity, row.access, count(row.presence_messages),
      row.presence_inactive_s === null ? "" : `${span(row.presence_inactive_s)} ago`],
  }))
  fill(byId("participants"), PARTICIPANT_COLUMNS, participants, "No client takes part.")
  const short = (text, more = "") => ({ text: `${text.slice(0, 12)}${more}`, title: text })
  const history = (data.history ?? []).map((row) => ({
    key: row.hash,
    cells: [short(row.hash), date(row.time), short(row.actor, ` ${row.seq}`), row.message ?? "", count(row.operations)],
  }))
  fill(byId("history"), HISTORY_COLUMNS, history, data.history === null ? "The contents are not read." : "No changes.")
  byId("heads").replaceChildren(...(data.heads ?? []).slice(0, 50).map((head) => element("li", {}, head)))
  const chunks = data.chunk_list.map((row) => ({ key: `${row.kind}/${row.name}`, cells: [row.kind, row.name, bytes(row.bytes)] }))
  fill(byId("chunks"), CHUNK_COLUMNS, chunks, "No parts.")
}

const VIEWS = {
  overview: showOverview,
  documents: showDocuments,
  connections: showConnections,
  messages: async () => showMessages(),
  document: async () => {},
}

// Shows the data of the view again. Events of its document come by themselves.
function refresh() {
  return attempt(async () => {
    if (!token) return
    if (view.name !== "overview") {
      server = await get("server")
      setOnline(true)
    }
    await VIEWS[view.name]()
  })
}

function route() {
  const [, name = "overview", id] = location.hash.split("/")
  view = { name: name in VIEWS ? name : "overview", id: id ? decodeURIComponent(id) : undefined }
  const isIn = token !== null
  byId("login").hidden = isIn
  document.querySelector("nav").hidden = !isIn
  byId("logout").hidden = !isIn
  for (const section of document.querySelectorAll("main > section")) section.hidden = !isIn || section.id !== view.name
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link.hash === `#/${view.name === "document" ? "documents" : view.name}`
    if (isCurrent) link.setAttribute("aria-current", "page")
    else link.removeAttribute("aria-current")
  }
  notify("")
  if (!isIn) {
    byId("token").focus()
    return
  }
  if (view.name === "document") setText(byId("document-title"), view.id ?? "")
  follow(view.name === "document" ? view.id : null)
  refresh()
}

function logOut(reason) {
  if (token === null) return
  token = null
  sessionStorage.removeItem(TOKEN)
  stream?.abort()
  byId("state").hidden = true
  route()
  notify(reason)
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault()
  token = byId("token").value.trim()
  attempt(async () => {
    server = await get("server")
    sessionStorage.setItem(TOKEN, token)
    byId("token").value = ""
    route()
    await loadRates()
  })
})
byId("logout").addEventListener("click", () => logOut(""))
byId("find").addEventListener("submit", (event) => {
  event.preventDefault()
  const id = byId("find-id").value.trim().replace(/^automerge:/, "")
  if (id) location.hash = `#/document/${encodeURIComponent(id)}`
})
for (const select of [byId("document-state"), byId("document-order")]) {
  select.addEventListener("change", () => {
    view.after = undefined
    refresh()
  })
}
for (const section of ["documents", "connections"]) {
  const [first, more] = byId(section).querySelectorAll(".pager button")
  first.addEventListener("click", () => { view.after = undefined; refresh() })
  more.addEventListener("click", () => { view.after = more.dataset.next; refresh() })
}
byId("stop").addEventListener("click", async () => {
  const text = "It stores what it has received, closes all connections, and ends. It does not start again by itself."
  if (await confirmed("Stop the server?", text, "Stop the server")) attempt(() => request("server/stop", { method: "POST" }))
})
addEventListener("hashchange", route)
addEventListener("resize", showCharts)
route()
if (token) loadRates()
