// Programs after a changed import: checked by `tsc --strict`, never run.
import { createReadStream } from 'node:fs';

import argon2, { type HashOptions } from '@hashmill/node/argon2';
import * as blake3 from '@hashmill/node/blake3';
import { POLICIES, Passwords, type Policy } from '@hashmill/node/passwords';
import { argon2 as both, blake3 as hashes, passwords } from '@hashmill/node';
import type * as npm from 'argon2-types';

// Our module can be passed where the replaced one was expected.
const replaced: typeof npm.hash & typeof both.hash = argon2.hash as typeof npm.hash;
const compared: typeof npm.verify = argon2.verify;
const rehashed: typeof npm.needsRehash = argon2.needsRehash;
const options: HashOptions = { memoryCost: 1 << 10 } satisfies npm.HashOptions;

const stored: string = await argon2.hash('password', options);
const raw: Buffer = await argon2.hash(Buffer.from('password'), { raw: true, type: argon2.argon2id });
const matches: boolean = await argon2.verify(stored, 'password', { signal: AbortSignal.timeout(1000) });

const digest: Buffer = blake3.hash('text', { length: 64 });
const hex: string = blake3.createHash().update(new Uint8Array(8)).digest('hex');
const reader = blake3.createKeyed(Buffer.alloc(32)).reader();
reader.position += 32n;
for (const part of reader) part.byteLength satisfies number;
createReadStream('file').pipe(blake3.createHash()).on('data', (data: Buffer) => data);
const file: Buffer = await hashes.hashFile(new URL('file:///file'), { onProgress: (done, total) => [done, total] });
const files = await hashes.hashFiles(['file'], { threads: 2 });
const good = files.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
const many: Buffer[] = await blake3.hashMany([digest, 'text']);
const streamed: Buffer = await blake3.hashStream(new Blob(['x']).stream());

const policy: Policy = { memoryCost: 19456, timeCost: 2, parallelism: 1 };
const logins = new Passwords(policy, { limits: 'policy', secret: 'pepper', memoryBudget: 1 << 20 });
const hashed: string[] = await logins.hashMany(new Set(['one', new Uint8Array(8)]), { signal: AbortSignal.timeout(1000) });
const verdicts = await logins.verifyMany(hashed.map((hash) => [hash, 'one'] as const));
const right = verdicts.filter((verdict) => verdict.status === 'fulfilled' && verdict.value).length;
const { matches: known, upgrade } = await new passwords.Passwords('owasp').verifyAndUpgrade(stored, 'password');
const store: string = upgrade ?? stored;
const nobody: false = await logins.verifyDummy('password');
POLICIES['owasp']?.saltLength satisfies number | undefined;

// @ts-expect-error A policy has all its costs.
new Passwords({ memoryCost: 8 });
// @ts-expect-error Numbers are no bytes.
blake3.hash(1);
// @ts-expect-error A path is not a list of paths.
blake3.hashFiles('file');
// @ts-expect-error Nor is a text a list of texts.
blake3.hashMany('text');
// @ts-expect-error Nor is it a stream.
blake3.hashStream('text');
// @ts-expect-error Nor is a password a list of passwords.
logins.hashMany('password');
// @ts-expect-error There is no such type.
argon2.hash('password', { type: 3 });

export { compared, file, good, hex, known, many, matches, nobody, raw, rehashed, replaced, right, store, streamed };
