// What `browser.mjs` opens in tabs: an application of automerge-repo, ProseMirror and React, on our engine.
import * as A from "@automerge/automerge/slim"
import { Repo } from "@automerge/automerge-repo/slim"
import { BroadcastChannelNetworkAdapter } from "@automerge/automerge-repo-network-broadcastchannel"
import { RepoContext, useDocument } from "@automerge/automerge-repo-react-hooks"
import { WebSocketClientAdapter } from "@automerge/automerge-repo-network-websocket"
import { IndexedDBStorageAdapter } from "@automerge/automerge-repo-storage-indexeddb"
import { init as initEditor } from "@automerge/prosemirror"
import { baseKeymap, setBlockType, toggleMark } from "prosemirror-commands"
import { keymap } from "prosemirror-keymap"
import { EditorState, TextSelection } from "prosemirror-state"
import { EditorView } from "prosemirror-view"
import { createElement, StrictMode } from "react"
import { createRoot } from "react-dom/client"
import init, * as engine from "/engine/engine.js"
import { find, state } from "./handles.mjs"

await init()
A.use(engine)

let repo
const place = () => document.body.appendChild(document.createElement("div"))

function Count({ url }) {
  const [doc, change] = useDocument(url)
  const more = () => change((doc) => { doc.count += 1 })
  return createElement("button", { onClick: more }, doc ? `${doc.count} of ${doc.names.join(", ")}` : "nothing yet")
}

// What the tests call.
Object.assign(globalThis, {
  engineName: () => A.releaseInfo().wasm.cargoPackageName,

  open({ server, channel, store }) {
    const network = []
    if (server) network.push(new WebSocketClientAdapter(server, 100))
    if (channel) network.push(new BroadcastChannelNetworkAdapter({ channelName: channel }))
    repo = new Repo({ network, storage: store && new IndexedDBStorageAdapter(store) })
  },
  create: (value) => repo.create(value).url,
  kept: () => repo.flush(),
  read: async (url) => state(await find(repo, url)),
  async push(url, values) {
    const handle = await find(repo, url)
    for (const value of values) handle.change((doc) => { doc.list.push(value) })
  },

  async edit(url) {
    const { schema, pmDoc: doc, plugin } = initEditor(await find(repo, url), ["text"])
    const bold = toggleMark(schema.marks.strong)
    const keys = keymap({ ...baseKeymap, "Ctrl-b": bold, "Ctrl-h": setBlockType(schema.nodes.heading, { level: 2 }) })
    globalThis.view = new EditorView(place(), { state: EditorState.create({ schema, doc, plugins: [keys, plugin] }) })
    view.focus()
  },
  // The first place of a text, in one piece.
  select(text) {
    const places = []
    view.state.doc.descendants((node, at) => {
      if (node.isText && node.text.includes(text)) places.push(at + node.text.indexOf(text))
    })
    view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, places[0], places[0] + text.length)))
  },

  render(url) {
    const app = createElement(RepoContext.Provider, { value: repo }, createElement(Count, { url }))
    createRoot(place()).render(createElement(StrictMode, null, app))
  },
})
