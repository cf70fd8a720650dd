//! The examples in the help of the lab's commands: two for each, with cases that exist.

use hashmill_lab::model::registry::Registry;

const EXAMPLES: [(&str, [&str; 2]); 16] = [
    ("list", ["headline", "--classes"]),
    ("run", ["headline", "blake3/hash/oneshot/64KiB argon2id/hasher/backend --floor"]),
    (
        "duel",
        [
            "blake3/*/oneshot/1MiB/t1 --engines hash,hasher",
            "file/sum/file:mmap/64MiB/t1 file/sum/file:read/64MiB/t1",
        ],
    ),
    ("ab", ["blake3/hash/oneshot --base main", "doc-load --base old/hashmill --cand new/hashmill"]),
    ("claim", ["check", "render --file bench/claims.toml"]),
    ("prove", ["blake3-64k", "blake3-64k --publish"]),
    ("gate", ["bench/gates.toml", "bench/gates.toml --list"]),
    ("count", ["doc-load doc-save --record before.json", "doc-load doc-save --against before.json"]),
    ("doctor", ["", "--strict"]),
    ("profile", ["blake3/hash/oneshot/64KiB/t1", "doc-load/hashmill/kernel/10000/t1 --sample-ms 1000"]),
    ("import", ["hyperfine.json", "target/criterion"]),
    ("soak", ["blake3/context/sustained/64MiB/all", "pow/workers/sustained/64MiB/t1 --seconds 600"]),
    ("noise", ["--seconds 300", "blake3/hash/oneshot/64KiB/t1 --together"]),
    ("check", ["report.json", "lab-results/*/report.json"]),
    ("report", ["report.json", "report.json --format markdown"]),
    ("schema", ["", "noise"]),
];

pub(crate) fn register(registry: &mut Registry) {
    for (command, lines) in EXAMPLES {
        for line in lines {
            registry.example(command, format!("{command} {line}").trim_end());
        }
    }
}
