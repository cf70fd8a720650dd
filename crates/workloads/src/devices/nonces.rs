//! Nonce searches on a device.

use super::{case_error, description, open};
use crate::argon2::pow;
use crate::argon2::pow::{Setting, header, refused, start};
use crate::argon2::{number, plan, room};
use crate::{all_threads, lower_bounds};
use hashmill_gpu::{self as gpu, BackEnd, Device};
use hashmill_hash::argon2::pow::{HitChecker, Pow, ThreadPool};
use hashmill_hash::engine::{self, NonceEngine, NonceJob, SearchMonitor};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use hashmill_lab::model::lower_bound::MinimalWork;
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use std::cell::RefCell;
use std::sync::Arc;

const NAME: &str = "device-pow";
/// Default number of nonces.
const NONCES: u32 = 64;

/// The workload and the CPU's rows. 2 GiB is available by name only.
pub(super) fn register(registry: &mut Registry) {
    let run = |workers: &mut Workers, _: &[u8; 32]| {
        search(&mut workers.pool, workers.nonces)?;
        Ok(workers.first)
    };
    let init = |spec: &Spec| {
        let plan = plan(spec)?;
        let mut pool = start(&Setting::from_spec(spec, plan)?, plan)?;
        Ok(Workers { first: first(&mut pool)?, pool, nonces: nonces(spec)? })
    };
    let name = |_: &Workers| "all threads".to_owned();
    let engine = Routine::new(init, name, run, |first: &[u8; 32]| Digest::new(first));
    registry.workload(Nonces, &[1 << 20, 64 << 20]).engine("cpu", engine, offer(&["backend", "sustained"]));
}

/// The rows of a device.
pub(super) fn add(registry: &mut Registry, back_end: BackEnd) {
    let classes = ["backend", "oneshot", "end-to-end", "sustained"];
    registry.more_engines::<[u8; 32]>(NAME).engine(
        back_end.name(),
        OnDevice { firsts: Firsts::default(), back_end },
        offer(&classes),
    );
}

fn offer(classes: &[&str]) -> EngineOffer {
    EngineOffer::classes(classes)
        .threads([all_threads()])
        .knob("passes", ["1", "4"])
        .knob("nonces", ["64", "512", "2048"])
}

fn nonces(spec: &Spec) -> Result<u64, CaseError> {
    Ok(number(spec, "nonces", NONCES)?.into())
}

struct Workers {
    pool: ThreadPool,
    nonces: u64,
    first: [u8; 32],
}

/// A range without a hit. The size of a case is the memory of one hash. The compared digest is that of nonce 0 from a search where
/// every nonce hits: in a search without hits, wrong or missing digests would go unnoticed.
struct Nonces;

impl Workload for Nonces {
    type Input = [u8; 32];

    fn name(&self) -> &str {
        NAME
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Hashes(nonces(spec).unwrap_or(1))
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        let params = Setting::from_spec(spec, plan(spec).ok()?).ok()?.pow().params();
        Some(lower_bounds::argon2_batch(nonces(spec).ok()?, params.blocks(), params.passes().into()))
    }

    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<[u8; 32], CaseError> {
        Ok(pow::right(spec, 1)?[0])
    }

    fn reference(&self, _: &Spec, right: &[u8; 32]) -> Result<Digest, CaseError> {
        Ok(Digest::new(right))
    }
}

fn search(engine: &mut dyn NonceEngine, count: u64) -> Result<(), CaseError> {
    let header = header();
    let job = NonceJob::new(&header, [0; 32]);
    let searched = engine::search(engine, &job, 0..count, &SearchMonitor::new(), &|_| {});
    match searched.map_err(refused)?.hashes {
        hashes if hashes == count => Ok(()),
        hashes => Err(CaseError::failed(format!("{hashes} of {count} nonces were tried"))),
    }
}

/// The digest of nonce 0 as this engine computes it.
fn first(engine: &mut dyn NonceEngine) -> Result<[u8; 32], CaseError> {
    Ok(pow::search(engine, 1)?[0])
}

/// Digests of nonce 0, computed once per work when buffers are first allocated, so at most the first lap times it.
#[derive(Default)]
struct Firsts(RefCell<Vec<(Pow, [u8; 32])>>);

impl Firsts {
    fn digest(&self, pow: Pow, engine: &mut dyn NonceEngine) -> Result<[u8; 32], CaseError> {
        if let Some((_, digest)) = self.0.borrow().iter().find(|(known, _)| *known == pow) {
            return Ok(*digest);
        }
        let digest = first(engine)?;
        self.0.borrow_mut().push((pow, digest));
        Ok(digest)
    }
}

struct OnDevice {
    firsts: Firsts,
    back_end: BackEnd,
}

struct Opened {
    device: Device,
    /// Made here, so that its gigabytes are neither allocated nor faulted in during a search that is timed.
    checker: Arc<HitChecker>,
    nonces: u64,
}

