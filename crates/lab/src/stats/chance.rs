//! The noise of simulations in tests: the same on every machine.

use crate::plan::Orders;

pub(crate) struct Chance(Orders);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(Orders::new(seed))
    }

    /// Between 0 and 1, and neither.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// With standard deviation 1: Box and Muller's.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The same, but of `share` of the numbers each lies `times` as far out, as on a machine that is not quiet.
    pub(crate) fn disturbed(&mut self, share: f64, times: f64) -> f64 {
        let normal = self.normal();
        if self.uniform() < share { times * normal } else { normal }
    }
}

#[test]
fn numbers_are_spread_as_they_are_said_to_be() {
    let mut chance = Chance::new(1);
    let mut spread = |next: &mut dyn FnMut(&mut Chance) -> f64| {
        let values: Vec<f64> = (0..20_000).map(|_| next(&mut chance)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean, super::order::standard_deviation(&values))
    };
    for ((mean, deviation), (middle, expected)) in [
        (spread(&mut Chance::uniform), (0.5, (1.0_f64 / 12.0).sqrt())),
        (spread(&mut Chance::normal), (0.0, 1.0)),
        (spread(&mut |chance| chance.disturbed(0.05, 6.0)), (0.0, (0.95 + 0.05 * 36.0_f64).sqrt())),
    ] {
        assert!(
            (mean - middle).abs() < 0.06 && (deviation / expected - 1.0).abs() < 0.06,
            "{mean} {deviation}"
        );
    }
}
