// node suites/sync-server.mjs TESTS PROGRAM DATA   runs the tests of Automerge's sync server, of which TESTS is the folder, on ours
//
// The tests are unmodified. They import a class that starts a server; ours is in its place. Says which passed, and which failed and why.
import fs from "node:fs"
import path from "node:path"
import { moduleUrl, newMocha, replaceModules, sayResults } from "./run.mjs"

const tests = path.resolve(process.argv[2])
replaceModules({ "../src/server.js": moduleUrl("server-class.mjs") }, tests)
// Its clients would wait 5 s for their second attempt.
const mocha = newMocha({ timeout: 60_000 })
for (const name of fs.readdirSync(tests).filter((name) => name.endsWith(".test.js"))) mocha.addFile(path.join(tests, name))
await mocha.loadFilesAsync()
sayResults(mocha)
