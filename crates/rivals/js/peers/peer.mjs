// A peer of a sync server. Each verb says what the document holds, and under which URL.
// node peers/peer.mjs SERVER create              makes a document
// node peers/peer.mjs SERVER read URL            fetches it
// node peers/peer.mjs SERVER put URL KEY VALUE   fetches it, and puts a text
// node peers/peer.mjs SERVER await URL KEY       fetches it, and waits until the key is there
import * as A from "@automerge/automerge"
import { connect, content, find } from "./library.mjs"
import { say } from "../say.mjs"

const [server, verb, url, key, value] = process.argv.slice(2)

// Waits until another peer has it, so that the server has.
async function arrived(handle) {
  const there = await find(connect(server), handle.url)
  const heads = A.getHeads(content(handle)).join()
  while (A.getHeads(content(there)).join() !== heads) await new Promise((resolve) => there.once("change", resolve))
}

const repo = connect(server)
const handle = verb === "create" ? repo.create({ made: "in JavaScript" }) : await find(repo, url)
if (verb === "put") handle.change((doc) => { doc[key] = value })
if (verb === "await") while (!(key in content(handle))) await new Promise((resolve) => handle.once("change", resolve))
if (verb === "create" || verb === "put") await arrived(handle)
process.stdout.write(JSON.stringify({ url: handle.url, ...say(content(handle)) }) + "\n", () => process.exit(0))
