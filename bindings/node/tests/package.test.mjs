// The package as its users meet it: the README runs, and the types fit those of what is replaced.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';

import { read } from './support.mjs';

const require = createRequire(import.meta.url);
const node = (...args) => spawnSync(process.execPath, args, { encoding: 'utf8' });

/** What the compiler of TypeScript says of files. */
function types(...files) {
  const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023', '--types', 'node', '--skipLibCheck', 'false'];
  const { stdout, stderr } = node(require.resolve('typescript/bin/tsc'), ...flags, ...files);
  return stdout + stderr;
}

describe('the package', () => {
  it('does what its README shows', () => {
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

  it('shows code in its README that TypeScript takes, too', () => {
    const blocks = [...read('bindings/node/README.md').matchAll(/```(js|ts)\n(.*?)```/gs)];
    assert.notEqual(blocks.length, 0);
    for (const [index, [, , code]] of blocks.entries()) writeFileSync(`readme-${index}.mts`, code);
    assert.equal(types(...Array.from(blocks.keys(), (index) => `readme-${index}.mts`)), '');
  });

  it('has types that stand in for those of the packages', () => {
    assert.equal(types('tests/types.mts'), '');
  });

  it('says which system it has no library for', () => {
    const source = "Object.defineProperty(process, 'arch', { value: 'riscv64' }); require('@hashmill/node')";
    assert.match(node('-e', source).stderr, /cannot load its library for \w+-riscv64/);
  });
});
