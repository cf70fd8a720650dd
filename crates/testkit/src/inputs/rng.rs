//! A tiny seeded generator, so that every failure can be replayed from the seed in its message.

/// SplitMix64 (Steele, Lea and Flood, 2014): one addition and three mixes per word; any seed is a good seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator whose whole sequence is decided by `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`. The bias is below `bound / 2^64`: nothing that a test could see.
    ///
    /// # Panics
    /// When `bound` is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "no number is below zero");
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.next_u64().to_le_bytes()[..piece.len()]);
        }
    }

    /// A new vector of random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes);
        bytes
    }

    /// Random lengths in `0..=longest` that add up to `total`: a way to cut an input into updates.
    ///
    /// # Panics
    /// When `longest` is zero and `total` is not.
    pub fn pieces(&mut self, total: usize, longest: usize) -> Vec<usize> {
        assert!(longest > 0 || total == 0, "pieces of nothing never add up");
        let mut left = total;
        let mut pieces = Vec::new();
        while left > 0 {
            let piece = self.below(longest.min(left) + 1);
            pieces.push(piece);
            left -= piece;
        }
        pieces
    }

    /// Puts `items` in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_are_those_of_the_published_generator() {
        let mut rng = Rng::new(1234567);
        let words: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(words, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn below_reaches_both_ends_and_nothing_else() {
        let mut rng = Rng::new(1);
        let mut counts = [0; 5];
        for _ in 0..1000 {
            counts[rng.below(5)] += 1;
        }
        assert!(counts.iter().all(|&n| n > 100), "{counts:?}");
    }

    #[test]
    fn pieces_add_up() {
        let mut rng = Rng::new(7);
        for total in [0, 1, 64, 5000] {
            let pieces = rng.pieces(total, 100);
            assert_eq!(pieces.iter().sum::<usize>(), total);
            assert!(pieces.iter().all(|&n| n <= 100));
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
