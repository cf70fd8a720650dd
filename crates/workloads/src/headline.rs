//! The suite that a newcomer runs first.

use crate::thread_counts;
use hashmill_lab::model::registry::Registry;

/// One call of each public function on one thread.
const ONE_THREAD: [&str; 14] = [
    "blake3/hash/oneshot/64/t1",
    "blake3/hash/oneshot/1KiB/t1",
    "blake3/hash/oneshot/4KiB/t1",
    "blake3/hash/oneshot/16KiB/t1",
    "blake3/hash/oneshot/64KiB/t1",
    "blake3/hash/oneshot/1MiB/t1",
    "blake3/hash/oneshot/64MiB/t1",
    "blake3/stream/oneshot/1MiB/t1/piece=64",
    "blake3-batch/batch/kernel/64/t1",
    "blake3-batch/batch/kernel/1KiB/t1",
    "blake3-xof/reader/kernel/1MiB/t1",
    "file/sum/file:auto/256MiB/t1",
    "argon2id/hasher/backend/64MiB/t1",
    // What OWASP recommends for passwords.
    "argon2id/hasher/backend/19MiB/t1/passes=2/lanes=1",
];

/// What other threads are good for.
const ALL_THREADS: [&str; 4] = [
    "blake3/context/backend/256KiB",
    "blake3/context/backend/64MiB",
    "file/sum/file:auto/256MiB",
    "argon2id/hasher/backend/64MiB",
];

pub(crate) fn register(registry: &mut Registry) {
    let mut patterns: Vec<String> = ONE_THREAD.map(str::to_owned).into();
    for threads in thread_counts().into_iter().filter(|threads| *threads > 1) {
        patterns.extend(ALL_THREADS.map(|case| format!("{case}/t{threads}")));
    }
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    registry.suite_with_floors(
        "headline",
        "what Hashmill does here, and how far that is from the limit",
        &patterns,
    );
}
