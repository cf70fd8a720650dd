// The files of automerge-repo's packages in the generation that AUTOMERGE_REPO_GENERATION names: 1, as the official sync server has it, 2,
// the default, or 3, which is not released yet.
import { createRequire } from "node:module"
import { WebSocket } from "ws"

export const generation = Number(process.env.AUTOMERGE_REPO_GENERATION ?? 2)
const newest = createRequire(import.meta.url)
const older = () => createRequire(newest.resolve("@automerge/automerge-repo-sync-server"))
// The sockets of the next generation have a name of their own here, and bring their repository. No storage is published for it.
const sockets = `@automerge/automerge-repo-network-websocket${generation === 3 ? "-next" : ""}`
const require = generation === 1 ? older() : newest

// The next generation expects what Node 22 has. Such a socket does not throw if it is closed before it is open.
globalThis.WebSocket ??= class extends WebSocket {
  constructor(...args) {
    super(...args)
    this.on("error", () => {})
  }
}
Promise.withResolvers ??= () => {
  let functions
  const promise = new Promise((resolve, reject) => (functions = { resolve, reject }))
  return { promise, ...functions }
}

export const packages = {
  automerge: require.resolve("@automerge/automerge"),
  repo: (generation === 3 ? createRequire(newest.resolve(sockets)) : require).resolve("@automerge/automerge-repo"),
  sockets: require.resolve(sockets),
  storage: require.resolve("@automerge/automerge-repo-storage-nodefs"),
}
