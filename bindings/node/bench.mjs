// Benchmark against the replaced packages, in one process, alternately: node bench.mjs FOLDER [FILTER] [NAME=PATH]... FOLDER
// has @hashmill/node and the packages of tests/package.json in its node_modules. PATH is a build of a package: of
// `blake3-native`, or of `argon2` to replace the one in FOLDER. A ratio is the median over pairs of their time divided by ours;
// beside it are the quartiles.
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

const [folder = '.', filter = '', ...paths] = process.argv.slice(2);
const built = Object.fromEntries(paths.map((path) => path.split('=')));
const require = createRequire(join(resolve(folder), 'package.json'));
const { blake3, argon2, passwords } = require('@hashmill/node');
const wasm = require('blake3-wasm');
const hashWasm = require('hash-wasm');
const npmArgon2 = require(built.argon2 ? resolve(built.argon2) : 'argon2');
await wasm.load();
const theirs = { 'blake3-wasm': wasm };
if (built['blake3-native']) theirs['blake3-native'] = require(resolve(built['blake3-native']));
const incremental = await hashWasm.createBLAKE3();

const PAIRS = 31;
/** With a larger buffer `blake3-wasm` runs out of memory. */
const MOST_OF_WASM = 1 << 20;
const SPAN = 20e6; // nanoseconds for a turn of one side

const clock = async (work, times) => {
  const start = process.hrtime.bigint();
  for (let turn = 0; turn < times; turn += 1) {
    const result = work();
    if (result instanceof Promise) await result;
  }
  return Number(process.hrtime.bigint() - start) / times;
};
const at = (sorted, part) => sorted[Math.round((sorted.length - 1) * part)];
const quartiles = (numbers) => [0.25, 0.5, 0.75].map((part) => at(numbers.toSorted((a, b) => a - b), part));
const hex = (digest) => (typeof digest === 'string' ? digest : Buffer.from(digest).toString('hex'));

async function beside(name, rival, ours, other, { pairs = PAIRS, same = true } = {}) {
  if (!`${name} ${rival}`.includes(filter)) return;
  if (same && hex(await ours()) !== hex(await other())) throw new Error(`${name}: ${rival} says something else`);
  // Warms up the JIT compiler.
  for (const work of [ours, other]) await clock(work, Math.max(2, Math.ceil(SPAN / (await clock(work, 2)))));
  const times = [];
  for (const work of [ours, other]) times.push(Math.max(1, Math.ceil(SPAN / (await clock(work, 3)))));
  const [mine, its, ratios] = [[], [], []];
  for (let pair = 0; pair < pairs; pair += 1) {
    const order = pair % 2 === 0 ? [0, 1] : [1, 0];
    const took = [];
    for (const side of order) took[side] = await clock([ours, other][side], times[side]);
    mine.push(took[0]);
    its.push(took[1]);
    ratios.push(took[1] / took[0]);
  }
  const [low, middle, high] = quartiles(ratios);
  const us = (numbers) => (quartiles(numbers)[1] / 1e3).toFixed(2).padStart(11);
  console.log(
    `${name.padEnd(28)} ${rival.padEnd(14)} ours ${us(mine)} us  theirs ${us(its)} us  ` +
      `${middle.toFixed(2)}x  (${low.toFixed(2)} to ${high.toFixed(2)})`,
  );
}

