'use strict';
// The library in Rust, and what its answers mean here.

const util = require('node:util');
const { system } = require('./system.cjs');

function load() {
  const name = system();
  try {
    return require(`../prebuilds/${name}.node`);
  } catch (cause) {
    throw new Error(`@hashmill/node cannot load its library for ${name}: ${cause.message}`, { cause });
  }
}

const ERRORS = { Error, RangeError, SyntaxError };

/** The error that a failure is. */
function errorOf({ kind, message, errno }, path) {
  const error = new (ERRORS[kind] ?? Error)(path === undefined ? message : `${message}: ${path}`);
  if (path !== undefined) error.path = path;
  // On Windows the numbers are others than those that Node has names for.
  if (errno != null && process.platform !== 'win32') {
    error.errno = -errno;
    error.code = util.getSystemErrorName(-errno);
  }
  return error;
}

/** What was asked for, or an exception. */
function settled(answer) {
  if (answer?.kind !== undefined) throw errorOf(answer);
  return answer;
}

/** What `work` promises, unless the signal aborts first: then `stop.set()` ends the work, which nobody waits for. */
function abortable(signal, stop, work) {
  if (signal === undefined) return work();
  if (!(signal instanceof AbortSignal)) throw new TypeError('signal: an AbortSignal is needed');
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => {
      stop.set();
      reject(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    work()
      .finally(() => signal.removeEventListener('abort', abort))
      .then(resolve, reject);
  });
}

module.exports = { native: load(), abortable, errorOf, settled };
