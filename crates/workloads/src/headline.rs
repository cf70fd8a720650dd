//! The suite that a newcomer runs first.

use crate::all_threads;
use hashmill_lab::model::registry::Registry;

/// What people come for, in the order in which the README names it.
const ONE_THREAD: [(&str, &str); 16] = [
    ("BLAKE3, a message of 64 bytes", "blake3/hash/oneshot/64/t1"),
    ("BLAKE3, 1 KiB", "blake3/hash/oneshot/1KiB/t1"),
    ("BLAKE3, 16 KiB", "blake3/hash/oneshot/16KiB/t1"),
    ("BLAKE3, 1 MiB", "blake3/hash/oneshot/1MiB/t1"),
    ("BLAKE3, many messages of 64 bytes", "blake3-batch/batch/kernel/64/t1"),
    ("BLAKE3, 1 MiB of output", "blake3-xof/reader/kernel/1MiB/t1"),
    ("files: one of 256 MiB", "file/sum/file:auto/256MiB/t1"),
    // What OWASP recommends.
    ("passwords: 19 MiB, 2 passes", "argon2id/hasher/backend/19MiB/t1/passes=2/lanes=1"),
    ("passwords: 64 MiB, 3 passes", "argon2id/hasher/backend/64MiB/t1"),
    ("nonces of 64 MiB", "pow/workers/backend/64MiB/t1"),
    ("documents: load one of 10,000 keys", "doc-load/hashmill/kernel/10000/t1"),
    ("documents: save it", "doc-save/hashmill/kernel/10000/t1"),
    ("documents: 10,000 letters typed one by one", "doc-text_splice_append/hashmill/kernel/10000/t1"),
    ("documents: two that differ in 20,000 edits meet", "doc-sync_diverged/hashmill/kernel/10000/t1"),
    ("documents: a text as it was 1,000 edits ago", "doc-text_at/hashmill/kernel/1000/t1"),
    ("documents: what one edit changed", "doc-diff_one_edit/hashmill/kernel/100000/t1"),
];

/// What other threads are good for.
const ALL_THREADS: [(&str, &str); 4] = [
    ("BLAKE3, 64 MiB", "blake3/context/backend/64MiB"),
    ("files: one of 256 MiB", "file/sum/file:auto/256MiB"),
    ("passwords: 64 MiB, 3 passes", "argon2id/hasher/backend/64MiB"),
    ("nonces of 64 MiB", "pow/workers/backend/64MiB"),
];

pub(crate) fn register(registry: &mut Registry) {
    let owned = |(name, case): (&str, &str)| (name.to_owned(), case.to_owned());
    let mut rows: Vec<(String, String)> = ONE_THREAD.map(owned).into();
    let threads = all_threads();
    if threads > 1 {
        let spread = |(name, case)| (format!("{name}, on {threads} threads"), format!("{case}/t{threads}"));
        rows.extend(ALL_THREADS.map(spread));
    }
    registry.summary("headline", "what Hashmill does here, and how far that is from the limit", &rows);
}
