// Workers, from the first to the last: made, heard, and ended with the work.
import { compiled } from "./engine.js"

export const hasWorkers = () => typeof Worker === "function"

let free
const waiting = []

/** A worker that has the module and nothing to do: to start one takes as long as a small hash. It is hired before another one is started, and ends unhired. */
let spare
const UNHIRED = 10_000

function hired(module) {
  const worker = spare ?? started(module)
  spare = undefined
  return worker
}

function started(module) {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" })
  worker.postMessage({ module })
  return worker
}

/** Where no work waits, and a processor does. */
function keepSpare(module) {
  if (spare || waiting.length > 0 || free === 0) return
  const worker = (spare = started(module))
  const dismiss = () => {
    if (spare !== worker) return
    spare = undefined
    worker.terminate()
  }
  // Whoever wants a worker next hears why there is none.
  worker.onerror = (event) => {
    event.preventDefault?.()
    dismiss()
  }
  setTimeout(dismiss, UNHIRED)
}

/** Room for some of the `wanted` workers, when there is: pages may ask for any number of hashes at once. Gives how many. */
function enter(wanted, signal) {
  free ??= navigator.hardwareConcurrency || 1
  return new Promise((resolve, reject) => {
    const begin = (count) => {
      signal?.removeEventListener("abort", stop)
      resolve(count)
    }
    const stop = () => {
      waiting.splice(waiting.indexOf(entry), 1)
      reject(signal.reason)
    }
    const entry = { wanted, begin }
    signal?.addEventListener("abort", stop, { once: true })
    waiting.push(entry)
    admit()
  })
}

function admit() {
  while (free > 0 && waiting.length > 0) {
    const { wanted, begin } = waiting.shift()
    const count = Math.min(wanted, free)
    free -= count
    begin(count)
  }
}

/**
 * Starts `wanted` workers, or as many as may run, and hands each answer to `hear(answer, worker)` until that gives something else than undefined, with which
 * the promise is kept. Whatever ends it, an abort too, ends the workers at once.
 */
export async function team(wanted, first, signal, hear) {
  const module = await compiled()
  signal?.throwIfAborted()
  const count = await enter(wanted, signal)
  const workers = []
  let stop
  try {
    signal?.throwIfAborted()
    const answer = await new Promise((resolve, reject) => {
      stop = () => reject(signal.reason)
      signal?.addEventListener("abort", stop)
      for (let i = 0; i < count; i += 1) {
        const worker = hired(module)
        workers.push(worker)
        worker.onerror = (event) => {
          event.preventDefault?.()
          reject(new Error(`the worker failed: ${event.message || "the page may not start it (Content-Security-Policy, worker-src)"}`))
        }
        worker.onmessageerror = () => reject(new Error("the worker could not read what it was sent"))
        worker.onmessage = ({ data }) => {
          try {
            if (data.error) throw data.error
            const result = hear(data, worker)
            if (result !== undefined) resolve(result)
          } catch (error) {
            reject(error)
          }
        }
        worker.postMessage(first)
      }
    })
    // Later, as the page waits for the result now.
    setTimeout(keepSpare, 0, module)
    return answer
  } finally {
    signal?.removeEventListener("abort", stop)
    for (const worker of workers) worker.terminate()
    free += count
    admit()
  }
}
