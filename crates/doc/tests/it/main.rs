//! Integration tests of the public document API.

mod api;
mod edit;
mod file;
mod input;
mod interop;
mod oracle;
mod patch;
mod read;
mod scenarios;
mod support;
mod sync;

/// Xorshift random number generator. Tests see the same cases on every target.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number in `0..end`. The remainder is taken in 64 bits, so that 32-bit targets see the same cases.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % end.max(1) as u64) as usize
    }
}

#[test]
fn random_numbers_are_equal_on_every_target() {
    let mut rng = Rng::new(1);
    assert_eq!(std::array::from_fn(|_| rng.below(1000)), [657, 572, 140, 65, 865, 887, 326, 942]);
}
