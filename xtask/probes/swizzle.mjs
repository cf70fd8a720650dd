// Replaces shuffles that rotate words by whole bytes with swizzles: node swizzle.mjs FILE
//
// V8 compiles a swizzle by a constant to one instruction, but loads the mask of a shuffle each time. LLVM turns every swizzle by a
// constant into a shuffle. If a shuffle reads only its first operand, and the second is a variable, the two are equivalent:
//     local.get x   i8x16.shuffle MASK      ->      v128.const MASK   i8x16.swizzle
import fs from "node:fs"

const [CODE, GET, SIMD, CONST, SHUFFLE, SWIZZLE] = [10, 0x20, 0xfd, 0x0c, 0x0d, 0x0e]
// Rotations of each 32-bit word to the right by 8 and by 16 bits.
const MASKS = [1, 2].map((by) => Buffer.from(Array.from({ length: 16 }, (_, i) => (i & ~3) + ((i + by) & 3))))
const PATTERNS = MASKS.map((mask) => Buffer.from([SIMD, SHUFFLE, ...mask]))

function readNumber(bytes, at) {
  let [value, shift, byte] = [0, 0, 0]
  do {
    byte = bytes[at]
    value += (byte & 127) * 2 ** shift
    shift += 7
    at += 1
  } while (byte & 128)
  return [value, at]
}

function encodeNumber(value) {
  const bytes = []
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0))
    value >>>= 7
  } while (value > 0)
  return Buffer.from(bytes)
}

let count = 0

function rewriteBody(code) {
  const parts = []
  let [from, at] = [0, 0]
  while ((at = code.indexOf(SIMD, at)) >= 0) {
    const maskIndex = PATTERNS.findIndex((pattern) => code.subarray(at, at + 18).equals(pattern))
    // The variable's number has one byte, or two.
    const get = [2, 3].map((back) => at - back).find((start) => start >= from && code[start] === GET && readNumber(code, start + 1)[1] === at)
    if (maskIndex >= 0 && get !== undefined) {
      parts.push(code.subarray(from, get), Buffer.from([SIMD, CONST]), MASKS[maskIndex], Buffer.from([SIMD, SWIZZLE]))
      count += 1
      at = from = at + 18
    } else {
      at += 1
    }
  }
  return Buffer.concat([...parts, code.subarray(from)])
}

function rewriteFunctions(section) {
  let [left, at] = readNumber(section, 0)
  const parts = [section.subarray(0, at)]
  for (; left > 0; left -= 1) {
    const [length, start] = readNumber(section, at)
    const code = rewriteBody(section.subarray(start, start + length))
    parts.push(encodeNumber(code.length), code)
    at = start + length
  }
  return Buffer.concat(parts)
}

const [, , file] = process.argv
const module = fs.readFileSync(file)
const parts = [module.subarray(0, 8)]
for (let at = 8; at < module.length;) {
  const id = module[at]
  const [length, start] = readNumber(module, at + 1)
  const content = module.subarray(start, start + length)
  const section = id === CODE ? rewriteFunctions(content) : content
  parts.push(Buffer.from([id]), encodeNumber(section.length), section)
  at = start + length
}
if (count < 100) throw new Error(`${file}: ${count} rotations by whole bytes, fewer than the kernel of BLAKE3 has`)
fs.writeFileSync(file, Buffer.concat(parts))
console.log(`${count} swizzles`)
