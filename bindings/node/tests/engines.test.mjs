// Engines by name: the processor, devices where there are some, errors where there are none.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { EngineError, blake3, passwords } from '@hashmill/node';

import { CHEAP, painted } from './support.mjs';

const { Passwords } = passwords;
const folder = mkdtempSync(join(tmpdir(), 'hashmill-engines-'));
after(() => rmSync(folder, { recursive: true }));
const names = Array.from({ length: 9 }, (_, index) => `password ${index}`);
const file = (name, bytes) => {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
};

/** Errors of a machine without such a device. Other errors of engines are failures. */
const MISSING = /^(cuda|wgpu): (no driver of NVIDIA, or one that is too old: |no device: no driver offers one|this build has no devices)/;

/** The result of `open`; skips the test where there is no such device. */
async function opened(test, open) {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof EngineError && MISSING.test(error.message))) throw error;
    test.skip(error.message);
    return undefined;
  }
}

describe('an engine', () => {
  for (const engine of ['cpu', 'auto', 'wgpu', 'cuda', 'cpu,wgpu']) {
    it(`${engine} gives the batches of the processor`, async (test) => {
      const ours = await opened(test, () => new Passwords(CHEAP, { secret: 'pepper', engine }));
      if (ours === undefined) return;
      const plain = new Passwords(CHEAP, { secret: 'pepper' });
      const stored = await ours.hashMany(names);
      const logins = names.map((name, index) => [stored[index], name]);
      const wrong = names.map((name, index) => [stored[index], `${name}!`]);
      for (const each of [ours, plain]) {
        const verdicts = await each.verifyMany([...logins, ...wrong, ['no hash', 'x']]);
        assert.deepEqual(
          verdicts.map(({ value }) => value),
          [...names.map(() => true), ...names.map(() => false), undefined],
        );
        assert.ok(verdicts.at(-1).reason instanceof SyntaxError);
      }
      const others = await plain.hashMany(names);
      const found = await ours.verifyMany(names.map((name, index) => [others[index], name]));
      assert.ok(found.every(({ value }) => value === true));
    });
  }

  for (const engine of ['cpu', 'wgpu', 'cuda']) {
    it(`${engine} gives the digests of files`, async (test) => {
      const paths = [0, 1000, 20 << 20].map((length, index) => file(`${index}`, painted(length)));
      const found = await opened(test, () => blake3.hashFiles(paths, { engine }));
      if (found === undefined) return;
      assert.deepEqual(found, await blake3.hashFiles(paths));
      const options = { key: Buffer.alloc(32, 7), length: 64 };
      assert.deepEqual(await blake3.hashFile(paths[2], { ...options, engine }), await blake3.hashFile(paths[2], options));
      const [absent] = await blake3.hashFiles([join(folder, 'absent')], { engine });
      assert.equal(absent.reason.code, 'ENOENT');
    });
  }

  it('with a wrong name is a RangeError that names the nearest', async () => {
    const path = file('bytes', 'bytes');
    for (const [engine, message] of [['cuad:1', /"cuad:1": did you mean cuda/], ['', /without a name/], ['cpu:0', /only cuda and wgpu/], ['cpu,cpu', /twice/]]) {
      assert.throws(() => new Passwords(CHEAP, { engine }), { name: 'RangeError', message });
      await assert.rejects(blake3.hashFile(path, { engine }), { name: 'RangeError', message });
    }
    for (const engine of [7, null, ['cpu']]) {
      assert.throws(() => new Passwords(CHEAP, { engine }), TypeError);
      await assert.rejects(blake3.hashFile(path, { engine }), TypeError);
    }
  });

  it('without a device is an EngineError', async () => {
    const path = file('more', 'bytes');
    for (const engine of ['cuda:no such device', 'wgpu:no such device']) {
      const expected = { name: 'EngineError', code: 'ERR_HASHMILL_ENGINE', message: new RegExp(engine.split(':')[0]) };
      assert.throws(() => new Passwords(CHEAP, { engine }), expected);
      await assert.rejects(blake3.hashFile(path, { engine }), expected);
    }
  });
});
