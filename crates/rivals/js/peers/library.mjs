// automerge-repo of the generation that AUTOMERGE_REPO_GENERATION names: 1, as the official sync server has it, or 2, the default.
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import * as A from "@automerge/automerge"
import * as newest from "../handles.mjs"

const isOlder = process.env.AUTOMERGE_REPO_GENERATION === "1"
const here = createRequire(import.meta.url)
const require = isOlder ? createRequire(here.resolve("@automerge/automerge-repo-sync-server")) : here
const load = (name) => import(pathToFileURL(require.resolve(name)))
const { Repo } = await load("@automerge/automerge-repo")
const { NodeFSStorageAdapter } = await load("@automerge/automerge-repo-storage-nodefs")
const sockets = await load("@automerge/automerge-repo-network-websocket")
// Its documents belong to an older engine.
const renew = (doc) => A.load(require("@automerge/automerge").save(doc))
const Adapter = isOlder ? sockets.BrowserWebSocketClientAdapter : sockets.WebSocketClientAdapter

// A repository with a server, and with its storage in a folder or without one. By default it would connect again after 5 s.
export function connect(server, folder) {
  return new Repo({ network: [new Adapter(server, 100)], storage: folder && new NodeFSStorageAdapter(folder) })
}

// A handle of a document, which may arrive before any peer has it.
export async function find(repo, url) {
  if (!isOlder) return newest.find(repo, url)
  const handle = repo.find(url)
  await handle.whenReady()
  return handle
}

// The content of a handle, as a document of the newest engine.
export const content = (handle) => (isOlder ? renew(handle.docSync()) : handle.doc())
