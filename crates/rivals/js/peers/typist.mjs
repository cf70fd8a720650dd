// node peers/typist.mjs SERVER FOLDER [URL]   types numbers without pause into a document, which it makes or fetches
//
// FOLDER is the storage of this client. Says the URL, then each number that the server confirms, until it is killed.
import { connect, content, find } from "./library.mjs"

const [server, folder, url] = process.argv.slice(2)
const repo = connect(server, folder)
const handle = url ? await find(repo, url) : repo.create()
console.log(handle.url)

// By heads. An edit is confirmed when the server names heads that it led to.
const numbers = new Map()
handle.on("remote-heads", ({ heads }) => {
  const number = numbers.get(heads.join())
  if (number !== undefined) console.log(number)
})
let { number = 0 } = content(handle)
setInterval(() => {
  number += 1
  handle.change((doc) => { doc.number = number })
  numbers.set(handle.heads().join(), number)
}, 5)
