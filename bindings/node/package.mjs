// Assembles the package: node package.mjs FOLDER SYSTEM=LIBRARY... SYSTEM is a name as in `lib/native.cjs`, such as linux-x64
// or linux-arm64-musl; `here` is the current one.
import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [folder, ...libraries] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, 'prebuilds'), { recursive: true });
cpSync(join(import.meta.dirname, 'lib'), join(folder, 'lib'), { recursive: true });
for (const name of ['package.json', 'README.md', 'LICENSE-APACHE', 'LICENSE-MIT']) {
  copyFileSync(join(import.meta.dirname, name), join(folder, name));
}
const { system } = createRequire(import.meta.url)('./lib/system.cjs');
for (const library of libraries) {
  const [name, file] = library.split('=');
  copyFileSync(file, join(folder, 'prebuilds', `${name === 'here' ? system() : name}.node`));
}
