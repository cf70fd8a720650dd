// node hostile.mjs ROUNDS   calls everything that our engine has, which HASHMILL_ENGINE names, with what it cannot use
//
// Every call returns or throws: none may end the module. Says how many returned, threw, and ended it.
import { engine, size } from "./engine.mjs"

const rounds = Number(process.argv[2])
const { log } = console
// The output of documents is not needed here.
console.log = () => {}

// The same numbers each time.
let state = 1
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}
const pick = (list) => list[random(list.length)]

const cycle = { a: 1 }
cycle.self = cycle
const deep = (depth) => Array.from({ length: depth }).reduce((inner) => [inner], 0)
const thrower = new Proxy({}, { get() { throw new Error("get") }, ownKeys() { throw new Error("keys") } })

function made() {
  const doc = engine.create({ actor: "aabb" })
  doc.putObject("_root", "text", "Hello 😀 wörld")
  doc.putObject("_root", "list", [1, "two", { three: [4] }])
  doc.put("_root", "count", 5, "counter")
  doc.mark("/text", { start: 0, end: 5, expand: "both" }, "bold", true)
  doc.splitBlock("/text", 3, { type: "p" })
  doc.commit()
  return doc
}

let docs = [made(), made().fork("cc")]
let presence = new engine.Presence()
const state0 = engine.initSyncState()
const hash = docs[0].getHeads()[0]
const message = docs[0].generateSyncMessage(engine.initSyncState())
const seeds = [docs[0].save(), docs[0].saveNoCompress(), docs[0].getLastLocalChange(), message,
  docs[0].saveBundle([hash]), engine.encodeSyncState(state0),
  new engine.Presence({ channels: { a: [1, "x", new Date(0), { b: new Uint8Array(3) }] } }).nextPayload(0)]

// Bytes that begin well: bits flip, parts go or come twice, and checksums are wrong or, by chance, right.
function bytes() {
  const seed = pick(seeds)
  let out = Uint8Array.from(seed)
  for (let n = random(4); n > 0; n -= 1) out[random(out.length)] ^= 1 << random(8)
  if (random(4) === 0) out = out.slice(0, random(out.length))
  if (random(8) === 0) out = Uint8Array.from([...out, ...seed])
  return out
}

const values = [
  () => undefined, () => null, () => true, () => 0, () => -1, () => 1.5, () => NaN, () => Infinity, () => 2 ** 53,
  () => 2n ** 64n, () => -1n, () => "", () => "_root", () => "/text", () => "/list", () => "/list/2/three", () => "1@aabb",
  () => "99999999999999999999@aabb", () => "1@zz", () => "/text/0/0", () => "\ud800", () => "text", () => "count",
  () => "__proto__", () => "start", () => "s", () => "2@aabb", () => Symbol("x"), () => () => 1, () => cycle, () => deep(5000),
  () => thrower, () => [], () => [thrower], () => ({}), () => new Date(NaN), () => new Uint8Array(3), () => bytes(), () => hash,
  () => [hash], () => ["ff".repeat(32)], () => [bytes()], () => pick(docs), () => state0, () => docs[0].materialize(),
  () => ({ start: random(20), end: random(20) - 2, expand: "both" }), () => ({ type: "text", value: "x", marks: { a: [] } }),
  () => [{ type: "block", value: cycle }], () => engine.exportSyncState(state0), () => ({ actor: "dd" }), () => random(30) - 5,
  () => pick(impostors), () => engine.decodeSyncMessage(message), () => engine.decodeChange(seeds[2]),
]

const said = { returned: 0, threw: 0, ended: [] }
function call(name, run) {
  try {
    run()
    said.returned += 1
  } catch (error) {
    said.threw += 1
    if (error instanceof WebAssembly.RuntimeError) said.ended.push(`${name}: ${error.stack}`)
  }
}

// What has the prototype of a date or of bytes, and is neither. A call that did not catch what they throw left something
// behind, and the module had room for less than three hundred of them.
const impostors = [new Proxy(new Date(), {}), new Proxy(new Uint8Array(3), {}), Object.create(Date.prototype),
  Object.create(Uint8Array.prototype)]
const refused = made()
for (let round = 0; round < 400; round += 1) {
  for (const impostor of impostors) {
    call("put", () => refused.put("_root", "x", impostor))
    call("put typed", () => refused.put("_root", "x", impostor, pick(["int", "timestamp", "counter", "bytes"])))
    call("putObject", () => refused.putObject("_root", "x", { a: [impostor] }))
    call("load", () => engine.load(impostor))
  }
}
refused.free()
Object.assign(said, { taken: said.returned, threw: 0 })

const methods = Object.getOwnPropertyNames(engine.Automerge.prototype).filter((name) => !/^(free|constructor|__)/.test(name))
const presenceMethods = Object.getOwnPropertyNames(engine.Presence.prototype).filter((name) => !/^(free|constructor|__)/.test(name))
const functions = Object.keys(engine).filter((name) => typeof engine[name] === "function" && !/^[A-Z_]/.test(name))
for (let round = 0; round < rounds; round += 1) {
  // What was done to a document stays for a while.
  if (round % 500 === 0) {
    docs.forEach((doc) => doc.free())
    docs = [made(), made().fork("cc")]
    presence.free()
    presence = new engine.Presence({ channels: { a: 1 } })
    const types = { construct: (value) => ({ value }), deconstruct: (value) => { docs[0].put("_root", "again", 1); return value?.raw } }
    docs[0].registerDatatype("counter", types.construct, types.deconstruct)
  }
  const args = Array.from({ length: random(5) }, () => pick(values)())
  const doc = pick(docs)
  const name = pick(methods)
  call(name, () => doc[name](...args))
  const ofPresence = pick(presenceMethods)
  call(`presence ${ofPresence}`, () => presence[ofPresence](...args))
  call("presence set", () => presence.set(pick(["a", "b"]), args[0]))
  call("new presence", () => new engine.Presence(args[0]).free())
  const free = pick(functions)
  call(free, () => engine[free](...args))
  for (const [name, read] of [["load", (data) => engine.load(data, { unchecked: random(2) > 0, allowMissingDeps: random(2) > 0 }).free()],
    ["loadIncremental", (data) => doc.loadIncremental(data)], ["decodeChange", engine.decodeChange],
    ["readBundle", engine.readBundle], ["receiveSyncMessage", (data) => doc.receiveSyncMessage(state0, data)],
    ["receive presence", (data) => presence.receive(pick(["us", "them"]), data, random(9))]]) {
    call(name, () => read(bytes()))
  }
}
// Whatever happened, it goes on.
const after = made()
said.works = after.text("/text") === "Hel\ufffclo 😀 wörld" && engine.load(after.save()).getHeads()[0] === after.getHeads()[0]
said.bytes = size()
log(JSON.stringify(said))
