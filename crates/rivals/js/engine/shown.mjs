// node shown.mjs   says how what our engine shows follows a document, where a key or the caller is in the way. HASHMILL_ENGINE
// names the engine.
import { createRequire } from "node:module"

const engine = createRequire(import.meta.url)(process.env.HASHMILL_ENGINE)

// A key of a peer that, assigned, is what the object inherits from: it stays a key of its own, and so does what is below it.
function prototype() {
  const doc = engine.create({ actor: "aabb" })
  doc.putObject("_root", "__proto__", { admin: true })
  let shown = doc.materialize()
  const says = () => [Object.getPrototypeOf(shown) === Object.prototype, shown.admin ?? null, JSON.stringify(shown)]
  const all = [says()]
  for (const edit of [
    () => doc.put("_root", "a", 1),
    () => doc.put("_root/__proto__", "admin", false),
    () => doc.putObject("_root/__proto__", "__proto__", "text"),
    () => doc.splice("_root/__proto__/__proto__", 4, 0, "s"),
  ]) {
    edit()
    shown = doc.applyPatches(shown)
    all.push(says())
  }
  return all
}

// A constructor of the caller's throws once: the call after that shows what the one before would have shown.
function again(show) {
  const doc = engine.create({ actor: "aabb" })
  let broken = false
  const construct = (value) => {
    if (broken) throw new Error("broken")
    return { value }
  }
  doc.registerDatatype("counter", construct, () => undefined)
  doc.put("_root", "a", 1)
  const before = doc.materialize()
  doc.put("_root", "count", 5, "counter")
  broken = true
  let threw = null
  try { show(doc, before) } catch (error) { threw = error.message }
  broken = false
  return [threw, JSON.stringify(doc.applyPatches(before))]
}

// The same where only what is new is asked for: it is not lost, and not everything comes again.
function kept() {
  const doc = engine.create({ actor: "aabb" })
  let broken = true
  doc.registerDatatype("counter", (value) => { if (broken) throw new Error("broken"); return { value } }, () => undefined)
  doc.put("_root", "a", 1)
  doc.updateDiffCursor()
  doc.put("_root", "count", 5, "counter")
  let threw = null
  try { doc.diffIncremental() } catch (error) { threw = error.message }
  broken = false
  return [threw, doc.diffIncremental(), doc.diffIncremental()]
}

// Half of a character is none, in keys, texts and scalars; it counts as one unit as before.
function halves() {
  const doc = engine.create({ actor: "aabb" })
  doc.putObject("_root", "text", "a\ud83db")
  doc.put("_root", "\udc00", "\ud800\ud800")
  doc.splice("/text", 3, 0, "😀\ude00")
  doc.mark("/text", { start: 0, end: 2, expand: "both" }, "\ud800", "\udbff")
  return [doc.materialize(), doc.length("/text"), doc.marks("/text")[0].name, engine.load(doc.save()).text("/text")]
}

// A fragment that is bad, or another than is said, is refused, and those behind it are not dropped with it.
function fragments() {
  const doc = engine.create({ actor: "aabb" })
  for (let n = 0; n < 3; n += 1) {
    doc.put("_root", "n", n)
    doc.commit()
  }
  const all = doc.getFragmentMetadata({})
  const bytes = doc.bundleFragmentMetadata(all)
  const [first, ...rest] = all.map((fragment, at) => ({ ...fragment, bytes: bytes[at] }))
  const bad = Uint8Array.from(first.bytes)
  bad[bad.length - 1] ^= 1
  return [{ ...first, bytes: bad }, { ...first, bytes: rest[0].bytes }, first].map((first) => {
    const again = engine.create({})
    let threw = null
    try { again.addFragments([first, ...rest]) } catch (error) { threw = error.message.replace(/[0-9a-f]{64}.*/, "") }
    return [threw, again.getHeads().length]
  })
}

// What there is no room for is refused, and the module goes on.
function large() {
  const doc = engine.create({ actor: "aabb" })
  const text = "x".repeat(2 ** 29 - 24)
  const chunk = new Uint8Array(15 << 20)
  const hash = "00".repeat(32)
  const fragment = { head: hash, level: 0, boundary: [], checkpoints: [], members: [hash] }
  const said = [
    () => engine.load(new Uint8Array(2 ** 32 - 1)),
    () => doc.putObject("_root", "text", text),
    () => doc.put("_root", text, 1),
    () => doc.put("_root", "a", new Uint8Array(2 ** 30)),
    // Each of many is small.
    () => doc.applyChanges(Array(320).fill(chunk)),
    () => doc.addCommits(Array(320).fill({ head: hash, parents: [], bytes: chunk })),
    () => doc.addFragments(Array(320).fill({ ...fragment, bytes: chunk })),
    () => doc.putObject("_root", "list", Array(320).fill(chunk)),
    () => doc.putObject("_root", "list", Array(320).fill("x".repeat(5 << 20))),
    () => doc.putObjectFromHydrate("_root", "map", { a: Array(320).fill("x".repeat(5 << 20)) }),
    () => doc.putObject("_root", "list", Array(1 << 24).fill(0)),
  ].map((call) => {
    try { return call() } catch (error) { return `${error.name}: ${error.message}` }
  })
  doc.put("_root", "a", 1)
  return [...said, doc.materialize()]
}

console.log(JSON.stringify({
  halves: halves(),
  fragments: fragments(),
  large: large(),
  prototype: prototype(),
  kept: kept(),
  again: [
    again((doc, before) => doc.applyPatches(before)),
    again((doc, before) => doc.applyAndReturnPatches(before)),
    again((doc) => doc.materialize()),
  ],
}))
