//! Measurements of the best device of each back end that the lab has no rows for: set-up, digests in flight, stops.
//!
//! `cargo run --release -p hashmill-gpu --features cuda,wgpu --example card`, with `tiny` behind `--` for software
//! devices. Rates of everything else: `hashmill lab run 'device-*'`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a developer tool prints to the terminal")]

use hashmill_gpu::{BackEnd, Blake3, Buffer, Device, Error, Fault, Kind, Selector};
use hashmill_hash::argon2::{HashError, Input, Job, Params, Stop};
use hashmill_hash::blake3::hazmat::Mode;
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Inputs in flight together.
const IN_FLIGHT: usize = 6;

fn main() -> Result<()> {
    let tiny = std::env::args().any(|word| word == "tiny");
    measure_devices(BackEnd::ALL, tiny, |back_end| Device::open(back_end, Selector::Best))
}

/// Measures the device that `open` gives for each back end. A machine may lack the devices of some.
///
/// # Errors
/// If a device fails, or none was measured.
fn measure_devices(
    back_ends: &[BackEnd],
    tiny: bool,
    open: impl Fn(BackEnd) -> std::result::Result<Device, Error>,
) -> Result<()> {
    let mut measured = 0;
    for &back_end in back_ends {
        let (opened, time) = timed(|| open(back_end));
        match opened {
            Err(error) if error.fault() == Fault::Machine => println!("{back_end}: {error}"),
            Err(error) => return Err(format!("{back_end}: {error}").into()),
            Ok(device) if device.info().kind == Kind::Software && !tiny => {
                println!("{back_end}: {} is the processor: use `tiny`", device.info().name);
            }
            Ok(device) => {
                println!("{back_end}: {:?}, opened in {time:.1?}", device.info());
                measure_set_up(&device)?;
                measure_in_flight(&device, tiny)?;
                measure_stops(&device, tiny)?;
                measured += 1;
            }
        }
    }
    if measured == 0 { Err("no device was measured".into()) } else { Ok(()) }
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (run(), start.elapsed())
}

/// Times until engines have compiled their kernels and passed their tests.
fn measure_set_up(device: &Device) -> Result<()> {
    let (blake3, time) = timed(|| device.blake3(&Mode::Hash));
    blake3?;
    println!("  BLAKE3 tested in {time:.1?}");
    let (argon2, time) = timed(|| device.argon2(Params::new(64, 1, 1).expect("within the limits"), 1));
    argon2?;
    println!("  Argon2 tested in {time:.1?}");
    Ok(())
}

/// Bytes in the memory of the device: one digest at a time, and several in flight.
fn measure_in_flight(device: &Device, tiny: bool) -> Result<()> {
    let blake3 = device.blake3(&Mode::Hash)?;
    for len in [1 << 20, 64 << 20, 1 << 30].map(|len: usize| if tiny { len >> 8 } else { len }) {
        let bytes: Vec<u8> = (0..len).map(|index| (index * 31 + index / 251) as u8).collect();
        let right = hashmill_hash::blake3::Hasher::new().update_rayon(&bytes).finalize();
        let buffer = device.buffer(len as u64)?;
        buffer.write(0, &bytes)?;
        for together in [1, IN_FLIGHT] {
            let mut rates = Vec::new();
            for _ in 0..if tiny { 3 } else { 40 } {
                let (digests, time) = timed(|| compute_digests(&blake3, &buffer, together));
                if digests?.iter().any(|digest| *digest != right) {
                    return Err("a digest differs from the processor's".into());
                }
                rates.push((4 * IN_FLIGHT * len) as f64 / time.as_secs_f64() / 1e9);
            }
            println!("  {len} bytes, {together} in flight: {}", spread(rates, "GB/s"));
        }
    }
    Ok(())
}

/// Hashes a buffer as often as in every row, with `together` digests in flight.
fn compute_digests(
    blake3: &Blake3,
    buffer: &Buffer,
    together: usize,
) -> std::result::Result<Vec<hashmill_hash::blake3::Hash>, Error> {
    let (mut pending, mut digests) = (VecDeque::new(), Vec::new());
    for _ in 0..4 * IN_FLIGHT {
        pending.push_back(blake3.start(buffer, 0, buffer.len())?);
        if pending.len() == together
            && let Some(first) = pending.pop_front()
        {
            digests.push(first.finish()?);
        }
    }
    for rest in pending {
        digests.push(rest.finish()?);
    }
    Ok(digests)
}

/// Times from a request to stop to the end of the hashes.
fn measure_stops(device: &Device, tiny: bool) -> Result<()> {
    let params = Params::new(if tiny { 256 } else { 64 << 10 }, 100_000, 1)?;
    for most in [1, if tiny { 4 } else { usize::MAX }] {
        let mut argon2 = device.argon2(params, most)?;
        let (width, mut times) = (argon2.width(), Vec::new());
        for _ in 0..20 {
            let (stop, mut tags) = (Stop::new(), vec![[0; 32]; width]);
            let input = Input::new(b"a password", b"sixteen bytes ok");
            let mut jobs: Vec<_> = tags.iter_mut().map(|tag| Job { input, tag }).collect();
            let (stopped, set_at) = thread::scope(|scope| {
                let clock = scope.spawn(|| {
                    thread::sleep(Duration::from_millis(250));
                    stop.set();
                    Instant::now()
                });
                (argon2.hash_until(&mut jobs, &stop), clock.join().expect("no panic"))
            });
            if stopped != Err(Error::Hash(HashError::Stopped)) {
                return Err(format!("the hashes were not stopped: {stopped:?}").into());
            }
            times.push(set_at.elapsed().as_secs_f64() * 1e3);
        }
        println!("  stop of {width} hashes: {}", spread(times, "ms"));
    }
    Ok(())
}

/// Median, least and most of these values, as text.
fn spread(mut values: Vec<f64>, unit: &str) -> String {
    values.sort_by(f64::total_cmp);
    let [least, median, most] = [0, values.len() / 2, values.len() - 1].map(|index| values[index]);
    format!("{median:.3} {unit} [{least:.3}, {most:.3}], {} samples", values.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_measurement_is_an_error() {
        let run = |error: Error| {
            let ended = measure_devices(BackEnd::ALL, true, |_| Err(error.clone()));
            ended.expect_err("nothing was measured").to_string()
        };
        for absent in [Error::NoDevice { found: 0 }, Error::NoDriver { reason: "none".to_owned() }] {
            assert_eq!(run(absent), "no device was measured");
        }
        let wrong = Error::SelfTest { device: "a card".to_owned() };
        for failed in [Error::Lost, wrong, Error::Driver { reason: "no".to_owned() }] {
            let text = failed.to_string();
            assert!(run(failed).ends_with(&text), "{text}");
        }
    }
}
