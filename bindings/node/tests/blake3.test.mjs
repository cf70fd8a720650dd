// BLAKE3: published vectors, and comparison with the replaced packages.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, it } from 'node:test';

import { blake3 } from '@hashmill/node';
import wasm from 'blake3-wasm';
import hashWasm from 'hash-wasm';

import { LENGTHS, native, painted, read } from './support.mjs';

const vectors = JSON.parse(read('crates/testkit/data/blake3_test_vectors.json'));
const context = vectors.context_string;
const hex = (digest) => Buffer.from(digest).toString('hex');

describe('published vectors', () => {
  for (const row of vectors.cases) {
    it(`${row.input_len} bytes, by every function`, async () => {
      const input = painted(row.input_len);
      const key = Buffer.from(vectors.key);
      const length = row.hash.length / 2;
      const modes = [
        [row.hash, {}, blake3.hash(input, { length }), blake3.createHash()],
        [row.keyed_hash, { key }, blake3.keyedHash(key, input, { length }), blake3.createKeyed(key)],
        [row.derive_key, { context }, blake3.deriveKey(context, input, { length }), blake3.createDeriveKey(context)],
      ];
      for (const [expected, options, once, hasher] of modes) {
        assert.equal(hex(once), expected);
        assert.equal(hasher.update(input).digest('hex', { length }), expected);
        assert.equal(hex(hasher.reader().read(length)), expected);
        assert.equal(hex(await blake3.hashAsync(input, { ...options, length })), expected);
        const halves = [input.subarray(0, row.input_len / 2), input.subarray(row.input_len / 2)];
        assert.equal(hex(await blake3.hashStream(halves, { ...options, length })), expected);
        assert.deepEqual((await blake3.hashMany([input, input], options)).map(hex), Array(2).fill(expected.slice(0, 64)));
      }
    });
  }
});

describe('beside the packages', async () => {
  await wasm.load();
  for (const length of LENGTHS) {
    it(`${length} bytes`, async () => {
      const input = painted(length);
      const digest = blake3.hash(input);
      assert.equal(hex(digest), await hashWasm.blake3(input));
      if (length < 2 << 20) assert.equal(hex(digest), hex(wasm.createHash().update(input).digest()));
      assert.deepEqual(await blake3.hashAsync(input), digest);
      assert.deepEqual(await blake3.hashAsync(input, { onProgress() {} }), digest);
      const parts = [input.subarray(0, length / 3), input.subarray(length / 3)];
      for (const source of [parts, Readable.from(parts), new Blob(parts).stream()]) {
        assert.deepEqual(await blake3.hashStream(source), digest);
      }
      const chunks = await Readable.from(parts).pipe(blake3.createHash()).toArray();
      assert.deepEqual(chunks, [digest]);
    });
  }

  it('has their names', () => {
    const missing = Object.keys(wasm).filter((name) => !(name in blake3));
    // Only needed by their WebAssembly version.
    const inner = ['HashRaw', 'WasmHasher', 'getWasm', 'hashOneShot', 'MAX_SCRATCH_SIZE', 'scratch', 'setWasm', 'provideWasm'];
    assert.deepEqual(missing.filter((name) => !inner.includes(name)), []);
  });
});

