//! Suites for `lab tune`: the settings that a machine may want otherwise, each against its neighbours.
//!
//! There is no GPU backend in this project yet, and so no gate between it and the processor to tune.

use hashmill_lab::model::registry::Registry;

/// Every kernel beside what Hashmill chooses by itself, on both sides of each size at which more lanes are of use.
const KERNEL_SIZES: [&str; 10] =
    ["64", "1KiB", "2KiB", "4KiB", "8KiB", "15KiB", "16KiB", "64KiB", "256KiB", "1MiB"];

/// One thread against all of them, where a second one begins to pay and far beyond.
const THREADS: [&str; 7] = [
    "blake3/context/backend/64KiB/t*",
    "blake3/context/backend/256KiB/t*",
    "blake3/context/backend/1MiB/t*",
    "blake3/context/backend/16MiB/t*",
    "file/sum/file:auto/1MiB/t*",
    "file/sum/file:auto/16MiB/t*",
    "argon2id/hasher/backend/64MiB/t*",
];

/// How much of a file a thread takes at a time.
const TILES: [&str; 4] = [
    "file/sum/file:auto/16MiB/all/tile=*",
    "file/sum/file:auto/64MiB/all/tile=*",
    "file/sum/file:mmap/64MiB/t1/tile=*",
    "file/sum/file:pread/64MiB/all/tile=*",
];

/// Hashes in flight on each thread, for memory that a cache holds and for memory that none does.
const SEARCH: [&str; 2] =
    ["pow/workers/backend/1MiB/t*/in-flight=*", "pow/workers/backend/64MiB/t*/in-flight=*"];

pub(crate) fn register(registry: &mut Registry) {
    let of_size = |size: &str| ["", "/*"].map(|rest| format!("blake3/hash/oneshot/{size}/t1{rest}"));
    let kernels: Vec<String> = KERNEL_SIZES.into_iter().flat_map(of_size).collect();
    let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
    for (name, about, patterns) in [
        ("tune-kernels", "which BLAKE3 kernel from which size on", &kernels[..]),
        ("tune-threads", "from which size on a second thread pays", &THREADS),
        ("tune-tiles", "how much of a file a thread takes at a time", &TILES),
        ("tune-search", "threads and hashes in flight of a proof of work", &SEARCH),
    ] {
        registry.suite(name, &format!("{about}; for `tune`"), patterns);
    }
}
