// node document.mjs make FILE   writes a document with a bit of everything, and says what it holds
// node document.mjs read FILE   says what the document in FILE holds
// node document.mjs edit FILE   edits it as a browser would, and says what it holds then
import * as A from "@automerge/automerge"
import fs from "node:fs"
import { say } from "./say.mjs"

function make() {
  let doc = A.from({
    title: "one",
    name: new A.ImmutableString("a string, not a text"),
    count: new A.Counter(3),
    made: new Date(1700000000123),
    before: new Date(-5),
    bytes: new Uint8Array([0, 1, 255]),
    list: [1, -2, 1.5, true, false, null, "x", { deep: [[], {}] }],
    body: "Hello 😀 wörld",
    "": { "a/b": "~" },
  })
  doc = A.change(doc, { message: "a rich text", time: 1700000001 }, (d) => {
    d.count.increment(4)
    A.mark(d, ["body"], { start: 0, end: 8, expand: "after" }, "bold", true)
    A.mark(d, ["body"], { start: 6, end: 11, expand: "none" }, "link", "https://example.org")
    A.splitBlock(d, ["body"], 0, {
      type: new A.ImmutableString("heading"),
      parents: [],
      attrs: { level: 2, of: new A.ImmutableString("x") },
    })
    A.splitBlock(d, ["body"], 6, { type: new A.ImmutableString("paragraph"), parents: [], attrs: {} })
    A.unmark(d, ["body"], { start: 2, end: 4, expand: "none" }, "bold")
    A.splice(d, ["body"], 10, 1, "…")
    d.list.splice(1, 2, "new")
  })
  // Two people go on by themselves.
  let other = A.clone(doc)
  doc = A.change(doc, (d) => { d.title = "two"; d.count.increment(1); d.list.push("mine") })
  other = A.change(other, (d) => { d.title = "three"; d.count.decrement(10); d.list.unshift("theirs"); delete d.bytes })
  return A.merge(doc, other)
}

const [verb, file] = process.argv.slice(2)
let doc = verb === "make" ? make() : A.load(fs.readFileSync(file))
if (verb === "edit") {
  doc = A.change(doc, (d) => {
    d.title = "from JavaScript"
    d.count.increment(100)
    A.splice(d, ["body"], 1, 0, "😀!")
    A.mark(d, ["body"], { start: 0, end: 2, expand: "both" }, "comment", 7)
    d.list.push(new Date(12345))
  })
}
if (verb !== "read") fs.writeFileSync(file, A.save(doc))
console.log(JSON.stringify(say(doc)))
