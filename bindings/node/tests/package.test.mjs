// The package from a user's view: the README runs, and the types are compatible with those of the replaced packages.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';

import { read } from './support.mjs';

const require = createRequire(import.meta.url);
const node = (...args) => spawnSync(process.execPath, args, { encoding: 'utf8' });

/** The output of the TypeScript compiler for files. */
function types(...files) {
  const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023', '--types', 'node', '--skipLibCheck', 'false'];
  const { stdout, stderr } = node(require.resolve('typescript/bin/tsc'), ...flags, ...files);
  return stdout + stderr;
}

describe('the package', () => {
  it('runs the examples of its README', () => {
    const [, code] = /```js\n(.*?)```/s.exec(read('bindings/node/README.md'));
    writeFileSync('readme.mjs', code);
    const { stdout, stderr } = node('readme.mjs');
    assert.equal(stderr, '');
    const lines = stdout.trim().split('\n');
    assert.equal(lines[0], 'true');
    assert.match(lines[2], /^[0-9a-f]{64}$/);
    assert.equal(lines[3], "3 [ 'fulfilled', 'rejected' ]");
    assert.equal(lines[4], 'true [ true, false ]');
  });

  it('has README examples that TypeScript accepts', () => {
    const blocks = [...read('bindings/node/README.md').matchAll(/```(js|ts)\n(.*?)```/gs)];
    assert.notEqual(blocks.length, 0);
    for (const [index, [, , code]] of blocks.entries()) writeFileSync(`readme-${index}.mts`, code);
    assert.equal(types(...Array.from(blocks.keys(), (index) => `readme-${index}.mts`)), '');
  });

  it('has types that replace those of the packages', () => {
    assert.equal(types('tests/tools/types.mts'), '');
  });

  it('names an unsupported system in the error', () => {
    const source = "Object.defineProperty(process, 'arch', { value: 'riscv64' }); require('@hashmill/node')";
    assert.match(node('-e', source).stderr, /cannot load its library for \w+-riscv64/);
  });
});

describe('the reporter of these tests', () => {
  it('does not count a skipped test as passed', () => {
    const source = `
      import { describe, it } from 'node:test';
      it('works', () => {});
      it('needs a device', (test) => test.skip('no device'));
      it('is skipped by an option', { skip: true }, () => {});
      describe('a suite', { skip: 'no suite' }, () => it('is not run', () => {}));
      it('is skipped and fails', (test) => { test.skip('too late'); throw new Error('it failed'); });
    `;
    writeFileSync('skips.mjs', source);
    // Otherwise the inner run would take itself for a file of the outer one.
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const args = ['--test', `--test-reporter=${resolve('tests/tools/reporter.mjs')}`, 'skips.mjs'];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    const lines = stdout.split('\n');
    for (const line of ['needs a device: no device', 'is skipped by an option: no reason', 'a suite: no suite']) {
      assert.ok(lines.includes(`SKIPPED: ${line}`), stdout);
    }
    assert.ok(lines.some((line) => line.startsWith('FAILED: is skipped and fails')), stdout);
    assert.ok(lines.includes('test result: FAILED. 1 passed; 1 failed'), stdout);
  });
});
