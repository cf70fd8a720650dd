//! Argon2 as workloads: the three variants, with their memory kept or made for each hash.

use crate::{thread_counts, work};
use hashmill_hash::argon2::{Hasher, Input, Kernel, Params, Plan, Threads, Variant};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Spec, Workload};
use hashmill_lab::model::floor::Work;
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;

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
            Offer::classes(&["kernel", "backend", "oneshot", "sustained"])
                .kernels(Kernel::all().map(Kernel::name))
                .threads(thread_counts())
                .knob("passes", ["1", "2", "3", "4"])
                .knob("lanes", ["1", "2", "4"]),
        );
    }
}

fn name(variant: Variant) -> &'static str {
    match variant {
        Variant::D => "argon2d",
        Variant::I => "argon2i",
        Variant::Id => "argon2id",
    }
}

/// Memory, passes and lanes of a case.
///
/// # Errors
/// When RFC 9106 does not allow them.
pub fn params(spec: &Spec, variant: Variant) -> Result<Params, Fault> {
    let number = |knob: &str, default: u32| match spec.knobs.get(knob) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|error| Fault::failed(format!("`{knob}`: {error}"))),
    };
    if !spec.size.is_multiple_of(1024) {
        return Err(Fault::failed("the memory must be a whole number of KiB"));
    }
    let kib = u32::try_from(spec.size / 1024).map_err(Fault::failed)?;
    let params = Params::new(kib, number("passes", PASSES)?, number("lanes", LANES)?);
    Ok(params.map_err(Fault::failed)?.with_variant(variant))
}

fn failed(error: hashmill_hash::argon2::HashError) -> Fault {
    match error {
        hashmill_hash::argon2::HashError::OutOfMemory { .. } => Fault::unavailable(error),
        error => Fault::failed(error),
    }
}

/// One tag of 32 bytes. The size of a case is its memory.
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

    fn prepare(&self, _: &Spec, seed: u64) -> Result<[u8; 8], Fault> {
        Ok(seed.to_le_bytes())
    }

    fn reference(&self, spec: &Spec, password: &[u8; 8]) -> Result<Digest, Fault> {
        let plan = Plan::of(Kernel::portable());
        let mut hasher = Hasher::with_plan(params(spec, self.variant)?, plan).threads(Threads::Serial);
        let tag = hasher.hash::<32>(&Input::new(password, SALT)).map_err(failed)?;
        Ok(Digest::new(&tag))
    }
}

/// A hasher is the buffer of its input: who keeps it, keeps the memory.
struct Kept {
    variant: Variant,
}

struct Setting {
    params: Params,
    plan: Plan,
    threads: Threads,
}

impl Engine for Kept {
    type Input = [u8; 8];
    type Context = Setting;
    type Buffer = Hasher;
    type Output = [u8; 32];

    fn init(&self, spec: &Spec) -> Result<Setting, Fault> {
        let plan =
            match &spec.kernel {
                None => Plan::host(),
                Some(name) => Plan::of(Kernel::by_name(name).ok_or_else(|| {
                    Fault::unavailable(format!("this processor cannot run the kernel {name}"))
                })?),
            };
        let threads = match spec.threads {
            1 => Threads::Serial,
            n => Threads::AtMost(n as usize),
        };
        Ok(Setting { params: params(spec, self.variant)?, plan, threads })
    }

    fn kernel(&self, setting: &Setting) -> String {
        setting.plan.kernel().name().to_owned()
    }

    fn reserve(&self, setting: &mut Setting, _: &[u8; 8]) -> Result<Hasher, Fault> {
        let mut hasher = Hasher::with_plan(setting.params, setting.plan).threads(setting.threads);
        hasher.reserve().map_err(failed)?;
        Ok(hasher)
    }

    fn stage(&self, _: &mut Setting, _: &mut Hasher, _: &[u8; 8]) -> Result<(), Fault> {
        Ok(())
    }

    fn run(&self, _: &mut Setting, hasher: &mut Hasher, password: &[u8; 8]) -> Result<[u8; 32], Fault> {
        hasher.hash(&Input::new(password, SALT)).map_err(failed)
    }

    fn digest(&self, tag: &[u8; 32]) -> Digest {
        Digest::new(tag)
    }
}
