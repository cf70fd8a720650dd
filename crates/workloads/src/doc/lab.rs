//! The workloads on documents as the lab sees them.

use super::cases::{self, Answer, Case};
use super::json;
use super::named::Named;
use super::ours::{Hashmill, snapshot_reads};
use crate::thread_counts;
use hashmill_hash::blake3;
use hashmill_lab::model::engine::{Digest, Engine, Fault, Spec, Workload};
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;

/// A case of some engine, if it has the workload.
pub type Make = fn(Named, usize) -> Option<Case>;

/// Every name, with our engine.
pub(crate) fn register(registry: &mut Registry) {
    for named in Named::every() {
        registry.workload(Work::new(named), named.sizes()).engine(
            "hashmill",
            Player { named, make: cases::synced::<Hashmill>, version: "hashmill" },
            offer(),
        );
    }
    registry
        .workload(Snapshot, &[1_000_000])
        .engine("hashmill", Readers { most: usize::MAX }, offer().threads(thread_counts()))
        .engine("one-thread", Readers { most: 1 }, offer().threads(thread_counts()));
    json::register(registry);
}

/// Another engine beside ours, in the workloads of `has`.
pub fn more_engines(
    registry: &mut Registry,
    name: &str,
    version: &'static str,
    make: Make,
    has: fn(Named) -> bool,
) {
    for named in Named::every().filter(|named| has(*named)) {
        registry.more_engines(&Work::new(named).name).engine(name, Player { named, make, version }, offer());
    }
}

pub(super) fn offer() -> Offer {
    Offer::classes(&["kernel"])
}

/// What the lab compares answers by.
#[must_use]
pub fn digest(answer: &Answer) -> Digest {
    match answer {
        Answer::Number(number) => Digest::new(&number.to_be_bytes()),
        Answer::Text(text) => Digest::new(blake3::hash(text.as_bytes()).as_bytes()),
    }
}

/// One workload; the size is the number that stands behind its name.
struct Work {
    named: Named,
    name: String,
}

impl Work {
    fn new(named: Named) -> Self {
        Work { named, name: format!("doc-{named}") }
    }
}

impl Workload for Work {
    /// The place of the document that a call asks for.
    type Input = usize;

    fn name(&self) -> &str {
        &self.name
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(self.named.operations(spec.size))
    }

    /// Who asks for one place again and again has its way through the document learned.
    fn inputs(&self, _: &Spec) -> usize {
        if self.named.asks_for_a_place() { usize::MAX } else { 1 }
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<usize, Fault> {
        Ok((seed % size(spec)? as u64) as usize)
    }

    fn reference(&self, spec: &Spec, place: &usize) -> Result<Digest, Fault> {
        Ok(digest(&self.named.answer(size(spec)?, *place)))
    }
}

/// A document for each operation of the largest size must fit into memory; nothing is there to be done with none.
pub(super) fn size(spec: &Spec) -> Result<usize, Fault> {
    const MOST: u64 = 20_000_000;
    match spec.size {
        1..=MOST => Ok(spec.size as usize),
        size => Err(Fault::failed(format!("{size} operations: choose 1 to {MOST}"))),
    }
}

/// An engine at one workload.
struct Player {
    named: Named,
    make: Make,
    version: &'static str,
}

impl Engine for Player {
    type Input = usize;
    /// The document, whichever places calls ask for.
    type Context = Case;
    type Buffer = ();
    type Output = Answer;

    fn init(&self, spec: &Spec) -> Result<Case, Fault> {
        let made = (self.make)(self.named, size(spec)?);
        made.ok_or_else(|| Fault::unavailable(format!("{} has no {}", self.version, self.named)))
    }

    fn kernel(&self, _: &Case) -> String {
        self.version.to_owned()
    }

    fn reserve(&self, _: &mut Case, _: &usize) -> Result<(), Fault> {
        Ok(())
    }

    fn stage(&self, case: &mut Case, (): &mut (), _: &usize) -> Result<(), Fault> {
        if let Some(prepare) = &mut case.prepare {
            prepare();
        }
        Ok(())
    }

    fn run(&self, case: &mut Case, (): &mut (), place: &usize) -> Result<Answer, Fault> {
        Ok((case.call)(*place))
    }

    fn digest(&self, answer: &Answer) -> Digest {
        digest(answer)
    }

    fn consumes(&self) -> bool {
        self.named.is_prepared()
    }
}

/// Every key of a map, read on a snapshot: each thread has its part.
struct Snapshot;

impl Workload for Snapshot {
    type Input = usize;

    fn name(&self) -> &'static str {
        "doc-snapshot_reads"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(spec.size)
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<usize, Fault> {
        size(spec)
    }

    fn reference(&self, _: &Spec, size: &usize) -> Result<Digest, Fault> {
        Ok(digest(&Named::GetScale.answer(*size, 0)))
    }
}

/// As many threads as the case says, and no more than these: what more of them are worth.
struct Readers {
    most: usize,
}

impl Engine for Readers {
    type Input = usize;
    type Context = usize;
    type Buffer = Case;
    type Output = Answer;

    fn init(&self, spec: &Spec) -> Result<usize, Fault> {
        Ok(self.most.min(spec.threads as usize))
    }

    fn kernel(&self, _: &usize) -> String {
        "hashmill".to_owned()
    }

    fn reserve(&self, threads: &mut usize, size: &usize) -> Result<Case, Fault> {
        Ok(snapshot_reads(*size, *threads))
    }

    fn run(&self, _: &mut usize, case: &mut Case, _: &usize) -> Result<Answer, Fault> {
        Ok((case.call)(0))
    }

    fn digest(&self, answer: &Answer) -> Digest {
        digest(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::{Shared, Synced};
    use hashmill_lab::model::key::Key;

    fn check<E: Synced + Shared>() {
        for named in Named::every() {
            let mut case = cases::synced::<E>(named, 12).expect("an engine with everything");
            for place in [6, 6, 0, 11] {
                assert_eq!(case.once(place), named.answer(12, place), "{named}");
            }
        }
    }

    #[test]
    fn our_engine_gives_the_answers_that_were_worked_out() {
        check::<Hashmill>();
        assert_eq!(snapshot_reads(12, 2).once(0), Named::GetScale.answer(12, 0));
    }

    #[test]
    fn places_differ_and_lie_in_the_document() {
        let work = Work::new(Named::MapGet);
        let key: Key = "doc-map_get/hashmill/kernel/100/t1".parse().expect("a key");
        let spec = Spec {
            class: key.class,
            size: key.size.0,
            threads: key.threads,
            kernel: key.kernel,
            knobs: key.knobs,
        };
        let places = [1, 99, 100, u64::MAX].map(|seed| work.prepare(&spec, seed).expect("a place"));
        assert_eq!(places, [1, 99, 0, 15]);
        assert!(work.inputs(&spec) > 1);
        assert_eq!(Work::new(Named::Save).inputs(&spec), 1);
    }
}
