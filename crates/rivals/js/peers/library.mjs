// Repositories of the generation of automerge-repo that `generation.mjs` names.
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import * as A from "@automerge/automerge"
import * as newest from "../handles.mjs"
import { generation, packages } from "./generation.mjs"

const isOlder = generation === 1
const load = (file) => import(pathToFileURL(file))
const { Repo } = await load(packages.repo)
const { NodeFSStorageAdapter } = await load(packages.storage)
const sockets = await load(packages.sockets)
// The documents of the older generation belong to an older engine.
const renew = (doc) => A.load(createRequire(import.meta.url)(packages.automerge).save(doc))
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
