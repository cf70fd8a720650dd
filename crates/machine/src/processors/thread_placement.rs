//! Placement of threads on processors. Pure.

use crate::Processor;

/// The processors for `threads` threads, best first; fewer if there are fewer.
///
/// Fast cores before slow ones ("performance" before "efficiency"), every core once before any a second time,
/// and memory nodes in turn, because the users are limited by memory.
pub fn place_threads(cores: &[Processor], threads: usize) -> Vec<usize> {
    let mut ranked: Vec<(usize, u64, usize, Processor)> = Vec::with_capacity(cores.len());
    let mut sorted = cores.to_vec();
    sorted.sort_by_key(|core| core.id);
    for core in sorted {
        let sibling = ranked.iter().filter(|(_, _, _, other)| other.core == core.core).count();
        let before = |other: &Processor| other.node == core.node && other.speed == core.speed;
        let turn = ranked.iter().filter(|(s, _, _, other)| *s == sibling && before(other)).count();
        ranked.push((sibling, u64::MAX - core.speed, turn, core));
    }
    ranked.sort_by_key(|&(sibling, slowness, turn, core)| (sibling, slowness, turn, core.node, core.id));
    ranked.into_iter().take(threads).map(|(_, _, _, core)| core.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(id: usize, speed: u64, core: usize, node: usize) -> Processor {
        Processor { id, speed, core, node }
    }

    #[test]
    fn fast_cores_come_first_and_siblings_last() {
        // Two fast cores with two threads each, two slow ones with one.
        let cores = [
            core(0, 1024, 0, 0),
            core(1, 1024, 0, 0),
            core(2, 1024, 1, 0),
            core(3, 1024, 1, 0),
            core(4, 600, 2, 0),
            core(5, 600, 3, 0),
        ];
        assert_eq!(place_threads(&cores, 6), [0, 2, 4, 5, 1, 3]);
        assert_eq!(place_threads(&cores, 2), [0, 2]);
        assert_eq!(place_threads(&cores, 99).len(), 6);
        assert!(place_threads(&[], 3).is_empty());
    }

    #[test]
    fn nodes_take_turns() {
        let cores = [core(0, 1, 0, 0), core(1, 1, 1, 0), core(2, 1, 2, 1), core(3, 1, 3, 1)];
        assert_eq!(place_threads(&cores, 4), [0, 2, 1, 3]);
    }
}
