//! Suite for a first-time user: one row per product, beside the usual tool; the other rows with `--full`.

use crate::all_threads;
use hashmill_lab::model::registry::Registry;
use hashmill_lab::model::summary::{Meaning, NamedCase, Number, ProductRow, Recorded, Summary, Tool};

/// Ratios to programs that are not linked: written by `lab claim render` from committed reports.
const RECORDED: &str = include_str!("../data/recorded.md");

const IMAGE: u64 = 10 << 30;

/// Further rows with one thread, in the order of the README.
const FURTHER: [(&str, &str); 11] = [
    ("BLAKE3, 1 KiB", "blake3/hash/oneshot/1KiB/t1"),
    ("BLAKE3, 16 KiB", "blake3/hash/oneshot/16KiB/t1"),
    ("BLAKE3, 1 MiB", "blake3/hash/oneshot/1MiB/t1"),
    ("BLAKE3, 64 messages of 64 bytes", "blake3-batch/batch/kernel/64/t1"),
    ("BLAKE3, 1 MiB of output", "blake3-xof/reader/kernel/1MiB/t1"),
    ("password, 64 MiB, 3 passes", "argon2id/hasher/backend/64MiB/t1"),
    ("nonces of 64 MiB, 1 thread", "pow/workers/backend/64MiB/t1"),
    ("document: save 10,000 keys", "doc-save/hashmill/kernel/10000/t1"),
    ("document: text 1,000 edits ago", "doc-text_at/hashmill/kernel/1000/t1"),
    ("document: what one edit changed", "doc-diff_one_edit/hashmill/kernel/100000/t1"),
    ("SHA-256, 1 MiB", "sha256/sha2/oneshot/1MiB/t1"),
];

/// Further rows that use all threads.
const ALL_THREADS: [(&str, &str); 2] = [
    ("BLAKE3, 64 MiB", "blake3/context/backend/64MiB"),
    ("password, 64 MiB, 3 passes", "argon2id/hasher/backend/64MiB"),
];

pub(crate) fn register(registry: &mut Registry) {
    let recorded = Recorded::parse(RECORDED).unwrap_or_else(|line| panic!("data/recorded.md: {line}"));
    let summary = Summary {
        program: "Hashmill".to_owned(),
        rivals: "cargo rivals lab compare".to_owned(),
        products: products(all_threads()),
        further: further(all_threads()),
        recorded,
    };
    registry.summary("headline", "what Hashmill does here, beside the usual tools", summary);
}

fn products(threads: u32) -> Vec<ProductRow> {
    let row =
        |product: &str, name: &str, case: &str, number: Number, meaning: Meaning, tool: &Tool| ProductRow {
            product: product.to_owned(),
            named: NamedCase::new(name, case),
            number,
            meaning,
            tool: tool.clone(),
        };
    let sha256 = |case: &str| Tool::Measured(NamedCase::new("SHA-256", case));
    let recorded =
        |name: &str, engine: &str| Tool::Recorded { name: name.to_owned(), engine: engine.to_owned() };
    let image = Meaning::Amount { what: "a 10 GiB image".to_owned(), units: IMAGE };
    let sum = sha256("sha256-file/sum/file:auto/256MiB/t1");
    let automerge = recorded("automerge", "automerge");
    let mut rows =
        vec![row("FILES", "256 MiB", "file/sum/file:auto/256MiB/t1", Number::Rate, image.clone(), &sum)];
    if threads > 1 {
        let (name, case) = (format!("on {threads} threads"), format!("file/sum/file:auto/256MiB/t{threads}"));
        rows.push(row("FILES", &name, &case, Number::Rate, image, &sum));
    }
    rows.extend([
        row(
            "MESSAGES",
            "64 bytes",
            "blake3/hash/oneshot/64/t1",
            Number::Time,
            Meaning::PerSecond(String::new()),
            &sha256("sha256/sha2/oneshot/64/t1"),
        ),
        row(
            "PASSWORDS",
            "OWASP, 19 MiB",
            "argon2id/hasher/backend/19MiB/t1/passes=2/lanes=1",
            Number::Time,
            Meaning::PerSecond("logins".to_owned()),
            &recorded("rust-argon2", "argon2-rust"),
        ),
        row(
            "DOCUMENTS",
            "open 10,000 keys",
            "doc-load/hashmill/kernel/10000/t1",
            Number::Time,
            Meaning::Frame,
            &automerge,
        ),
        row(
            "DOCUMENTS",
            "10,000 keystrokes",
            "doc-text_splice_append/hashmill/kernel/10000/t1",
            Number::Time,
            Meaning::PerSecond("letters".to_owned()),
            &automerge,
        ),
        row(
            "DOCUMENTS",
            "20,000 edits meet",
            "doc-sync_diverged/hashmill/kernel/10000/t1",
            Number::Time,
            Meaning::Frame,
            &automerge,
        ),
        row(
            "WORK",
            "nonces of 64 MiB",
            &format!("pow/workers/backend/64MiB/t{threads}"),
            Number::Rate,
            Meaning::PerDay("tries".to_owned()),
            &Tool::Unknown("no rival in the lab".to_owned()),
        ),
    ]);
    rows
}

fn further(threads: u32) -> Vec<NamedCase> {
    let mut rows: Vec<NamedCase> = FURTHER.map(|(name, case)| NamedCase::new(name, case)).into();
    if threads > 1 {
        rows.extend(ALL_THREADS.map(|(name, case)| {
            NamedCase::new(format!("{name}, {threads} threads"), &format!("{case}/t{threads}"))
        }));
    }
    rows
}
