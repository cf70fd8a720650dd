// node presence.mjs   checks the class `Presence` of our engine, which HASHMILL_ENGINE names, alone and with that of automerge-repo
import assert from "node:assert/strict"
import { EventEmitter } from "node:events"
import { mock } from "node:test"
import { Presence as Theirs, cbor } from "@automerge/automerge-repo"
import { engine } from "./engine.mjs"

const { Presence } = engine
// Starts of clocks: a page, a machine, and 1970, where a float is too coarse for a nanosecond.
const STARTS = [0, 86_400_123.456789, Date.UTC(2026, 10, 30) + 0.1]

// The same numbers for each seed.
function generator(seed) {
  let state = seed + 1
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function sent(presence, now) {
  const payloads = []
  for (let payload; (payload = presence.nextPayload(now)) !== null; ) {
    payloads.push(payload)
    assert(payloads.length < 1000, "payloads without end")
  }
  return payloads
}

const tests = {
  usersSeeEachOtherUntilTheyLeave() {
    const ada = new Presence({ channels: { name: "Ada", cursor: 3 } })
    const ben = new Presence()
    assert.deepEqual([ada.nextDeadline(), ada.nextDeadline(false)], [0, null])
    const [snapshot] = sent(ada, 1000)
    const updated = { type: "updated", peer: "ada", channels: ["cursor", "name"] }
    assert.deepEqual(ben.receive("ada", snapshot, 1000), { ...updated, isNew: true })
    assert.deepEqual(ben.peer("ada"), { channels: { cursor: 3, name: "Ada" }, lastSeen: 1000, lastActive: 1000 })
    assert.deepEqual([ben.peers(), ada.peers(), ben.peer("eve")], [["ada"], [], null])
    ada.set("cursor", { line: 4 })
    ada.set("cursor", { line: 5 })
    const [update] = sent(ada, 2000)
    assert.deepEqual(ben.receive("ada", update, 2000), { ...updated, channels: ["cursor"], isNew: false })
    assert.deepEqual(ben.peer("ada").channels, ada.ours)
    // The first payload after a pause repeats all channels; then there are heartbeats.
    assert.deepEqual([sent(ada, 16_999), ada.nextDeadline()], [[], 17_000])
    assert.deepEqual(ben.receive("ada", sent(ada, 17_000)[0], 17_000), { ...updated, isNew: false })
    assert.equal(ben.receive("ada", sent(ada, 32_000)[0], 32_000), null)
    assert.deepEqual([ben.peer("ada").lastSeen, ben.peer("ada").lastActive], [32_000, 17_000])
    ada.leave()
    const [goodbye] = sent(ada, 33_000)
    assert.deepEqual(ben.receive("ada", goodbye, 33_000), { type: "left", peer: "ada" })
    assert.equal(ben.receive("ada", goodbye, 33_000), null)
    assert.deepEqual([ada.hasLeft, ben.hasLeft, sent(ada, 99_000), ben.peers()], [true, false, [], []])
  },

  // A program that wakes exactly at each deadline has something to do then, whatever the rounding.
  deadlinesAreReached() {
    for (const start of STARTS) {
      for (const [heartbeatMs, expiryMs] of [[15_000, 45_000], [0.1, 0.3], [1000 / 3, 1e12]]) {
        const ada = new Presence({ heartbeatMs, expiryMs })
        ada.receive("ben", sent(new Presence({ channels: { x: 1 } }), start)[0], start)
        let now = start
        let expired = false
        for (let round = 0; round < 100; round += 1) {
          now = Math.max(now, ada.nextDeadline())
          const gone = ada.expire(now)
          assert(gone.length + sent(ada, now).length > 0, `nothing to do at ${now}`)
          assert(ada.nextDeadline() > now)
          expired ||= gone.includes("ben")
        }
        assert.deepEqual([expired, ada.peers().length], expiryMs < 100 * heartbeatMs ? [true, 0] : [false, 1])
      }
    }
  },

  silentUsersExpire() {
    for (const start of STARTS) {
      const ada = new Presence({ expiryMs: 30_000 })
      const other = new Presence({ channels: { x: 1 } })
      const [[snapshot], [heartbeat]] = [sent(other, 0), sent(other, 15_000)]
      ada.receive("one", snapshot, start)
      ada.receive("two", snapshot, start + 10_000)
      assert.deepEqual([ada.expire(start + 29_000), ada.expire(start + 31_000), ada.peers()], [[], ["one"], ["two"]])
      assert.equal(ada.receive("two", heartbeat, start + 35_000), null)
      assert.deepEqual([ada.expire(start + 64_000), ada.expire(start + 66_000), ada.peers()], [[], ["two"], []])
    }
  },

  // Users set channels while payloads get lost or come twice. After a new connection they agree.
  usersAgreeAfterLostPayloads() {
    for (let seed = 0; seed < 20; seed += 1) {
      const random = generator(seed)
      const users = Object.fromEntries(["ada", "ben", "eve"].map((name) => [name, new Presence({ channels: { name } })]))
      const names = Object.keys(users)
      let now = 0
      for (let step = 0; step < 80; step += 1) {
        now += random(4000)
        if (step < 40) users[names[random(3)]].set("ab"[random(2)], [step, { at: now }])
        if (step === 40) for (const name of names) users[name].reconnect()
        for (const name of names) {
          for (const payload of sent(users[name], now)) {
            for (const other of names.filter((other) => other !== name)) {
              for (let copies = step < 40 ? random(3) : 1; copies > 0; copies -= 1) users[other].receive(name, payload, now)
            }
          }
        }
        for (const name of names) users[name].expire(now)
      }
      for (const name of names) {
        assert.deepEqual(users[name].peers(), names.filter((other) => other !== name))
        for (const other of users[name].peers()) assert.deepEqual(users[name].peer(other).channels, users[other].ours)
      }
    }
  },

  valuesAreThoseOfDocuments() {
    const channels = {
      null: null, truth: true, numbers: [0, -1, 1.5, 2 ** 32, -(2 ** 40), 2 ** 53 - 1, 2 ** 60, -(2 ** 60), 1e300, NaN, -Infinity],
      large: [2n ** 53n, -(2n ** 63n), 2n ** 64n - 1n], text: "é😀\0", bytes: [new Uint8Array([0, 255]), new Uint8Array()],
      dates: [new Date(0), new Date(1500), new Date(-1), new Date(8.64e15)], map: { "": { a: [] } },
      ["__proto__"]: { admin: true },
    }
    const ada = new Presence({ channels })
    const ben = new Presence()
    ben.receive("ada", sent(ada, 0)[0], 0)
    assert.deepEqual(ben.peer("ada").channels, channels)
    assert.deepEqual(ada.ours, channels)
    assert.equal(Object.getPrototypeOf(ben.peer("ada").channels), Object.prototype)
    ada.set("text", "\ud800")
    assert.equal(ada.ours.text, "\ufffd")
  },

  valuesThatNoUserCouldReadAreRefused() {
    const presence = new Presence({ channels: { x: 1 } })
    const deep = (levels) => Array.from({ length: levels }).reduce((inner) => [inner], 0)
    const itself = {}
    itself.itself = itself
    const values = [undefined, { a: undefined }, Symbol("x"), () => 1, 2n ** 64n,
      deep(62), itself, "x".repeat(65_536)]
    for (const value of values) {
      assert.throws(() => presence.set("x", value), RangeError)
      assert.throws(() => new Presence({ channels: { x: value } }), RangeError)
      assert.deepEqual(presence.ours, { x: 1 })
    }
    presence.set("x", deep(61))
    assert.deepEqual(presence.ours.x, deep(61))
    assert.throws(() => presence.set(1, 1), RangeError)
    const many = Object.fromEntries(Array.from({ length: 257 }, (_, number) => [`c${number}`, 0]))
    assert.throws(() => new Presence({ channels: many }), /256 channels/)
    for (const wrong of [-1, NaN, Infinity, 1e300, "1", null, undefined, 1n]) {
      assert.throws(() => presence.nextPayload(wrong), RangeError)
      assert.throws(() => presence.expire(wrong), RangeError)
      assert.throws(() => presence.receive("x", new Uint8Array(), wrong), RangeError)
      if (wrong !== null && wrong !== undefined) assert.throws(() => new Presence({ expiryMs: wrong }), RangeError)
    }
    for (const heartbeatMs of [0, 1e-12]) assert.throws(() => new Presence({ heartbeatMs }), /more than 0/)
    // A function of the value uses the same presence.
    presence.set("outer", { get inner() { presence.set("x", 2); return presence.ours.x } })
    assert.deepEqual(presence.ours, { outer: { inner: 2 }, x: 2 })
  },

  payloadsThatCannotBeReadChangeNothing() {
    const ben = new Presence()
    sent(ben, 0)
    ben.receive("ada", sent(new Presence({ channels: { x: 1 } }), 0)[0], 0)
    const before = () => [ben.peers(), ben.peer("ada"), ben.nextDeadline()]
    const known = before()
    const bytes = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0))
    for (const other of ["", "\xa0", "\x01", "\xff", "text", "\xa1\x61x\x01", "\xa1\x6a__presence\xa1\x64type\x63new",
      "\xa1\x6a__presence\xa1\x64type\x61\xff"]) {
      assert.deepEqual(ben.receive("ada", bytes(other), 1), { type: "other" })
    }
    const update = "\xa3\x64type\x66update\x67channel\x61x\x65value"
    for (const wrong of ["\xa0", "\x05", "\xa1\x64type\x68snapshot", `${update}\xe5`, `${update}\xa1\xf5\x01`]) {
      assert.throws(() => ben.receive("ada", bytes(`\xa1\x6a__presence${wrong}`), 1), /^RangeError: presence that cannot be read: /)
    }
    const large = `\xa1\x6a__presence${update}\x5a\x00\x01\x00\x00${"\0".repeat(1 << 16)}`
    assert.throws(() => ben.receive("ada", bytes(large), 1), RangeError)
    assert.throws(() => ben.receive("i".repeat(1025), sent(new Presence(), 0)[0], 1), RangeError)
    assert.throws(() => ben.receive("ada", "no bytes", 1), RangeError)
    assert.deepEqual(before(), known)
    // Bits flip: each payload is processed or refused, and what was accepted can be set again.
    const random = generator(5)
    const good = sent(new Presence({ channels: { list: [1, 2.5, "text", new Date(5), { key: null }], name: "Ada" } }), 0)[0]
    let read = 0
    for (let round = 0; round < 5000; round += 1) {
      const payload = Uint8Array.from(good)
      for (let flips = 1 + random(3); flips > 0; flips -= 1) payload[random(payload.length)] ^= 1 << random(8)
      const receiver = new Presence()
      try {
        receiver.receive("ada", payload, 0)
        read += 1
      } catch (error) {
        assert(error instanceof RangeError, error)
      }
      const peer = receiver.peer("ada")
      if (peer) assert.deepEqual(new Presence({ channels: peer.channels }).ours, peer.channels)
      receiver.free()
    }
    assert(read > 100, `${read}`)
  },

  usersOfAutomergeRepoAreSeen() {
    mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] })
    const handle = new EventEmitter()
    const line = []
    handle.broadcast = (message) => line.push(Uint8Array.from(cbor.encode(message)))
    const theirs = new Theirs({ handle })
    const common = { numbers: [0, -1, 1.5, 2 ** 40], date: new Date(1500), map: { list: [null, "é😀"] } }
    const ours = new Presence({ channels: { ...common, name: "ours" } })
    let now = 0
    const pass = (millis) => { now += millis; mock.timers.tick(millis) }
    const events = () => line.splice(0).map((payload) => ours.receive("theirs", payload, now))
    const send = () => {
      const messages = sent(ours, now).map((payload) => cbor.decode(payload))
      for (const message of messages) handle.emit("ephemeral-message", { senderId: "ours", message })
      return messages.length
    }
    const seen = () => theirs.getPeerStates().value.ours

    theirs.start({ initialState: { ...common, name: "theirs", bytes: new Uint8Array([1, 2]), nothing: undefined, set: new Set([1]) } })
    const channels = ["numbers", "date", "map", "name", "bytes", "nothing", "set"]
    assert.deepEqual(events(), [{ type: "updated", peer: "theirs", channels, isNew: true }])
    // Undefined is null, and a set is a list.
    const shown = { ...common, name: "theirs", bytes: new Uint8Array([1, 2]), nothing: null, set: [1] }
    assert.deepEqual(ours.peer("theirs").channels, shown)
    assert.equal(send(), 1)
    assert.deepEqual(seen().value, { ...common, name: "ours" })
    // Both answer the other's first message half a second later.
    assert.deepEqual([send(), events()], [0, []])
    pass(500)
    assert.deepEqual([send(), events().map((event) => event.isNew)], [1, [false]])
    theirs.broadcast("name", { first: "Ada" })
    ours.set("cursor", 2 ** 31)
    assert.deepEqual([send(), events()], [1, [{ type: "updated", peer: "theirs", channels: ["name"], isNew: false }]])
    assert.deepEqual([seen().value.cursor, ours.peer("theirs").channels.name], [2 ** 31, { first: "Ada" }])
    // Heartbeats, of which our first one repeats all channels.
    for (let beat = 1; beat < 5; beat += 1) {
      pass(15_000)
      assert.deepEqual([send(), events(), ours.expire(now)], [1, [null], []])
      assert.deepEqual([seen().lastSeenAt, ours.peer("theirs").lastSeen], [Date.now(), now])
    }
    // One is silent for too long, then the other.
    pass(44_000)
    assert.deepEqual([events().length, ours.expire(now), seen().value.name], [2, [], "ours"])
    pass(16_000)
    assert.deepEqual([ours.expire(now), seen()], [[], undefined])
    line.length = 0
    pass(45_000)
    line.length = 0
    assert.deepEqual([ours.expire(now), ours.peers()], [["theirs"], []])
    // They meet again, and who leaves is forgotten at once.
    theirs.broadcast("name", "again")
    assert.deepEqual([events().length, ours.peers(), send()], [1, ["theirs"], 1])
    pass(500)
    assert.deepEqual([events().length, send(), seen().value.name], [1, 1, "ours"])
    ours.leave()
    assert.deepEqual([send(), seen()], [1, undefined])
    theirs.stop()
    assert.deepEqual([events().at(-1), ours.peers()], [{ type: "left", peer: "theirs" }, []])
    mock.timers.reset()
  },
}

for (const [name, test] of Object.entries(tests)) {
  try {
    test()
  } catch (error) {
    throw new Error(name, { cause: error })
  }
}
process.stdout.write(JSON.stringify(Object.keys(tests).length) + "\n", () => process.exit(0))
