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

/// A note on costs of new hashes that meet no recommendation: for each, there is less memory or there are fewer passes.
pub(super) fn note(params: Params) -> Option<String> {
    // Those of others ask for more than one of OWASP's. The names beside them are measured only.
    let mut recommended = Preset::ALL.iter().filter(|preset| preset.name().starts_with("owasp"));
    let is_met = recommended.any(|preset| {
        let least = preset.policy().params();
        params.memory_kib() >= least.memory_kib() && params.passes() >= least.passes()
    });
    let usual = Preset::OWASP.policy().params();
    (!is_met).then(|| {
        format!(
            "take note: costs below every recommendation; OWASP's usual choice is -m {}MiB -t {}",
            usual.memory_kib() / 1024,
            usual.passes()
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_recommends_has_no_note() {
        for preset in &Preset::ALL {
            let is_for_tests = preset.about().contains("too cheap");
            assert_eq!(note(preset.policy().params()).is_some(), is_for_tests, "{}", preset.name());
        }
        for (memory, passes, is_low) in
            [(19_455, 2, true), (19_456, 1, true), (19_456, 2, false), (7_167, 99, true)]
        {
            let params = Params::new(memory, passes, 1).expect("costs");
            assert_eq!(note(params).is_some(), is_low, "{memory} {passes}");
        }
    }
}
