//! Memory of past hashes, kept for the next ones: the system would have to fill it with zeroes each time.

use super::hasher::Hasher;
use super::memory::Arena;
use super::pages::PagePolicy;
use crate::process::PerProcess;
use core::fmt;
use core::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory of hashers that come and go, wiped, up to a bound. Several threads may use one at a time, and a child of `fork` has what
/// it put there itself.
pub struct Arenas {
    keep_kib: u64,
    /// The oldest first.
    idle: PerProcess<Mutex<Vec<Arena>>>,
}

impl Arenas {
    /// Keeps as much between hashes.
    pub fn new(keep_kib: u64) -> Arenas {
        Arenas { keep_kib, idle: PerProcess::new(Mutex::default()) }
    }

    /// What `work` makes with a hasher, which has memory from here meanwhile, if some is large enough.
    pub fn lend<R>(&self, mut hasher: Hasher, work: impl FnOnce(&mut Hasher) -> R) -> R {
        *hasher.arena() = self.take(hasher.params().blocks());
        let result = work(&mut hasher);
        self.give(mem::replace(hasher.arena(), none()));
        result
    }

    /// The smallest that suffices.
    fn take(&self, blocks: u64) -> Arena {
        let mut idle = self.idle();
        let fitting = idle.iter().enumerate().filter(|(_, arena)| arena.capacity() >= blocks);
        match fitting.min_by_key(|(_, arena)| arena.capacity()).map(|(index, _)| index) {
            Some(index) => idle.remove(index),
            None => none(),
        }
    }

    fn give(&self, mut arena: Arena) {
        if arena.capacity() == 0 {
            return;
        }
        // A hash that did not come to its end has wiped nothing.
        arena.wipe();
        let mut idle = self.idle();
        idle.push(arena);
        let mut all: u64 = idle.iter().map(Arena::capacity).sum();
        let too_many = idle.iter().take_while(|arena| {
            let is_more = all > self.keep_kib;
            all -= if is_more { arena.capacity() } else { 0 };
            is_more
        });
        // The oldest are the coldest.
        let too_many = too_many.count();
        let too_much: Vec<Arena> = idle.drain(..too_many).collect();
        drop(idle);
        // Giving pages back takes long: others need not wait for it.
        drop(too_much);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arena>> {
        self.idle.get_or(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn none() -> Arena {
    Arena::new(PagePolicy::default())
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

    fn kept(arenas: &Arenas) -> Vec<u64> {
        arenas.idle().iter().map(Arena::capacity).collect()
    }

    fn hasher(kib: u32) -> Hasher {
        Hasher::new(Params::new(kib, 1, 1).unwrap())
    }

    fn hash(arenas: &Arenas, kib: u32) {
        arenas.lend(hasher(kib), |hasher| hasher.hash::<32>(&Input::new(b"x", b"somesalt")).unwrap());
    }

    #[test]
    fn memory_is_used_again_and_the_oldest_goes_first() {
        let arenas = Arenas::new(200);
        arenas.lend(hasher(64), |hasher| {
            hasher.hash::<32>(&Input::new(b"x", b"somesalt")).unwrap();
            hash(&arenas, 100);
        });
        assert_eq!(kept(&arenas), [100, 64]);
        hash(&arenas, 32);
        assert_eq!(kept(&arenas), [100, 64], "of two that suffice the smaller one");
        hash(&arenas, 128);
        assert_eq!(kept(&arenas), [64, 128], "the oldest is too much now");
        hash(&arenas, 204);
        assert_eq!(kept(&arenas), [0; 0], "more than all that may be kept");
    }

    #[test]
    fn what_is_kept_was_wiped_however_the_hash_ended() {
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
