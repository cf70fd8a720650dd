// Turns of words by whole bytes, said as swizzles again: node swizzle.mjs FILE
//
// V8 makes one instruction of a swizzle by a constant, and builds the mask of a shuffle anew each time. LLVM makes a shuffle of every
// swizzle by a constant. Where a shuffle reads only its first operand, and the second is a variable, the two are the same:
//     local.get x   i8x16.shuffle MASK      ->      v128.const MASK   i8x16.swizzle
import fs from "node:fs"

const [CODE, GET, SIMD, CONST, SHUFFLE, SWIZZLE] = [10, 0x20, 0xfd, 0x0c, 0x0d, 0x0e]
// Each word of 32 bits to the right by 8 and by 16 bits.
const MASKS = [1, 2].map((by) => Buffer.from(Array.from({ length: 16 }, (_, i) => (i & ~3) + ((i + by) & 3))))
const PATTERNS = MASKS.map((mask) => Buffer.from([SIMD, SHUFFLE, ...mask]))

function number(bytes, at) {
  let [value, shift, byte] = [0, 0, 0]
  do {
    byte = bytes[at]
    value += (byte & 127) * 2 ** shift
    shift += 7
    at += 1
  } while (byte & 128)
  return [value, at]
}

function written(value) {
  const bytes = []
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0))
    value >>>= 7
  } while (value > 0)
  return Buffer.from(bytes)
}

let count = 0

function body(code) {
  const parts = []
  let [from, at] = [0, 0]
  while ((at = code.indexOf(SIMD, at)) >= 0) {
    const which = PATTERNS.findIndex((pattern) => code.subarray(at, at + 18).equals(pattern))
    // The variable's number has one byte, or two.
    const get = [2, 3].map((back) => at - back).find((start) => start >= from && code[start] === GET && number(code, start + 1)[1] === at)
    if (which >= 0 && get !== undefined) {
      parts.push(code.subarray(from, get), Buffer.from([SIMD, CONST]), MASKS[which], Buffer.from([SIMD, SWIZZLE]))
      count += 1
      at = from = at + 18
    } else {
      at += 1
    }
  }
  return Buffer.concat([...parts, code.subarray(from)])
}

function functions(section) {
  let [left, at] = number(section, 0)
  const parts = [section.subarray(0, at)]
  for (; left > 0; left -= 1) {
    const [length, start] = number(section, at)
    const code = body(section.subarray(start, start + length))
    parts.push(written(code.length), code)
    at = start + length
  }
  return Buffer.concat(parts)
}

const [, , file] = process.argv
const module = fs.readFileSync(file)
const parts = [module.subarray(0, 8)]
for (let at = 8; at < module.length;) {
  const id = module[at]
  const [length, start] = number(module, at + 1)
  const content = module.subarray(start, start + length)
  const section = id === CODE ? functions(content) : content
  parts.push(Buffer.from([id]), written(section.length), section)
  at = start + length
}
if (count < 100) throw new Error(`${file}: ${count} turns by whole bytes, where a kernel of BLAKE3 alone has more`)
fs.writeFileSync(file, Buffer.concat(parts))
console.log(`${count} swizzles`)
