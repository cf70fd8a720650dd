// node server.mjs FOLDER   the sync server of this generation of the library, on a port that it says
import { Repo } from "@automerge/automerge-repo"
import { WebSocketServerAdapter } from "@automerge/automerge-repo-network-websocket"
import { WebSocketServer } from "ws"

const sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" })
new Repo({ network: [new WebSocketServerAdapter(sockets)], peerId: "server", sharePolicy: async () => false })
sockets.on("listening", () => console.log(`Listening on port ${sockets.address().port}`))
