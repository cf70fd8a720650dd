'use strict';

/** The name of this system in the file names of `prebuilds/`. */
function system() {
  const { platform, arch } = process;
  const isGlibc = () => {
    // Network interfaces are left out, because querying them may take seconds.
    const { excludeNetwork } = process.report;
    process.report.excludeNetwork = true;
    const { header } = process.report.getReport();
    process.report.excludeNetwork = excludeNetwork;
    return header.glibcVersionRuntime !== undefined;
  };
  return `${platform}-${arch}${platform === 'linux' && !isGlibc() ? '-musl' : ''}`;
}

module.exports = { system };
