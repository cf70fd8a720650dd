'use strict';
// The Rust library, and the conversion of its answers.

const util = require('node:util');
const { EngineError } = require('./engine-error.cjs');
const { system } = require('./system.cjs');

function load() {
  const name = system();
  try {
    return require(`../prebuilds/${name}.node`);
  } catch (cause) {
    throw new Error(`@hashmill/node cannot load its library for ${name}: ${cause.message}`, { cause });
  }
}

const ERRORS = { EngineError, Error, RangeError, SyntaxError };

/** The error for a failure. */
function toError({ kind, message, errno }, path) {
  const error = new (ERRORS[kind] ?? Error)(path === undefined ? message : `${message}: ${path}`);
  if (path !== undefined) error.path = path;
  // On Windows the numbers differ from those that Node has names for.
  if (errno != null && process.platform !== 'win32') {
    error.errno = -errno;
    error.code = util.getSystemErrorName(-errno);
  }
  return error;
}

/** The result, or an exception. */
function unwrap(answer) {
  if (answer?.kind !== undefined) throw toError(answer);
  return answer;
}

/** The result of `work`, unless the signal aborts first: then `stop.set()` ends the work, which is not awaited. */
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

module.exports = { native: load(), abortable, toError, unwrap };
