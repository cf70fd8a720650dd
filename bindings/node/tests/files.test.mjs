// BLAKE3 of files: sizes, errors, progress.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';

import { blake3 } from '@hashmill/node';

import { LENGTHS, painted } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'hashmill-node-'));
after(() => rmSync(folder, { recursive: true }));
const paths = LENGTHS.map((length) => {
  const path = join(folder, `${length}`);
  writeFileSync(path, painted(length));
  return path;
});

describe('files', () => {
  it('have the hash of their contents', async () => {
    const key = Buffer.alloc(32, 7);
    for (const [index, path] of paths.entries()) {
      const input = painted(LENGTHS[index]);
      assert.deepEqual(await blake3.hashFile(path), blake3.hash(input));
      assert.deepEqual(await blake3.hashFile(pathToFileURL(path), { key, threads: 1 }), blake3.keyedHash(key, input));
      assert.deepEqual(await blake3.hashFile(path, { context: 'c', length: 100 }), blake3.deriveKey('c', input, { length: 100 }));
    }
    assert.deepEqual(await blake3.hashFile(paths[3], { length: 0 }), Buffer.alloc(0));
  });

  it('have results and errors in the order of their paths', async () => {
    const missing = join(folder, 'missing');
    const results = await blake3.hashFiles([...paths, missing, folder, `${paths[0]}\0`], { length: 40 });
    const input = (index) => painted(LENGTHS[index]);
    for (const index of paths.keys()) {
      assert.deepEqual(results[index], { status: 'fulfilled', value: blake3.hash(input(index), { length: 40 }) });
    }
    const reasons = results.slice(paths.length).map(({ status, reason }) => [status, reason.code, reason.path]);
    assert.deepEqual(reasons.slice(0, 2), [['rejected', 'ENOENT', missing], ['rejected', 'EISDIR', folder]]);
    assert.equal(reasons[2][0], 'rejected');
    await assert.rejects(blake3.hashFile(missing), { code: 'ENOENT', errno: -2, path: missing });
    assert.deepEqual(await blake3.hashFiles([]), []);
  });

  it('must be regular: a FIFO is an error at once', async () => {
    const fifo = join(folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    await assert.rejects(blake3.hashFile(fifo), { message: /neither a file/, path: fifo });
    await assert.rejects(blake3.hashFile('/dev/null'), /neither a file/);
  });

  it('report progress', async () => {
    const [path, size] = [paths.at(-1), LENGTHS.at(-1)];
    const reports = [];
    await blake3.hashFile(path, { onProgress: (done, total) => reports.push([done, total]) });
    assert.deepEqual(reports.at(-1), [size, size]);
    assert.ok(reports.every(([done], index) => index === 0 || done > reports[index - 1][0]));
  });

  it('are given as strings or URLs', async () => {
    await assert.rejects(blake3.hashFile(7), TypeError);
    await assert.rejects(blake3.hashFile(new URL('https://example.org')), TypeError);
    await assert.rejects(blake3.hashFiles([Buffer.from('x')]), TypeError);
    await assert.rejects(blake3.hashFile(paths[0], { threads: -1 }), RangeError);
  });
});
