//! Argon2 workloads: the three variants, with memory that is reused or allocated for each hash.

pub(crate) mod half_pass;
pub(crate) mod pow;
pub(crate) mod stop_latency;

use crate::{lower_bounds, thread_counts};
use hashmill_hash::argon2::{HashError, Hasher, Input, Kernel, Params, Plan, Threads, Variant};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::lower_bound::MinimalWork;
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_machine::free_kib;

/// The salt of every tag; the password is the input.
pub const SALT: &[u8] = b"somesalt of 32 bytes, as it were";
/// Default passes and lanes: the second choice of RFC 9106.
const PASSES: u32 = 3;
const LANES: u32 = 4;

pub(crate) fn register(registry: &mut Registry) {
    for variant in Variant::ALL {
        // 2 GiB is available by name only: too much for `*`.
        let sizes = [64 << 10, 1 << 20, 19 << 20, 64 << 20];
        registry.workload(Tag { name: name(variant), variant }, &sizes).engine(
            "hasher",
            PooledHasher { variant },
            EngineOffer::classes(&["kernel", "backend", "oneshot", "cold", "sustained"])
                .kernels(Kernel::all().map(Kernel::name))
                .threads(thread_counts())
                .knob("passes", ["1", "2", "3", "4"])
                .knob("lanes", ["1", "2", "4"])
                .knob("tag", ["32", "64"]),
        );
    }
    suites(registry);
}

/// Common costs: memory, passes, lanes and further knobs. `crates/hash/src/password/policy.rs` has their names.
const COSTS: [(&str, &str, u32, u32, &str); 13] = [
    // The costs that an often quoted table states, and those that its program ran.
    ("argon2sharp", "1MiB", 1, 1, ""),
    ("argon2sharp", "64MiB", 4, 4, ""),
    ("argon2sharp", "256MiB", 6, 4, "/tag=64"),
    ("argon2sharp", "32KiB", 3, 4, ""),
    ("argon2sharp", "19MiB", 2, 1, ""),
    ("owasp", "46MiB", 1, 1, ""),
    ("owasp", "19MiB", 2, 1, ""),
    ("owasp", "12MiB", 3, 1, ""),
    ("owasp", "9MiB", 4, 1, ""),
    ("owasp", "7MiB", 5, 1, ""),
    ("rfc9106", "64MiB", 3, 4, ""),
    ("rfc9106", "2GiB", 1, 4, ""),
    ("rfc9106", "64MiB", 3, 1, ""),
];

fn suites(registry: &mut Registry) {
    let case = |class: &str, threads: u32, (_, size, passes, lanes, rest): &(&str, &str, u32, u32, &str)| {
        format!("argon2id/hasher/{class}/{size}/t{threads}/passes={passes}/lanes={lanes}{rest}")
    };
    let mut add = |name: &str, about: &str, patterns: Vec<String>| {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        registry.suite(name, about, &patterns);
    };
    for (name, about) in [
        ("argon2sharp", "Argon2id at the costs that Argon2Sharp's benchmark names, and at those that it ran"),
        ("owasp", "Argon2id at OWASP's five choices"),
        ("rfc9106", "Argon2id at both choices of RFC 9106, and the second on one lane"),
    ] {
        let costs = || COSTS.iter().filter(|cost| cost.0 == name);
        let threads =
            |cost: &&(&str, &str, u32, u32, &str)| if cost.3 > 1 { thread_counts() } else { vec![1] };
        let cases =
            costs().flat_map(|cost| threads(&cost).into_iter().map(move |n| case("backend", n, cost)));
        add(name, about, cases.collect());
    }
    let every = |cost| (1..=most_threads()).map(move |threads| case("backend", threads, cost));
    let large = COSTS.iter().filter(|cost| cost.3 > 1 && ["64MiB", "256MiB"].contains(&cost.1));
    let about = "Argon2id with four lanes on each number of threads up to all of them";
    add("argon2-scaling", about, large.flat_map(every).collect());
}

/// All threads, at most one for each lane.
fn most_threads() -> u32 {
    thread_counts().into_iter().max().unwrap_or(1).min(4)
}

fn name(variant: Variant) -> &'static str {
    match variant {
        Variant::D => "argon2d",
        Variant::I => "argon2i",
        Variant::Id => "argon2id",
    }
}

/// The value of a knob, or its default.
pub(crate) fn number(spec: &Spec, knob: &str, default: u32) -> Result<u32, CaseError> {
    match spec.knobs.get(knob) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|error| CaseError::failed(format!("`{knob}`: {error}"))),
    }
}

/// The plan of this machine, or of the forced kernel.
pub(crate) fn plan(spec: &Spec) -> Result<Plan, CaseError> {
    let Some(name) = &spec.kernel else { return Ok(Plan::host()) };
    let kernel = Kernel::by_name(name);
    let missing = || CaseError::unavailable(format!("this processor cannot run the kernel {name}"));
    kernel.map(Plan::for_kernel).ok_or_else(missing)
}

