//! Disks with unreadable ranges: reports on the file, and all other files processed.

#![allow(clippy::single_range_in_vec_init, reason = "a list of places may have one")]

use crate::sum::failing_disk::FailingDisk;
use crate::world::{World, digest, hashmill};
use hashmill_testkit::{paint, skip};
use std::io;
use std::ops::Range;
use std::path::Path;

const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// A failing disk; `None` if mounting is not permitted.
fn disk(bytes: &[u8], bad: &[Range<u64>]) -> Option<FailingDisk> {
    match FailingDisk::new(bytes, bad) {
        Ok(disk) => Some(disk),
        Err(error) => {
            skipped(&error);
            None
        }
    }
}

fn skipped(error: &io::Error) {
    skip("failing disks", &format!("no FUSE file system can be mounted here: {error}; run as root"));
}

fn patched(bytes: &[u8], bad: &[Range<u64>]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for bad in bad {
        bytes[bad.start as usize..bad.end as usize].fill(0);
    }
    bytes
}

const STRATEGIES: [&str; 6] = ["auto", "read", "pread", "mmap", "mmap-parallel", "direct"];

#[test]
fn reports_first_unreadable_range_and_continues() {
    let world = World::new();
    world.write("good", "good");
    let bad = [9 * MIB + 2 * PAGE..9 * MIB + 3 * PAGE];
    let Some(disk) = disk(&paint(40 * MIB as usize), &bad) else { return };
    let (file, name) = (disk.file(), disk.file().display().to_string());
    let message = format!(
        "{name}: unreadable at offset {}: Input/output error (os error 5); see --keep-going",
        bad[0].start
    );
    for strategy in STRATEGIES {
        for threads in ["1", "2"] {
            let args = ["--strategy", strategy, "-j", threads, "good", &name, "good"];
            let out = world.sum(args).failure(1, &[&message]);
            assert_eq!(out, format!("{0}  good\n{0}  good\n", digest(b"good")), "{strategy} {threads}");
        }
    }
    world.sum(["--algorithm", "sha256", &name]).failure(1, &[&message]);
    // Checks, trees and audits report the range, too, and fail.
    world.write("list", format!("{}  {name}\n", digest(b"x")));
    let done = world.sum(["-c", "list"]);
    assert!(done.text().contains(&format!("unreadable at offset {}", bad[0].start)), "{}", done.text());
    assert_eq!(
        (done.code(), done.err.contains("1 listed file could not be read")),
        (1, true),
        "{}",
        done.err
    );
    let done = world.sum(["--tree".as_ref(), file.parent().expect("a directory").as_os_str()]);
    assert_eq!(done.code(), 1);
}

#[test]
fn keep_going_reports_all_unreadable_ranges() {
    let world = World::new();
    let places = [0..PAGE, MIB..MIB + 2 * PAGE, 12 * MIB + 5 * PAGE..12 * MIB + 6 * PAGE];
    for (len, bad) in [(13 * MIB + 100, &places[..]), (100_000, &places[..1]), (3 * MIB, &places[..2])] {
        let bytes = paint(len as usize);
        let Some(disk) = disk(&bytes, bad) else { return };
        let name = disk.file().display().to_string();
        let expected = patched(&bytes, bad);
        for strategy in STRATEGIES {
            for threads in ["1", "2"] {
                let args = ["--keep-going", "--json", "--strategy", strategy, "-j", threads, &name];
                let done = world.sum(args);
                let object: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
                let context = format!("{len} {strategy} {threads}: {object}");
                assert_eq!((done.code(), &object["digest"]), (1, &serde_json::Value::Null), "{context}");
                assert_eq!(object["digest_with_zeros"], digest(&expected), "{context}");
                assert_eq!(object["size"], len, "{context}");
                let found: Vec<(u64, u64)> = object["unreadable"]
                    .as_array()
                    .expect("places")
                    .iter()
                    .map(|range| (range["offset"].as_u64().unwrap(), range["length"].as_u64().unwrap()))
                    .collect();
                let places: Vec<_> = bad.iter().map(|bad| (bad.start, bad.end - bad.start)).collect();
                assert_eq!(found, places, "{context}");
            }
        }
        let done = world.run(
            Path::new("/bin/sh"),
            [
                "-c",
                "exec \"$0\" sum --keep-going --json <\"$1\"",
                hashmill().to_str().expect("a path"),
                &name,
            ],
            b"",
        );
        let object: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
        assert_eq!(object["digest_with_zeros"], digest(&expected), "standard input: {object}");
    }
}

