//! Tests of runs, shards and interrupted runs.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::FixedSizeBinaryArray;
use arrow_array::cast::AsArray as _;
use hashmill_hash::blake3::hash;
use hashmill_inventory::inventory::{Columns, Inventory};
use hashmill_inventory::run::{Outcome, run, verify};
use hashmill_inventory::{Error, Hasher, Options, RunHandle, Shard};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{files, table, texts, write};

const PART: NonZero<u64> = NonZero::new(7).expect("some");

struct Ground {
    folder: tempfile::TempDir,
    files: Vec<(PathBuf, Vec<u8>)>,
    hasher: Hasher,
}

impl Ground {
    /// Two inventory files, whose row groups do not end at parts. One row names nothing.
    fn new() -> Ground {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("a folder");
        let files = files(&data, 50);
        let ground = Ground { folder, files, hasher: Hasher::new(Options::default()).expect("a hasher") };
        let mut paths: Vec<&str> =
            ground.files.iter().map(|(path, _)| path.to_str().expect("text")).collect();
        paths.push("nothing here");
        fs::create_dir(ground.path("inventory")).expect("a folder");
        write(
            &ground.path("inventory/a.parquet"),
            &table(vec![("url", texts(paths[..20].iter().copied()))]),
            6,
        );
        write(
            &ground.path("inventory/b.parquet"),
            &table(vec![("url", texts(paths[20..].iter().copied()))]),
            11,
        );
        fs::write(ground.path("inventory/_notes.parquet"), b"no data").expect("a file");
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn inventory(&self) -> Inventory {
        Inventory::open(&self.hasher, &[self.path("inventory")], Columns::default()).expect("an inventory")
    }

    fn run(&self, out: &str, shard: Shard) -> Result<Outcome, Error> {
        run(&self.hasher, &self.inventory(), &self.path(out), shard, PART, &RunHandle::new())
    }
}

fn parts(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(out).expect("a folder").map(|entry| entry.expect("an entry").path());
    let name = |path: &PathBuf| path.file_name().expect("a name").to_str().expect("text").to_owned();
    entries.map(|path| (name(&path), fs::read(&path).expect("a file"))).collect()
}

#[test]
fn results_keep_the_order_of_rows() {
    let ground = Ground::new();
    let outcome = ground.run("out", Shard::ALL).expect("an outcome");
    assert_eq!((outcome.parts, outcome.skipped), (8, 0));
    let summary = outcome.summary;
    assert_eq!((summary.rows, summary.hashed, summary.failed), (51, 50, [0, 1, 0, 0, 0]));
    let mut digests = Vec::new();
    for name in parts(&ground.path("out")).keys().filter(|name| name.ends_with(".parquet")) {
        let file = fs::File::open(ground.path("out").join(name)).expect("a file");
        for batch in
            ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("a reader")
        {
            let batch = batch.expect("rows");
            let column = batch.column_by_name("blake3").expect("a column").as_fixed_size_binary();
            digests.extend(column.iter().map(|digest| digest.map(<[u8]>::to_vec)));
        }
    }
    let expected = ground.files.iter().map(|(_, bytes)| Some(hash(bytes).as_bytes().to_vec()));
    assert_eq!(digests, expected.chain([None]).collect::<Vec<_>>());
}

#[test]
fn shards_write_the_same_files_as_one_run() {
    let ground = Ground::new();
    ground.run("one", Shard::ALL).expect("an outcome");
    let whole = parts(&ground.path("one"));
    for count in [1, 2, 3, 5, 20] {
        let out = format!("of {count}");
        let mut rows = 0;
        for index in (0..count).rev() {
            rows += ground
                .run(&out, Shard::new(index, count).expect("a shard"))
                .expect("an outcome")
                .summary
                .rows;
        }
        assert_eq!(rows, 51);
        assert_eq!(parts(&ground.path(&out)), whole, "{count}");
    }
}

#[test]
fn killed_run_resumes_at_any_step() {
    let ground = Ground::new();
    ground.run("one", Shard::ALL).expect("an outcome");
    let whole = parts(&ground.path("one"));
    let names: Vec<&String> = whole.keys().collect();
    // A kill leaves the first files complete, and perhaps a temporary file.
    for left in 0..=names.len() {
        let out = format!("left {left}");
        fs::create_dir(ground.path(&out)).expect("a folder");
        for name in names.iter().take(left) {
            fs::write(ground.path(&out).join(name), &whole[*name]).expect("a file");
        }
        let outcome = ground.run(&out, Shard::ALL).expect("an outcome");
        assert_eq!(outcome.parts + outcome.skipped, 8);
        assert_eq!(outcome.skipped as usize, left.saturating_sub(1), "whose they are is the first");
        assert_eq!(outcome.summary.rows, 51);
        assert_eq!(parts(&ground.path(&out)), whole);
    }
}

#[test]
fn stopped_run_leaves_complete_parts() {
    let ground = Ground::new();
    let stop = RunHandle::new();
    stop.stop();
    let stopped = run(&ground.hasher, &ground.inventory(), &ground.path("out"), Shard::ALL, PART, &stop);
    assert!(matches!(stopped, Err(Error::Stopped)));
    assert_eq!(ground.run("out", Shard::ALL).expect("an outcome").parts, 8);
}

#[test]
fn rejects_a_folder_of_another_run() {
    let ground = Ground::new();
    ground.run("out", Shard::ALL).expect("an outcome");
    let other = NonZero::new(8).expect("some");
    let refused =
        run(&ground.hasher, &ground.inventory(), &ground.path("out"), Shard::ALL, other, &RunHandle::new());
    assert!(matches!(refused, Err(Error::Other(..))));
    write(&ground.path("inventory/b.parquet"), &table(vec![("url", texts(["x"; 31]))]), 11);
    assert!(matches!(ground.run("out", Shard::ALL), Err(Error::Other(..))));
    // Also without the file that has the fingerprint.
    fs::remove_file(ground.path("out/_hashmill.json")).expect("it was there");
    assert!(
        matches!(ground.run("out", Shard::ALL), Err(Error::Other(path, _)) if path.ends_with("part-000000000014-000000000021.parquet"))
    );
}

#[test]
fn rejects_foreign_result_files() {
    let ground = Ground::new();
    ground.run("out", Shard::ALL).expect("an outcome");
    let first = ground.path("out/part-000000000000-000000000007.parquet");
    fs::write(&first, b"PAR1 half").expect("a file");
    assert!(matches!(ground.run("out", Shard::ALL), Err(Error::Other(path, _)) if path == first));
}

#[test]
fn results_are_an_inventory_to_verify() {
    let ground = Ground::new();
    ground.run("out", Shard::ALL).expect("an outcome");
    fs::write(&ground.files[3].0, vec![9; 3 * 37]).expect("other bytes");
    fs::remove_file(&ground.files[4].0).expect("it was there");
    let inventory =
        Inventory::open(&ground.hasher, &[ground.path("out")], Columns::default()).expect("an inventory");
    let by = |inventory: &Inventory, out: &str| {
        verify(&ground.hasher, inventory, &ground.path(out), Shard::ALL, PART, &RunHandle::new())
    };
    let summary = by(&inventory, "verified").expect("an outcome").summary;
    assert_eq!((summary.matched, summary.mismatched, summary.failed), (48, 1, [0, 2, 0, 0, 0]));
    assert!(matches!(by(&ground.inventory(), "none"), Err(Error::Refused(_))), "it lists no digests");
    assert!(!ground.path("none").exists());
    // Results of an earlier run of `hash` do not verify anything.
    let hashed = run(&ground.hasher, &inventory, &ground.path("hashed"), Shard::ALL, PART, &RunHandle::new());
    assert_eq!(hashed.expect("an outcome").summary.matched, 48);
    assert!(matches!(by(&inventory, "hashed"), Err(Error::Other(..))));
}

#[test]
fn rejects_incomplete_results_as_inventory() {
    let ground = Ground::new();
    let open = || Inventory::open(&ground.hasher, &[ground.path("out")], Columns::default());
    ground.run("out", Shard::new(1, 2).expect("a shard")).expect("an outcome");
    let error = open().expect_err("half of it").to_string();
    assert!(error.contains(" of 51 rows are answered here"), "{error}");
    // Each file alone is an inventory.
    let names = parts(&ground.path("out")).into_keys().filter(|name| name.ends_with(".parquet"));
    let files: Vec<_> = names.map(|name| ground.path("out").join(name)).collect();
    assert!(Inventory::open(&ground.hasher, &files, Columns::default()).is_ok());
    ground.run("out", Shard::new(0, 2).expect("a shard")).expect("an outcome");
    assert_eq!(open().expect("all of it").len(), 51);
    fs::write(ground.path("out/_hashmill.json"), "{").expect("a file");
    assert!(matches!(open(), Err(Error::Inventory(..))));
}

#[test]
fn compares_a_listed_digest_without_size() {
    let ground = Ground::new();
    let (path, bytes) = &ground.files[5];
    let digests =
        FixedSizeBinaryArray::try_from_iter([hash(bytes).as_bytes()].into_iter()).expect("32 bytes");
    let listed = table(vec![("url", texts([path.to_str().expect("text")])), ("blake3", Arc::new(digests))]);
    write(&ground.path("one.parquet"), &listed, 1);
    let inventory = Inventory::open(&ground.hasher, &[ground.path("one.parquet")], Columns::default())
        .expect("an inventory");
    let outcome = run(&ground.hasher, &inventory, &ground.path("out"), Shard::ALL, PART, &RunHandle::new());
    assert_eq!(outcome.expect("an outcome").summary.matched, 1);
}

#[test]
fn errors_name_the_invalid_file() {
    let ground = Ground::new();
    let open = |path: PathBuf| Inventory::open(&ground.hasher, &[path], Columns::default());
    for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", &[0xff; 100]] {
        fs::write(ground.path("bad.parquet"), bytes).expect("a file");
        assert!(matches!(open(ground.path("bad.parquet")), Err(Error::Inventory(..))), "{bytes:?}");
    }
    let whole = fs::read(ground.path("inventory/a.parquet")).expect("a file");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x11;
        fs::write(ground.path("bad.parquet"), &bytes).expect("a file");
        // An error or other rows, but no panic.
        if let Ok(inventory) = open(ground.path("bad.parquet")) {
            inventory.rows(0..inventory.len()).take(1000).for_each(drop);
        }
    }
    assert!(matches!(open(ground.path("nowhere")), Err(Error::Io(..))));
    assert!(matches!(open(ground.path("data")), Err(Error::Refused(_))));
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_leaves_no_partial_file() {
    let ground = Ground::new();
    let out = ground.path("out");
    fs::create_dir(&out).expect("a folder");
    // A full device at the path of a part.
    std::os::unix::fs::symlink("/dev/full", out.join("part-000000000007-000000000014.parquet"))
        .expect("a link");
    assert!(ground.run("out", Shard::ALL).is_err());
    fs::remove_file(out.join("part-000000000007-000000000014.parquet")).expect("it was there");
    assert_eq!(ground.run("out", Shard::ALL).expect("an outcome").summary.rows, 51);
}

#[test]
fn one_of_concurrent_runs_gets_the_folder() {
    let ground = Ground::new();
    for round in 0..20 {
        let out = ground.path(&format!("out {round}"));
        let claim = |rows: u64| {
            let rows = NonZero::new(rows).expect("some");
            let (out, ground) = (&out, &ground);
            move || {
                run(
                    &ground.hasher,
                    &ground.inventory(),
                    out,
                    Shard::new(0, 1000).expect("a shard"),
                    rows,
                    &RunHandle::new(),
                )
            }
        };
        std::thread::scope(|scope| {
            let runs = [7, 8, 7, 8].map(|rows| (rows, scope.spawn(claim(rows))));
            let done = runs.map(|(rows, run)| (rows, run.join().expect("no panic")));
            let won: Vec<u64> =
                done.iter().filter(|(_, result)| result.is_ok()).map(|(rows, _)| *rows).collect();
            assert!(won == [7, 7] || won == [8, 8], "{done:?}");
        });
        assert_eq!(fs::read_dir(&out).expect("a folder").count(), 1, "nothing else is left");
    }
}
