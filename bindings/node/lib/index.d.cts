/** An engine is not available, or it failed. Nothing is known about the passwords and files that it was to compute. */
export class EngineError extends Error {
  readonly name: 'EngineError';
  readonly code: 'ERR_HASHMILL_ENGINE';
}

export * as argon2 from './argon2.cjs';
export * as blake3 from './blake3.cjs';
export * as passwords from './passwords.cjs';
