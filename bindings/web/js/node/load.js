// In Node importing this loads the module synchronously.
import { readFileSync } from "node:fs"
import { use } from "../engine.js"

use(new WebAssembly.Module(readFileSync(new URL("../hashmill.wasm", import.meta.url))))
