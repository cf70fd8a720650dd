//! Seeds of the document targets, intact and damaged, in a process with a memory limit: allocations beyond it fail, which
//! ends the process.

use std::alloc::System;
use std::fs;
use std::path::Path;

use cap::Cap;
use hashmill_fuzz::{Body, TARGETS};
use hashmill_testkit::{Rng, size};

#[global_allocator]
static LIMITED: Cap<System> = Cap::new(System, usize::MAX);

/// Memory limit of a document target. Its limits let an input inflate to 1 MiB, and each operation takes a few dozen bytes
/// in each document of the target.
const ROOM: usize = 96 << 20;

fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = rng.below(bytes.len());
    match rng.below(6) {
        0 => drop(bytes.remove(at)),
        1 => bytes.insert(at, rng.next_u64() as u8),
        2 => bytes[at] ^= 1 << rng.below(8),
        // A length or a run's count that encodes gigabytes.
        3 => drop(bytes.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x7f])),
        4 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5)],
        _ => bytes.truncate(at),
    }
}

/// Prints the input of a panic.
struct Tried<'a> {
    seed: &'a Path,
    round: usize,
    bytes: &'a [u8],
}

impl Drop for Tried<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Tried { seed, round, bytes } = self;
            eprintln!("{} round {round}: {bytes:02x?}", seed.display());
        }
    }
}

#[test]
fn no_seed_needs_more_memory_than_its_limits_say() {
    let targets: Vec<&(&str, Body)> = TARGETS.iter().filter(|(name, _)| name.starts_with("doc_")).collect();
    assert_eq!(targets.len(), 10);
    let mut rng = Rng::new(1);
    // Number of damaged copies of each seed.
    let rounds = size::of(40, 300);
    for (name, body) in targets {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        for entry in fs::read_dir(folder).expect("seeds") {
            let path = entry.expect("a seed").path();
            let seed = fs::read(&path).expect("a seed that can be read");
            LIMITED.set_limit(LIMITED.allocated() + ROOM).expect("a limit above what is held");
            body(&seed);
            for round in 0..rounds {
                let mut bytes = seed.clone();
                (0..1 + rng.below(3)).for_each(|_| damage(&mut rng, &mut bytes));
                let tried = Tried { seed: &path, round, bytes: &bytes };
                body(tried.bytes);
            }
            LIMITED.set_limit(usize::MAX).expect("no limit");
        }
    }
}
