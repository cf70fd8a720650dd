// Handles of documents, in Node and in a browser.
import * as A from "@automerge/automerge/slim"

// A document may arrive before any peer has it.
export async function find(repo, url) {
  for (;;) {
    try {
      return await repo.find(url)
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

export const state = (handle) => ({ heads: A.getHeads(handle.doc()).sort(), doc: A.toJS(handle.doc()) })
