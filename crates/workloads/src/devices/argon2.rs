//! Argon2 on a device: one hash, and batches.

use super::{case_error, description, open};
use crate::argon2::{number, room};
use crate::digests::blake3::fold;
use crate::{all_threads, lower_bounds};
use hashmill_gpu::{Argon2, BackEnd, Device};
use hashmill_hash::argon2::{Hasher, Input, Job, Kernel, Params, Plan};
use hashmill_hash::password::{NewPassword, Passwords, Policy};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use hashmill_lab::model::lower_bound::MinimalWork;
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_machine::free_kib;

const NAME: &str = "device-argon2";
const SALT: &[u8] = b"sixteen bytes ok";
/// Default passes and hashes.
const PASSES: u32 = 3;
const HASHES: u32 = 64;

/// The workload and the CPU's rows. 2 GiB is available by name only.
pub(super) fn register(registry: &mut Registry) {
    let sizes = [1 << 20, 16 << 20, 64 << 20];
    registry.workload(Tags, &sizes).engine("cpu", by_processor(), offer(&["backend", "sustained"]));
}

/// The rows of a device.
pub(super) fn add(registry: &mut Registry, back_end: BackEnd) {
    let classes = ["backend", "oneshot", "end-to-end", "sustained"];
    registry.more_engines::<Vec<Password>>(NAME).engine(back_end.name(), OnDevice(back_end), offer(&classes));
}

fn offer(classes: &[&str]) -> EngineOffer {
    EngineOffer::classes(classes)
        .threads([all_threads()])
        .knob("passes", ["1", "3"])
        .knob("hashes", ["1", "64", "512", "2048"])
}

type Password = [u8; 16];

/// Argon2id with one lane. The size of a case is the memory of one hash.
struct Tags;

fn params(spec: &Spec) -> Result<Params, CaseError> {
    if !spec.size.is_multiple_of(1024) {
        return Err(CaseError::failed("the memory must be a whole number of KiB"));
    }
    let kib = u32::try_from(spec.size / 1024).map_err(CaseError::failed)?;
    Params::new(kib, number(spec, "passes", PASSES)?, 1).map_err(CaseError::failed)
}

fn hashes(spec: &Spec) -> Result<u32, CaseError> {
    match number(spec, "hashes", HASHES)? {
        0 => Err(CaseError::failed("`hashes` must be at least 1")),
        many => Ok(many),
    }
}

impl Workload for Tags {
    type Input = Vec<Password>;

    fn name(&self) -> &str {
        NAME
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Hashes(hashes(spec).unwrap_or(1).into())
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        let (params, hashes) = (params(spec).ok()?, hashes(spec).ok()?);
        Some(lower_bounds::argon2_batch(hashes.into(), params.blocks(), params.passes().into()))
    }

    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Vec<Password>, CaseError> {
        let password = |number: u32| {
            let mut password = [0; 16];
            password[..8].copy_from_slice(&seed.to_le_bytes());
            password[8..12].copy_from_slice(&number.to_le_bytes());
            password
        };
        Ok((0..hashes(spec)?).map(password).collect())
    }

    /// Tags of the first and the last password: all would take the CPU minutes.
    fn reference(&self, spec: &Spec, passwords: &Vec<Password>) -> Result<Digest, CaseError> {
        let params = params(spec)?;
        room(params.blocks())?;
        let mut hasher = Hasher::with_plan(params, Plan::for_kernel(Kernel::portable()));
        let ends = [passwords.first(), passwords.last()].into_iter().flatten();
        let tags =
            ends.map(|password| hasher.hash::<32>(&Input::new(password, SALT)).map_err(CaseError::failed));
        Ok(fold(tags.collect::<Result<Vec<_>, _>>()?))
    }
}

/// The first tag, and the last.
type Ends = [[u8; 32]; 2];

fn digest(ends: &Ends) -> Digest {
    fold(*ends)
}

fn ends(tags: &[[u8; 32]]) -> Result<Ends, CaseError> {
    match (tags.first(), tags.last()) {
        (Some(first), Some(last)) => Ok([*first, *last]),
        _ => Err(CaseError::failed("no tags")),
    }
}

/// As `password upgrade` hashes a file.
fn by_processor() -> impl Engine<Input = Vec<Password>> {
    let init = |spec: &Spec| {
        let params = params(spec)?;
        room(params.blocks())?;
        let passwords = Passwords::new(Policy::new(params));
        Ok(passwords.memory_budget(free_kib().map_or(u64::MAX, |free| free / 2)))
    };
    let name = |_: &Passwords| Plan::host().kernel().name().to_owned();
    let run = |passwords: &mut Passwords, input: &Vec<Password>| {
        let new: Vec<_> = input.iter().map(|password| NewPassword { password, salt: SALT }).collect();
        let hashes: Result<Vec<_>, _> = passwords.hash_many(&new).into_iter().collect();
        let hashes = hashes.map_err(CaseError::failed)?;
        let tags = hashes.iter().map(|hash| hash.tag().try_into().map_err(CaseError::failed));
        ends(&tags.collect::<Result<Vec<_>, _>>()?)
    };
    Routine::new(init, name, run, digest)
}

/// A batch on a device.
struct OnDevice(BackEnd);

struct Opened {
    device: Device,
    params: Params,
    hashes: usize,
}

impl Engine for OnDevice {
    type Input = Vec<Password>;
    type Context = Opened;
    type Buffer = Argon2;
    type Output = Ends;

    fn init(&self, spec: &Spec) -> Result<Opened, CaseError> {
        let (params, hashes) = (params(spec)?, hashes(spec)? as usize);
        Ok(Opened { device: open(self.0).map_err(case_error)?, params, hashes })
    }

    fn kernel(&self, opened: &Opened) -> String {
        description(&opened.device)
    }

    fn reserve(&self, opened: &mut Opened, _: &Vec<Password>) -> Result<Argon2, CaseError> {
        opened.device.argon2(opened.params, opened.hashes).map_err(case_error)
    }

    fn run(&self, _: &mut Opened, argon2: &mut Argon2, passwords: &Vec<Password>) -> Result<Ends, CaseError> {
        let mut tags = vec![[0; 32]; passwords.len()];
        let jobs = passwords.iter().zip(&mut tags);
        let jobs = jobs.map(|(password, tag)| Job { input: Input::new(password, SALT), tag });
        argon2.hash(&mut jobs.collect::<Vec<_>>()).map_err(case_error)?;
        ends(&tags)
    }

    fn digest(&self, output: &Ends) -> Digest {
        digest(output)
    }
}
