//! The examples in the help of the lab's commands: two for each, with cases that exist.

use hashmill_lab::model::registry::Registry;

const EXAMPLES: [(&str, [&str; 2]); 8] = [
    ("list", ["headline", "--classes"]),
    ("run", ["headline", "blake3/context/sustained/64MiB/all --for 10m"]),
    (
        "compare",
        ["--engines hasher,hash blake3/*/oneshot/1MiB/t1", "main . --cases doc-load --fail-on slower"],
    ),
    ("gate", ["bench/gates.toml", "bench/gates.toml --list"]),
    ("claim", ["check", "prove blake3-64k"]),
    ("check", ["report.json", "lab-results/*/report.json"]),
    ("report", ["report.json --format markdown", "import hyperfine.json"]),
    ("doctor", ["--strict", "--noise --seconds 300"]),
];

pub(crate) fn register(registry: &mut Registry) {
    for (command, lines) in EXAMPLES {
        for line in lines {
            registry.example(command, &format!("{command} {line}"));
        }
    }
}
