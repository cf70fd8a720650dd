// A test reporter: full failures, and the lines from which `cargo xtask test` counts tests and skipped ones.
export default async function* reporter(source) {
  const counts = { passed: 0, failed: 0 };
  for await (const { type, data } of source) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const { skip } = data;
    if (type === 'test:pass' && skip !== undefined && skip !== false) {
      yield `SKIPPED: ${data.name}: ${skip === true ? 'no reason' : skip}\n`;
      continue;
    }
    if (data.details.type === 'suite' && type === 'test:pass') continue;
    counts[type === 'test:pass' ? 'passed' : 'failed'] += 1;
    if (type === 'test:fail') {
      const { error } = data.details;
      yield `FAILED: ${data.name} (${data.file}:${data.line})\n${error?.cause?.stack ?? error?.stack ?? error}\n`;
    }
  }
  const verdict = counts.failed > 0 ? 'FAILED' : 'ok';
  yield `test result: ${verdict}. ${counts.passed} passed; ${counts.failed} failed\n`;
}
