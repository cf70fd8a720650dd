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
    type Input = usize;

    fn name(&self) -> &str {
        &self.name
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(self.named.operations(spec.size))
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<usize, Fault> {
        size(spec)
    }

    fn reference(&self, _: &Spec, size: &usize) -> Result<Digest, Fault> {
        Ok(digest(&self.named.answer(*size)))
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
    type Context = ();
    type Buffer = Case;
    type Output = Answer;

    fn init(&self, _: &Spec) -> Result<(), Fault> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        self.version.to_owned()
    }

    fn reserve(&self, (): &mut (), size: &usize) -> Result<Case, Fault> {
        let made = (self.make)(self.named, *size);
        made.ok_or_else(|| Fault::unavailable(format!("{} has no {}", self.version, self.named)))
    }

    fn stage(&self, (): &mut (), case: &mut Case, _: &usize) -> Result<(), Fault> {
        if let Some(prepare) = &mut case.prepare {
            prepare();
        }
        Ok(())
    }

    fn run(&self, (): &mut (), case: &mut Case, _: &usize) -> Result<Answer, Fault> {
        Ok((case.calls)(1))
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
        Ok(digest(&Named::GetScale.answer(*size)))
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
        Ok((case.calls)(1))
    }

    fn digest(&self, answer: &Answer) -> Digest {
        digest(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::{Shared, Synced};

    fn check<E: Synced + Shared>() {
        for named in Named::every() {
            let mut case = cases::synced::<E>(named, 12).expect("an engine with everything");
            for _ in 0..2 {
                assert_eq!(case.once(), named.answer(12), "{named}");
            }
        }
    }

    #[test]
    fn our_engine_gives_the_answers_that_were_worked_out() {
        check::<Hashmill>();
        assert_eq!(snapshot_reads(12, 2).once(), Named::GetScale.answer(12));
    }
}
