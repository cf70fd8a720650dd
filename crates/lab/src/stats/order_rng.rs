//! Seeded generator for sample orders and seeds, and noise for simulations in tests.

/// SplitMix64 generator for orders and seeds. The same seed gives the same orders on every machine.
#[derive(Clone, Debug)]
pub(crate) struct OrderRng {
    state: u64,
}

impl OrderRng {
    pub(crate) fn new(seed: u64) -> Self {
        OrderRng { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Number below `bound`. The modulo bias is far below any visible effect on an order.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Random permutation of `0 .. n`.
    pub(crate) fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    /// Shuffles `items`.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Deterministic noise for simulations.
#[cfg(test)]
pub(crate) struct TestNoise(OrderRng);

#[cfg(test)]
impl TestNoise {
    pub(crate) fn new(seed: u64) -> Self {
        TestNoise(OrderRng::new(seed))
    }

    /// Uniform in the open interval (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Standard normal, with a share of outliers scaled by `times`.
    pub(crate) fn disturbed(&mut self, share: f64, times: f64) -> f64 {
        let normal = self.normal();
        if self.uniform() < share { times * normal } else { normal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // First outputs of SplitMix64 seeded with 1234567, as in its authors' C code.
        let mut orders = OrderRng::new(1_234_567);
        assert_eq!(
            [orders.next(), orders.next(), orders.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn every_order_comes_up_about_equally_often() {
        let mut orders = OrderRng::new(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            *counts.entry(orders.permutation(3)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|n| (880..1120).contains(n)), "{counts:?}");
    }

    #[test]
    fn random_numbers_have_the_documented_distribution() {
        let mut chance = TestNoise::new(1);
        let mut spread = |next: &mut dyn FnMut(&mut TestNoise) -> f64| {
            let values: Vec<f64> = (0..20_000).map(|_| next(&mut chance)).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (mean, crate::stats::order::standard_deviation(&values))
        };
        for ((mean, deviation), (middle, expected)) in [
            (spread(&mut TestNoise::uniform), (0.5, (1.0_f64 / 12.0).sqrt())),
            (spread(&mut TestNoise::normal), (0.0, 1.0)),
            (spread(&mut |chance| chance.disturbed(0.05, 6.0)), (0.0, (0.95 + 0.05 * 36.0_f64).sqrt())),
        ] {
            assert!(
                (mean - middle).abs() < 0.06 && (deviation / expected - 1.0).abs() < 0.06,
                "{mean} {deviation}"
            );
        }
    }
}
