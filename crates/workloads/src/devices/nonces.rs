//! Searches for nonces.

use super::back_end::{BackEnd, words};
use super::fault;
use crate::argon2::{number, plan};
use crate::pow::{self, Setting, header, refused, start};
use crate::{all_threads, work};
use hashmill_hash::argon2::pow::{Pow, ThreadPool};
use hashmill_hash::engine::{NonceEngine, NonceJob, Watch};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Routine, Spec, Workload};
use hashmill_lab::model::floor::Work;
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;
use std::cell::RefCell;
use std::marker::PhantomData;

const NAME: &str = "device-pow";
/// Nonces of a case that does not say how many.
const NONCES: u32 = 64;

/// The workload, and the processor's rows. 2 GiB can be asked for by name.
pub(super) fn register(registry: &mut Registry) {
    let run = |workers: &mut Workers, _: &[u8; 32]| {
        search(&mut workers.pool, workers.nonces)?;
        Ok(workers.first)
    };
    let init = |spec: &Spec| {
        let plan = plan(spec)?;
        let mut pool = start(&Setting::of(spec, plan)?, plan)?;
        Ok(Workers { first: first(&mut pool)?, pool, nonces: nonces(spec)? })
    };
    let name = |_: &Workers| "all threads".to_owned();
    let engine = Routine::new(init, name, run, |first: &[u8; 32]| Digest::new(first));
    registry.workload(Nonces, &[1 << 20, 64 << 20]).engine("cpu", engine, offer(&["backend", "sustained"]));
}

/// The rows of a device.
pub(super) fn add<B: BackEnd>(registry: &mut Registry) {
    let classes = ["backend", "oneshot", "end-to-end", "sustained"];
    registry.more_engines::<[u8; 32]>(NAME).engine(B::NAME, OnDevice::<B>::new(), offer(&classes));
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

struct Workers {
    pool: ThreadPool,
    nonces: u64,
    first: [u8; 32],
}

/// A range without a hit. The size of a case is the memory of one hash. What is compared is the digest of nonce 0, which is a hit
/// where everything is: a search without hits that computes wrong digests, or none, would go unnoticed.
struct Nonces;

impl Workload for Nonces {
    type Input = [u8; 32];

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

    fn prepare(&self, spec: &Spec, _: u64) -> Result<[u8; 32], Fault> {
        Ok(pow::right(spec, 1)?[0])
    }

    fn reference(&self, _: &Spec, right: &[u8; 32]) -> Result<Digest, Fault> {
        Ok(Digest::new(right))
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

/// The digest of nonce 0 as this engine computes it.
fn first(engine: &mut dyn NonceEngine) -> Result<[u8; 32], Fault> {
    Ok(pow::search(engine, 1)?[0])
}

/// Digests of nonce 0: asked for once for each work, when buffers are made for the first time, so that no class times it but in the
/// first lap.
#[derive(Default)]
struct Firsts(RefCell<Vec<(Pow, [u8; 32])>>);

impl Firsts {
    fn of(&self, pow: Pow, engine: &mut dyn NonceEngine) -> Result<[u8; 32], Fault> {
        if let Some((_, digest)) = self.0.borrow().iter().find(|(of, _)| *of == pow) {
            return Ok(*digest);
        }
        let digest = first(engine)?;
        self.0.borrow_mut().push((pow, digest));
        Ok(digest)
    }
}

struct OnDevice<B> {
    firsts: Firsts,
    back_end: PhantomData<fn() -> B>,
}

impl<B> OnDevice<B> {
    fn new() -> OnDevice<B> {
        OnDevice { firsts: Firsts::default(), back_end: PhantomData }
    }
}

struct Opened<B: BackEnd> {
    device: B::Device,
    pow: Pow,
    nonces: u64,
}

impl<B: BackEnd> Engine for OnDevice<B> {
    type Input = [u8; 32];
    type Context = Opened<B>;
    type Buffer = (Box<dyn NonceEngine>, [u8; 32]);
    type Output = [u8; 32];

    fn init(&self, spec: &Spec) -> Result<Opened<B>, Fault> {
        let pow = Setting::of(spec, plan(spec)?)?.pow();
        Ok(Opened { device: B::open().map_err(fault)?, pow, nonces: nonces(spec)? })
    }

    fn kernel(&self, opened: &Opened<B>) -> String {
        words(B::info(&opened.device))
    }

    fn reserve(&self, opened: &mut Opened<B>, _: &[u8; 32]) -> Result<Self::Buffer, Fault> {
        let mut engine = B::nonces(&opened.device, opened.pow, opened.nonces as usize).map_err(fault)?;
        let first = self.firsts.of(opened.pow, &mut *engine)?;
        Ok((engine, first))
    }

    fn run(
        &self,
        opened: &mut Opened<B>,
        (engine, first): &mut Self::Buffer,
        _: &[u8; 32],
    ) -> Result<[u8; 32], Fault> {
        search(&mut **engine, opened.nonces)?;
        Ok(*first)
    }

    fn digest(&self, first: &[u8; 32]) -> Digest {
        Digest::new(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::pow::SingleThread;
    use hashmill_hash::argon2::{PagePolicy, Plan};
    use hashmill_hash::engine::{EngineError, Hit, NonceLimits, Searched};
    use hashmill_lab::model::key::Knobs;
    use std::ops::Range;

    /// Tries every nonce, and tells of hits what it likes.
    struct Bent(SingleThread, fn(Hit) -> Option<Hit>);

    impl NonceEngine for Bent {
        fn name(&self) -> &str {
            "bent"
        }

        fn limits(&self) -> NonceLimits {
            self.0.limits()
        }

        fn search(
            &mut self,
            job: &NonceJob<'_>,
            nonces: Range<u64>,
            watch: &Watch,
            hit: &(dyn Fn(Hit) + Sync),
        ) -> Result<Searched, EngineError> {
            let bend = self.1;
            self.0.search(job, nonces, watch, &|found| bend(found).into_iter().for_each(hit))
        }
    }

    #[test]
    fn a_search_without_hits_that_computes_nothing_right_is_no_result() {
        let class = "backend".parse().expect("a class");
        let spec = Spec { class, size: 64 << 10, threads: 1, kernel: None, knobs: Knobs::default() };
        let right = Nonces.prepare(&spec, 0).expect("a hash");
        let right = Nonces.reference(&spec, &right).expect("a digest");
        let pow = Setting::of(&spec, Plan::host()).expect("a case").pow();
        let first = |bend| {
            let single = SingleThread::new(pow, Plan::host(), PagePolicy::Transparent, 1).expect("memory");
            let mut engine = Bent(single, bend);
            search(&mut engine, 4).expect("nothing shows there");
            Firsts::default().of(pow, &mut engine).map(|digest| Digest::new(&digest))
        };
        assert_eq!(first(Some), Ok(right));
        let wrong = first(|mut hit| {
            hit.digest[31] ^= 1;
            Some(hit)
        });
        assert_ne!(wrong.expect("a digest"), right);
        assert_eq!(first(|_| None), Err(Fault::failed("a nonce was left out")));
    }
}
