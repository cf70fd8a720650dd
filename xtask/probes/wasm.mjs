// Calls what a module for JavaScript exports as `test_…`: `node wasm.mjs MODULE`. The words are those of Rust's tests.
import { readFile } from "node:fs/promises";

let exports;
const bytes = (first, len) => new Uint8Array(exports.memory.buffer, first, len);
const probe = {
  fill: (first, len) => crypto.getRandomValues(bytes(first, len)),
  say: (first, len) => console.log(new TextDecoder().decode(bytes(first, len))),
};
const module = await WebAssembly.compile(await readFile(process.argv[2]));
const names = WebAssembly.Module.exports(module).map(({ name }) => name).filter((name) => name.startsWith("test_"));
const counts = { ok: 0, FAILED: 0 };
for (const name of names) {
  // A new instance for each: after a trap nothing is as it should be.
  ({ exports } = await WebAssembly.instantiate(module, { probe }));
  exports.begin();
  let word = "ok";
  try {
    exports[name]();
  } catch (error) {
    console.log(error.stack);
    word = "FAILED";
  }
  counts[word] += 1;
  console.log(`test ${name.slice(5)} ... ${word}`);
}
const good = counts.FAILED === 0 && counts.ok > 0;
console.log(`test result: ${good ? "ok" : "FAILED"}. ${counts.ok} passed; ${counts.FAILED} failed`);
process.exitCode = good ? 0 : 1;
