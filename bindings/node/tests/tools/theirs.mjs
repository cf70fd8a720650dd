// Runs the tests of the replaced packages, unchanged: node theirs.mjs PACKAGE REPOSITORY Run from a folder with @hashmill/node
// and the packages of tests/package.json in its node_modules. Our package is placed where the tests look for theirs, in a
// folder of its own; types are stripped from TypeScript files.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { transformSync } from 'esbuild';

const [name, repository] = process.argv.slice(2);
const folder = resolve('theirs', name);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const theirs = (path) => join(repository, path);
const here = (path) => join(folder, path);
const ours = (module) => `module.exports = require('@hashmill/node/${module}');\n`;
const node = (...args) => {
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return { status: status ?? 1, stdout };
};

const runs = {
  argon2() {
    copyFileSync(theirs('test.cjs'), here('test.cjs'));
    writeFileSync(here('argon2.cjs'), ours('argon2'));
    const reporter = resolve('tests/tools/reporter.mjs');
    const { status, stdout } = node('--test', `--test-reporter=${reporter}`, 'test.cjs');
    process.stdout.write(stdout);
    return status;
  },
  blake3() {
    copyFileSync(theirs('test-input.txt'), here('../test-input.txt'));
    for (const file of ['node.test', 'test-helpers']) {
      const { code } = transformSync(readFileSync(theirs(`blake3/${file}.cts`), 'utf8'), { loader: 'ts', format: 'cjs' });
      writeFileSync(here(`${file}.cjs`), code);
    }
    writeFileSync(here('index.cjs'), ours('blake3'));
    // Both of their versions: the native one, and the WebAssembly one.
    for (const module of ['@c4312/blake3-native', 'blake3-wasm']) {
      mkdirSync(here(`node_modules/${module}`), { recursive: true });
      writeFileSync(here(`node_modules/${module}/index.js`), ours('blake3'));
    }
    const mocha = resolve('node_modules/mocha/bin/mocha.js');
    const { status, stdout } = node(mocha, '--reporter', 'json', 'node.test.cjs');
    const { stats, failures } = JSON.parse(stdout);
    for (const { fullTitle, err } of failures) console.log(`FAILED: ${fullTitle}\n${err.stack}`);
    const verdict = stats.failures > 0 ? 'FAILED' : 'ok';
    console.log(`test result: ${verdict}. ${stats.passes} passed; ${stats.failures} failed`);
    return status;
  },
};
process.exitCode = runs[name]();
