// Abort signals: before, during and after work. Stopped work no longer occupies the thread pool.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { argon2, blake3, passwords } from '@hashmill/node';

import { CHEAP, DEAR, native } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'hashmill-node-'));
after(() => rmSync(folder, { recursive: true }));
// A sparse file: long enough to take minutes, without using disk space.
const huge = join(folder, 'huge');
writeFileSync(huge, '');
truncateSync(huge, 2 ** 40);
const endless = function* () {
  for (;;) yield Buffer.alloc(1 << 20);
};

const slow = new passwords.Passwords(DEAR);
const stored = `$argon2id$v=19$m=262144,t=100,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

const calls = {
  'Passwords.hash': (options) => slow.hash('x', options),
  'Passwords.verify': (options) => slow.verify(stored, 'x', options),
  'Passwords.verifyAndUpgrade': (options) => slow.verifyAndUpgrade(stored, 'x', options),
  'Passwords.verifyDummy': (options) => slow.verifyDummy('x', options),
  'Passwords.hashMany': (options) => slow.hashMany(Array(8).fill('x'), options),
  'Passwords.verifyMany': (options) => slow.verifyMany(Array(8).fill([stored, 'x']), options),
  'argon2.hash': (options) => argon2.hash('x', { ...DEAR, ...options }),
  'argon2.verify': (options) =>
    argon2.verify(`$argon2id$v=19$m=262144,t=32,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`, 'x', options),
  hashFile: (options) => blake3.hashFile(huge, options),
  'hashFile on one thread': (options) => blake3.hashFile(huge, { threads: 1, ...options }),
  'hashFile on an engine': (options) => blake3.hashFile(huge, { engine: 'cpu', ...options }),
  hashFiles: (options) => blake3.hashFiles([huge, huge], options),
  hashAsync: (options) => blake3.hashAsync(Buffer.alloc(512 << 20), options),
  hashStream: (options) => blake3.hashStream(endless(), options),
  'hashStream of a stream that gives nothing': (options) => blake3.hashStream(new Readable({ read() {} }), options),
  'hashStream of web streams': (options) => blake3.hashStream(new ReadableStream(), options),
  'hashMany of large ones': (options) => blake3.hashMany(Array(64).fill(Buffer.alloc(64 << 20)), options),
  hashMany: (options) => blake3.hashMany(Array(2_000_000).fill('x'), options),
};

// Aborts a call after some milliseconds. On a busy machine the work may end before the timer fires: then it is repeated.
async function abortDuring(call, reason, wait) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(reason), wait);
    try {
      await call({ signal: control.signal });
      clearTimeout(timer);
    } catch (error) {
      assert.equal(error, reason);
      return;
    }
  }
  assert.fail('the work always ended before its abort');
}

describe('a signal', () => {
  for (const [name, call] of Object.entries(calls)) {
    it(`stops ${name} before and during the work`, async () => {
      const reason = new Error('enough');
      await assert.rejects(call({ signal: AbortSignal.abort(reason) }), reason);
      await assert.rejects(call({ signal: AbortSignal.abort() }), { name: 'AbortError' });
      for (const wait of [0, 20]) await abortDuring(call, reason, wait);
    });
  }

  it('stops more calls than there are threads, and frees the threads', async () => {
    const control = new AbortController();
    const works = Array.from({ length: 16 }, () => calls['argon2.hash']({ signal: control.signal }));
    await sleep(10);
    control.abort();
    const ends = await Promise.allSettled(works);
    assert.ok(ends.every(({ reason }) => reason.name === 'AbortError'));
    assert.match(await argon2.hash('x', CHEAP), /^\$argon2id\$/);
  });

  it('stops files before their engine is open', async () => {
    const small = join(folder, 'small');
    writeFileSync(small, 'bytes');
    for (const engine of [undefined, 'cpu']) {
      const job = new native.FilesJob(undefined, undefined, 32, 0, engine);
      job.set();
      assert.equal((await job.run([small])).kind, 'Stopped', engine);
    }
    // The engine is opened by another thread: at any moment of that.
    const jobs = Array.from({ length: 16 }, () => new native.FilesJob(undefined, undefined, 32, 0, 'cpu'));
    const works = jobs.map((job) => job.run([huge]));
    for (const job of jobs) job.set();
    assert.deepEqual((await Promise.all(works)).map(({ kind }) => kind), Array(16).fill('Stopped'));
  });

  it('has no listener left after the work', async () => {
    const control = new AbortController();
    const signal = control.signal;
    const stored = await argon2.hash('x', { ...CHEAP, signal });
    const digest = await blake3.hashAsync(Buffer.alloc(1 << 20), { signal });
    control.abort();
    assert.equal(await argon2.verify(stored, 'x'), true);
    assert.deepEqual(digest, blake3.hash(Buffer.alloc(1 << 20)));
  });

  it('closes the source and ignores the result of closing', async () => {
    let canceled = false;
    const source = new ReadableStream({ cancel: () => void (canceled = true) });
    const control = new AbortController();
    const work = blake3.hashStream(source, { signal: control.signal });
    setTimeout(() => control.abort(), 5);
    await assert.rejects(work, { name: 'AbortError' });
    assert.ok(canceled);
    const untouched = new ReadableStream();
    await assert.rejects(blake3.hashStream(untouched, { signal: AbortSignal.abort() }), { name: 'AbortError' });
    assert.equal(untouched.locked, false);
    const onProgress = () => {
      throw new Error('from the callback');
    };
    for (const close of [() => new Promise(() => {}), () => Promise.reject(new Error('not this')), () => assert.fail('not this')]) {
      const stubborn = { next: () => ({ done: false, value: 'x' }), return: close };
      await assert.rejects(blake3.hashStream({ [Symbol.iterator]: () => stubborn }, { onProgress }), /from the callback/);
    }
  });

  it('is a signal', async () => {
    await assert.rejects(argon2.hash('x', { ...CHEAP, signal: {} }), TypeError);
    await assert.rejects(blake3.hashAsync('x', { signal: 7 }), TypeError);
  });
});

describe('an exception of a callback', () => {
  const onProgress = () => {
    throw new Error('from the callback');
  };
  it('ends the work', async () => {
    let closed = false;
    const source = (function* () {
      try {
        yield* endless();
      } finally {
        closed = true;
      }
    })();
    await assert.rejects(blake3.hashStream(source, { onProgress }), /from the callback/);
    assert.ok(closed);
    await assert.rejects(blake3.hashAsync(Buffer.alloc(8 << 20), { onProgress }), /from the callback/);
    await assert.rejects(blake3.hashMany(['x'], { onProgress }), /from the callback/);
    await assert.rejects(blake3.hashFile(huge, { onProgress }), /from the callback/);
  });
});
