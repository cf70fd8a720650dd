//! Flags about costs and limits to what they mean.

use crate::flags::{Kib, LimitFlags, Misuse, PolicyFlags};
use anyhow::Result;
use hashmill_hash::argon2::{Params, ParamsError};
use hashmill_hash::password::{Limits, Policy, PolicyError, Preset, Syntax};

/// The preset, changed by whatever was said besides.
pub(super) fn policy(flags: &PolicyFlags) -> Result<Policy> {
    let base = flags.preset.unwrap_or(Preset::OWASP).policy();
    let old = base.params();
    let memory = flags.memory.map_or(Ok(old.memory_kib()), |kib| self::kib("--memory", kib))?;
    let passes = flags.passes.unwrap_or(old.passes());
    let params = Params::new(memory, passes, flags.lanes.unwrap_or(old.lanes())).map_err(impossible)?;
    let params = params.with_variant(flags.variant.unwrap_or(old.variant()));
    let length =
        |flag: &'static str| move |error: PolicyError| anyhow::Error::new(Misuse(format!("{flag}: {error}")));
    Policy::new(params)
        .with_salt_len(flags.salt_len.unwrap_or(base.salt_len()))
        .map_err(length("--salt-len"))?
        .with_tag_len(flags.tag_len.unwrap_or(base.tag_len()))
        .map_err(length("--tag-len"))
}

/// The defaults, changed by whatever was said.
pub(super) fn limits(flags: &LimitFlags) -> Result<Limits> {
    let mut limits = Limits::RECOMMENDED;
    if let Some(most) = flags.max_memory {
        limits.memory_kib = kib("--max-memory", most)?;
    }
    limits.passes = flags.max_passes.unwrap_or(limits.passes);
    limits.lanes = flags.max_lanes.unwrap_or(limits.lanes);
    limits.work_kib = flags.max_work.map_or(limits.work_kib, |most| most.0);
    limits.bcrypt_cost = flags.max_bcrypt_cost.unwrap_or(limits.bcrypt_cost);
    limits.iterations = flags.max_iterations.unwrap_or(limits.iterations);
    limits.min_tag = flags.min_tag.unwrap_or(limits.min_tag);
    Ok(limits)
}

pub(super) fn syntax(lenient: bool) -> Syntax {
    if lenient { Syntax::Lenient } else { Syntax::Strict }
}

/// An amount of memory that a hash can have.
pub(super) fn kib(flag: &str, amount: Kib) -> Result<u32> {
    let most = u32::MAX;
    let misuse = || Misuse(format!("{flag}: {} KiB, where at most {most} can be", amount.0));
    Ok(u32::try_from(amount.0).map_err(|_| misuse())?)
}

/// Costs that no hash can have.
pub(super) fn impossible(error: ParamsError) -> anyhow::Error {
    Misuse(error.to_string()).into()
}
