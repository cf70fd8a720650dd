//! Searches for nonces.

use super::back_end::{BackEnd, words};
use super::fault;
use crate::argon2::{number, plan};
use crate::pow::{Setting, header, refused, start};
use crate::{all_threads, work};
use hashmill_hash::argon2::pow::{Pow, ThreadPool};
use hashmill_hash::engine::{NonceEngine, NonceJob, Watch};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Routine, Spec, Workload};
use hashmill_lab::model::floor::Work;
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;
use std::marker::PhantomData;

const NAME: &str = "device-pow";
/// Nonces of a case that does not say how many.
const NONCES: u32 = 64;

/// What is right: all were tried, and none was a hit. That digests are right, known answers say.
const SEARCHED: &[u8] = b"searched";

/// The workload, and the processor's rows. 2 GiB can be asked for by name.
pub(super) fn register(registry: &mut Registry) {
    let run = |workers: &mut (ThreadPool, u64), (): &()| search(&mut workers.0, workers.1);
    let init = |spec: &Spec| {
        let plan = plan(spec)?;
        Ok((start(&Setting::of(spec, plan)?, plan)?, nonces(spec)?))
    };
    let name = |_: &(ThreadPool, u64)| "all threads".to_owned();
    let engine = Routine::new(init, name, run, |(): &()| Digest::new(SEARCHED));
    registry.workload(Nonces, &[1 << 20, 64 << 20]).engine("cpu", engine, offer(&["backend", "sustained"]));
}

/// The rows of a device.
pub(super) fn add<B: BackEnd>(registry: &mut Registry) {
    let classes = ["backend", "oneshot", "end-to-end", "sustained"];
    registry.more_engines::<()>(NAME).engine(B::NAME, OnDevice::<B>(PhantomData), offer(&classes));
}

fn offer(classes: &[&str]) -> Offer {
    Offer::classes(classes)
        .threads([all_threads()])
        .knob("passes", ["1", "4"])
        .knob("nonces", ["64", "512", "2048"])
}

fn nonces(spec: &Spec) -> Result<u64, Fault> {
    Ok(number(spec, "nonces", NONCES)?.into())
}

/// A range without a hit. The size of a case is the memory of one hash.
struct Nonces;

impl Workload for Nonces {
    type Input = ();

    fn name(&self) -> &str {
        NAME
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Hashes(nonces(spec).unwrap_or(1))
    }

    fn work(&self, spec: &Spec) -> Option<Work> {
        let params = Setting::of(spec, plan(spec).ok()?).ok()?.pow().params();
        Some(work::argon2_batch(nonces(spec).ok()?, params.blocks(), params.passes().into()))
    }

    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, _: &Spec, _: u64) -> Result<(), Fault> {
        Ok(())
    }

    fn reference(&self, _: &Spec, (): &()) -> Result<Digest, Fault> {
        Ok(Digest::new(SEARCHED))
    }
}

fn search(engine: &mut dyn NonceEngine, count: u64) -> Result<(), Fault> {
    let header = header();
    let searched = engine.search(&NonceJob::new(&header, [0; 32]), 0..count, &Watch::new(), &|_| {});
    match searched.map_err(refused)?.hashes {
        hashes if hashes == count => Ok(()),
        hashes => Err(Fault::failed(format!("{hashes} of {count} nonces were tried"))),
    }
}

struct OnDevice<B>(PhantomData<fn() -> B>);

struct Opened<B: BackEnd> {
    device: B::Device,
    pow: Pow,
    nonces: u64,
}

impl<B: BackEnd> Engine for OnDevice<B> {
    type Input = ();
    type Context = Opened<B>;
    type Buffer = Box<dyn NonceEngine>;
    type Output = ();

    fn init(&self, spec: &Spec) -> Result<Opened<B>, Fault> {
        let pow = Setting::of(spec, plan(spec)?)?.pow();
        Ok(Opened { device: B::open().map_err(fault)?, pow, nonces: nonces(spec)? })
    }

    fn kernel(&self, opened: &Opened<B>) -> String {
        words(B::info(&opened.device))
    }

    fn reserve(&self, opened: &mut Opened<B>, (): &()) -> Result<Box<dyn NonceEngine>, Fault> {
        B::nonces(&opened.device, opened.pow, opened.nonces as usize).map_err(fault)
    }

    fn run(&self, opened: &mut Opened<B>, engine: &mut Box<dyn NonceEngine>, (): &()) -> Result<(), Fault> {
        search(&mut **engine, opened.nonces)
    }

    fn digest(&self, (): &()) -> Digest {
        Digest::new(SEARCHED)
    }
}