describe('a hasher', () => {
  it('reads and writes text in an encoding', () => {
    assert.equal(blake3.createHash().update('00ff', 'hex').digest('hex'), hex(blake3.hash(Buffer.from([0, 255]))));
    assert.equal(blake3.createHash().digest('base64'), blake3.hash('').toString('base64'));
  });

  it('continues after a digest, and readers keep their position', () => {
    const hasher = blake3.createHash().update('hel');
    const reader = hasher.reader();
    const before = hasher.digest();
    assert.deepEqual(hasher.update('lo').digest(), blake3.hash('hello'));
    assert.deepEqual(reader.read(32), before);
    reader.position = 2n ** 64n - 3n;
    assert.equal(reader.readInto(new Uint8Array(8)), 2);
    assert.equal([...reader].length, 0);
  });

  it('buffers short input without exposing the buffer', () => {
    const cuts = [[0], [1, 1], [4096], [4097], [4095, 1, 1], [1, 4095], [1, 4096], [100, 300, 5000], [5000, 1], [0, 4096, 0, 1], Array(70).fill(64)];
    // All at the same time: their buffered input is adjacent.
    const hashers = cuts.map(() => blake3.createHash());
    const messages = cuts.map(() => []);
    for (let turn = 0; turn < 70; turn += 1) {
      for (const [index, cut] of cuts.entries()) {
        if (turn >= cut.length) continue;
        const piece = painted(cut[turn] + index).subarray(index);
        messages[index].push(Buffer.from(piece));
        assert.equal(hashers[index].update(piece), hashers[index]);
        piece.fill(0);
        if (turn % 7 === 0) assert.deepEqual(hashers[index].digest(), blake3.hash(Buffer.concat(messages[index])));
      }
    }
    for (const [index, hasher] of hashers.entries()) {
      const message = Buffer.concat(messages[index]);
      const shared = new Uint8Array(new SharedArrayBuffer(3));
      assert.deepEqual(hasher.digest({ length: 64 }), blake3.hash(message, { length: 64 }));
      assert.throws(() => hasher.update(7), TypeError);
      if (index % 2 === 0) assert.deepEqual(hasher.reader().read(32), blake3.hash(message));
      assert.deepEqual(hasher.update(shared).update('x').digest(), blake3.hash(Buffer.concat([message, shared, Buffer.from('x')])));
    }
  });

  it('hashes copies of stream pieces, whatever is called before they are hashed', async () => {
    const piece = () => painted(65_536);
    const message = (count, ...rest) => Buffer.concat([...Array(count).fill(piece()), ...rest]);
    const ways = [
      [(hasher) => hasher.digest(), message(2)],
      [(hasher) => Buffer.from(hasher.reader().read(32)), message(2)],
      [(hasher) => hasher.update('x').digest(), message(2, Buffer.from('x'))],
      [(hasher) => hasher.end('x').toArray().then(([digest]) => digest), message(2, Buffer.from('x'))],
    ];
    for (const [way, expected] of ways) {
      const hasher = blake3.createHash();
      for (let turn = 0; turn < 2; turn += 1) {
        const bytes = piece();
        hasher.write(bytes);
        bytes.fill(0);
      }
      assert.deepEqual(await way(hasher), blake3.hash(expected));
    }
    // A listener that gets a piece after the hasher may wipe it.
    const source = Readable.from(Array.from({ length: 9 }, piece), { objectMode: false });
    const hasher = source.pipe(blake3.createKeyed(Buffer.alloc(32)));
    source.on('data', (bytes) => bytes.fill(0));
    assert.deepEqual(await hasher.toArray(), [blake3.keyedHash(Buffer.alloc(32), message(9))]);
  });

  it('hashes key material in place', () => {
    const piece = painted(65_536);
    const update = native.Hasher.prototype.update;
    const taken = [];
    try {
      native.Hasher.prototype.update = function (bytes) {
        taken.push(bytes);
        return update.call(this, bytes);
      };
      for (const hasher of [blake3.createDeriveKey(context), blake3.createKeyed(Buffer.alloc(32))]) {
        hasher.write(piece);
        assert.equal(taken.pop().buffer, piece.buffer);
      }
      const made = blake3.createDeriveKey(context).update('secret').update('00ff', 'hex').update([1, 2, 3]);
      assert.deepEqual(made.digest(), blake3.deriveKey(context, Buffer.from('secret\x00\xff\x01\x02\x03', 'latin1')));
      assert.equal(taken.length, 3);
      for (const copy of taken) assert.ok(copy.every((byte) => byte === 0));
      const own = Buffer.from('secret');
      blake3.createDeriveKey(context).update(own);
      assert.equal(String(own), 'secret');
    } finally {
      native.Hasher.prototype.update = update;
    }
  });

  it('has no digest after a failed piece', async () => {
    const update = native.Hasher.prototype.update;
    const hashers = [blake3.createHash(), blake3.createKeyed(Buffer.alloc(32))];
    const errors = hashers.map((hasher) => once(hasher, 'error'));
    try {
      native.Hasher.prototype.update = () => {
        throw new Error('a piece is lost');
      };
      for (const hasher of hashers) {
        hasher.write(painted(65_536));
        assert.throws(() => hasher.digest(), /a piece is lost/);
      }
    } finally {
      native.Hasher.prototype.update = update;
    }
    for (const [error] of await Promise.all(errors)) assert.match(error.message, /a piece is lost/);
    for (const hasher of hashers) {
      for (const call of [() => hasher.digest(), () => hasher.reader(), () => hasher.update('x')]) assert.throws(call, /a piece is lost/);
    }
  });

  it('fails with the error of its stream', async () => {
    const broken = Readable.from((function* () {
      yield Buffer.from('x');
      throw new Error('the source broke');
    })());
    await assert.rejects(pipeline(broken, blake3.createHash()), /the source broke/);
    await assert.rejects(blake3.hashStream([Buffer.from('x'), 7]), TypeError);
  });
});

describe('lists', () => {
  it('of 20,000 buffers, in order, with progress', async () => {
    const list = Array.from({ length: 20_000 }, (_, index) => `message ${index}`);
    const reports = [];
    const digests = await blake3.hashMany(list, { onProgress: (done, total) => reports.push([done, total]) });
    assert.equal(digests.length, list.length);
    for (const index of [0, 1, 255, 256, 16_383, 16_384, 19_999]) {
      assert.deepEqual(digests[index], blake3.hash(list[index]));
    }
    assert.deepEqual(reports, [[16_384, 20_000], [20_000, 20_000]]);
    assert.deepEqual(await blake3.hashMany([]), []);
  });
});

describe('import and require', () => {
  const require = createRequire(import.meta.url);
  it('load one module', async () => {
    assert.equal(require('@hashmill/node/blake3'), blake3);
    assert.equal((await import('@hashmill/node/blake3')).hash, blake3.hash);
    assert.equal((await import('@hashmill/node/argon2')).default, require('@hashmill/node').argon2);
  });
});
