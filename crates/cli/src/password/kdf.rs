//! `password kdf`: what the reference implementation's program `argon2` does, line by line.

use super::watch::watched;
use super::{YES, costs, input, print};
use crate::flags::{KdfArgs, Misuse};
use crate::{kept, memory, out};
use anyhow::{Result, bail, ensure};
use hashmill_hash::argon2::{HashError, Hasher, Input, Params, Variant, Version};
use hashmill_hash::password::{Limits, PasswordHash, Syntax};
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::cpu_time;
use std::time::Duration;
use zeroize::Zeroizing;

pub(super) fn run(low: &KdfArgs) -> Result<u8> {
    let variant = match low {
        KdfArgs { d: true, .. } => Variant::D,
        KdfArgs { id: true, .. } => Variant::Id,
        _ => Variant::I,
    };
    let version = if low.v == "10" { Version::V10 } else { Version::V13 };
    // 2^32 does not fit, and the reference takes one less, too.
    let power = |power: u32| u32::try_from(1_u64 << power).unwrap_or(u32::MAX);
    let memory = low.k.or(low.m.map(power)).unwrap_or(4096);
    let params = Params::new(memory, low.t, low.p).map_err(costs::impossible)?;
    let params = params.with_variant(variant).with_version(version);
    let salt = low.salt.as_encoded_bytes();
    if salt.len() < 8 {
        bail!(Misuse(format!("a salt of {} bytes: give at least 8", salt.len())));
    }
    if !(Params::MIN_TAG_LEN..=1 << 20).contains(&low.l) {
        bail!(Misuse(format!("-l {}: choose {} to {} bytes", low.l, Params::MIN_TAG_LEN, 1 << 20)));
    }
    memory::check(params.blocks())?;
    let password = input::everything()?;
    ensure!(!password.is_empty(), Misuse("no password on standard input".to_owned()));
    print_costs(low, params)?;
    print_key(low, params, &password, salt)?;
    Ok(YES)
}

/// What the reference says before it begins.
fn print_costs(low: &KdfArgs, params: Params) -> Result<()> {
    if low.e || low.r {
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

/// One hash beside a bar.
fn compute(hasher: Hasher, input: &Input<'_>, tag: &mut [u8]) -> Result<Hasher, HashError> {
    watched(hasher.params(), false, |tell| {
        let mut steps = hasher.steps(input, tag.len())?;
        while let Some(step) = steps.step()? {
            if tell(step).is_break() {
                return Err(HashError::Stopped);
            }
        }
        steps.finish(tag)
    })
}

fn print_key(low: &KdfArgs, params: Params, password: &[u8], salt: &[u8]) -> Result<()> {
    let input = Input::new(password, salt);
    let mut tag = Zeroizing::new(vec![0; low.l]);
    let clock = Monotonic::new();
    let before = cpu_time();
    let hasher = compute(Hasher::with_plan(params, kept::argon2()), &input, &mut tag)?;
    let time = cpu_time().zip(before).map(|(after, before)| after - before);
    let time = time.unwrap_or(Duration::from_nanos(clock.now_ns()));
    let hash = PasswordHash::new(params, salt.to_vec(), tag.to_vec());
    if low.e {
        return print(&format!("{hash}\n"));
    }
    let digits = Zeroizing::new(out::hex(&tag));
    if low.r {
        return print(&format!("{}\n", *digits));
    }
    print(&format!("Hash:\t\t{}\nEncoded:\t{hash}\n{:.3} seconds\n", *digits, time.as_secs_f64()))?;
    // The reference checks what it wrote, so whoever reads its lines counts on that.
    let mut again = Zeroizing::new(vec![0; low.l]);
    compute(hasher, &input, &mut again)?;
    let read = PasswordHash::decode(hash.to_string(), Syntax::Strict, &Limits::NONE)?;
    ensure!(read.matches(&again), "the second computation gave another hash: do not trust this machine");
    print("Verification ok\n")
}
