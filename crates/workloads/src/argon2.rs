//! Argon2 as workloads: the three variants, with their memory kept or made for each hash.

use crate::{thread_counts, work};
use hashmill_hash::argon2::{HashError, Hasher, Input, Kernel, Params, Plan, Threads, Variant};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Spec, Workload};
use hashmill_lab::model::floor::Work;
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_machine::free_kib;

/// The salt of every tag; the password is the input.
pub const SALT: &[u8] = b"somesalt of 32 bytes, as it were";
/// Passes and lanes of a case that does not say: the second choice of RFC 9106.
const PASSES: u32 = 3;
const LANES: u32 = 4;

pub(crate) fn register(registry: &mut Registry) {
    for variant in Variant::ALL {
        // 2 GiB can be asked for by name: it is too much to be among what `*` means.
        let sizes = [64 << 10, 1 << 20, 19 << 20, 64 << 20];
        registry.workload(Tag { name: name(variant), variant }, &sizes).engine(
            "hasher",
            Kept { variant },
            Offer::classes(&["kernel", "backend", "oneshot", "cold", "sustained"])
                .kernels(Kernel::all().map(Kernel::name))
                .threads(thread_counts())
                .knob("passes", ["1", "2", "3", "4"])
                .knob("lanes", ["1", "2", "4"])
                .knob("tag", ["32", "64"]),
        );
    }
    suites(registry);
}

/// Costs that people ask about: memory, passes, lanes, and what else. `crates/hash/src/password/policy.rs` has their names.
const COSTS: [(&str, &str, u32, u32, &str); 13] = [
    // What a table that is often quoted says it measured, and what its program ran.
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

/// As many as the machine offers, and no more than there are lanes.
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

/// The value of a knob, or what it is without.
pub(crate) fn number(spec: &Spec, knob: &str, default: u32) -> Result<u32, Fault> {
    match spec.knobs.get(knob) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|error| Fault::failed(format!("`{knob}`: {error}"))),
    }
}

/// The plan of this machine, or that of the kernel which is forced.
pub(crate) fn plan(spec: &Spec) -> Result<Plan, Fault> {
    let Some(name) = &spec.kernel else { return Ok(Plan::host()) };
    let kernel = Kernel::by_name(name);
    let missing = || Fault::unavailable(format!("this processor cannot run the kernel {name}"));
    kernel.map(Plan::of).ok_or_else(missing)
}

/// Whether there is so much memory: the system grants more than it has, and ends the process later.
pub(crate) fn room(needed_kib: u64) -> Result<(), Fault> {
    match free_kib() {
        Some(free) if free < needed_kib => Err(Fault::unavailable(format!(
            "{needed_kib} KiB of memory are needed, and about {free} KiB are free"
        ))),
        _ => Ok(()),
    }
}

/// Memory, passes and lanes of a case.
///
/// # Errors
/// When RFC 9106 does not allow them.
pub fn params(spec: &Spec, variant: Variant) -> Result<Params, Fault> {
    if !spec.size.is_multiple_of(1024) {
        return Err(Fault::failed("the memory must be a whole number of KiB"));
    }
    let kib = u32::try_from(spec.size / 1024).map_err(Fault::failed)?;
    let params = Params::new(kib, number(spec, "passes", PASSES)?, number(spec, "lanes", LANES)?);
    Ok(params.map_err(Fault::failed)?.with_variant(variant))
}

/// Bytes of a case's tag.
///
/// # Errors
/// When there are too few or too many.
pub fn tag_len(spec: &Spec) -> Result<usize, Fault> {
    match number(spec, "tag", 32)? as usize {
        len @ Params::MIN_TAG_LEN..=Digest::MAX => Ok(len),
        len => Err(Fault::failed(format!(
            "a tag of {len} bytes: choose {} to {}",
            Params::MIN_TAG_LEN,
            Digest::MAX
        ))),
    }
}

pub(crate) fn failed(error: HashError) -> Fault {
    match error {
        HashError::OutOfMemory { .. } => Fault::unavailable(error),
        error => Fault::failed(error),
    }
}

/// One tag, of 32 bytes unless said otherwise. The size of a case is its memory.
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

    fn work(&self, spec: &Spec) -> Option<Work> {
        let params = params(spec, self.variant).ok()?;
        Some(work::argon2(params.blocks(), params.passes().into(), params.lanes().into()))
    }

    /// The memory that it fills.
    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, _: &Spec, seed: u64) -> Result<[u8; 8], Fault> {
        Ok(seed.to_le_bytes())
    }

    fn reference(&self, spec: &Spec, password: &[u8; 8]) -> Result<Digest, Fault> {
        let params = params(spec, self.variant)?;
        room(params.blocks())?;
        let mut hasher = Hasher::with_plan(params, Plan::of(Kernel::portable())).threads(Threads::Serial);
        let tag = Tagged::of(&mut hasher, tag_len(spec)?, password)?;
        Ok(tag.digest())
    }
}

/// A hasher is the buffer of its input: who keeps it, keeps the memory.
struct Kept {
    variant: Variant,
}

struct Setting {
    params: Params,
    tag_len: usize,
    plan: Plan,
    threads: Threads,
}

/// A tag in place, as the timed loop must not allocate.
#[derive(Clone, Copy, Debug)]
pub struct Tagged {
    bytes: [u8; Digest::MAX],
    len: usize,
}

impl Tagged {
    /// A tag of `len` bytes, which [`tag_len`] gave, filled by `fill`.
    ///
    /// # Errors
    /// What `fill` says.
    pub fn by(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), Fault>) -> Result<Tagged, Fault> {
        let mut bytes = [0; Digest::MAX];
        fill(&mut bytes[..len])?;
        Ok(Tagged { bytes, len })
    }

    fn of(hasher: &mut Hasher, len: usize, password: &[u8]) -> Result<Tagged, Fault> {
        Tagged::by(len, |tag| hasher.hash_into(&Input::new(password, SALT), tag).map_err(failed))
    }

    /// What the lab compares.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::new(&self.bytes[..self.len])
    }
}

impl Engine for Kept {
    type Input = [u8; 8];
    type Context = Setting;
    type Buffer = Hasher;
    type Output = Tagged;

    fn init(&self, spec: &Spec) -> Result<Setting, Fault> {
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

    fn reserve(&self, setting: &mut Setting, _: &[u8; 8]) -> Result<Hasher, Fault> {
        room(setting.params.blocks())?;
        let mut hasher = Hasher::with_plan(setting.params, setting.plan).threads(setting.threads);
        hasher.reserve().map_err(failed)?;
        Ok(hasher)
    }

    fn run(&self, setting: &mut Setting, hasher: &mut Hasher, password: &[u8; 8]) -> Result<Tagged, Fault> {
        Tagged::of(hasher, setting.tag_len, password)
    }

    fn digest(&self, tag: &Tagged) -> Digest {
        tag.digest()
    }
}
