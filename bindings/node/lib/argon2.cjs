'use strict';
// Argon2: the names and options of the package `argon2`, an abort signal, and limits on the cost of stored hashes.

const { randomBytes } = require('node:crypto');
const { copyBytes, toNumber, copySecret, wipe } = require('./arguments.cjs');
const { native, abortable, unwrap } = require('./native.cjs');

const argon2d = 0;
const argon2i = 1;
const argon2id = 2;
const NAMES = ['argon2d', 'argon2i', 'argon2id'];

const MAX_U32 = 2 ** 32 - 1;
const DEFAULTS = { hashLength: 32, memoryCost: 1 << 16, parallelism: 4, timeCost: 3, type: argon2id, version: 0x13 };
/** Maximum memory in KiB of a stored hash, and of passes over that memory: 2 GiB, seconds. */
const MAX_MEMORY_COST = 2 << 20;
const MAX_PASSES_OF_ALL = 4;

const NONE = new Uint8Array();
const base64 = (bytes) => Buffer.from(bytes).toString('base64').replaceAll('=', '');

async function hash(password, options) {
  const { raw, salt: given, associatedData = NONE, secret = NONE, signal, ...rest } = { ...DEFAULTS, ...options };
  const costs = {
    hashLength: toNumber('hashLength', rest.hashLength, MAX_U32),
    memoryCost: toNumber('memoryCost', rest.memoryCost, MAX_U32),
    parallelism: toNumber('parallelism', rest.parallelism, 2 ** 24 - 1),
    timeCost: toNumber('timeCost', rest.timeCost, MAX_U32),
    type: toNumber('type', rest.type, argon2id),
    version: toNumber('version', rest.version, MAX_U32),
  };
  const data = copyBytes(associatedData);
  const salt = copyBytes(given ?? randomBytes(16));
  const stop = new native.Stop();
  const tag = await abortable(signal, stop, async () => {
    const secrets = [copySecret(password), copySecret(secret)];
    const work = native.argon2Hash(costs, secrets[0], salt, secrets[1], data, stop);
    wipe(secrets, [password, secret]);
    return unwrap(await work);
  });
  if (raw) return tag;
  const { memoryCost: m, parallelism: p, timeCost: t } = costs;
  const bound = data.length > 0 ? `,data=${base64(data)}` : '';
  return `$${NAMES[costs.type]}$v=${costs.version}$m=${m},p=${p},t=${t}${bound}$${base64(salt)}$${base64(tag)}`;
}

/** Whether it is a stored hash of another function. */
function isForeign(digest) {
  if (typeof digest !== 'string') throw new TypeError('digest: a string is needed');
  const name = /^\$([a-z0-9-]{1,32})\$/.exec(digest)?.[1];
  return name !== undefined && !NAMES.includes(name);
}

async function verify(digest, password, { secret = NONE, maxMemoryCost = MAX_MEMORY_COST, signal } = {}) {
  const memoryCost = toNumber('maxMemoryCost', maxMemoryCost, MAX_U32);
  const bounds = { memoryCost, work: memoryCost * MAX_PASSES_OF_ALL };
  if (isForeign(digest)) return false;
  const stop = new native.Stop();
  return abortable(signal, stop, async () => {
    const secrets = [copySecret(password), copySecret(secret)];
    const work = native.argon2Verify(digest, ...secrets, bounds, stop);
    wipe(secrets, [password, secret]);
    return unwrap(await work);
  });
}

function needsRehash(digest, options = {}) {
  isForeign(digest);
  const wanted = { ...DEFAULTS, ...options };
  const stored = unwrap(native.argon2Stored(digest));
  return ['version', 'memoryCost', 'timeCost', 'parallelism'].some((name) => stored[name] !== Number(wanted[name]));
}

module.exports = { argon2d, argon2i, argon2id, hash, needsRehash, verify };
