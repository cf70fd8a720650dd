'use strict';
// What callers may hand in, as the library takes it; anything else is a TypeError or a RangeError here.

const { constants } = require('node:buffer');

const encoder = new TextEncoder();
const isShared = (bytes) => bytes.buffer instanceof SharedArrayBuffer;

/** The bytes themselves where they are bytes, else a copy. Strings are taken in UTF-8, lone surrogates in them as U+FFFD. */
function viewOf(input) {
  if (input instanceof Uint8Array) {
    // Who reads nothing of a buffer that was given away should hear of it: this throws then.
    if (input.length === 0) new Uint8Array(input.buffer, 0, 0);
    return input;
  }
  if (typeof input === 'string') return Buffer.from(input, 'utf8');
  if (input instanceof ArrayBuffer || input instanceof SharedArrayBuffer) return new Uint8Array(input);
  if (Array.isArray(input) && [...input].every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256)) {
    return Uint8Array.from(input);
  }
  const type = input?.constructor?.name ?? typeof input;
  throw new TypeError(`${type}: a string, a Uint8Array, an ArrayBuffer or an array of bytes is needed`);
}

/** Bytes that nobody else writes to while the library reads them. */
function bytesOf(input) {
  const bytes = viewOf(input);
  return isShared(bytes) ? new Uint8Array(bytes) : bytes;
}

/** The same of a secret, which must not come to lie in memory that Node shares among buffers. */
const secretOf = (input) => bytesOf(typeof input === 'string' ? encoder.encode(input) : input);

/** Wipes what was made here of what callers gave: the library has copies. */
function wipe(secrets, given) {
  secrets.forEach((secret, index) => secret !== given[index] && secret.buffer !== given[index] && secret.fill(0));
}

/** A copy of an object that has no other names than these: one that is misspelt would be taken for one that was left out. */
function knownOf(what, object, names) {
  if (typeof object !== 'object' || object === null) throw new TypeError(`${what}: an object is needed`);
  const known = {};
  for (const name in object) {
    if (!names.includes(name)) throw new TypeError(`${what}: ${name} is none of ${names.join(', ')}`);
    known[name] = object[name];
  }
  return known;
}

/** A whole number up to `most`. */
function numberOf(name, value, most, least = 0) {
  if (typeof value !== 'number') throw new TypeError(`${name}: a number is needed`);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} of ${value}: a whole number from ${least} to ${most} is needed`);
}

/**
 * A list as it is now. Text and bytes are not lists, though JavaScript iterates over them: their letters would be taken for inputs.
 */
function listOf(name, list) {
  const isOne = typeof list !== 'object' || list instanceof String || list instanceof URL || ArrayBuffer.isView(list);
  if (isOne || typeof list?.[Symbol.iterator] !== 'function') {
    const type = list?.constructor?.name ?? typeof list;
    throw new TypeError(`${name}: a list is needed, not one ${type}; put a single one in brackets`);
  }
  return [...list];
}

/** How many bytes of output. */
const lengthOf = (value) => (value === 32 ? value : numberOf('length', value, constants.MAX_LENGTH));

module.exports = { bytesOf, isShared, knownOf, lengthOf, listOf, numberOf, secretOf, viewOf, wipe };