/// The digest is in no list, as a later check would take it for that of the file.
#[test]
fn digest_with_zeros_is_not_listed() {
    let world = World::new();
    world.write("good", "good");
    let bad = [PAGE..2 * PAGE, 5 * PAGE..7 * PAGE];
    let bytes = paint(100_000);
    let Some(disk) = disk(&bytes, &bad) else { return };
    let name = disk.file().display().to_string();
    let lines = [
        format!(
            "{name}: 12288 bytes unreadable in 2 places, the first at offset 4096: Input/output error (os error 5)"
        ),
        format!("{name}: 4096 bytes at offset 4096 cannot be read"),
        format!("{name}: 8192 bytes at offset 20480 cannot be read"),
        format!(
            "{name}: {} is the digest with zeros in their place, not that of the file",
            digest(&patched(&bytes, &bad))
        ),
    ];
    let out = world.sum(["--keep-going", &name, "good"]).failure(1, &lines.each_ref().map(|line| &**line));
    assert_eq!(out, format!("{}  good\n", digest(b"good")));
}

/// Three reads fail: one of many pages, the kernel's retry of one page, and the first of our small reads.
/// Then the range is readable, and nothing is lost.
#[test]
fn retries_readable_ranges() {
    let world = World::new();
    let bytes = paint(5 * MIB as usize);
    for failures in [1, 2, 3] {
        for strategy in STRATEGIES {
            let bad = [2 * MIB + PAGE..2 * MIB + 2 * PAGE];
            let disk = match FailingDisk::healing(&bytes, &bad, failures) {
                Ok(disk) => disk,
                Err(error) => return skipped(&error),
            };
            let name = disk.file().display().to_string();
            let out = world.sum(["--no-names", "--strategy", strategy, &name]).quiet_success();
            assert_eq!(out, format!("{}\n", digest(&bytes)), "{failures} {strategy}");
        }
    }
}

/// Files in an unreadable directory are not gone, and the list keeps their entries.
#[test]
fn unreadable_directory_keeps_its_entries() {
    let world = World::new();
    let Some(disk) = disk(b"x", &[]) else { return };
    let (file, name) = (disk.file(), disk.file().display().to_string());
    let dir = file.parent().expect("a directory").display().to_string();
    let list = format!("{}  {name}\n", digest(b"x"));
    world.write("list", &list);
    let done = world.sum(["--audit", "list", &dir]);
    let message = format!("unread    {dir}\n0 same, 0 changed, 0 moved, 0 new, 0 gone, 1 unread\n");
    assert_eq!((done.code(), done.text()), (2, message), "{}", done.err);
    let done = world.sum(["--update", "list", &dir]);
    let message =
        format!("unread    {dir}\nlist: 1 file, 0 hashed, 1 kept; 0 new, 0 changed, 0 gone, 1 unread\n");
    assert_eq!((done.code(), done.text()), (1, message), "{}", done.err);
    let list_after = std::fs::read_to_string(world.path("list")).expect("a manifest");
    assert!(list_after.ends_with(&list), "{list_after}");
}

/// The memory of a process is a file that is unreadable at its start and has no end.
#[test]
fn endless_file_ends_at_first_unreadable_range() {
    let world = World::new();
    for flags in [&["/proc/self/mem"][..], &["--keep-going", "/proc/self/mem"]] {
        let message = "/proc/self/mem: unreadable at offset 0: Input/output error (os error 5)";
        assert_eq!(world.sum(flags).failure(1, &[message]), "");
    }
}

#[test]
fn keep_going_is_only_for_hashing() {
    let world = World::new();
    for flag in ["--check", "--tree", "--raw", "--duplicates"] {
        let done = world.sum(["--keep-going", flag, "f"]);
        assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{}", done.err);
        assert!(done.err.contains("'--keep-going' cannot be used with"), "{}", done.err);
    }
}
