// Common code of tests.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The repository. */
export const root = process.env.HASHMILL_ROOT;
export const read = (path) => readFileSync(join(root, path), 'utf8');

/** Internal modules of the package. */
const require = createRequire(import.meta.url);
export const { native } = require(join(dirname(require.resolve('@hashmill/node')), 'native.cjs'));

/** Input bytes of BLAKE3's published vectors. */
export const painted = (length) => Buffer.from(Uint8Array.from({ length }, (_, index) => index % 251));

/** Lengths at which the tree, the threads or the pieces change. */
export const LENGTHS = [
  0, 1, 31, 63, 64, 65, 1023, 1024, 1025, 2048, 3072, 8193, 16384, 31744, 65537, 131_072, 131_073, 1 << 20, (2 << 20) + 1,
  (4 << 20) + 12_345,
];

/** Costs that take a millisecond. */
export const CHEAP = { memoryCost: 64, timeCost: 1, parallelism: 1 };
/** Costs that take seconds, for work that is aborted. */
export const DEAR = { memoryCost: 1 << 18, timeCost: 100, parallelism: 1 };
