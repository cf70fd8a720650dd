// Runs the example of the README.
import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { File } from "node:buffer"
import path from "node:path"
import { test } from "node:test"
import { pathToFileURL } from "node:url"

test("the example of the README runs", async (context) => {
  globalThis.File ??= File
  const text = readFileSync(path.join(import.meta.dirname, "../README.md"), "utf8")
  const [example] = [...text.matchAll(/```js\n([^]*?)```/g)].map(([, code]) => code)
  const file = path.join(process.env.WEB_PACKAGE, "../readme.mjs")
  writeFileSync(file, example.replace('"@hashmill/web"', '"./package/node/index.js"'))
  const said = []
  context.mock.method(console, "log", (...words) => said.push(words))
  await import(pathToFileURL(file))
  assert.match(said[0][0], /^[0-9a-f]{64}$/)
  assert.equal(said.at(-1).at(-1), true)
})
