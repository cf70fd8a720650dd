//! Registration of document workloads in the lab.

use super::case::{Answer, Case};
use super::cases;
use super::hashmill::{Hashmill, snapshot_reads};
use super::json;
use super::spec::{digest, offer, size};
use crate::doc::workload_names::WorkloadName;
use crate::thread_counts;
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::registry::Registry;
use hashmill_lab::model::units::Units;

/// Constructor of an engine's case, `None` if the engine lacks the workload.
pub type Make = fn(WorkloadName, usize) -> Option<Case>;

/// Registers all workloads with Hashmill's engine.
pub(crate) fn register(registry: &mut Registry) {
    for named in WorkloadName::every() {
        registry.workload(Work::new(named), named.sizes()).engine(
            "hashmill",
            DocEngineCase { named, make: cases::sync_case::<Hashmill>, version: "hashmill" },
            offer(),
        );
    }
    registry
        .workload(Snapshot, &[1_000_000])
        .engine("hashmill", Readers { most: usize::MAX }, offer().threads(thread_counts()))
        .engine("one-thread", Readers { most: 1 }, offer().threads(thread_counts()));
    json::register(registry);
}

/// Registers another engine for the workloads of `has`.
pub fn more_engines(
    registry: &mut Registry,
    name: &str,
    version: &'static str,
    make: Make,
    has: fn(WorkloadName) -> bool,
) {
    for named in WorkloadName::every().filter(|named| has(*named)) {
        registry.more_engines(&Work::new(named).name).engine(
            name,
            DocEngineCase { named, make, version },
            offer(),
        );
    }
}

/// One workload; the size is the number after its name.
struct Work {
    named: WorkloadName,
    name: String,
}

impl Work {
    fn new(named: WorkloadName) -> Self {
        Work { named, name: format!("doc-{named}") }
    }
}

impl Workload for Work {
    /// The position that a call reads.
    type Input = usize;

    fn name(&self) -> &str {
        &self.name
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(self.named.operations(spec.size))
    }

    /// Several positions: with one, the branch predictor would learn the path through the document.
    fn inputs(&self, _: &Spec) -> usize {
        if self.named.reads_one_position() { usize::MAX } else { 1 }
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<usize, CaseError> {
        Ok((seed % size(spec)? as u64) as usize)
    }

    fn reference(&self, spec: &Spec, position: &usize) -> Result<Digest, CaseError> {
        Ok(digest(&self.named.answer(size(spec)?, *position)))
    }
}

/// An engine at one workload.
struct DocEngineCase {
    named: WorkloadName,
    make: Make,
    version: &'static str,
}

impl Engine for DocEngineCase {
    type Input = usize;
    /// The document, for all positions.
    type Context = Case;
    type Buffer = ();
    type Output = Answer;

    fn init(&self, spec: &Spec) -> Result<Case, CaseError> {
        let case = (self.make)(self.named, size(spec)?);
        case.ok_or_else(|| CaseError::unavailable(format!("{} has no {}", self.version, self.named)))
    }

    fn kernel(&self, _: &Case) -> String {
        self.version.to_owned()
    }

    fn reserve(&self, _: &mut Case, _: &usize) -> Result<(), CaseError> {
        Ok(())
    }

    fn stage(&self, case: &mut Case, (): &mut (), _: &usize) -> Result<(), CaseError> {
        if let Some(prepare) = &mut case.prepare {
            prepare();
        }
        Ok(())
    }

    fn run(&self, case: &mut Case, (): &mut (), position: &usize) -> Result<Answer, CaseError> {
        Ok((case.call)(*position))
    }

    fn digest(&self, answer: &Answer) -> Digest {
        digest(answer)
    }

    fn consumes(&self) -> bool {
        self.named.is_prepared()
    }
}

/// All keys of a map, read on a snapshot, divided between threads.
struct Snapshot;

impl Workload for Snapshot {
    type Input = usize;

    fn name(&self) -> &'static str {
        "doc-snapshot_reads"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Operations(spec.size)
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<usize, CaseError> {
        size(spec)
    }

    fn reference(&self, _: &Spec, size: &usize) -> Result<Digest, CaseError> {
        Ok(digest(&WorkloadName::GetScale.answer(*size, 0)))
    }
}

/// Readers on the number of threads of the case, limited to the available ones.
struct Readers {
    most: usize,
}

impl Engine for Readers {
    type Input = usize;
    type Context = usize;
    type Buffer = Case;
    type Output = Answer;

    fn init(&self, spec: &Spec) -> Result<usize, CaseError> {
        Ok(self.most.min(spec.threads as usize))
    }

    fn kernel(&self, _: &usize) -> String {
        "hashmill".to_owned()
    }

    fn reserve(&self, threads: &mut usize, size: &usize) -> Result<Case, CaseError> {
        Ok(snapshot_reads(*size, *threads))
    }

    fn run(&self, _: &mut usize, case: &mut Case, _: &usize) -> Result<Answer, CaseError> {
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
        for named in WorkloadName::every() {
            let mut case = cases::sync_case::<E>(named, 12).expect("an engine with everything");
            for position in [6, 6, 0, 11] {
                assert_eq!(case.once(position), named.answer(12, position), "{named}");
            }
        }
    }

    #[test]
    fn engine_gives_the_expected_answers() {
        check::<Hashmill>();
        assert_eq!(snapshot_reads(12, 2).once(0), WorkloadName::GetScale.answer(12, 0));
    }

    #[test]
    fn positions_differ_and_are_in_the_document() {
        let work = Work::new(WorkloadName::MapGet);
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
        assert_eq!(Work::new(WorkloadName::Save).inputs(&spec), 1);
    }
}
