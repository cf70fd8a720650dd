// The package in its published form, in the folder of the build step.
import path from "node:path"
import { pathToFileURL } from "node:url"

export const { blake3, argon2, load } = await import(pathToFileURL(path.join(process.env.WEB_PACKAGE, "node/index.js")))
