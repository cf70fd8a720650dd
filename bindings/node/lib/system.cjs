'use strict';

/** The name of this system, as the files of `prebuilds/` have it. */
function system() {
  const { platform, arch } = process;
  const isGlibc = () => {
    // Network interfaces are not asked for, which may take seconds.
    const { excludeNetwork } = process.report;
    process.report.excludeNetwork = true;
    const { header } = process.report.getReport();
    process.report.excludeNetwork = excludeNetwork;
    return header.glibcVersionRuntime !== undefined;
  };
  return `${platform}-${arch}${platform === 'linux' && !isGlibc() ? '-musl' : ''}`;
}

module.exports = { system };
