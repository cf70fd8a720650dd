// A to-do list for several users, in React: what `todo.mjs` opens in tabs. Each task is a document, as the list is.
import { initializeBase64Wasm } from "@automerge/automerge/slim"
import { automergeWasmBase64 } from "@automerge/automerge/automerge.wasm.base64"
import { isValidAutomergeUrl, Repo } from "@automerge/automerge-repo/slim"
import { RepoContext, useDocument, useRepo } from "@automerge/automerge-repo-react-hooks"
import { WebSocketClientAdapter } from "@automerge/automerge-repo-network-websocket"
import { createElement as h, StrictMode, Suspense, useState } from "react"
import { createRoot } from "react-dom/client"
import { find } from "../handles.mjs"

function Task({ url }) {
  const [task, change] = useDocument(url)
  if (!task) return null
  const toggle = () => change((task) => { task.isDone = !task.isDone })
  const retitle = (event) => change((task) => { task.title = event.target.value })
  return h("li", null,
    h("input", { type: "checkbox", checked: task.isDone, onChange: toggle }),
    h("input", { type: "text", value: task.title, onChange: retitle }))
}

function List({ url }) {
  const repo = useRepo()
  const [list, change] = useDocument(url)
  const [title, setTitle] = useState("")
  const add = (event) => {
    event.preventDefault()
    const task = repo.create({ title, isDone: false })
    change((list) => { list.tasks.push(task.url) })
    setTitle("")
  }
  const tasks = (list?.tasks ?? []).map((url) => h(Suspense, { key: url }, h(Task, { url })))
  const input = h("input", { id: "title", value: title, onChange: (event) => setTitle(event.target.value) })
  return h("main", null, h("form", { onSubmit: add }, input), h("ul", null, tasks))
}

await initializeBase64Wasm(automergeWasmBase64)
const { searchParams, hash } = new URL(document.location)
// Nothing is stored here: after a reload all comes from the server.
const repo = new Repo({ network: [new WebSocketClientAdapter(searchParams.get("server"), 100)] })
const url = hash.slice(1)
const handle = isValidAutomergeUrl(url) ? await find(repo, url) : repo.create({ tasks: [] })
document.location.hash = handle.url
const app = h(Suspense, null, h(List, { url: handle.url }))
createRoot(document.getElementById("root")).render(h(StrictMode, null, h(RepoContext.Provider, { value: repo }, app)))
