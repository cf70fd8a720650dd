// Pool of workers: start, messages, and end with the work.
import { compiled } from "../engine.js"

export const hasWorkers = () => typeof Worker === "function"

let free
const waiting = []

/** An idle worker with a loaded module, because starting one takes as long as a small hash. It is used before another one is started, and ends if unused. */
let spare
const IDLE_MS = 10_000

function takeWorker(module) {
  const worker = spare ?? startWorker(module)
  spare = undefined
  return worker
}

function startWorker(module) {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" })
  worker.postMessage({ module })
  return worker
}

/** Only if no work waits and a processor is free. */
function keepSpare(module) {
  if (spare || waiting.length > 0 || free === 0) return
  const worker = (spare = startWorker(module))
  const dismiss = () => {
    if (spare !== worker) return
    spare = undefined
    worker.terminate()
  }
  // The next request for a worker fails with this error.
  worker.onerror = (event) => {
    event.preventDefault?.()
    dismiss()
  }
  setTimeout(dismiss, IDLE_MS)
}

/** Waits for permission to start some of the `wanted` workers, because pages may start any number of hashes. Returns their number. */
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
 * Starts `wanted` workers, or as many as may run, and passes each answer to `onAnswer(answer, worker)` until that returns a value, with which
 * the promise is fulfilled. The workers end with the promise, also on an abort.
 */
export async function team(wanted, first, signal, onAnswer) {
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
        const worker = takeWorker(module)
        workers.push(worker)
        worker.onerror = (event) => {
          event.preventDefault?.()
          reject(new Error(`the worker failed: ${event.message || "the page may not start it (Content-Security-Policy, worker-src)"}`))
        }
        worker.onmessageerror = () => reject(new Error("the worker could not read a message"))
        worker.onmessage = ({ data }) => {
          try {
            if (data.error) throw data.error
            const result = onAnswer(data, worker)
            if (result !== undefined) resolve(result)
          } catch (error) {
            reject(error)
          }
        }
        worker.postMessage(first)
      }
    })
    // Deferred, because the page waits for the result now.
    setTimeout(keepSpare, 0, module)
    return answer
  } finally {
    signal?.removeEventListener("abort", stop)
    for (const worker of workers) worker.terminate()
    free += count
    admit()
  }
}
