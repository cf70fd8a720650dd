//! Argon2: one hash, and many side by side.

use super::back_end::{BackEnd, words};
use super::fault;
use crate::argon2::{number, room};
use crate::blake3::fold;
use crate::{all_threads, work};
use hashmill_hash::argon2::{Hasher, Input, Job, Kernel, Params, Plan};
use hashmill_hash::password::{NewPassword, Passwords, Policy};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Routine, Spec, Workload};
use hashmill_lab::model::floor::Work;
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_machine::free_kib;
use std::marker::PhantomData;

const NAME: &str = "device-argon2";
const SALT: &[u8] = b"sixteen bytes ok";
/// Passes and hashes of a case that does not say.
const PASSES: u32 = 3;
const HASHES: u32 = 64;

/// The workload, and the processor's rows. 2 GiB can be asked for by name.
pub(super) fn register(registry: &mut Registry) {
    let sizes = [1 << 20, 16 << 20, 64 << 20];
    registry.workload(Tags, &sizes).engine("cpu", by_processor(), offer(&["backend", "sustained"]));
}

/// The rows of a device.
pub(super) fn add<B: BackEnd>(registry: &mut Registry) {
    let classes = ["backend", "oneshot", "end-to-end", "sustained"];
    registry.more_engines::<Vec<Password>>(NAME).engine(B::NAME, OnDevice::<B>(PhantomData), offer(&classes));
}

fn offer(classes: &[&str]) -> Offer {
    Offer::classes(classes)
        .threads([all_threads()])
        .knob("passes", ["1", "3"])
        .knob("hashes", ["1", "64", "512", "2048"])
}

type Password = [u8; 16];

/// Argon2id with one lane. The size of a case is the memory of one hash.
struct Tags;

fn params(spec: &Spec) -> Result<Params, Fault> {
    if !spec.size.is_multiple_of(1024) {
        return Err(Fault::failed("the memory must be a whole number of KiB"));
    }
    let kib = u32::try_from(spec.size / 1024).map_err(Fault::failed)?;
    Params::new(kib, number(spec, "passes", PASSES)?, 1).map_err(Fault::failed)
}

fn hashes(spec: &Spec) -> Result<u32, Fault> {
    match number(spec, "hashes", HASHES)? {
        0 => Err(Fault::failed("`hashes` must be at least 1")),
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

    fn work(&self, spec: &Spec) -> Option<Work> {
        let (params, hashes) = (params(spec).ok()?, hashes(spec).ok()?);
        Some(work::argon2_batch(hashes.into(), params.blocks(), params.passes().into()))
    }

    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Vec<Password>, Fault> {
        let password = |number: u32| {
            let mut password = [0; 16];
            password[..8].copy_from_slice(&seed.to_le_bytes());
            password[8..12].copy_from_slice(&number.to_le_bytes());
            password
        };
        Ok((0..hashes(spec)?).map(password).collect())
    }

    /// Of the first and the last: all would take the processor minutes.
    fn reference(&self, spec: &Spec, passwords: &Vec<Password>) -> Result<Digest, Fault> {
        let params = params(spec)?;
        room(params.blocks())?;
        let mut hasher = Hasher::with_plan(params, Plan::of(Kernel::portable()));
        let ends = [passwords.first(), passwords.last()].into_iter().flatten();
        let tags = ends.map(|password| hasher.hash::<32>(&Input::new(password, SALT)).map_err(Fault::failed));
        Ok(fold(tags.collect::<Result<Vec<_>, _>>()?))
    }
}

/// The first tag, and the last.
type Ends = [[u8; 32]; 2];

fn told(ends: &Ends) -> Digest {
    fold(*ends)
}

fn ends(tags: &[[u8; 32]]) -> Result<Ends, Fault> {
    match (tags.first(), tags.last()) {
        (Some(first), Some(last)) => Ok([*first, *last]),
        _ => Err(Fault::failed("no tags")),
    }
}

/// As `password upgrade` makes new hashes of a file.
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
        let made: Result<Vec<_>, _> = passwords.hash_many(&new).into_iter().collect();
        let made = made.map_err(Fault::failed)?;
        let tags = made.iter().map(|hash| hash.tag().try_into().map_err(Fault::failed));
        ends(&tags.collect::<Result<Vec<_>, _>>()?)
    };
    Routine::new(init, name, run, told)
}

/// Many side by side on a device.
struct OnDevice<B>(PhantomData<fn() -> B>);

struct Opened<B: BackEnd> {
    device: B::Device,
    params: Params,
    hashes: usize,
}

impl<B: BackEnd> Engine for OnDevice<B> {
    type Input = Vec<Password>;
    type Context = Opened<B>;
    type Buffer = B::Argon2;
    type Output = Ends;

    fn init(&self, spec: &Spec) -> Result<Opened<B>, Fault> {
        let (params, hashes) = (params(spec)?, hashes(spec)? as usize);
        Ok(Opened { device: B::open().map_err(fault)?, params, hashes })
    }

    fn kernel(&self, opened: &Opened<B>) -> String {
        words(B::info(&opened.device))
    }

    fn reserve(&self, opened: &mut Opened<B>, _: &Vec<Password>) -> Result<B::Argon2, Fault> {
        B::argon2(&opened.device, opened.params, opened.hashes).map_err(fault)
    }

    fn run(
        &self,
        _: &mut Opened<B>,
        argon2: &mut B::Argon2,
        passwords: &Vec<Password>,
    ) -> Result<Ends, Fault> {
        let mut tags = vec![[0; 32]; passwords.len()];
        let jobs = passwords.iter().zip(&mut tags);
        let jobs = jobs.map(|(password, tag)| Job { input: Input::new(password, SALT), tag });
        B::tags(argon2, &mut jobs.collect::<Vec<_>>()).map_err(fault)?;
        ends(&tags)
    }

    fn digest(&self, output: &Ends) -> Digest {
        told(output)
    }
}