/// Checks for free memory: the system would overcommit and kill the process later.
pub(crate) fn room(needed_kib: u64) -> Result<(), CaseError> {
    match free_kib() {
        Some(free) if free < needed_kib => Err(CaseError::unavailable(format!(
            "{needed_kib} KiB of memory are needed, and about {free} KiB are free"
        ))),
        _ => Ok(()),
    }
}

/// Memory, passes and lanes of a case.
///
/// # Errors
/// If RFC 9106 does not allow them.
pub fn params(spec: &Spec, variant: Variant) -> Result<Params, CaseError> {
    if !spec.size.is_multiple_of(1024) {
        return Err(CaseError::failed("the memory must be a whole number of KiB"));
    }
    let kib = u32::try_from(spec.size / 1024).map_err(CaseError::failed)?;
    let params = Params::new(kib, number(spec, "passes", PASSES)?, number(spec, "lanes", LANES)?);
    Ok(params.map_err(CaseError::failed)?.with_variant(variant))
}

/// Tag length of a case, in bytes.
///
/// # Errors
/// If it is too short or too long.
pub fn tag_len(spec: &Spec) -> Result<usize, CaseError> {
    match number(spec, "tag", 32)? as usize {
        len @ Params::MIN_TAG_LEN..=Digest::MAX => Ok(len),
        len => Err(CaseError::failed(format!(
            "a tag of {len} bytes: choose {} to {}",
            Params::MIN_TAG_LEN,
            Digest::MAX
        ))),
    }
}

pub(crate) fn failed(error: HashError) -> CaseError {
    match error {
        HashError::OutOfMemory { .. } => CaseError::unavailable(error),
        error => CaseError::failed(error),
    }
}

/// One tag, of 32 bytes by default. The size of a case is its memory.
struct Tag {
    name: &'static str,
    variant: Variant,
}

impl Workload for Tag {
    type Input = [u8; 8];

    fn name(&self) -> &str {
        self.name
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Hashes(1)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        let params = params(spec, self.variant).ok()?;
        Some(lower_bounds::argon2(params.blocks(), params.passes().into(), params.lanes().into()))
    }

    /// Memory of the hash.
    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, _: &Spec, seed: u64) -> Result<[u8; 8], CaseError> {
        Ok(seed.to_le_bytes())
    }

    fn reference(&self, spec: &Spec, password: &[u8; 8]) -> Result<Digest, CaseError> {
        let params = params(spec, self.variant)?;
        room(params.blocks())?;
        let mut hasher =
            Hasher::with_plan(params, Plan::for_kernel(Kernel::portable())).threads(Threads::Serial);
        let tag = Tagged::from_hasher(&mut hasher, tag_len(spec)?, password)?;
        Ok(tag.digest())
    }
}

/// A hasher that keeps its memory between calls.
struct PooledHasher {
    variant: Variant,
}

struct Setting {
    params: Params,
    tag_len: usize,
    plan: Plan,
    threads: Threads,
}

/// An inline tag, as the timed loop must not allocate.
#[derive(Clone, Copy, Debug)]
pub struct Tagged {
    bytes: [u8; Digest::MAX],
    len: usize,
}

impl Tagged {
    /// A tag of `len` bytes (from [`tag_len`]), filled by `fill`.
    ///
    /// # Errors
    /// The error of `fill`.
    pub fn by(
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), CaseError>,
    ) -> Result<Tagged, CaseError> {
        let mut bytes = [0; Digest::MAX];
        fill(&mut bytes[..len])?;
        Ok(Tagged { bytes, len })
    }

    fn from_hasher(hasher: &mut Hasher, len: usize, password: &[u8]) -> Result<Tagged, CaseError> {
        Tagged::by(len, |tag| hasher.hash_into(&Input::new(password, SALT), tag).map_err(failed))
    }

    /// Digest that the lab compares.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::new(&self.bytes[..self.len])
    }
}

impl Engine for PooledHasher {
    type Input = [u8; 8];
    type Context = Setting;
    type Buffer = Hasher;
    type Output = Tagged;

    fn init(&self, spec: &Spec) -> Result<Setting, CaseError> {
        let threads = match spec.threads {
            1 => Threads::Serial,
            n => Threads::AtMost(n as usize),
        };
        let params = params(spec, self.variant)?;
        Ok(Setting { params, tag_len: tag_len(spec)?, plan: plan(spec)?, threads })
    }

    fn kernel(&self, setting: &Setting) -> String {
        setting.plan.kernel().name().to_owned()
    }

    fn reserve(&self, setting: &mut Setting, _: &[u8; 8]) -> Result<Hasher, CaseError> {
        room(setting.params.blocks())?;
        let mut hasher = Hasher::with_plan(setting.params, setting.plan).threads(setting.threads);
        hasher.reserve().map_err(failed)?;
        Ok(hasher)
    }

    fn run(
        &self,
        setting: &mut Setting,
        hasher: &mut Hasher,
        password: &[u8; 8],
    ) -> Result<Tagged, CaseError> {
        Tagged::from_hasher(hasher, setting.tag_len, password)
    }

    fn digest(&self, tag: &Tagged) -> Digest {
        tag.digest()
    }
}