const bytes = (length) => Buffer.alloc(length, 'hashmill');
const small = { 32: '32 B', 1024: '1 KiB', 16384: '16 KiB', 65536: '64 KiB' };
const sizes = { ...small, [1 << 20]: '1 MiB', [16 << 20]: '16 MiB' };
for (const [size, label] of Object.entries(sizes)) {
  const input = bytes(Number(size));
  for (const [name, rival] of Object.entries(theirs)) {
    if (rival === wasm && input.length > MOST_OF_WASM) continue;
    await beside(`hash ${label}`, name, () => blake3.hash(input), () => rival.hash(input));
  }
  await beside(`hash ${label}`, 'hash-wasm', () => blake3.hash(input), () =>
    incremental.init().update(input).digest('binary'),
  );
  await beside(`hash ${label}, promised`, 'hash-wasm', () => blake3.hashAsync(input), () => hashWasm.blake3(input));
}
for (const [name, rival] of Object.entries(theirs)) {
  const [input, key] = [bytes(1024), bytes(32)];
  await beside('createHash 1 KiB', name, () => pieces(blake3, input), () => pieces(rival, input));
  await beside('keyedHash 1 KiB', name, () => blake3.keyedHash(key, input), () => rival.keyedHash(key, input));
  await beside('hash of a string of 100', name, () => blake3.hash('x'.repeat(100)), () => rival.hash('x'.repeat(100)));
  const list = Array.from({ length: 10_000 }, (_, index) => Buffer.alloc(100, `${index}`));
  const last = async (digests) => (await digests).at(-1);
  await beside('hashMany 10,000 of 100 B', name, () => last(blake3.hashMany(list)), () =>
    last(list.map((message) => rival.hash(message))),
  );
}
{
  const scratch = mkdtempSync(join(tmpdir(), 'hashmill-bench-'));
  const path = join(scratch, 'file');
  writeFileSync(path, bytes(256 << 20));
  const piped = (hasher) => async () => {
    let digest;
    await pipeline(createReadStream(path), hasher(), async (source) => {
      for await (const chunk of source) digest = chunk;
    });
    return digest;
  };
  for (const [name, rival] of Object.entries(theirs)) {
    await beside('file 256 MiB', `${name} piped`, () => blake3.hashFile(path), piped(rival.createHash), { pairs: 7 });
    await beside('stream 256 MiB', `${name} piped`, piped(blake3.createHash), piped(rival.createHash), { pairs: 7 });
  }
  rmSync(scratch, { recursive: true });
}
{
  const salt = bytes(16);
  const policies = {
    'defaults (64 MiB, 3, 4)': {},
    '19 MiB, 2, 1': { memoryCost: 19456, timeCost: 2, parallelism: 1 },
    '64 MiB, 3, 1': { parallelism: 1 },
  };
  for (const [label, costs] of Object.entries(policies)) {
    const options = { ...costs, salt };
    await beside(`argon2 hash ${label}`, 'argon2', () => argon2.hash('password', options), () =>
      npmArgon2.hash('password', options),
    );
    const stored = await npmArgon2.hash('password', options);
    await beside(`argon2 verify ${label}`, 'argon2', () => argon2.verify(stored, 'password').then(String), () =>
      npmArgon2.verify(stored, 'password').then(String),
    );
    await beside(`argon2 4 at once ${label}`, 'argon2', () => four(argon2, options), () => four(npmArgon2, options), {
      pairs: 15,
    });
  }
}
{
  const logins = new passwords.Passwords('owasp');
  const stored = await logins.hashMany(Array.from({ length: 64 }, (_, index) => `password ${index}`));
  const pairs = stored.map((hash, index) => [hash, `password ${index}`]);
  const verdicts = (found) => found.join();
  await beside('argon2 64 logins 19 MiB, 2, 1', 'argon2', async () =>
    verdicts((await logins.verifyMany(pairs)).map(({ value }) => value)), async () =>
    verdicts(await Promise.all(pairs.map((pair) => npmArgon2.verify(...pair)))), { pairs: 5 });
}

/** Without its last call, `blake3-wasm` runs out of memory after some thousands. */
function pieces({ createHash }, input) {
  const hasher = createHash();
  const digest = hasher.update(input).digest();
  hasher.dispose();
  return digest;
}

async function four(library, options) {
  const hashes = await Promise.all([1, 2, 3, 4].map((number) => library.hash(`password ${number}`, options)));
  return hashes.at(-1);
}
