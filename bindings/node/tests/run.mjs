// Installs the package beside the packages that it is compared with, and runs its tests and theirs: node run.mjs FOLDER LIBRARY
// [--name=PART]... [PACKAGE=REPOSITORY]...
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const here = import.meta.dirname;
const [folder, library, ...rest] = process.argv.slice(2).map((word, index) => (index < 2 ? resolve(word) : word));
const names = rest.filter((word) => word.startsWith('--name=')).map((word) => word.slice('--name='.length));
const suites = rest.filter((word) => !word.startsWith('--'));
const at = (...parts) => join(folder, ...parts);

/** Whether it succeeded. */
function run(program, ...args) {
  const env = { ...process.env, HASHMILL_ROOT: resolve(here, '../../..') };
  const { status, error } = spawnSync(program, args, { cwd: folder, env, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
}

mkdirSync(folder, { recursive: true });
const lock = 'package-lock.json';
// The lock file is copied last, so that an incomplete installation is repeated.
const isInstalled = existsSync(at(lock)) && readFileSync(at(lock)).equals(readFileSync(join(here, lock)));
if (!isInstalled) {
  rmSync(at(lock), { force: true });
  // In a place where npm does not read it, the lock file marks a complete installation.
  mkdirSync(at('install'), { recursive: true });
  for (const name of ['package.json', lock]) cpSync(join(here, name), at('install', name));
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--cache', resolve('target/npm')];
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  if (!run(npm, 'ci', '--prefix', at('install'), ...options)) process.exit(1);
  rmSync(at('node_modules'), { recursive: true, force: true });
  renameSync(at('install', 'node_modules'), at('node_modules'));
  cpSync(join(here, lock), at(lock));
}
rmSync(at('tests'), { recursive: true, force: true });
cpSync(here, at('tests'), { recursive: true });
const installed = run(process.execPath, join(here, '../package.mjs'), at('node_modules/@hashmill/node'), `here=${library}`);

const patterns = names.map((name) => `--test-name-pattern=${name}`);
const reporter = `--test-reporter=${at('tests/tools/reporter.mjs')}`;
const results = [installed && run(process.execPath, '--test', reporter, ...patterns, 'tests/')];
for (const suite of suites) results.push(run(process.execPath, 'tests/tools/theirs.mjs', ...suite.split('=')));
process.exitCode = results.every(Boolean) ? 0 : 1;
