// In Node the module is there when this is imported.
import { readFileSync } from "node:fs"
import { use } from "./engine.js"

use(new WebAssembly.Module(readFileSync(new URL("./hashmill.wasm", import.meta.url))))
