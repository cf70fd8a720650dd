// Passwords under a policy, one at a time and many at once.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { blake3, passwords } from '@hashmill/node';
import npm from 'argon2';

import { CHEAP, native } from './support.mjs';

const { POLICIES, Passwords } = passwords;
const cheap = new Passwords(CHEAP);
const dear = `$argon2id$v=19$m=262144,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

describe('a policy', () => {
  it('is a name or costs', async () => {
    assert.deepEqual(new Passwords().policy, POLICIES.owasp);
    assert.match(await new Passwords().hash('x'), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    assert.deepEqual(cheap.policy, { ...CHEAP, type: 2, hashLength: 32, saltLength: 16 });
    const short = new Passwords({ ...CHEAP, type: 1, hashLength: 16, saltLength: 8 });
    assert.match(await short.hash('x'), /^\$argon2i\$v=19\$m=64,t=1,p=1\$[\w+/]{11}\$[\w+/]{22}$/);
    for (const policy of Object.values(POLICIES)) assert.deepEqual(new Passwords(policy).policy, policy);
  });

  it('of an unknown name is an error', () => {
    for (const policy of ['other', 'toString', { ...CHEAP, memoryCost: 7 }, { ...CHEAP, timeCost: 0 }, { ...CHEAP, timeCost: 1.5 },
      { ...CHEAP, parallelism: 2 ** 24 }, { ...CHEAP, type: 3 }, { ...CHEAP, saltLength: 7 }, { ...CHEAP, hashLength: 3 }, { ...CHEAP, hashLength: 15 }]) {
      assert.throws(() => new Passwords(policy), RangeError, JSON.stringify(policy));
    }
    for (const policy of [null, 7, {}, { ...CHEAP, memoryCost: '64' }]) assert.throws(() => new Passwords(policy), TypeError);
    assert.throws(() => new Passwords(CHEAP, { limits: 'none' }), { name: 'RangeError', message: /around/ });
    assert.throws(() => new Passwords(CHEAP, { limits: 7 }), TypeError);
    assert.throws(() => new Passwords(CHEAP, { secret: 7 }), TypeError);
    for (const memoryBudget of [-1, 0, 63, 64.5, NaN]) assert.throws(() => new Passwords(CHEAP, { memoryBudget }), RangeError);
  });

  it('has no unknown names, and neither have options', async () => {
    for (const other of [{ secret: 'pepper' }, { hashlength: 64 }, Object.create({ salt: 16 })]) {
      const policy = Object.assign(other, CHEAP);
      assert.throws(() => new Passwords(policy), { name: 'TypeError', message: /secret|hashlength|salt/ });
    }
    for (const options of [{ memorybudget: 64 }, { limit: 'policy' }, { signal: undefined }, { secret: undefined }, 'pepper', Buffer.from('x'), null, 7]) {
      assert.throws(() => new Passwords(CHEAP, options), TypeError);
    }
    assert.throws(() => new Passwords(CHEAP, { secret: undefined }), { message: /^secret/ });
    const stored = await cheap.hash('x', { signal: undefined });
    const inherited = new Passwords(CHEAP, Object.create({ secret: 'pepper' }));
    assert.equal(await inherited.verify(stored, 'x'), false);
    for (const options of [{ secret: 'pepper' }, 'pepper']) {
      const works = [cheap.hash('x', options), cheap.verify(stored, 'x', options), cheap.verifyAndUpgrade(stored, 'x', options)];
      works.push(cheap.verifyDummy('x', options), cheap.hashMany(['x'], options), cheap.verifyMany([[stored, 'x']], options));
      for (const work of works) await assert.rejects(work, TypeError);
    }
  });

  it('is copied at construction, and so are salts', async () => {
    const logins = new Passwords({ ...CHEAP, saltLength: 16 });
    assert.throws(() => (logins.policy = { saltLength: 8 }), TypeError);
    assert.throws(() => (logins.policy.saltLength = 8), TypeError);
    Object.defineProperty(logins, 'policy', { value: { saltLength: 8 } });
    const { upgrade } = await new Passwords({ ...CHEAP, timeCost: 2 }).verifyAndUpgrade(await logins.hash('a'), 'a');
    const stored = [await logins.hash('a'), upgrade, ...(await logins.hashMany(['a', 'b', 'c']))];
    assert.equal(stored.length, 5);
    for (const hash of stored) assert.match(hash, /\$[\w+/]{22}\$[\w+/]{43}$/);
  });

  it('is enforced by the native library, which never shortens lists', async () => {
    const inner = native.passwords(cheap.policy, 'around', Buffer.alloc(0), undefined);
    const [stop, password, stored] = [new native.Stop(), Buffer.from('a'), await cheap.hash('a')];
    for (const length of [0, 8, 15, 17, 32, 64]) {
      const salt = Buffer.alloc(length);
      const works = [inner.hash(password, salt, stop), inner.verifyAndUpgrade(stored, password, salt, stop)];
      works.push(inner.hashMany([password, password, password], salt, stop));
      for (const { kind, message } of await Promise.all(works)) {
        assert.equal(kind, 'Error');
        assert.match(message, new RegExp(`${length} given, (16|48) needed`));
      }
    }
    assert.equal((await inner.hashMany([password, password, password], Buffer.alloc(48), stop)).length, 3);
    assert.match((await inner.verifyMany([stored], [password, password], stop)).message, /1 given, 2 needed/);
  });

  it('decides whether a hash needs replacement', async () => {
    const more = new Passwords({ ...CHEAP, timeCost: 2 });
    const stored = await cheap.hash('x');
    assert.equal(cheap.needsRehash(stored), false);
    assert.equal(more.needsRehash(stored), true);
    assert.match(more.differences(stored).join(), /1.*2/);
    assert.deepEqual(cheap.differences(stored), []);
    const { matches, upgrade, reason } = await more.verifyAndUpgrade(stored, 'x');
    assert.deepEqual([matches, reason], [true, undefined]);
    assert.equal(await more.verify(upgrade, 'x'), true);
    const none = { upgrade: undefined, reason: undefined };
    assert.deepEqual(await more.verifyAndUpgrade(upgrade, 'x'), { matches: true, ...none });
    assert.deepEqual(await more.verifyAndUpgrade(stored, 'y'), { matches: false, ...none });
    // Hashes with higher costs stay.
    assert.equal(cheap.needsRehash(upgrade), false);
  });

  it('accepts the login if memory for an upgrade is missing', async () => {
    const huge = new Passwords({ ...CHEAP, memoryCost: 2 ** 32 - 1 });
    const { matches, upgrade, reason } = await huge.verifyAndUpgrade(await cheap.hash('x'), 'x');
    assert.deepEqual([matches, upgrade], [true, undefined]);
    assert.match(reason.message, /memory/);
    await assert.rejects(huge.hash('x'), /memory/);
    await assert.rejects(huge.hashMany(['x']), /memory/);
  });
});

describe('a password', () => {
  it('is verified by the package argon2, and the reverse', async () => {
    assert.equal(await npm.verify(await cheap.hash('x'), 'x'), true);
    assert.equal(await cheap.verify(await npm.hash('x', CHEAP), 'x'), true);
    assert.equal(await cheap.verify(await npm.hash('x', CHEAP), 'y'), false);
  });

  it('depends on the secret', async () => {
    const keyed = new Passwords(CHEAP, { secret: 'pepper' });
    const stored = await keyed.hash('x');
    assert.deepEqual([await keyed.verify(stored, 'x'), await cheap.verify(stored, 'x')], [true, false]);
    assert.equal(await npm.verify(stored, 'x', { secret: Buffer.from('pepper') }), true);
  });

  it('of an unknown user never matches', async () => assert.equal(await cheap.verifyDummy('x'), false));

  it('is copied when the call is made', async () => {
    const upgrading = new Passwords({ ...CHEAP, timeCost: 2 });
    const stored = await cheap.hash('as it was');
    const password = Buffer.from('as it was');
    const works = [cheap.hash(password), cheap.hashMany([password]), upgrading.verifyAndUpgrade(stored, password)];
    const checks = [cheap.verify(stored, password), cheap.verifyMany([[stored, password]])];
    assert.equal(String(password), 'as it was');
    password.fill(0);
    const [one, [many], { upgrade }] = await Promise.all(works);
    for (const hash of [one, many, upgrade]) assert.equal(await npm.verify(hash, 'as it was'), true);
    assert.deepEqual(await Promise.all(checks), [true, [{ status: 'fulfilled', value: true }]]);
  });

  it('is not copied into the buffer pool of Node', async () => {
    const password = 'a password that is looked for';
    const pool = Buffer.from(blake3.hash('x').buffer);
    const [stored] = await cheap.hashMany([password]);
    await cheap.verifyMany([[stored, password]]);
    await cheap.verifyAndUpgrade(stored, password);
    assert.equal(pool.includes(password), false);
  });

  it('of a wrong type is an error, and so is a malformed hash', async () => {
    for (const value of [undefined, 7, {}, new Uint16Array(2)]) {
      await assert.rejects(cheap.hash(value), TypeError);
      await assert.rejects(cheap.hashMany(['x', value]), TypeError);
      await assert.rejects(cheap.verifyDummy(value), TypeError);
    }
    const stored = await cheap.hash('x');
    for (const hash of [undefined, 7, Buffer.from(stored)]) {
      await assert.rejects(cheap.verify(hash, 'x'), TypeError);
      await assert.rejects(cheap.verifyAndUpgrade(hash, 'x'), TypeError);
      await assert.rejects(cheap.verifyMany([[hash, 'x']]), TypeError);
      assert.throws(() => cheap.needsRehash(hash), TypeError);
    }
    for (const list of [undefined, 7, [7], 'x']) await assert.rejects(cheap.verifyMany(list), TypeError);
    for (const list of [undefined, 7, 'x', Buffer.from('x')]) await assert.rejects(cheap.hashMany(list), TypeError);
    for (const hash of ['', '$', '$argon2id$', '\ud800', 'a'.repeat(1e6)]) {
      await assert.rejects(cheap.verify(hash, 'x'), SyntaxError);
      assert.throws(() => cheap.differences(hash), SyntaxError);
    }
    await assert.rejects(cheap.hash('x', { signal: {} }), TypeError);
  });
});

describe('many', () => {
  it('results and errors in order', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `password ${index}`);
    const stored = await cheap.hashMany(new Set(names));
    assert.equal(new Set(stored).size, 100);
    const logins = names.map((name, index) => [stored[index], index % 3 === 0 ? 'another' : Buffer.from(name)]);
    const found = await cheap.verifyMany([...logins, ['no hash', 'x'], [dear, 'x']]);
    assert.deepEqual(found.slice(0, 100).map(({ value }) => value), names.map((_, index) => index % 3 !== 0));
    assert.ok(found[100].reason instanceof SyntaxError);
    assert.ok(found[101].reason instanceof RangeError);
    assert.deepEqual([await cheap.hashMany([]), await cheap.verifyMany([])], [[], []]);
  });

  it('respect the budget and the limits', async () => {
    const bounded = new Passwords(CHEAP, { memoryBudget: 64 });
    const stored = await Promise.all(Array.from({ length: 16 }, () => bounded.hash('x')));
    const found = await Promise.all([bounded.verifyMany(stored.map((hash) => [hash, 'x'])), bounded.hashMany(Array(16).fill('x'))]);
    assert.ok(found[0].every(({ value }) => value));
    const eight = await new Passwords({ ...CHEAP, memoryCost: 512 }).hash('x');
    assert.equal(await cheap.verify(eight, 'x'), true);
    await assert.rejects(new Passwords(CHEAP, { limits: 'policy' }).verify(eight, 'x'), { name: 'RangeError', message: /512 KiB/ });
    await assert.rejects(cheap.verify(dear, 'x'), RangeError);
    assert.equal(await new Passwords(CHEAP, { limits: 'recommended' }).verify(dear, 'x'), false);
  });
});
