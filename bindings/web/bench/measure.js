// Benchmark against hash-wasm and npm's blake3 (its module for browsers), alternately. Returns lines.
const SIZES = [64, 1024, 65536, 1 << 20, 1 << 24]
const PIECE = 65536

const middle = (list) => list.toSorted((a, b) => a - b)[list.length >> 1]

async function turns(calls, repeats, rounds) {
  const times = calls.map(() => [])
  // The first rounds are a warm-up for the JIT compiler, which needs time, too.
  for (let round = -8; round < rounds; round += 1) {
    await new Promise((resume) => setTimeout(resume, round < 0 ? 30 : 0))
    // The first side after a pause finds the processor in a sleep state.
    for (let turn = 0; turn < calls.length; turn += 1) {
      const i = (turn + round + 8) % calls.length
      const call = calls[i]
      const start = performance.now()
      for (let k = 0; k < repeats; k += 1) call()
      if (round >= 0) times[i].push((performance.now() - start) / repeats)
    }
  }
  return times
}

const ratio = (theirs, ours) => middle(theirs.map((time, i) => time / ours[i])).toFixed(2)

export async function measure({ blake3, argon2 }, hashWasm, npm) {
  const lines = []
  const other = await hashWasm.createBLAKE3()
  for (const size of SIZES) {
    const bytes = new Uint8Array(size).map((_, i) => i % 251)
    const [ours, wasm, theirs] = await turns([
      () => blake3.hash(bytes),
      () => { other.init(); other.update(bytes); return other.digest("binary") },
      // Its memory does not grow, so more than a megabyte is passed in pieces.
      size <= 1 << 20 ? () => npm.hash(bytes) : () => {
        const hasher = npm.createHash()
        for (let at = 0; at < size; at += PIECE) hasher.update(bytes.subarray(at, at + PIECE))
        hasher.digest()
        hasher.dispose()
      },
    ], Math.max(1, Math.min(20_000, Math.floor(4e6 / size))), 21)
    lines.push(`BLAKE3 ${size} bytes: ${(middle(ours) * 1e6).toFixed(0)} ns, hash-wasm ${ratio(wasm, ours)}, npm blake3 ${ratio(theirs, ours)}`)
  }
  const salt = new Uint8Array(16)
  for (const [memoryCost, timeCost] of [[19456, 2], [65536, 3]]) {
    const [ours, theirs] = [[], []]
    for (let round = 0; round < 7; round += 1) {
      const start = performance.now()
      await argon2.hash("password", { salt, memoryCost, timeCost, parallelism: 1 })
      const between = performance.now()
      await hashWasm.argon2id({ password: "password", salt, iterations: timeCost, memorySize: memoryCost, parallelism: 1, hashLength: 32 })
      ours.push(between - start)
      theirs.push(performance.now() - between)
    }
    lines.push(`argon2id ${memoryCost} KiB, ${timeCost} passes: ${middle(ours).toFixed(1)} ms, hash-wasm ${ratio(theirs, ours)}`)
  }
  const file = new Blob([new Uint8Array(128 << 20)])
  const [one, many, theirs] = [[], [], []]
  for (let round = 0; round < 5; round += 1) {
    const start = performance.now()
    await blake3.hashBlob(file, { threads: 1 })
    const second = performance.now()
    await blake3.hashBlob(file)
    const third = performance.now()
    other.init()
    for (let at = 0; at < file.size; at += 1 << 21) other.update(new Uint8Array(await file.slice(at, at + (1 << 21)).arrayBuffer()))
    other.digest()
    one.push(second - start)
    many.push(third - second)
    theirs.push(performance.now() - third)
  }
  lines.push(`a Blob of 128 MiB: one worker ${middle(one).toFixed(0)} ms, all ${middle(many).toFixed(0)} ms; beside all: one ${ratio(one, many)}, hash-wasm on the page's thread ${ratio(theirs, many)}`)
  return lines
}
