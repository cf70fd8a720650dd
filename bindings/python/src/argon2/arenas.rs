//! Memory of hashes, kept for the next ones: the system would have to fill it with zeroes each time.

use std::sync::{Mutex, OnceLock, PoisonError};

use hashmill_hash::argon2::{Arena, PagePolicy};
use hashmill_hash::process::PerProcess;

/// What is kept at most, in KiB. It was wiped.
const KEEP_KIB: u64 = 256 * 1024;

type Arenas = PerProcess<Mutex<Vec<Arena>>>;

fn arenas() -> &'static Mutex<Vec<Arena>> {
    static ARENAS: OnceLock<Arenas> = OnceLock::new();
    ARENAS.get_or_init(|| PerProcess::new(Mutex::default())).get_or(Mutex::default)
}

/// An arena, if possible one that has so many blocks already.
pub(super) fn take(blocks: u64) -> Arena {
    let mut idle = arenas().lock().unwrap_or_else(PoisonError::into_inner);
    let fitting = idle.iter().enumerate().filter(|(_, arena)| arena.capacity() >= blocks);
    match fitting.min_by_key(|(_, arena)| arena.capacity()).map(|(index, _)| index) {
        Some(index) => idle.swap_remove(index),
        None => none(),
    }
}

/// One without memory.
pub(super) fn none() -> Arena {
    Arena::new(PagePolicy::default())
}

/// Keeps an arena, or gives its memory back where that were too much.
pub(super) fn give(arena: Arena) {
    let mut idle = arenas().lock().unwrap_or_else(PoisonError::into_inner);
    idle.push(arena);
    // The newest are the warmest.
    while idle.iter().map(Arena::capacity).sum::<u64>() > KEEP_KIB {
        drop(idle.remove(0));
    }
}
