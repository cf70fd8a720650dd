//! Files that change while they are hashed: an error or a digest of what was read, never a crash.

#![cfg(unix)]

use crate::world::{Done, World, finish, hashmill, zeros};
use hashmill_testkit::skip;
use hashmill_testkit::wait::{Running, until};
use std::fs::{self, File};
use std::process::Command;

/// Waits until the program is in the middle of `f`, or has ended. A mapped file is in its list of mappings, a read one in its
/// count of bytes; without the file it reads less than a megabyte.
fn wait_for_the_middle(child: &mut Running) {
    let id = child.id();
    let is_mapped = || fs::read_to_string(format!("/proc/{id}/maps")).is_ok_and(|maps| maps.contains("/f\n"));
    let is_read = || {
        let counts = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
        let read = counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok());
        read.is_some_and(|bytes| bytes > 4 << 20)
    };
    until("a program that reads the file", || {
        is_mapped() || is_read() || child.try_wait().expect("our own child").is_some()
    });
}

/// Starts hashing a file of `len` zeros and changes its length in the middle. `None` if the middle cannot be detected.
fn change(world: &World, strategy: &str, len: u64, to: u64) -> Option<Done> {
    if !fs::exists("/proc/self/io").is_ok_and(|there| there) {
        skip("files that change while they are hashed", "no /proc/PID/io here");
        return None;
    }
    let file = File::create(world.path("f")).expect("a file");
    file.set_len(len).expect("a sparse file");
    let mut child =
        world.start(Command::new(hashmill()).args(["sum", "--json", "--strategy", strategy, "f"]));
    wait_for_the_middle(&mut child);
    file.set_len(to).expect("a new length");
    Some(finish(child))
}

/// The printed digest is that of the number of zeros hashed.
#[track_caller]
fn assert_honest(done: &Done) -> u64 {
    let object: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
    let size = object["size"].as_u64().expect("a size");
    assert_eq!(object["digest"], zeros(size), "{size} bytes");
    size
}

#[test]
fn file_truncated_while_hashed() {
    // Hashing the file takes seconds, so the change comes before the end also on a slow machine.
    const LEN: u64 = 1 << 36;
    for strategy in ["mmap", "mmap-parallel", "pread", "direct", "read", "auto"] {
        let world = World::new();
        let Some(done) = change(&world, strategy, LEN, 5000) else { return };
        match done.code() {
            0 => {
                let size = assert_honest(&done);
                assert!(strategy == "read" && 5000 < size && size < LEN, "{strategy}: {size} bytes");
            }
            1 => {
                let message = format!("f: file shrank from {LEN} to 5000 bytes while it was hashed");
                assert!(done.err.contains(&message), "{strategy}: {}", done.err);
            }
            _ => panic!("{strategy}: {done:?}"),
        }
    }
}

#[test]
fn file_grown_while_hashed() {
    const LEN: u64 = 512 << 20;
    for strategy in ["mmap-parallel", "pread", "direct", "read", "auto"] {
        let world = World::new();
        let Some(done) = change(&world, strategy, LEN, LEN + 12_345_678) else { return };
        assert_eq!(done.code(), 0, "{strategy}: {}", done.err);
        let size = assert_honest(&done);
        assert!([LEN, LEN + 12_345_678].contains(&size), "{strategy}: {size}");
    }
}
