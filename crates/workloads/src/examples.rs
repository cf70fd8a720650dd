//! Examples in the help of the lab's commands: two for each, with cases that exist.

use hashmill_lab::model::registry::Registry;

const EXAMPLES: [(&str, [&str; 2]); 16] = [
    ("list", ["headline", "--classes"]),
    ("run", ["headline", "blake3/context/sustained/64MiB/all --for 10m"]),
    (
        "compare",
        ["--engines hasher,hash blake3/*/oneshot/1MiB/t1", "main . --cases doc-load --fail-on slower"],
    ),
    ("gate", ["bench/gates.toml", "bench/gates.toml --list"]),
    ("claim", ["check", "prove hash-64 --file claims.toml"]),
    ("claim check", ["", "--file claims.toml"]),
    ("claim render", ["", "--file claims.toml"]),
    (
        "claim new",
        [
            "hash-64 --report r/report.json --expires 2027-12-31 \\\n      \
             --case blake3/hash/oneshot/64/t1 --vs hasher >> claims.toml",
            "hash-1m --report r/report.json --expires 2027-12-31 \\\n      \
             --case blake3/hash/oneshot/1MiB/t1 --vs hasher --unproven",
        ],
    ),
    ("claim prove", ["hash-64 --file claims.toml", "hash-64 --file claims.toml --out r --sessions 20"]),
    ("check", ["report.json", "lab-results/*/report.json"]),
    ("report", ["report.json --format markdown", "import hyperfine.json"]),
    ("report import", ["hyperfine.json", "target/criterion"]),
    ("report history", ["history.jsonl --add r/report.json", "history.jsonl --format html > history.html"]),
    ("report sign", ["r/report.json --key ~/.ssh/id_ed25519", "lab-results/*/report.json --key key.pub"]),
    ("report schema", ["", "samples > samples.schema.json"]),
    ("doctor", ["--strict", "--noise --seconds 300"]),
];

pub(crate) fn register(registry: &mut Registry) {
    for (command, lines) in EXAMPLES {
        for line in lines {
            registry.example(command, format!("{command} {line}").trim_end());
        }
    }
}
