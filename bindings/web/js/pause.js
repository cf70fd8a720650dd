// Pauses of long work on the caller's thread, so that the event loop runs.

/** Bytes between two pauses: about two milliseconds of work. */
export const PIECE = 4 * 1024 * 1024

export const pause = () =>
  new Promise((resume) => {
    if (typeof setImmediate === "function") return setImmediate(resume)
    // A timer would wait at least four milliseconds.
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => { port1.close(); resume() }
    port2.postMessage(null)
  })

export function throwIfAborted(signal) {
  if (signal?.aborted) throw signal.reason
}
