//! Limits derived from a policy.

use super::limits::{Limits, work_kib};
use super::policy::Policy;

impl Limits {
    /// The cost of [`FACTOR`](Limits::FACTOR) new hashes by `policy`: in memory, and in memory times passes.
    /// Passes and lanes, which add no cost by themselves, and the lengths of salt and tag have their usual
    /// limits.
    pub fn around(policy: &Policy) -> Limits {
        let params = policy.params();
        let caps = Limits {
            memory_kib: params.memory_kib().saturating_mul(Limits::FACTOR),
            work_kib: work_kib(params).saturating_mul(Limits::FACTOR.into()),
            // About as much time as the most expensive Argon2 hash, and above common settings: defaults are
            // at most 12, and 1,200,000.
            bcrypt_cost: 13,
            iterations: 2_000_000,
            ..Limits::RECOMMENDED
        };
        caps.covering(policy)
    }

    /// The tightest limits that allow the hashes of `policy`: for a service that wrote all its strings
    /// itself.
    pub fn for_policy(policy: &Policy) -> Limits {
        let params = policy.params();
        Limits {
            memory_kib: params.memory_kib(),
            passes: params.passes(),
            lanes: params.lanes(),
            work_kib: work_kib(params),
            min_salt: Limits::RECOMMENDED.min_salt,
            max_salt: policy.salt_len().max(Limits::RECOMMENDED.min_salt),
            min_tag: Limits::RECOMMENDED.min_tag.min(policy.tag_len()),
            max_tag: policy.tag_len(),
            bcrypt_cost: 0,
            iterations: 0,
        }
    }

    /// These limits, raised where `policy` needs more.
    pub fn covering(self, policy: &Policy) -> Limits {
        let params = policy.params();
        Limits {
            memory_kib: self.memory_kib.max(params.memory_kib()),
            passes: self.passes.max(params.passes()),
            lanes: self.lanes.max(params.lanes()),
            work_kib: self.work_kib.max(work_kib(params)),
            min_salt: self.min_salt.min(policy.salt_len()),
            max_salt: self.max_salt.max(policy.salt_len()),
            min_tag: self.min_tag.min(policy.tag_len()),
            max_tag: self.max_tag.max(policy.tag_len()),
            ..self
        }
    }
}

impl Default for Limits {
    /// [`Limits::around`] the default policy.
    fn default() -> Limits {
        Limits::around(&Policy::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argon2::Params;
    use crate::password::{Preset, Quantity};

    #[test]
    fn presets_are_within_recommended_limits() {
        for preset in Preset::ALL {
            let policy = preset.policy();
            for limits in [Limits::RECOMMENDED, Limits::for_policy(&policy)] {
                assert_eq!(limits.check(policy.params()), Ok(()), "{}", preset.name());
                assert_eq!(limits.check_salt(policy.salt_len()), Ok(()), "{}", preset.name());
                assert_eq!(limits.check_tag(policy.tag_len()), Ok(()), "{}", preset.name());
            }
        }
    }

    #[test]
    fn caps_are_exact() {
        let limits = Limits { memory_kib: 64, passes: 3, lanes: 2, work_kib: 128, ..Limits::RECOMMENDED };
        let check = |m, t, p| limits.check(Params::new(m, t, p).unwrap()).map_err(|error| error.to_string());
        assert_eq!(check(64, 2, 2), Ok(()));
        assert_eq!(check(65, 1, 2).unwrap_err(), "65 KiB of memory, where at most 64 are allowed");
        assert_eq!(check(16, 4, 2).unwrap_err(), "4 passes, where at most 3 are allowed");
        assert_eq!(check(24, 1, 3).unwrap_err(), "3 lanes, where at most 2 are allowed");
        assert_eq!(
            check(64, 3, 2).unwrap_err(),
            "192 KiB of memory times passes, where at most 128 are allowed"
        );
        let huge = Params::new(u32::MAX, u32::MAX, 1).unwrap();
        assert_eq!(Limits::NONE.check(huge), Ok(()));
        assert!(Limits::RECOMMENDED.check(huge).is_err());
    }

    #[test]
    fn limits_grow_to_cover_a_policy() {
        let policy = Policy::new(Params::new(1 << 22, 2, 1).unwrap());
        let limits = Limits::RECOMMENDED.covering(&policy);
        assert_eq!(limits.check(policy.params()), Ok(()));
        assert_eq!(limits.lanes, Limits::RECOMMENDED.lanes);
    }

    #[test]
    fn costliest_accepted_string_has_a_known_cost() {
        for preset in Preset::ALL {
            let (policy, params) = (preset.policy(), preset.policy().params());
            let limits = Limits::around(&policy);
            assert_eq!(u64::from(limits.memory_kib), 8 * u64::from(params.memory_kib()), "{}", preset.name());
            assert_eq!(limits.work_kib, 8 * work_kib(params), "{}", preset.name());
            assert_eq!(limits.check(params), Ok(()), "{}", preset.name());
        }
        let default = Limits::default();
        assert_eq!((default.memory_kib, default.work_kib), (152 << 10, 304 << 10));
        // Settings of hashes that services take over.
        for name in ["rfc9106-second", "libsodium-interactive", "owasp-46m", "owasp-7m", "argon2sharp-high"] {
            let params = Preset::by_name(name).unwrap().policy().params();
            assert_eq!(default.check(params), Ok(()), "{name}");
        }
        // Costs of seconds and gigabytes.
        let costly = Params::new(1 << 21, 4, 1).unwrap();
        assert_eq!(default.check(costly).unwrap_err().what, Quantity::Memory);
        assert_eq!(default.check(Params::new(8, 1024, 1).unwrap()), Ok(()));
        assert_eq!(default.check(Params::new(1024, 1024, 1).unwrap()).unwrap_err().what, Quantity::Work);
    }
}
