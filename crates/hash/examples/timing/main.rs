//! Whether the time of a check tells where two tags differ: `cargo run --release -p hashmill-hash --example timing`.
//!
//! After dudect (Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?", 2017): two classes of inputs in random
//! order, the slowest samples cut away, and Welch's t-test between the classes. Above 10 they surely differ. Not part of
//! the tests, as no test measures time; what is computed here has tests.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a developer tool speaks on the terminal")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use hashmill_hash::argon2::{Params, Threads};
use hashmill_hash::password::{PasswordHash, Passwords, Policy};
use hashmill_testkit::Rng;

/// How much is measured: samples, and calls in each of them, because a comparison alone is shorter than the clock's step.
#[derive(Clone, Copy)]
struct Amount {
    samples: usize,
    repeats: usize,
}

const COMPARISONS: Amount = Amount { samples: 400_000, repeats: 64 };
/// Each with a whole hash of 8 KiB in it.
const CHECKS: Amount = Amount { samples: 400_000, repeats: 1 };
/// From here on two classes surely differ.
const SURE: f64 = 10.0;

/// Mean and spread of one class, kept up sample by sample (Welford).
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Class {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    /// The square of the mean's standard error.
    fn error(&self) -> f64 {
        self.squares / (self.count - 1.0) / self.count
    }
}

/// Welch's t between two classes.
fn welch(classes: &[Class; 2]) -> f64 {
    (classes[0].mean - classes[1].mean) / (classes[0].error() + classes[1].error()).sqrt()
}

/// Times both classes in random order. The largest tenth of the samples, in which the system did something else, is
/// left out.
fn measure<T>(amount: Amount, same: impl Fn(&T) -> bool, inputs: &[T; 2], rng: &mut Rng) -> f64 {
    let mut samples: Vec<(usize, u64)> = (0..amount.samples)
        .map(|_| {
            let class = rng.below(2);
            let start = Instant::now();
            for _ in 0..amount.repeats {
                black_box(same(black_box(&inputs[class])));
            }
            (class, start.elapsed().as_nanos() as u64)
        })
        .collect();
    let mut times: Vec<u64> = samples.iter().map(|(_, time)| *time).collect();
    times.sort_unstable();
    let most = times[times.len() * 9 / 10];
    samples.retain(|(_, time)| *time <= most);
    let mut classes = [Class::default(); 2];
    samples.iter().for_each(|(class, time)| classes[*class].add(*time as f64));
    welch(&classes)
}

/// Stops at the first difference, as `==` on slices may: what must be told apart, or the method proves nothing.
fn leaky(one: &[u8], other: &[u8]) -> bool {
    one.iter().zip(other).all(|(a, b)| black_box(a) == b)
}

/// The whole check of a password, against stored tags whose first or last byte is wrong.
fn whole_checks(params: Params, rng: &mut Rng) -> f64 {
    let passwords = Passwords::new(Policy::new(params)).threads(Threads::Serial);
    let salt = rng.bytes(16);
    let right = passwords.hash(b"password", &salt).expect("memory for 8 KiB");
    let stored = [0, 31].map(|at| {
        let mut tag = right.tag().to_vec();
        tag[at] ^= 1;
        PasswordHash::new(params, salt.clone(), tag)
    });
    measure(CHECKS, |stored| passwords.verify_decoded(b"password", stored).is_ok(), &stored, rng)
}

fn main() -> ExitCode {
    let mut rng = Rng::new(1);
    let tag = rng.bytes(32);
    let differing_at = |at: usize| {
        let mut other = tag.clone();
        other[at] ^= 1;
        other
    };
    let inputs = [differing_at(0), differing_at(31)];
    let params = Params::new(8, 1, 1).expect("good costs");
    let hash = PasswordHash::new(params, vec![0; 16], tag.clone());
    let compared = measure(COMPARISONS, |other: &Vec<u8>| hash.matches(other), &inputs, &mut rng);
    let bad = measure(COMPARISONS, |other: &Vec<u8>| leaky(&tag, other), &inputs, &mut rng);
    let checked = whole_checks(params, &mut rng);
    println!(
        "first or last byte, t = {compared:+.2} for PasswordHash::matches, {checked:+.2} for \
         Passwords::verify_decoded, {bad:+.2} for a leaky comparison"
    );
    if bad.abs() < SURE {
        println!("this machine is too noisy: it does not even see the leaky comparison");
        return ExitCode::from(2);
    }
    if compared.abs().max(checked.abs()) < SURE { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(values: &[f64]) -> Class {
        let mut class = Class::default();
        values.iter().for_each(|value| class.add(*value));
        class
    }

    #[test]
    fn t_is_the_difference_in_standard_errors() {
        // Means 3 and 5, variances 2.5 and 2.5, five values each: -2 / sqrt(0.5 + 0.5).
        let classes = [class(&[1.0, 2.0, 3.0, 4.0, 5.0]), class(&[3.0, 4.0, 5.0, 6.0, 7.0])];
        assert!((welch(&classes) + 2.0).abs() < 1e-12);
        assert!(welch(&[classes[0], classes[0]]).abs() < 1e-12);
    }
}
