// Arguments of callers, and buffers that change meanwhile.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { argon2, blake3, passwords } from '@hashmill/node';

import { CHEAP, read } from './support.mjs';

const expected = blake3.hash(Buffer.from([1, 2, 3]));

describe('bytes', () => {
  it('of every accepted type', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(3));
    shared.set([1, 2, 3]);
    const view = new Uint8Array(new ArrayBuffer(3, { maxByteLength: 100 }));
    view.set([1, 2, 3]);
    const bytes = [new Uint8Array([1, 2, 3]), Buffer.from([9, 1, 2, 3, 9]).subarray(1, 4), shared, shared.buffer, view, view.buffer, [1, 2, 3], '\x01\x02\x03'];
    for (const input of bytes) {
      assert.deepEqual(blake3.hash(input), expected);
      assert.deepEqual(blake3.createHash().update(input).digest(), expected);
      assert.deepEqual(await blake3.hashAsync(input, { onProgress() {} }), expected);
      assert.deepEqual((await blake3.hashMany([input]))[0], expected);
    }
    const target = new Uint8Array(new SharedArrayBuffer(32));
    assert.equal(blake3.createHash().update([1, 2, 3]).reader().readInto(target), 32);
    assert.deepEqual(Buffer.from(target), expected);
  });

  it('of no other type', async () => {
    const others = [undefined, null, 7, 7n, true, Symbol('x'), {}, () => 0, [256], [-1], [1.5], ['a'], [,], new Date(), new Uint16Array(2),
      new Uint8ClampedArray(2), new Float64Array(1), new DataView(new ArrayBuffer(2)), Promise.resolve('x'), Object.create(null)];
    for (const input of others) {
      assert.throws(() => blake3.hash(input), TypeError);
      assert.throws(() => blake3.createHash().update(input), TypeError);
      assert.throws(() => blake3.keyedHash(Buffer.alloc(32), input), TypeError);
      assert.throws(() => blake3.deriveKey('context', input), TypeError);
      await assert.rejects(blake3.hashAsync(input), TypeError);
      await assert.rejects(blake3.hashStream([input]), TypeError);
      await assert.rejects(blake3.hashMany([input]), TypeError);
      await assert.rejects(argon2.hash(input, CHEAP), TypeError);
    }
    for (const source of [undefined, 7, 'text', Buffer.from('x'), {}]) await assert.rejects(blake3.hashStream(source), TypeError);
  });

  it('one value is not a list', async () => {
    const logins = new passwords.Passwords(CHEAP);
    const taking = {
      hashFiles: (list) => blake3.hashFiles(list),
      hashMany: (list) => Promise.all([blake3.hashMany(list), logins.hashMany(list)]),
      verifyMany: (list) => logins.verifyMany(list),
    };
    // No other names, as declared by the types.
    const declared = ['blake3', 'passwords', 'argon2'].flatMap((name) => {
      const text = read(`bindings/node/lib/${name}.d.cts`);
      return [...text.matchAll(/(\w+)\(\s*\w+: (?:readonly )?(?:Iterable<|\w+\[\])/g)].map(([, name]) => name);
    });
    assert.deepEqual([...new Set(declared)].sort(), Object.keys(taking));
    const single = ['', 'text', '/etc', new String('text'), Buffer.from('text'), new Uint8Array(2), new ArrayBuffer(2), new URL('file:///etc'),
      undefined, null, 7, true, Symbol('x'), {}, { length: 1, 0: 'x' }, () => ['x'], Promise.resolve(['x'])];
    for (const [name, call] of Object.entries(taking)) {
      for (const input of single) {
        await assert.rejects(async () => call(input), { name: 'TypeError', message: /list/ }, `${name} of ${String(input)}`);
      }
      assert.deepEqual((await call([])).flat(), []);
    }
    for (const login of ['ab', Buffer.from('ab'), undefined]) await assert.rejects(logins.verifyMany([login]), TypeError);
    assert.equal((await blake3.hashMany(new Set(['a', 'b']))).length, 2);
  });

  it('keys, lengths, contexts and functions are checked', async () => {
    for (const size of [0, 31, 33]) {
      assert.throws(() => blake3.createKeyed(Buffer.alloc(size)), { name: 'TypeError', message: new RegExp(`${size} bytes`) });
      await assert.rejects(blake3.hashAsync('x', { key: Buffer.alloc(size) }), TypeError);
    }
    for (const length of [-1, 1.5, NaN, Infinity, 2 ** 53]) assert.throws(() => blake3.hash('x', { length }), RangeError);
    for (const length of ['32', null, 32n]) assert.throws(() => blake3.hash('x', { length }), TypeError);
    await assert.rejects(blake3.hashAsync('x', { key: Buffer.alloc(32), context: 'c' }), TypeError);
    await assert.rejects(blake3.hashAsync('x', { context: 7 }), TypeError);
    await assert.rejects(blake3.hashAsync('x', { onProgress: 7 }), TypeError);
    await assert.rejects(blake3.hashMany(['x'], { length: 64 }), RangeError);
  });

  it('lone surrogates become U+FFFD', async () => {
    for (const text of ['\ud800', 'a\udc00b', '\udc00\ud800']) {
      const replaced = text.toWellFormed?.() ?? text.replaceAll(/[\ud800-\udfff]/g, '\ufffd');
      assert.deepEqual(blake3.hash(text), blake3.hash(replaced));
      assert.deepEqual(blake3.hash(text), blake3.hash(new TextEncoder().encode(text)));
    }
  });
});

