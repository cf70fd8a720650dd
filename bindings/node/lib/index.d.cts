export * as argon2 from './argon2.cjs';
export * as blake3 from './blake3.cjs';
export * as passwords from './passwords.cjs';
