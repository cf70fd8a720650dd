// node readme.mjs README   runs the examples of the package's page on our engine, which HASHMILL_ENGINE names. Says what they print.
import { readFileSync } from "node:fs"
import { format } from "node:util"
import { pathToFileURL } from "node:url"

const names = {
  "@hashmill/documents": pathToFileURL(process.env.HASHMILL_ENGINE),
  "@automerge/automerge/slim": import.meta.resolve("@automerge/automerge/slim"),
}
const { log } = console
const said = []
console.log = (...words) => said.push(format(...words))
const examples = [...readFileSync(process.argv[2], "utf8").matchAll(/```js\n([^]*?)```/g)]
for (const [, example] of examples) {
  const program = Object.entries(names).reduce((text, [name, url]) => text.replaceAll(`from "${name}"`, `from "${url}"`), example)
  await import(`data:text/javascript,${encodeURIComponent(program)}`)
}
log(JSON.stringify({ examples: examples.length, said }))
