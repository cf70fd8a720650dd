// Workers, and exits in the middle of work. Each case is a separate program, which must not crash.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';

const SHARED = `
  const { Worker, isMainThread, workerData, parentPort } = require('node:worker_threads');
  const load = () => require('@hashmill/node');
  const worker = (source, data) => new Worker(source, { eval: true, workerData: data });
  const DEAR = { memoryCost: 1 << 16, timeCost: 8, parallelism: 2 };
`;
/** The output of a Node program, followed by its exit status. */
function ends(source, ...flags) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', SHARED + source], { encoding: 'utf8' });
  return `${stdout.trim()} ${signal ?? status}${stderr && `\n${stderr}`}`.trim();
}

describe('workers', () => {
  it('eight at once, each with all functions', () => {
    const each = `
      const { parentPort } = require('node:worker_threads');
      const { blake3, argon2 } = require('@hashmill/node');
      (async () => {
        const input = Buffer.alloc(3_000_000, 7);
        for (let turn = 0; turn < 5; turn += 1) {
          const digests = [blake3.hash(input), await blake3.hashAsync(input), (await blake3.hashMany([input]))[0]];
          if (!digests.every((digest) => digest.equals(digests[0]))) throw new Error('digests differ');
          await blake3.hashFile(process.execPath);
          if (!(await argon2.verify(await argon2.hash('x', { memoryCost: 1024 }), 'x'))) throw new Error('no match');
        }
        parentPort.postMessage('done');
      })();`;
    const source = `
      let done = 0;
      for (let index = 0; index < 8; index += 1) {
        worker(${JSON.stringify(each)}).on('message', () => { if (++done === 8) console.log('all'); });
      }`;
    assert.equal(ends(source), 'all 0');
  });

  it('that end during work, and load the library alone', () => {
    const each = `
      const { blake3, argon2 } = require('@hashmill/node');
      const { parentPort } = require('node:worker_threads');
      argon2.hash('x', { memoryCost: 1 << 15, timeCost: 2, parallelism: 2 });
      blake3.hashAsync(Buffer.alloc(64 << 20));
      blake3.hashMany(Array(1000).fill('x'));
      blake3.hashFile(process.execPath, { onProgress() {} });
      parentPort.postMessage('under way');`;
    const source = `
      (async () => {
        for (let turn = 0; turn < 6; turn += 1) {
          const one = worker(${JSON.stringify(each)});
          await new Promise((resolve) => one.once('message', resolve));
          await one.terminate();
        }
        console.log(load().blake3.hash('').toString('hex').slice(0, 8));
      })();`;
    assert.equal(ends(source), 'af1349b9 0');
  });
});

describe('the end of a process', () => {
  const begun = `
    const { blake3, argon2 } = load();
    const work = [argon2.hash('x', DEAR), blake3.hashAsync(Buffer.alloc(256 << 20)), blake3.hashFile(process.execPath)];`;
  it('in a callback, while work goes on', () => {
    assert.equal(ends(`${begun} setTimeout(() => process.exit(7), 5);`), '7');
    assert.equal(ends(`${begun} blake3.hashAsync(Buffer.alloc(8 << 20), { onProgress: () => process.exit(7) });`), '7');
  });
  it('by an exception, while work goes on', () => {
    assert.match(ends(`${begun} setTimeout(() => { throw new Error('uncaught'); }, 5);`), /^1\n.*uncaught/s);
  });
  it('does not wait for aborted work', () => {
    const source = `
      const control = new AbortController();
      load().argon2.hash('x', { ...DEAR, timeCost: 100000, signal: control.signal }).catch((error) => console.log(error.name));
      setTimeout(() => control.abort(), 5);`;
    assert.equal(ends(source), 'AbortError 0');
  });
});

describe('memory', () => {
  // Set CALLS=1000000 for a longer run.
  const calls = Number(process.env.CALLS ?? 20_000);
  const loops = {
    hash: [1, 'blake3.hash(input)'],
    createHash: [5, "blake3.createHash().update(input).digest('hex')"],
    'createHash of more than is held back': [5, 'blake3.createHash().update(large).digest()'],
    reader: [5, 'blake3.createHash().reader().read(64)'],
    hashAsync: [5, 'await blake3.hashAsync(input, { signal })'],
    'hashAsync on other threads': [200, 'await blake3.hashAsync(large, { signal })'],
    hashMany: [20, 'await blake3.hashMany([input, input], { signal })'],
    hashFile: [20, 'await blake3.hashFile(path, { signal })'],
    'arguments of another type': [5, 'try { blake3.hash(7) } catch {} await argon2.hash(7).catch(() => 0)'],
    'a failure': [20, 'await blake3.hashFile("/missing").catch(() => 0)'],
    argon2: [50, 'await argon2.verify(await argon2.hash("x", CHEAP), "x", { signal })'],
    passwords: [50, 'await cheap.verifyMany([[(await cheap.hashMany(["x"], { signal }))[0], "x"], ["no hash", "y"]])'],
    'objects for passwords': [50, 'new passwords.Passwords(CHEAP, { secret: "pepper" }).needsRehash(stored)'],
  };
  for (const [name, [share, call]] of Object.entries(loops)) {
    it(`${name}: no growth over many calls`, () => {
      const source = `
        const { blake3, argon2, passwords } = load();
        const input = Buffer.alloc(1024);
        const large = Buffer.alloc(300_000);
        const path = process.execPath.replace(/[^/]*$/, 'env');
        const CHEAP = { memoryCost: 8, timeCost: 1, parallelism: 1 };
        const cheap = new passwords.Passwords(CHEAP);
        const stored = '$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
        const { signal } = new AbortController();
        require('node:events').setMaxListeners(0, signal);
        // Node calls finalizers in a separate turn of the event loop.
        const turn = () => new Promise(setImmediate);
        const used = async () => { gc(); await turn(); gc(); await turn(); return process.memoryUsage().rss; };
        (async () => {
          const loop = async (times) => {
            for (let call = 0; call < times; call += 1) {
              ${call};
              if (call % 64 === 0) await turn();
            }
          };
          await loop(${Math.ceil(calls / share / 4)});
          const before = await used();
          await loop(${Math.ceil(calls / share)});
          const grown = (await used() - before) / 2 ** 20;
          console.log(grown < 24 ? 'bounded' : 'grown by ' + grown.toFixed(1) + ' MiB');
        })();`;
      assert.equal(ends(source, '--expose-gc'), 'bounded 0');
    });
  }
});
