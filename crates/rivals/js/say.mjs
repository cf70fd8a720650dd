// What a document holds, in the JSON that the tests compare: values with types, conflicts, marks, spans, heads.
import * as A from "@automerge/automerge"

export function tagged(value) {
  if (typeof value === "string") return { __type: "text", value }
  if (A.isImmutableString(value)) return value.toString()
  if (A.isCounter(value)) return { __type: "counter", value: value.value }
  if (value instanceof Date) return { __type: "timestamp", value: value.getTime() }
  if (value instanceof Uint8Array) return { __type: "bytes", value: Buffer.from(value).toString("hex") }
  if (Array.isArray(value)) return value.map(tagged)
  if (value === null || typeof value !== "object") return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, tagged(inner)]))
}

// A scalar of a mark: its strings are no texts.
const scalar = (value) => (typeof value === "string" ? value : tagged(value))
const scalars = (values) => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, scalar(value)]))

function span({ type, value, marks }) {
  return type === "block" ? { block: tagged(value) } : { text: value, marks: scalars(marks ?? {}) }
}

export function say(doc) {
  const rich = typeof doc.body === "string"
  const title = A.getConflicts(doc, "title") ?? (doc.title === undefined ? {} : { only: doc.title })
  return {
    heads: A.getHeads(doc).sort(),
    value: tagged({ ...doc }),
    title: Object.values(title).map(tagged).map((value) => JSON.stringify(value)).sort(),
    marks: rich ? A.marks(doc, ["body"]).map(({ name, value, start, end }) => [name, scalar(value), start, end]) : [],
    spans: rich ? A.spans(doc, ["body"]).map(span) : [],
  }
}