describe('a buffer that changes', () => {
  const SIZE = 64 << 20;
  const transfer = (buffer) => structuredClone(buffer, { transfer: [buffer] });

  it('transferred before a call is an error', async () => {
    const view = new Uint8Array(8);
    transfer(view.buffer);
    assert.throws(() => blake3.hash(view), TypeError);
    await assert.rejects(blake3.hashAsync(view), TypeError);
    await assert.rejects(argon2.hash(view, CHEAP), TypeError);
    const resizable = new ArrayBuffer(8, { maxByteLength: 8 });
    const outside = new Uint8Array(resizable, 4, 4);
    resizable.resize(2);
    assert.equal(outside.length, 0);
    assert.deepEqual(blake3.hash(new Uint8Array(resizable)), blake3.hash(Buffer.alloc(2)));
  });

  it('transferred or shortened during a hash is an error', async () => {
    const given = new Uint8Array(SIZE);
    const work = blake3.hashAsync(given);
    transfer(given.buffer).slice(0, 1);
    await assert.rejects(work, { name: 'TypeError', message: /67108864 to 0 bytes/ });
    const resizable = new ArrayBuffer(SIZE, { maxByteLength: SIZE });
    const shrinking = new Uint8Array(resizable);
    const shorter = blake3.hashAsync(shrinking, { onProgress: (done) => done > SIZE / 2 && resizable.resize(1 << 20) });
    await assert.rejects(shorter, { name: 'TypeError', message: /67108864 to 1048576 bytes/ });
  });

  it('transferred immediately, or inside a list or a stream, is an error', async () => {
    for (const size of [200_000, SIZE]) {
      const buffer = new ArrayBuffer(size, { maxByteLength: size });
      const digest = blake3.hash(new Uint8Array(buffer));
      const work = blake3.hashAsync(new Uint8Array(buffer), {});
      buffer.resize(0);
      // Either all of it was copied before, or there is an error.
      const [{ status, value, reason }] = await Promise.allSettled([work]);
      if (status === 'fulfilled') assert.deepEqual(value, digest);
      else assert.ok(reason instanceof TypeError);
      assert.equal(status, size > 2 << 20 ? 'rejected' : 'fulfilled');
    }
    // A long one, and a short one after other work.
    for (const [size, before] of [[SIZE, 1], [100, 20_000]]) {
      const buffer = new ArrayBuffer(size, { maxByteLength: size });
      const work = blake3.hashMany([...Array(before).fill('x'), new Uint8Array(buffer)]);
      buffer.resize(0);
      await assert.rejects(work, { name: 'TypeError', message: new RegExp(`${size} to 0 bytes`) });
    }
  });

  it('overwritten during a hash yields a hash of mixed bytes', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(SIZE));
    const digest = await blake3.hashAsync(shared, { onProgress: () => shared.fill(1) });
    assert.equal(digest.length, 32);
    // Input is hashed with its contents at the time of the call.
    const message = Buffer.from('as it was');
    const list = Array(100).fill(message);
    const digests = blake3.hashMany(list);
    const password = Buffer.from('as it was');
    const hash = argon2.hash(password, { ...CHEAP, salt: Buffer.alloc(16) });
    message.fill(0);
    password.fill(0);
    assert.deepEqual((await digests)[99], blake3.hash('as it was'));
  });
});
