'use strict';
// Conversion of callers' arguments for the library; invalid ones are a TypeError or a RangeError.

const { constants } = require('node:buffer');

const encoder = new TextEncoder();
const isShared = (bytes) => bytes.buffer instanceof SharedArrayBuffer;

/** Bytes as they are, or a copy of a string in UTF-8, with lone surrogates as U+FFFD. */
function toBytes(input) {
  if (input instanceof Uint8Array) {
    // A transferred buffer would look empty: this throws.
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

/** A copy, so that the bytes do not change while the library reads them. */
function copyBytes(input) {
  const bytes = toBytes(input);
  return isShared(bytes) ? new Uint8Array(bytes) : bytes;
}

/** The same for a secret, which must not be in memory that Node shares among buffers. */
const copySecret = (input) => copyBytes(typeof input === 'string' ? encoder.encode(input) : input);

/** Wipes the copies made here of callers' arguments: the library has its own. */
function wipe(secrets, given) {
  secrets.forEach((secret, index) => secret !== given[index] && secret.buffer !== given[index] && secret.fill(0));
}

/** A copy of an object with only these names: a misspelt one would otherwise be ignored. */
function pickKnown(what, object, names) {
  if (typeof object !== 'object' || object === null) throw new TypeError(`${what}: an object is needed`);
  const known = {};
  for (const name in object) {
    if (!names.includes(name)) throw new TypeError(`${what}: unknown name ${name}; the names are ${names.join(', ')}`);
    known[name] = object[name];
  }
  return known;
}

/** An integer up to `most`. */
function toNumber(name, value, most, least = 0) {
  if (typeof value !== 'number') throw new TypeError(`${name}: a number is needed`);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${name} of ${value}: a whole number from ${least} to ${most} is needed`);
}

/**
 * A copy of a list. Strings and bytes are refused, though JavaScript can iterate over them: each character would be an input.
 */
function toList(name, list) {
  const isOne = typeof list !== 'object' || list instanceof String || list instanceof URL || ArrayBuffer.isView(list);
  if (isOne || typeof list?.[Symbol.iterator] !== 'function') {
    const type = list?.constructor?.name ?? typeof list;
    throw new TypeError(`${name}: a list is needed, not one ${type}; put a single one in brackets`);
  }
  return [...list];
}

/** The number of bytes of output. */
const toLength = (value) => (value === 32 ? value : toNumber('length', value, constants.MAX_LENGTH));

module.exports = { copyBytes, isShared, pickKnown, toLength, toList, toNumber, copySecret, toBytes, wipe };
