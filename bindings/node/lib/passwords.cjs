'use strict';
// Passwords under a policy: what is stored, what a stored hash may cost, upgrades, and many at once.

const { randomBytes } = require('node:crypto');
const { knownOf, listOf, numberOf, secretOf, wipe } = require('./arguments.cjs');
const { native, abortable, errorOf, settled } = require('./native.cjs');

const MAX_U32 = 2 ** 32 - 1;
const NONE = new Uint8Array();
const USUAL = { type: 2, hashLength: 32, saltLength: 16 };
const NUMBERS = ['memoryCost', 'timeCost', 'parallelism', 'type', 'hashLength', 'saltLength'];

const POLICIES = Object.freeze(Object.fromEntries(native.presets().map(({ name, terms }) => [name, Object.freeze(terms)])));

/** A policy with everything said: by its name, or by its costs. */
function policyOf(policy) {
  if (typeof policy === 'string') {
    if (Object.hasOwn(POLICIES, policy)) return POLICIES[policy];
    throw new RangeError(`policy ${JSON.stringify(policy)}: choose one of ${Object.keys(POLICIES).join(', ')}`);
  }
  const given = { ...USUAL, ...knownOf('policy', policy, NUMBERS) };
  return Object.freeze(Object.fromEntries(NUMBERS.map((name) => [name, numberOf(name, given[name], MAX_U32)])));
}

function storedOf(stored) {
  if (typeof stored !== 'string') throw new TypeError('stored: a string is needed');
  return stored;
}

/** What `call` gives for secrets, of which the library has copies when it returns. */
function withSecrets(given, call) {
  const secrets = [];
  try {
    for (const secret of given) secrets.push(secretOf(secret));
    return call(secrets);
  } finally {
    wipe(secrets, given);
  }
}

class Passwords {
  #native;
  #policy;

  constructor(policy = 'owasp', options = {}) {
    this.#policy = policyOf(policy);
    const given = { secret: NONE, ...knownOf('options', options, ['limits', 'secret', 'memoryBudget']) };
    const { limits = 'around', secret, memoryBudget } = given;
    // Most often a variable of the environment that is not set.
    if (secret === undefined) throw new TypeError('secret: undefined is none; leave the name out if there is none');
    if (typeof limits !== 'string') throw new TypeError('limits: a string is needed');
    const least = this.#policy.memoryCost;
    const budget =
      memoryBudget === undefined ? undefined : numberOf('memoryBudget', memoryBudget, Number.MAX_SAFE_INTEGER, least);
    const make = ([key]) => native.passwords(this.#policy, limits, key, budget);
    this.#native = settled(withSecrets([secret], make));
  }

  get policy() {
    return this.#policy;
  }

  /** What `work` promises for secrets, which are copied before this returns. */
  async #later(given, options, work) {
    const { signal } = knownOf('options', options ?? {}, ['signal']);
    const stop = new native.Stop();
    return abortable(signal, stop, async () => settled(await withSecrets(given, (secrets) => work(secrets, stop))));
  }

  #salts(count = 1) {
    return randomBytes(this.#policy.saltLength * count);
  }

  async hash(password, options) {
    return this.#later([password], options, ([bytes], stop) => this.#native.hash(bytes, this.#salts(), stop));
  }

  async verify(stored, password, options) {
    const text = storedOf(stored);
    return this.#later([password], options, ([bytes], stop) => this.#native.verify(text, bytes, stop));
  }

  async verifyAndUpgrade(stored, password, options) {
    const text = storedOf(stored);
    const work = ([bytes], stop) => this.#native.verifyAndUpgrade(text, bytes, this.#salts(), stop);
    const { matches, upgrade, failure } = await this.#later([password], options, work);
    return { matches, upgrade, reason: failure && errorOf(failure) };
  }

  async verifyDummy(password, options) {
    return this.#later([password], options, ([bytes], stop) => this.#native.verifyDummy(bytes, stop));
  }

  async hashMany(passwords, options) {
    const given = listOf('passwords', passwords);
    return this.#later(given, options, (all, stop) => this.#native.hashMany(all, this.#salts(all.length), stop));
  }

  async verifyMany(logins, options) {
    const pairs = listOf('logins', logins).map((login) => {
      const [stored, password] = listOf('a login', login);
      return [storedOf(stored), password];
    });
    const stored = pairs.map(([text]) => text);
    const given = pairs.map(([, password]) => password);
    const found = await this.#later(given, options, (all, stop) => this.#native.verifyMany(stored, all, stop));
    return found.map((verdict) =>
      typeof verdict === 'boolean'
        ? { status: 'fulfilled', value: verdict }
        : { status: 'rejected', reason: errorOf(verdict) },
    );
  }

  needsRehash(stored) {
    return settled(this.#native.needsRehash(storedOf(stored)));
  }

  differences(stored) {
    return settled(this.#native.differences(storedOf(stored)));
  }
}

module.exports = { POLICIES, Passwords };
