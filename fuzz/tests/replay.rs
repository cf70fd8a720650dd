//! Replays the committed seeds through the bodies of the targets.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hashmill_fuzz::TARGETS;

fn entries(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("a folder that can be read").path()).collect()
}

#[test]
fn every_seed_runs_to_its_end() {
    for (name, body) in TARGETS {
        let seeds = entries(&format!("corpus/{name}"));
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for seed in seeds {
            // On a failure this line is in the captured output, and the seed is known.
            println!("{}", seed.display());
            body(&fs::read(&seed).expect("a seed that can be read"));
        }
    }
}

#[test]
fn every_target_is_in_the_table() {
    let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let files: BTreeSet<_> = entries("fuzz_targets").into_iter().map(stem).collect();
    let table: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, table);
}
