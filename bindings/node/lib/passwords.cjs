'use strict';
// Passwords with a policy: new hashes, limits of stored hashes, upgrades, and batches.

const { randomBytes } = require('node:crypto');
const { pickKnown, toList, toNumber, copySecret, wipe } = require('./arguments.cjs');
const { native, abortable, toError, unwrap } = require('./native.cjs');

const MAX_U32 = 2 ** 32 - 1;
const NONE = new Uint8Array();
const USUAL = { type: 2, hashLength: 32, saltLength: 16 };
const NUMBERS = ['memoryCost', 'timeCost', 'parallelism', 'type', 'hashLength', 'saltLength'];

const POLICIES = Object.freeze(Object.fromEntries(native.presets().map(({ name, policy }) => [name, Object.freeze(policy)])));

/** A complete policy from its name or its costs. */
function toPolicy(policy) {
  if (typeof policy === 'string') {
    if (Object.hasOwn(POLICIES, policy)) return POLICIES[policy];
    throw new RangeError(`policy ${JSON.stringify(policy)}: choose one of ${Object.keys(POLICIES).join(', ')}`);
  }
  const given = { ...USUAL, ...pickKnown('policy', policy, NUMBERS) };
  return Object.freeze(Object.fromEntries(NUMBERS.map((name) => [name, toNumber(name, given[name], MAX_U32)])));
}

function toStored(stored) {
  if (typeof stored !== 'string') throw new TypeError('stored: a string is needed');
  return stored;
}

/** The result of `call` with secrets, which the library has copied when it returns. */
function withSecrets(given, call) {
  const secrets = [];
  try {
    for (const secret of given) secrets.push(copySecret(secret));
    return call(secrets);
  } finally {
    wipe(secrets, given);
  }
}

class Passwords {
  #native;
  #policy;

  constructor(policy = 'owasp', options = {}) {
    this.#policy = toPolicy(policy);
    const given = { secret: NONE, ...pickKnown('options', options, ['limits', 'secret', 'memoryBudget', 'engine']) };
    const { limits = 'around', secret, memoryBudget, engine } = given;
    // Usually an environment variable that is not set.
    if (secret === undefined) throw new TypeError('secret: undefined is not a secret; omit the name without one');
    if (typeof limits !== 'string') throw new TypeError('limits: a string is needed');
    if (engine !== undefined && typeof engine !== 'string') throw new TypeError('engine: a string is needed');
    const least = this.#policy.memoryCost;
    const budget =
      memoryBudget === undefined ? undefined : toNumber('memoryBudget', memoryBudget, Number.MAX_SAFE_INTEGER, least);
    const make = ([key]) => native.passwords(this.#policy, limits, key, budget, engine);
    this.#native = unwrap(withSecrets([secret], make));
  }

  get policy() {
    return this.#policy;
  }

  /** The promise of `work` with secrets, which are copied before this returns. */
  async #later(given, options, work) {
    const { signal } = pickKnown('options', options ?? {}, ['signal']);
    const stop = new native.Stop();
    return abortable(signal, stop, async () => unwrap(await withSecrets(given, (secrets) => work(secrets, stop))));
  }

  /** The result of a batch. Engines that failed without harm to it are warnings. */
  async #batch(given, options, work) {
    try {
      return await this.#later(given, options, work);
    } finally {
      for (const message of this.#native.takeMessages()) process.emitWarning(message, 'EngineWarning');
    }
  }

  #salts(count = 1) {
    return randomBytes(this.#policy.saltLength * count);
  }

  async hash(password, options) {
    return this.#later([password], options, ([bytes], stop) => this.#native.hash(bytes, this.#salts(), stop));
  }

  async verify(stored, password, options) {
    const text = toStored(stored);
    return this.#later([password], options, ([bytes], stop) => this.#native.verify(text, bytes, stop));
  }

  async verifyAndUpgrade(stored, password, options) {
    const text = toStored(stored);
    const work = ([bytes], stop) => this.#native.verifyAndUpgrade(text, bytes, this.#salts(), stop);
    const { matches, upgrade, failure } = await this.#later([password], options, work);
    return { matches, upgrade, reason: failure && toError(failure) };
  }

  async verifyDummy(password, options) {
    return this.#later([password], options, ([bytes], stop) => this.#native.verifyDummy(bytes, stop));
  }

  async hashMany(passwords, options) {
    const given = toList('passwords', passwords);
    return this.#batch(given, options, (all, stop) => this.#native.hashMany(all, this.#salts(all.length), stop));
  }

  async verifyMany(logins, options) {
    const pairs = toList('logins', logins).map((login) => {
      const [stored, password] = toList('a login', login);
      return [toStored(stored), password];
    });
    const stored = pairs.map(([text]) => text);
    const given = pairs.map(([, password]) => password);
    const found = await this.#batch(given, options, (all, stop) => this.#native.verifyMany(stored, all, stop));
    return found.map((verdict) =>
      typeof verdict === 'boolean'
        ? { status: 'fulfilled', value: verdict }
        : { status: 'rejected', reason: toError(verdict) },
    );
  }

  needsRehash(stored) {
    return unwrap(this.#native.needsRehash(toStored(stored)));
  }

  differences(stored) {
    return unwrap(this.#native.differences(toStored(stored)));
  }
}

module.exports = { POLICIES, Passwords };
