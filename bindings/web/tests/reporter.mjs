// A test reporter with the output format of Rust's tests, which `cargo xtask test` reads.
import { inspect } from "node:util"

export default async function* report(events) {
  const count = { "test:pass": 0, "test:fail": 0 }
  for await (const { type, data } of events) {
    if (!(type in count)) continue
    count[type] += 1
    const failed = type === "test:fail"
    yield `test ${data.name} ... ${failed ? "FAILED" : "ok"}\n`
    if (failed) yield `${inspect(data.details.error.cause ?? data.details.error)}\n`
  }
  const { "test:pass": passed, "test:fail": failed } = count
  yield `test result: ${failed > 0 ? "FAILED" : "ok"}. ${passed} passed; ${failed} failed\n`
}
