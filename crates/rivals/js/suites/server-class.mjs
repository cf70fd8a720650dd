// The class `Server` of Automerge's sync server, as its tests use it, around a process of `hashmill serve`.
import { startServer } from "./run.mjs"

const [program, data] = process.argv.slice(3)
// The tests read the port when they are loaded, which is after this module.
const server = await startServer(program, data)
process.env.PORT = String(server.port)

export class Server {
  async ready() {
    return true
  }

  close() {
    server.kill("SIGTERM")
  }
}