impl Engine for OnDevice {
    type Input = [u8; 32];
    type Context = Opened;
    type Buffer = (gpu::Nonces, [u8; 32]);
    type Output = [u8; 32];

    fn init(&self, spec: &Spec) -> Result<Opened, CaseError> {
        let (pow, nonces) = (Setting::from_spec(spec, plan(spec)?)?.pow(), nonces(spec)?);
        let device = open(self.back_end).map_err(case_error)?;
        room(pow.params().blocks())?;
        Ok(Opened { device, checker: Arc::new(HitChecker::new(pow).map_err(refused)?), nonces })
    }

    fn kernel(&self, opened: &Opened) -> String {
        description(&opened.device)
    }

    fn reserve(&self, opened: &mut Opened, _: &[u8; 32]) -> Result<Self::Buffer, CaseError> {
        let Opened { device, checker, nonces } = opened;
        let mut engine = device.nonces(Arc::clone(checker), *nonces as usize).map_err(case_error)?;
        let first = self.firsts.digest(checker.pow(), &mut engine)?;
        Ok((engine, first))
    }

    fn run(
        &self,
        opened: &mut Opened,
        (engine, first): &mut Self::Buffer,
        _: &[u8; 32],
    ) -> Result<[u8; 32], CaseError> {
        search(engine, opened.nonces)?;
        Ok(*first)
    }

    fn digest(&self, first: &[u8; 32]) -> Digest {
        Digest::new(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::pow::Order;
    use hashmill_hash::argon2::pow::SingleThread;
    use hashmill_hash::argon2::{PagePolicy, Plan};
    use hashmill_hash::engine::{EngineError, Hit, Lease, NonceLimits, SearchProgress, Stop, Supply};
    use hashmill_lab::model::key::Knobs;

    /// Tries every nonce, but alters the hits.
    struct Bent(SingleThread, fn(Hit) -> Option<Hit>);

    impl NonceEngine for Bent {
        fn name(&self) -> &str {
            "bent"
        }

        fn limits(&self) -> NonceLimits {
            self.0.limits()
        }

        fn order(&self) -> Order {
            self.0.order()
        }

        fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError> {
            self.0.run(&BentSupply(supply, self.1), stop)
        }
    }

    /// Alters the hits on their way to a supply.
    struct BentSupply<'a>(&'a dyn Supply, fn(Hit) -> Option<Hit>);

    impl Supply for BentSupply<'_> {
        fn take_lease(&self, most: u64) -> Option<Lease> {
            self.0.take_lease(most)
        }

        fn report_hit(&self, lease: &Lease, hit: Hit) {
            if let Some(hit) = (self.1)(hit) {
                self.0.report_hit(lease, hit);
            }
        }

        fn end_lease(&self, lease: Lease, progress: SearchProgress) {
            self.0.end_lease(lease, progress);
        }
    }

    fn spec() -> Spec {
        let class = "backend".parse().expect("a class");
        Spec { class, size: 64 << 10, threads: 1, kernel: None, knobs: Knobs::default() }
    }

    /// A run that allocated a checker would be timed with that.
    #[test]
    fn the_checker_of_hits_is_created_when_the_device_is_opened() {
        for &back_end in BackEnd::ALL {
            if let Some(reason) = crate::devices::absence(back_end) {
                hashmill_testkit::skip(&format!("a checker of hits beside {back_end}"), &reason);
                continue;
            }
            let (spec, on_device) = (spec(), OnDevice { firsts: Firsts::default(), back_end });
            let mut opened = on_device.init(&spec).expect("an open device");
            let known = Nonces.prepare(&spec, 0).expect("a hash");
            let mut buffer = on_device.reserve(&mut opened, &known).expect("memory");
            assert_eq!(
                Arc::strong_count(&opened.checker),
                2,
                "the engine has the checker of the open device"
            );
            for _ in 0..2 {
                assert_eq!(on_device.run(&mut opened, &mut buffer, &known), Ok(known));
                assert_eq!(Arc::strong_count(&opened.checker), 2, "no run replaces it");
            }
        }
    }

    #[test]
    fn wrong_digests_without_hits_are_detected() {
        let spec = spec();
        let right = Nonces.prepare(&spec, 0).expect("a hash");
        let right = Nonces.reference(&spec, &right).expect("a digest");
        let pow = Setting::from_spec(&spec, Plan::host()).expect("a case").pow();
        let first = |bend| {
            let single = SingleThread::new(pow, Plan::host(), PagePolicy::Transparent, 1).expect("memory");
            let mut engine = Bent(single, bend);
            search(&mut engine, 4).expect("nothing shows there");
            Firsts::default().digest(pow, &mut engine).map(|digest| Digest::new(&digest))
        };
        assert_eq!(first(Some), Ok(right));
        let wrong = first(|mut hit| {
            hit.digest[31] ^= 1;
            Some(hit)
        });
        assert_ne!(wrong.expect("a digest"), right);
        assert_eq!(first(|_| None), Err(CaseError::failed("a nonce was left out")));
    }
}
