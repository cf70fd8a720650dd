// Calls the functions `test_…` of a module: `node wasm.mjs MODULE`. The output has the format of Rust's tests.
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
  // A new instance for each test: a trap leaves memory in an undefined state.
  ({ exports } = await WebAssembly.instantiate(module, { probe }));
  exports.begin();
  let outcome = "ok";
  try {
    exports[name]();
  } catch (error) {
    console.log(error.stack);
    outcome = "FAILED";
  }
  counts[outcome] += 1;
  console.log(`test ${name.slice(5)} ... ${outcome}`);
}
const passed = counts.FAILED === 0 && counts.ok > 0;
console.log(`test result: ${passed ? "ok" : "FAILED"}. ${counts.ok} passed; ${counts.FAILED} failed`);
process.exitCode = passed ? 0 : 1;
