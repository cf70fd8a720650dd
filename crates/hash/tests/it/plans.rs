//! Plans and modes for the other tests: one plan per kernel of this CPU, and the CPU's own plan.

use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hash, Hasher, Kernel, Plan};
use hashmill_testkit::oracle::blake3::Oracle;
use hashmill_testkit::skip;

pub(crate) const KEY: &[u8; 32] = b"whats the Elvish word for friend";
pub(crate) const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// All plans to test: each kernel by itself, then the host's own combination.
pub(crate) fn plans() -> impl Iterator<Item = Plan> {
    Kernel::all().map(Plan::for_kernel).chain([Plan::host()])
}

/// A mode, with its oracle.
pub(crate) struct TestMode {
    pub(crate) name: &'static str,
    pub(crate) oracle: Oracle,
    context_key: [u8; 32],
}

impl TestMode {
    pub(crate) fn mode(&self) -> Mode<'_> {
        match self.name {
            "hash" => Mode::Hash,
            "keyed" => Mode::KeyedHash(KEY),
            _ => Mode::DeriveKeyMaterial(&self.context_key),
        }
    }

    pub(crate) fn hasher(&self, plan: Plan) -> Hasher {
        Hasher::with_mode(&self.mode()).with_plan(plan)
    }

    pub(crate) fn one_shot(&self, plan: Plan, input: &[u8]) -> Hash {
        match self.name {
            "hash" => plan.hash(input),
            "keyed" => plan.keyed_hash(KEY, input),
            _ => plan.derive_key(CONTEXT, input).into(),
        }
    }
}

/// Hash, keyed hash and key derivation.
pub(crate) fn test_modes() -> [TestMode; 3] {
    let context_key = Oracle::hash_context(CONTEXT);
    [("hash", Oracle::hash()), ("keyed", Oracle::keyed(KEY)), ("derive", Oracle::derive_key(CONTEXT))]
        .map(|(name, oracle)| TestMode { name, oracle, context_key })
}

/// Edge lengths: of blocks, of chunks, and of every width of a pass with one chunk more or less.
pub(crate) fn edge_lengths() -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..=130).collect();
    lengths.extend([191, 192, 193, 511, 512, 513, 960, 961, 1023]);
    for chunks in (1..=33).chain([47, 48, 63, 64, 65, 100]) {
        lengths.extend([0, 1, 63, 64, 65, 512, 1023].map(|tail| chunks * 1024 + tail));
    }
    lengths
}

#[test]
fn unavailable_kernels_are_listed_with_missing_features() {
    for (name, needs) in Kernel::unavailable() {
        let lacking: Vec<&str> =
            hashmill_hash::isa::Cpu::detect().features.missing(needs).map(|feature| feature.name()).collect();
        skip(&format!("kernel {name}"), &format!("this CPU lacks {}", lacking.join(", ")));
        assert!(Kernel::by_name(name).is_none(), "{name} is not for this CPU");
    }
}

#[test]
fn kernels_are_found_by_exact_name() {
    let all: Vec<Kernel> = Kernel::all().collect();
    assert_eq!(all.first(), Some(&Kernel::portable()));
    for kernel in all {
        assert_eq!(Kernel::by_name(kernel.name()), Some(kernel));
    }
    assert_eq!(Kernel::by_name(""), None);
    assert_eq!(Kernel::by_name("quantum"), None);
}

#[test]
fn plan_explains_every_length_with_an_available_kernel() {
    for plan in plans() {
        for len in [0, 1, 64, 65, 1024, 1025, 4096, 1 << 20, usize::MAX] {
            let choice = plan.explain(len);
            assert!(Kernel::all().any(|kernel| kernel == choice.kernel), "{plan:?}, {len} bytes: {choice:?}");
            assert!(choice.lanes >= 1 && !choice.class.is_empty() && !choice.basis.is_empty(), "{choice:?}");
        }
    }
    for kernel in Kernel::all() {
        assert_eq!(Plan::for_kernel(kernel).explain(1).kernel, kernel);
        assert_eq!(Plan::for_kernel(kernel).explain(1 << 20).kernel, kernel);
    }
}
