//! The engines that can be measured, by their names.

#[cfg(feature = "doc-engines")]
pub mod diamond;
#[cfg(feature = "doc-engines")]
pub mod loro;
pub mod official;
#[cfg(feature = "doc-engines")]
pub mod yrs;

use std::any::Any;
use std::rc::Rc;

use hashmill_testkit::Trace;
use hashmill_workloads::doc::{self, Hashmill, Shared, Synced, Texts};
#[cfg(feature = "doc-engines")]
use hashmill_workloads::doc::{Objects, Past};

use super::fixtures::{Fixtures, replay};
use super::row::{Commits, Row};
use super::work::{self, Made};

/// The name of our engine.
pub const OURS: &str = "hashmill";

/// Every engine that this build has, ours first.
pub const ALL: &[Engine] = &[
    Engine { name: OURS, version: Hashmill::NAME, does: &Everything::<Hashmill>::NEW },
    Engine {
        name: "automerge",
        version: official::Official::NAME,
        does: &Everything::<official::Official>::NEW,
    },
    #[cfg(feature = "doc-engines")]
    Engine { name: "loro", version: loro::Loro::NAME, does: &Recalled::<loro::Loro>::NEW },
    #[cfg(feature = "doc-engines")]
    Engine { name: "yrs", version: yrs::Yrs::NAME, does: &Present::<yrs::Yrs>::NEW },
    #[cfg(feature = "doc-engines")]
    Engine { name: "diamond-types", version: diamond::Diamond::NAME, does: &Words::<diamond::Diamond>::NEW },
];

/// An engine by its name.
pub struct Engine {
    /// Its name in files and flags.
    pub name: &'static str,
    /// With its version.
    pub version: &'static str,
    does: &'static dyn Does,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.version)
    }
}

/// What can be asked of an engine whose type nobody knows any more.
trait Does: Sync {
    fn case(&self, row: &Row, fixtures: &mut Fixtures) -> Made;
    fn saved(&self, trace: &str, commits: Commits, fixtures: &mut Fixtures) -> Result<Rc<Vec<u8>>, String>;
    fn replayed(&self, trace: &Trace, commits: Commits) -> Box<dyn Any>;
    fn loaded(&self, bytes: &[u8]) -> Box<dyn Any>;
}

/// How much of the workloads an engine has: text alone, maps and lists too, the past too, all.
macro_rules! extent {
    ($name:ident, $($bound:path),+; $named:path) => {
        struct $name<E>(std::marker::PhantomData<fn() -> E>);

        impl<E> $name<E> {
            const NEW: Self = Self(std::marker::PhantomData);
        }

        impl<E: $($bound +)+> Does for $name<E> {
            fn case(&self, row: &Row, fixtures: &mut Fixtures) -> Made {
                match *row {
                    Row::Named(named, size) => Ok($named(named, size)),
                    _ => recorded::<E>(row, fixtures),
                }
            }
            fn saved(&self, trace: &str, commits: Commits, fixtures: &mut Fixtures) -> Result<Rc<Vec<u8>>, String> {
                fixtures.saved::<E>(trace, commits)
            }
            fn replayed(&self, trace: &Trace, commits: Commits) -> Box<dyn Any> {
                let mut doc = replay::<E>(trace, commits);
                doc.settle();
                Box::new(doc)
            }
            fn loaded(&self, bytes: &[u8]) -> Box<dyn Any> {
                Box::new(E::load(bytes))
            }
        }
    };
}

#[cfg(feature = "doc-engines")]
extent!(Words, Shared; doc::words::<E>);
#[cfg(feature = "doc-engines")]
extent!(Present, Objects, Shared; doc::present::<E>);
#[cfg(feature = "doc-engines")]
extent!(Recalled, Past, Shared; doc::all::<E>);
extent!(Everything, Synced, Shared; doc::synced::<E>);

fn recorded<E: Shared>(row: &Row, fixtures: &mut Fixtures) -> Made {
    match work::texts::<E>(row, fixtures)? {
        None => work::shared::<E>(row, fixtures),
        made => Ok(made),
    }
}

fn named(name: &str) -> Option<&'static dyn Does> {
    ALL.iter().find(|engine| engine.name == name).map(|engine| engine.does)
}

/// The name of our engine where it is held to one thread, as a rival of itself with two.
const ONE_THREAD: &str = "one-thread";

/// What writes JSON beside ours.
const SERDE: &str = "serde_json";

/// The memory that a loaded document of ours holds, as a rival of the most that its load needed.
pub(super) const HELD: &str = "held";

/// A workload of the engine `name`; none where the engine or the workload is not there.
pub fn case(name: &str, row: &Row, fixtures: &mut Fixtures) -> Made {
    if let Row::SnapshotReads(keys) = *row {
        return match name {
            OURS => Ok(Some(doc::snapshot_reads(keys, 2))),
            ONE_THREAD => Ok(Some(doc::snapshot_reads(keys, 1))),
            _ => Ok(None),
        };
    }
    if let Row::JsonWrite(records) = *row {
        return match name {
            OURS => Ok(Some(doc::json_write(doc::JsonWriter::Hashmill, records))),
            SERDE => Ok(Some(doc::json_write(doc::JsonWriter::Serde, records))),
            _ => Ok(None),
        };
    }
    named(name).map_or(Ok(None), |engine| engine.case(row, fixtures))
}

/// A recording as the engine `name` saves it.
pub fn saved(
    name: &str,
    trace: &str,
    commits: Commits,
    fixtures: &mut Fixtures,
) -> Result<Rc<Vec<u8>>, String> {
    named(name).ok_or_else(|| format!("there is no engine {name:?}"))?.saved(trace, commits, fixtures)
}

/// A document of the engine `name` into which a recording was typed.
pub fn replayed(name: &str, trace: &Trace, commits: Commits) -> Option<Box<dyn Any>> {
    named(name).map(|engine| engine.replayed(trace, commits))
}

/// A document that the engine `name` loaded.
pub fn loaded(name: &str, bytes: &[u8]) -> Option<Box<dyn Any>> {
    named(name).map(|engine| engine.loaded(bytes))
}
