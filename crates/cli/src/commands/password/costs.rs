//! Costs of new hashes and limits on stored ones, from flags.

use crate::flags::{Kib, LimitFlags, PolicyFlags, UsageError};
use anyhow::Result;
use hashmill_hash::argon2::{Params, ParamsError};
use hashmill_hash::password::{Limits, Policy, PolicyError, Preset, Syntax};

/// The policy for new hashes: the preset, changed by the other flags.
pub(super) fn policy(flags: &PolicyFlags) -> Result<Policy> {
    let base = flags.preset.unwrap_or(Preset::OWASP).policy();
    let old = base.params();
    let memory = flags.memory.map_or(Ok(old.memory_kib()), |kib| self::kib("--memory", kib))?;
    let passes = flags.passes.unwrap_or(old.passes());
    let params = Params::new(memory, passes, flags.lanes.unwrap_or(old.lanes())).map_err(invalid_params)?;
    let params = params.with_variant(flags.variant.unwrap_or(old.variant()));
    let length = |flag: &'static str| {
        move |error: PolicyError| anyhow::Error::new(UsageError(format!("{flag}: {error}")))
    };
    Policy::new(params)
        .with_salt_len(flags.salt_len.unwrap_or(base.salt_len()))
        .map_err(length("--salt-len"))?
        .with_tag_len(flags.tag_len.unwrap_or(base.tag_len()))
        .map_err(length("--tag-len"))
}

/// A note on costs of new hashes that meet no recommendation: less memory or fewer passes than each of them.
pub(super) fn weakness_note(params: Params) -> Option<String> {
    // Recommendations of others demand more than one of OWASP's. The remaining presets are for measurements only.
    let mut recommended = Preset::ALL.iter().filter(|preset| preset.name().starts_with("owasp"));
    let is_met = recommended.any(|preset| {
        let least = preset.policy().params();
        params.memory_kib() >= least.memory_kib() && params.passes() >= least.passes()
    });
    let usual = Preset::OWASP.policy().params();
    (!is_met).then(|| {
        format!(
            "note: costs below every recommendation; OWASP's usual choice is -m {}MiB -t {}",
            usual.memory_kib() / 1024,
            usual.passes()
        )
    })
}

/// How stored hashes are read, and what they may cost.
#[derive(Clone, Copy)]
pub(super) struct StoredLimits {
    pub(super) limits: Limits,
    pub(super) syntax: Syntax,
}

/// The default limits, changed by flags.
pub(super) fn stored_limits(flags: &LimitFlags) -> Result<StoredLimits> {
    let mut limits = Limits::RECOMMENDED;
    if let Some(max) = flags.max_memory {
        limits.memory_kib = kib("--max-memory", max)?;
    }
    limits.passes = flags.max_passes.unwrap_or(limits.passes);
    limits.lanes = flags.max_lanes.unwrap_or(limits.lanes);
    limits.work_kib = flags.max_work.map_or(limits.work_kib, |max| max.0);
    limits.bcrypt_cost = flags.max_bcrypt_cost.unwrap_or(limits.bcrypt_cost);
    limits.iterations = flags.max_iterations.unwrap_or(limits.iterations);
    limits.min_tag = flags.min_tag.unwrap_or(limits.min_tag);
    Ok(StoredLimits { limits, syntax: syntax(flags.lenient) })
}

pub(super) fn syntax(lenient: bool) -> Syntax {
    if lenient { Syntax::Lenient } else { Syntax::Strict }
}

/// An amount of memory that a hash can have, in KiB.
pub(super) fn kib(flag: &str, amount: Kib) -> Result<u32> {
    let max = u32::MAX;
    let usage_error = || UsageError(format!("{flag}: {} KiB is more than the maximum of {max}", amount.0));
    Ok(u32::try_from(amount.0).map_err(|_| usage_error())?)
}

/// The usage error for costs that no hash can have.
pub(super) fn invalid_params(error: ParamsError) -> anyhow::Error {
    UsageError(error.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recommended_costs_have_no_note() {
        for preset in &Preset::ALL {
            let is_for_tests = preset.about().contains("too cheap");
            assert_eq!(weakness_note(preset.policy().params()).is_some(), is_for_tests, "{}", preset.name());
        }
        for (memory, passes, is_low) in
            [(19_455, 2, true), (19_456, 1, true), (19_456, 2, false), (7_167, 99, true)]
        {
            let params = Params::new(memory, passes, 1).expect("costs");
            assert_eq!(weakness_note(params).is_some(), is_low, "{memory} {passes}");
        }
    }
}
