//! A world to run: everything that happens in it follows from its scenario.

mod knobs;
mod reduce;
mod streams;

use std::fmt;

use hashmill_testkit::Rng;

use super::client::Generation;

pub(super) use knobs::Knobs;
pub(super) use reduce::reduce;
pub(super) use streams::Streams;

/// A seed, and what was left out of its world to explain a violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    /// The numbers of the operations that take place, ascending. `None`: all.
    pub(super) operations: Option<Vec<usize>>,
    /// The names of the [`SIMPLIFICATIONS`] of the knobs.
    pub(super) simplified: Vec<&'static str>,
}

type Simplification = (&'static str, fn(&mut Knobs));

/// Ways to make a world simpler.
pub(super) const SIMPLIFICATIONS: [Simplification; 15] = [
    ("newest clients", |knobs| knobs.generations.fill(Generation::Newest)),
    ("no failed writes", |knobs| knobs.failed_writes = 0),
    ("no unknown writes", |knobs| knobs.unknown_writes = 0),
    ("no failed loads", |knobs| knobs.failed_loads = 0),
    ("no damaged loads", |knobs| knobs.damaged_loads = 0),
    ("no torn writes", |knobs| knobs.tears = false),
    ("short values", |knobs| knobs.value_bytes = knobs.value_bytes.min(8)),
    ("a fast network", |knobs| knobs.network_ms = 0),
    ("a fast disk", |knobs| knobs.disk_ms = 0),
    ("fast jobs", |knobs| knobs.work_ms = 0),
    ("own rights", |knobs| knobs.has_remote_rights = false),
    ("no failed answers", |knobs| knobs.failed_answers = 0),
    ("fast answers", |knobs| knobs.answer_ms = 0),
    ("no jobs", |knobs| knobs.config.inline_bytes = usize::MAX),
    ("no compaction", |knobs| knobs.config.max_chunks = usize::MAX),
];

impl Scenario {
    /// The whole world of a seed.
    pub(super) fn new(seed: u64) -> Scenario {
        Scenario { seed, operations: None, simplified: Vec::new() }
    }

    pub(super) fn knobs(&self) -> Knobs {
        let mut knobs = Knobs::draw(&mut Rng::new(self.seed));
        for (name, simplify) in SIMPLIFICATIONS {
            if self.simplified.contains(&name) {
                simplify(&mut knobs);
            }
        }
        knobs
    }

    /// Does this operation take place?
    pub(super) fn has_operation(&self, number: usize) -> bool {
        self.operations.as_ref().is_none_or(|operations| operations.binary_search(&number).is_ok())
    }
}

/// As in Rust, to run it again.
impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scenario { seed, operations, simplified } = self;
        write!(f, "Scenario {{ seed: {seed}, operations: ")?;
        match operations {
            Some(operations) => write!(f, "Some(vec!{operations:?})")?,
            None => f.write_str("None")?,
        }
        write!(f, ", simplified: vec!{simplified:?} }}")
    }
}
