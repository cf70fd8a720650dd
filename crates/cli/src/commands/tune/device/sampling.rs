//! Sampling of device options: which work, and their times in turns.

use anyhow::Result;
use hashmill_gpu::Error;
use hashmill_hash::engine::EngineError;
use std::time::{Duration, Instant};

/// Each round gives two samples; a ratio of fewer than six has no interval.
const MIN_ROUNDS: usize = 3;

/// Duration of the CPU's measurement.
pub(super) const CPU_TIME: Duration = Duration::from_millis(500);

/// The options that work on the device, in order, without repetition. Each is sampled once. The first must work; others are
/// left out if they exceed the device.
pub(super) fn working_options<T: Copy + PartialEq>(
    all: impl IntoIterator<Item = T>,
    sample: impl Fn(T) -> Result<f64>,
) -> Result<Vec<T>> {
    let mut options = Vec::new();
    for option in all {
        if options.contains(&option) {
            continue;
        }
        match sample(option) {
            Err(error) if !options.is_empty() && exceeds_device(&error) => {}
            sampled => {
                sampled?;
                options.push(option);
            }
        }
    }
    Ok(options)
}

/// Samples each option in turns, back and forth, until the budget is used up.
pub(super) fn sample_in_turns<T: Copy>(
    options: &[T],
    budget: Duration,
    sample: impl Fn(T) -> Result<f64>,
) -> Result<Vec<Vec<f64>>> {
    let mut samples = vec![Vec::new(); options.len()];
    let (start, mut rounds) = (Instant::now(), 0);
    while rounds < MIN_ROUNDS || start.elapsed() < budget {
        let forward = 0..options.len();
        for index in forward.clone().chain(forward.rev()) {
            samples[index].push(sample(options[index])?);
        }
        rounds += 1;
    }
    Ok(samples)
}

/// Whether an option failed because it needs more than the device has.
fn exceeds_device(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::OutOfMemory { .. } | Error::Unfit { .. }))
        || matches!(error.downcast_ref(), Some(EngineError::OutOfMemory { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn leaves_out_options_that_exceed_the_device() {
        let sample = |option: u32| match option {
            0 => bail!(Error::OutOfMemory { bytes: 1 }),
            1 => bail!(EngineError::OutOfMemory { bytes: 1 }),
            2 => bail!(Error::Unfit { device: "a card".to_owned(), lacks: "it".to_owned() }),
            3 => bail!(Error::Lost),
            _ => Ok(1.0),
        };
        assert_eq!(working_options([4, 0, 5, 1, 2, 4, 6], sample).expect("the first works"), [4, 5, 6]);
        for all in [&[0, 4][..], &[4, 3]] {
            assert!(working_options(all.iter().copied(), sample).is_err(), "{all:?}");
        }
    }
}
