//! `password kdf`: the program `argon2` of the reference implementation, with the same output.

use super::report::YES;
use super::service::with_progress;
use super::{costs, input};
use crate::flags::{KdfArgs, UsageError};
use crate::output::{self, print};
use crate::resources::memory;
use crate::tune_file;
use anyhow::{Result, bail, ensure};
use hashmill_hash::argon2::{HashError, Hasher, Input, Params, Variant, Version};
use hashmill_hash::password::{Limits, PasswordHash, Syntax};
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::cpu_time;
use std::time::Duration;
use zeroize::Zeroizing;

pub(super) fn run(flags: &KdfArgs) -> Result<u8> {
    let variant = match flags {
        KdfArgs { d: true, .. } => Variant::D,
        KdfArgs { id: true, .. } => Variant::Id,
        _ => Variant::I,
    };
    let version = if flags.v == "10" { Version::V10 } else { Version::V13 };
    // 2^32 does not fit; the reference also uses 2^32 - 1.
    let power = |power: u32| u32::try_from(1_u64 << power).unwrap_or(u32::MAX);
    let memory = flags.k.or(flags.m.map(power)).unwrap_or(4096);
    let params = Params::new(memory, flags.t, flags.p).map_err(costs::invalid_params)?;
    let params = params.with_variant(variant).with_version(version);
    let salt = flags.salt.as_encoded_bytes();
    if salt.len() < 8 {
        bail!(UsageError(format!("a salt of {} bytes: give at least 8", salt.len())));
    }
    if !(Params::MIN_TAG_LEN..=1 << 20).contains(&flags.l) {
        bail!(UsageError(format!("-l {}: choose {} to {} bytes", flags.l, Params::MIN_TAG_LEN, 1 << 20)));
    }
    memory::check(params.blocks())?;
    let password = input::everything()?;
    ensure!(!password.is_empty(), UsageError("no password on standard input".to_owned()));
    print_costs(flags, params)?;
    print_key(flags, params, &password, salt)?;
    Ok(YES)
}

/// The lines that the reference prints before the hash.
fn print_costs(flags: &KdfArgs, params: Params) -> Result<()> {
    if flags.e || flags.r {
        return Ok(());
    }
    let name = params.variant().name();
    let (first, rest) = name.split_at(1);
    print(&format!(
        "Type:\t\t{}{rest}\nIterations:\t{}\nMemory:\t\t{} KiB\nParallelism:\t{}\n",
        first.to_uppercase(),
        params.passes(),
        params.memory_kib(),
        params.lanes(),
    ))
}

/// Computes one hash with a progress bar.
fn compute(hasher: Hasher, input: &Input<'_>, tag: &mut [u8]) -> Result<Hasher, HashError> {
    with_progress(hasher.params(), |on_step| {
        let mut steps = hasher.steps(input, tag.len())?;
        while let Some(step) = steps.step()? {
            if on_step(step).is_break() {
                return Err(HashError::Stopped);
            }
        }
        steps.finish(tag)
    })
}

fn print_key(flags: &KdfArgs, params: Params, password: &[u8], salt: &[u8]) -> Result<()> {
    let input = Input::new(password, salt);
    let mut tag = Zeroizing::new(vec![0; flags.l]);
    let clock = Monotonic::new();
    let before = cpu_time();
    let hasher = compute(Hasher::with_plan(params, tune_file::argon2()), &input, &mut tag)?;
    let time = cpu_time().zip(before).map(|(after, before)| after - before);
    let time = time.unwrap_or(Duration::from_nanos(clock.now_ns()));
    let hash = PasswordHash::new(params, salt.to_vec(), tag.to_vec());
    if flags.e {
        return print(&format!("{hash}\n"));
    }
    let digits = Zeroizing::new(output::hex(&tag));
    if flags.r {
        return print(&format!("{}\n", *digits));
    }
    print(&format!("Hash:\t\t{}\nEncoded:\t{hash}\n{:.3} seconds\n", *digits, time.as_secs_f64()))?;
    // The reference verifies its output and prints so; scripts may look for that line.
    let mut second = Zeroizing::new(vec![0; flags.l]);
    compute(hasher, &input, &mut second)?;
    let read = PasswordHash::decode(hash.to_string(), Syntax::Strict, &Limits::NONE)?;
    ensure!(
        read.matches(&second),
        "the second computation gave another hash: this machine computes wrong results"
    );
    print("Verification ok\n")
}
