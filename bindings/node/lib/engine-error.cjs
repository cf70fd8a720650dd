'use strict';
// The error of engines.

/** An engine is not available, or it failed. Nothing is known about the passwords and files that it was to compute. */
class EngineError extends Error {
  name = 'EngineError';
  code = 'ERR_HASHMILL_ENGINE';
}

module.exports = { EngineError };
