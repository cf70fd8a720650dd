//! Pool of arenas from past hashes: the system would have to zero new memory each time.

use super::Hasher;
use crate::argon2::memory::{Arena, PagePolicy};
use crate::process::PerProcess;
use core::fmt;
use core::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A bounded pool of wiped arenas for short-lived hashers. Several threads may use it at a time; a child of
/// `fork` starts with an empty pool.
pub struct Arenas {
    keep_kib: u64,
    /// The oldest first.
    idle: PerProcess<Mutex<Vec<Arena>>>,
}

impl Arenas {
    /// Makes a pool that keeps at most `keep_kib` KiB between hashes.
    pub fn new(keep_kib: u64) -> Arenas {
        Arenas { keep_kib, idle: PerProcess::new(Mutex::default()) }
    }

    /// Runs `work` with a hasher that borrows an arena from the pool, if a large enough one exists.
    pub fn lend<R>(&self, mut hasher: Hasher, work: impl FnOnce(&mut Hasher) -> R) -> R {
        *hasher.arena() = self.take_arena(hasher.params().blocks());
        let result = work(&mut hasher);
        self.return_arena(mem::replace(hasher.arena(), Arena::new(PagePolicy::default())));
        result
    }

    /// Takes the smallest arena that suffices.
    fn take_arena(&self, blocks: u64) -> Arena {
        let mut idle = self.idle();
        let fitting = idle.iter().enumerate().filter(|(_, arena)| arena.capacity() >= blocks);
        match fitting.min_by_key(|(_, arena)| arena.capacity()).map(|(index, _)| index) {
            Some(index) => idle.remove(index),
            None => Arena::new(PagePolicy::default()),
        }
    }

    fn return_arena(&self, mut arena: Arena) {
        if arena.capacity() == 0 {
            return;
        }
        // A hash that was aborted has wiped nothing.
        arena.wipe();
        let mut idle = self.idle();
        idle.push(arena);
        let mut idle_kib: u64 = idle.iter().map(Arena::capacity).sum();
        let excess = idle.iter().take_while(|arena| {
            let is_over = idle_kib > self.keep_kib;
            idle_kib -= if is_over { arena.capacity() } else { 0 };
            is_over
        });
        // The oldest are the least likely to be in a cache.
        let excess_count = excess.count();
        let excess: Vec<Arena> = idle.drain(..excess_count).collect();
        drop(idle);
        // Freeing pages is slow, so the lock is released first.
        drop(excess);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arena>> {
        self.idle.get_or(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Arenas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arenas").field("keep_kib", &self.keep_kib).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argon2::{HashError, Input, Params, Stop, Wipe};

    fn idle_sizes(arenas: &Arenas) -> Vec<u64> {
        arenas.idle().iter().map(Arena::capacity).collect()
    }

    fn hasher(kib: u32) -> Hasher {
        Hasher::new(Params::new(kib, 1, 1).unwrap())
    }

    fn hash(arenas: &Arenas, kib: u32) {
        arenas.lend(hasher(kib), |hasher| hasher.hash::<32>(&Input::new(b"x", b"somesalt")).unwrap());
    }

    #[test]
    fn arenas_are_reused_and_the_oldest_is_freed_first() {
        let arenas = Arenas::new(200);
        arenas.lend(hasher(64), |hasher| {
            hasher.hash::<32>(&Input::new(b"x", b"somesalt")).unwrap();
            hash(&arenas, 100);
        });
        assert_eq!(idle_sizes(&arenas), [100, 64]);
        hash(&arenas, 32);
        assert_eq!(idle_sizes(&arenas), [100, 64], "the smaller of two that suffice");
        hash(&arenas, 128);
        assert_eq!(idle_sizes(&arenas), [64, 128], "the oldest exceeds the bound now");
        hash(&arenas, 204);
        assert_eq!(idle_sizes(&arenas), [0; 0], "larger than the bound");
    }

    #[test]
    fn pooled_arenas_are_wiped_after_any_hash() {
        let arenas = Arenas::new(1 << 10);
        let input = Input::new(b"x", b"somesalt");
        let stop = Stop::new();
        stop.set();
        let stopped = arenas.lend(hasher(64), |hasher| hasher.hash_until(&input, &mut [0; 32], &stop));
        assert_eq!(stopped, Err(HashError::Stopped));
        arenas.lend(hasher(96).wipe(Wipe::OnDrop), |hasher| hasher.hash::<32>(&input).unwrap());
        let mut idle = arenas.idle();
        assert!(idle.iter().any(|arena| arena.capacity() >= 96));
        assert!(idle.iter_mut().all(|arena| arena.is_zero(arena.capacity())), "{idle:?}");
    }
}
