// node --import ours.mjs SCRIPT   runs a script of the JavaScript implementation on our engine, which HASHMILL_ENGINE names
import { createRequire } from "node:module"
import * as A from "@automerge/automerge"

A.use(createRequire(import.meta.url)(process.env.HASHMILL_ENGINE))
if (A.releaseInfo().wasm.cargoPackageName !== "hashmill-javascript-documents") throw new Error("another engine is at work")
