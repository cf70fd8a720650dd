// Argon2: published answers, comparison with the replaced package, and additional checks of arguments.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { argon2, blake3 } from '@hashmill/node';
import hashWasm from 'hash-wasm';
import npm from 'argon2';

import { CHEAP } from './support.mjs';

const filled = (length, byte) => Buffer.alloc(length, byte);

describe('RFC 9106', () => {
  const answers = {
    argon2d: '512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb',
    argon2i: 'c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8',
    argon2id: '0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659',
  };
  for (const [name, expected] of Object.entries(answers)) {
    it(name, async () => {
      const options = { memoryCost: 32, timeCost: 3, parallelism: 4, type: argon2[name], raw: true };
      const input = { salt: filled(16, 2), secret: filled(8, 3), associatedData: filled(12, 4) };
      assert.equal((await argon2.hash(filled(32, 1), { ...options, ...input })).toString('hex'), expected);
    });
  }
});

describe('beside the package', () => {
  const rows = [0, 1, 2].flatMap((type) =>
    [[64, 1, 1], [64, 2, 4], [100, 3, 2], [4096, 1, 3]].flatMap(([memoryCost, timeCost, parallelism]) =>
      [0x10, 0x13].map((version) => ({ type, memoryCost, timeCost, parallelism, version })),
    ),
  );
  it('equal bytes, and strings that the other verifies', async () => {
    for (const costs of rows) {
      const inputs = { ...costs, salt: Buffer.from('some salt'), secret: Buffer.from('pepper') };
      const [ours, theirs] = await Promise.all(
        [argon2, npm].map((library) => library.hash('pass\0word', { ...inputs, raw: true })),
      );
      assert.deepEqual(ours, theirs);
      const { secret } = inputs;
      assert.equal(await npm.verify(await argon2.hash('pass\0word', inputs), 'pass\0word', { secret }), true);
      assert.equal(await argon2.verify(await npm.hash('pass\0word', inputs), 'pass\0word', { secret }), true);
      assert.equal(await argon2.verify(await npm.hash('pass\0word', inputs), 'pass word', { secret }), false);
    }
  });

  it('equal bytes by hash-wasm', async () => {
    const options = { password: 'password', salt: 'some salt', iterations: 2, memorySize: 64, parallelism: 2, hashLength: 24 };
    const encoded = await hashWasm.argon2id({ ...options, outputType: 'encoded' });
    assert.equal(await argon2.verify(encoded, 'password'), true);
  });

  it('the same exports', () => assert.deepEqual(Object.keys(argon2).sort(), Object.keys(npm).sort()));
});

describe('limits', () => {
  const stored = (costs) => `$argon2id$v=19$${costs}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  it('refuse excessive memory or time before any work', async () => {
    await assert.rejects(argon2.verify(stored('m=4294967295,t=1,p=1'), 'x'), { name: 'RangeError', message: /4294967295 KiB/ });
    await assert.rejects(argon2.verify(stored('m=1024,t=4294967295,p=1'), 'x'), RangeError);
    await assert.rejects(argon2.verify(stored('m=2097152,t=5,p=1'), 'x'), RangeError);
    await assert.rejects(argon2.verify(stored('m=4294967295,t=4294967295,p=16777216'), 'x'), RangeError);
  });
  it('are settable', async () => {
    const hash = await argon2.hash('x', { ...CHEAP, memoryCost: 1024 });
    await assert.rejects(argon2.verify(hash, 'x', { maxMemoryCost: 1023 }), { name: 'RangeError', message: /1023/ });
    assert.equal(await argon2.verify(hash, 'x', { maxMemoryCost: 1024 }), true);
  });
  it('impossible parameters are errors', async () => {
    await assert.rejects(argon2.hash('x', { ...CHEAP, memoryCost: 2 ** 32 - 1 }), /memory/);
    for (const [name, value] of [['hashLength', 3], ['hashLength', 2 ** 40], ['parallelism', 0], ['parallelism', 2 ** 24], ['timeCost', 0],
      ['timeCost', 1.5], ['memoryCost', -1], ['memoryCost', NaN], ['memoryCost', 7], ['type', 3], ['version', 18]]) {
      await assert.rejects(argon2.hash('x', { ...CHEAP, [name]: value }), RangeError, `${name} ${value}`);
    }
    await assert.rejects(argon2.hash('x', { ...CHEAP, salt: Buffer.alloc(7) }), { name: 'RangeError', message: /7 bytes/ });
    await assert.rejects(argon2.hash('x', { ...CHEAP, timeCost: '3' }), TypeError);
  });
});

describe('strings', () => {
  it('malformed hashes are errors with the offset', async () => {
    for (const text of ['', '$', 'argon2id', '$argon2id$', '$argon2id$v=19$m=64,t=1$AAAA$AAAA', '\ud800', 'a'.repeat(1e6)]) {
      await assert.rejects(argon2.verify(text, 'x'), { name: 'SyntaxError', message: /byte \d+/ }, text.slice(0, 40));
    }
    assert.equal(await argon2.verify('$2a$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW', 'x'), false);
    await assert.rejects(argon2.verify(7, 'x'), TypeError);
    assert.throws(() => argon2.needsRehash('$argon2id$'), SyntaxError);
  });
  it('lone surrogates of a password are U+FFFD', async () => {
    const hash = await argon2.hash('a\ud800b', CHEAP);
    assert.equal(await argon2.verify(hash, 'a\ufffdb'), true);
    assert.equal(await argon2.verify(hash, Buffer.from('a\ufffdb')), true);
  });
  it('copies of secrets are not in the buffer pool of Node', async () => {
    const password = 'a password that is found';
    const pool = Buffer.from(blake3.hash('x').buffer);
    for (let turn = 0; turn < 3; turn += 1) {
      await argon2.verify(await argon2.hash(password, { ...CHEAP, secret: Buffer.from('12345678') }), password);
      assert.equal(pool.includes(password), false);
    }
    const context = { context: 'a context' };
    const keys = [blake3.deriveKey('a context', password), blake3.createDeriveKey('a context').update(Buffer.from('x')).digest(),
      await blake3.hashAsync('x', context), await blake3.hashStream(['x'], context)];
    for (const key of keys) assert.equal(key.buffer.byteLength, 32);
    const [given, secret] = [Buffer.from('given'), Buffer.from('pepper')];
    await argon2.hash(given, { ...CHEAP, secret });
    assert.deepEqual([given, secret].map(String), ['given', 'pepper']);
  });
  it('short hashes with long salts', async () => {
    const hash = await argon2.hash('x', { ...CHEAP, hashLength: 4, salt: Buffer.alloc(100) });
    assert.equal(await argon2.verify(hash, 'x'), true);
    assert.equal(argon2.needsRehash(hash, CHEAP), false);
    assert.equal(argon2.needsRehash(hash), true);
  });
});
