// The package as it is published, where the step built it.
import path from "node:path"
import { pathToFileURL } from "node:url"

export const { blake3, argon2, load } = await import(pathToFileURL(path.join(process.env.WEB_PACKAGE, "node-index.js")))
