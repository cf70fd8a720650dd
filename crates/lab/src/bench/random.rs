//! Reproducible random inputs.

use crate::stats::order_rng::OrderRng;

/// Random generator for inputs (SplitMix64): the same seed gives the same inputs on every machine.
#[derive(Clone, Debug)]
pub struct Random(OrderRng);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(OrderRng::new(seed))
    }

    /// Next number; also usable as a seed for another generator.
    pub fn number(&mut self) -> u64 {
        self.0.next()
    }

    /// Number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    /// Vector of `count` numbers.
    pub fn numbers(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.number()).collect()
    }

    /// Vector of `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.number().to_le_bytes()[..piece.len()]);
        }
        bytes
    }

    /// Shuffles `items`.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_all_inputs() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            let mut items: Vec<usize> = (0..9).collect();
            random.shuffle(&mut items);
            (random.bytes(11), random.numbers(2), random.below(7), items)
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1).0, draw(2).0);
        let (bytes, _, below, mut items) = draw(3);
        items.sort_unstable();
        assert_eq!((bytes.len(), items), (11, (0..9).collect()));
        assert!(below < 7);
        assert_eq!(Random::new(1).below(0), 0);
    }

    #[test]
    fn items_are_put_into_the_order_that_sessions_have() {
        let mut items: Vec<usize> = (0..9).collect();
        Random::new(3).shuffle(&mut items);
        assert_eq!(items, OrderRng::new(3).permutation(9));
        assert_eq!(
            items,
            [4, 2, 8, 3, 7, 5, 6, 1, 0],
            "inputs and orders of reports from before stay what they were"
        );
    }
}
