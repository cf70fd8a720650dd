//! Timing-leak test of tag comparison: `cargo run --release -p hashmill-hash --example timing`.
//!
//! After dudect (Reparaz, Balasch, Verbauwhede: "Dude, is my code constant time?", 2017): two classes of
//! inputs in random order, the slowest samples cut away, and Welch's t-test between the classes. A |t| above
//! 10 shows a difference. Not part of the tests, because no test measures time; the arithmetic here has
//! tests.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a developer tool prints to the terminal")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use hashmill_hash::argon2::{Params, Threads};
use hashmill_hash::password::{PasswordHash, Passwords, Policy};
use hashmill_testkit::Rng;

/// Amount of measurement: samples, and calls per sample, because one comparison is shorter than the clock's
/// resolution.
#[derive(Clone, Copy)]
struct Amount {
    samples: usize,
    repeats: usize,
}

const COMPARISONS: Amount = Amount { samples: 400_000, repeats: 64 };
/// Each includes a whole hash of 8 KiB.
const CHECKS: Amount = Amount { samples: 400_000, repeats: 1 };
/// |t| from which two classes surely differ.
const SURE: f64 = 10.0;

/// Mean and variance of one class, updated with each sample (Welford).
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

/// Times both classes in random order. The largest tenth of the samples, which include interruptions by the
/// system, is dropped.
///
/// Each input is constructed anew by the same steps, so that both classes use the same addresses: two
/// permanent objects would differ in time by their addresses alone.
fn measure<T>(amount: Amount, make: impl Fn(usize) -> T, same: impl Fn(&T) -> bool, rng: &mut Rng) -> f64 {
    let mut samples: Vec<(usize, u64)> = (0..amount.samples)
        .map(|_| {
            let class = rng.below(2);
            let input = make(class);
            let start = Instant::now();
            for _ in 0..amount.repeats {
                black_box(same(black_box(&input)));
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

/// Stops at the first difference, as `==` on slices may: the method must detect this one, or it proves
/// nothing.
fn leaky(one: &[u8], other: &[u8]) -> bool {
    one.iter().zip(other).all(|(a, b)| black_box(a) == b)
}

/// Hashes whose tag differs from the right one in a byte that depends on the class.
struct TagVariants {
    right: PasswordHash,
    positions: [usize; 2],
}

impl TagVariants {
    fn make(&self, class: usize) -> PasswordHash {
        let mut tag = self.right.tag().to_vec();
        tag[self.positions[class]] ^= 1;
        PasswordHash::new(self.right.params(), self.right.salt().to_vec(), tag)
    }
}

fn main() -> ExitCode {
    let mut rng = Rng::new(1);
    let params = Params::new(8, 1, 1).expect("good costs");
    let passwords = Passwords::new(Policy::new(params)).threads(Threads::Serial);
    let right = passwords.hash(b"password", &rng.bytes(16)).expect("memory for 8 KiB");
    let variants = |positions| TagVariants { right: right.clone(), positions };
    let [first_or_last, first_or_first] = [variants([0, 31]), variants([0, 0])];
    let tag = right.tag();

    let compare = |stored: &PasswordHash| stored.matches(tag);
    let check = |stored: &PasswordHash| passwords.verify_decoded(b"password", stored).is_ok();
    let compared = measure(COMPARISONS, |class| first_or_last.make(class), compare, &mut rng);
    let checked = measure(CHECKS, |class| first_or_last.make(class), check, &mut rng);
    let equal = measure(CHECKS, |class| first_or_first.make(class), check, &mut rng);
    let leak = |stored: &PasswordHash| leaky(stored.tag(), tag);
    let bad = measure(COMPARISONS, |class| first_or_last.make(class), leak, &mut rng);
    println!(
        "first or last byte, t = {compared:+.2} for PasswordHash::matches, {checked:+.2} for \
         Passwords::verify_decoded ({equal:+.2} between equals), {bad:+.2} for a leaky comparison"
    );
    if bad.abs() < SURE || equal.abs() >= SURE {
        println!("this machine is too noisy: it misses the leaky comparison, or tells equals apart");
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
    fn welch_t_of_known_samples() {
        // Means 3 and 5, variances 2.5 and 2.5, five values each: -2 / sqrt(0.5 + 0.5).
        let classes = [class(&[1.0, 2.0, 3.0, 4.0, 5.0]), class(&[3.0, 4.0, 5.0, 6.0, 7.0])];
        assert!((welch(&classes) + 2.0).abs() < 1e-12);
        assert!(welch(&[classes[0], classes[0]]).abs() < 1e-12);
    }
}
