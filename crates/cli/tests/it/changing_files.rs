//! Files that change while they are hashed: an error or a digest of what was read, never a crash.

#![cfg(unix)]

use crate::world::{Done, World, finish, hashmill, zeros};
use std::fs::File;
use std::process::Command;
use std::thread;
use std::time::Duration;

const LEN: u64 = 512 << 20;

/// Starts hashing a file of zeros and changes its length after `delay`.
fn change(world: &World, strategy: &str, to: u64, delay: Duration) -> Done {
    let file = File::create(world.path("f")).expect("a file");
    file.set_len(LEN).expect("a sparse file");
    let child = world.start(Command::new(hashmill()).args(["sum", "--json", "--strategy", strategy, "f"]));
    thread::sleep(delay);
    file.set_len(to).expect("a new length");
    finish(child)
}

/// The digest that was printed is the one of as many zeros as were hashed.
#[track_caller]
fn assert_honest(done: &Done) -> u64 {
    let object: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
    let size = object["size"].as_u64().expect("a size");
    assert_eq!(object["digest"], zeros(size), "{size} bytes");
    size
}

#[test]
fn truncated() {
    for strategy in ["mmap", "mmap-parallel", "pread", "direct", "read", "auto"] {
        let world = World::new();
        // Nobody can say when the program is in the middle of the file; so try until it was.
        let seen = (0..40).any(|attempt| {
            let done = change(&world, strategy, 5000, Duration::from_millis(4 + attempt * 2));
            match done.code() {
                0 => {
                    let size = assert_honest(&done);
                    strategy == "read" && 5000 < size && size < LEN
                }
                1 => {
                    let message = format!("f: file shrank from {LEN} to 5000 bytes while it was hashed");
                    assert!(done.err.contains(&message), "{strategy}: {}", done.err);
                    true
                }
                _ => panic!("{strategy}: {done:?}"),
            }
        });
        assert!(seen, "{strategy}: the file was never truncated in time");
    }
}

#[test]
fn grown() {
    for strategy in ["mmap-parallel", "pread", "direct", "read", "auto"] {
        let world = World::new();
        let done = change(&world, strategy, LEN + 12_345_678, Duration::from_millis(10));
        assert_eq!(done.code(), 0, "{strategy}: {}", done.err);
        let size = assert_honest(&done);
        assert!([LEN, LEN + 12_345_678].contains(&size), "{strategy}: {size}");
    }
}
