//! Timing classes: which phases are timed, and where the input is when the clock starts.
//!
//! The names are those of published methodologies. A class is one row of `TABLE`. The text on what a row includes and
//! excludes is generated from the row, so it cannot disagree with what was timed.
//!
//! The timed phases of a class are consecutive. Everything before the first one happens outside the clock: `init` and
//! `reserve` once per session, `stage` once per sample, so that a workload with growing state cannot carry it from
//! one sample to the next.

use std::fmt;
use std::str::FromStr;

/// Step of using an engine, in call order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The workload makes its input. No class times it.
    Prepare,
    /// Contexts, thread pools, pipelines.
    Init,
    /// Buffers for one input.
    Reserve,
    /// The input is put where the engine reads it.
    Stage,
    /// The work.
    Run,
    /// The result is read out.
    Digest,
}

impl Phase {
    /// All phases in order.
    pub const ALL: [Phase; 6] =
        [Phase::Prepare, Phase::Init, Phase::Reserve, Phase::Stage, Phase::Run, Phase::Digest];

    /// Name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prepare => "prepare",
            Phase::Init => "init",
            Phase::Reserve => "reserve",
            Phase::Stage => "stage",
            Phase::Run => "run",
            Phase::Digest => "digest",
        }
    }

    fn description(self, input_location: InputLocation) -> &'static str {
        match (self, input_location) {
            (Phase::Prepare, InputLocation::Process) => "--prepare, and opening files for it",
            (Phase::Init, InputLocation::Process) => "starting a process",
            (Phase::Reserve, InputLocation::Process) => "loading the program",
            (Phase::Stage, InputLocation::Process) => "reading its input",
            (Phase::Run, InputLocation::Process) => "the work, until the process ends",
            (Phase::Digest, InputLocation::Process) => "the digest of what it printed",
            (Phase::Prepare, InputLocation::File) => "making the input and its file",
            (Phase::Prepare, _) => "making the input",
            (Phase::Init, _) => "starting contexts, pools and pipelines",
            (Phase::Reserve, InputLocation::File) => "opening the file and allocating buffers",
            (Phase::Reserve, _) => "allocating buffers",
            (Phase::Stage, InputLocation::File) => "mapping or first reading of the file",
            (Phase::Stage, InputLocation::Host) => "handing the input over",
            (Phase::Run, _) => "the work",
            (Phase::Digest, _) => "reading the result",
        }
    }
}

/// Location of the input when `run` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputLocation {
    /// Ordinary memory of the process.
    Host,
    /// A file.
    File,
    /// Read by a separate process.
    Process,
}

/// How a class is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Many iterations per sample, after warm-up.
    Batched,
    /// One iteration without warm-up, once per process.
    Cold,
    /// Iterations for a given time, recorded in windows.
    Sustained,
}

/// Row of the table of classes.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: &'static str,
    first: Phase,
    last: Phase,
    input_location: InputLocation,
    sampling: Sampling,
    purpose: &'static str,
}

#[rustfmt::skip]
static TABLE: [Row; 9] = [
    row("kernel",           Phase::Run,     Phase::Run,    InputLocation::Host,    "only the inner work, on prepared input"),
    row("kernel-effective", Phase::Run,     Phase::Digest, InputLocation::Host,    "the inner work, and reading its result"),
    row("backend",          Phase::Stage,   Phase::Digest, InputLocation::Host,    "persistent workers, fed and drained"),
    row("oneshot",          Phase::Reserve, Phase::Digest, InputLocation::Host,    "one call of the public function"),
    row("file",             Phase::Reserve, Phase::Digest, InputLocation::File,    "from the file's name to the result"),
    row("end-to-end",       Phase::Init,    Phase::Digest, InputLocation::Host,    "everything started and stopped around each call"),
    row("process",          Phase::Init,    Phase::Run,    InputLocation::Process, "a command, from its start to its end"),
    Row { sampling: Sampling::Cold,
        ..row("cold",       Phase::Init,    Phase::Digest, InputLocation::Host,    "the first call of a fresh process") },
    Row { sampling: Sampling::Sustained,
        ..row("sustained",  Phase::Stage,   Phase::Digest, InputLocation::Host,    "repeated calls for minutes") },
];

const fn row(
    name: &'static str,
    first: Phase,
    last: Phase,
    input_location: InputLocation,
    purpose: &'static str,
) -> Row {
    Row { name, first, last, input_location, sampling: Sampling::Batched, purpose }
}

/// Timing class. Two rows may be compared only if their classes are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    row: &'static Row,
    /// How the file is read; only for the class `file`.
    strategy: Option<String>,
}

/// Error in the name of a class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClassError {
    /// No such row.
    #[error("there is no timing class `{name}`{hint}; the classes are {}", Class::names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// Suggestion with the nearest name.
        hint: String,
    },
    /// `file` needs a strategy.
    #[error("the class `file` needs a strategy, such as `file:mmap`")]
    NoStrategy,
    /// Only `file` has strategies.
    #[error("the class `{0}` has no strategies")]
    StrategyRefused(&'static str),
}

impl Class {
    /// The names of all classes; `file` stands for `file:<strategy>`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|row| row.name)
    }

    /// Whether the clock runs during `phase`.
    #[must_use]
    pub fn times(&self, phase: Phase) -> bool {
        (self.row.first..=self.row.last).contains(&phase)
    }

    /// The first timed phase.
    #[must_use]
    pub fn first(&self) -> Phase {
        self.row.first
    }

    /// Location of the input when the work starts.
    #[must_use]
    pub fn input_location(&self) -> InputLocation {
        self.row.input_location
    }

    /// Sampling method.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        self.row.sampling
    }

    /// How the file is read, for the class `file`.
    #[must_use]
    pub fn strategy(&self) -> Option<&str> {
        self.strategy.as_deref()
    }

    /// Purpose in a few words.
    #[must_use]
    pub fn purpose(&self) -> &'static str {
        self.row.purpose
    }

    /// Timed phases, as text.
    #[must_use]
    pub fn includes(&self) -> Vec<String> {
        self.describe(true)
    }

    /// Untimed phases, as text.
    #[must_use]
    pub fn excludes(&self) -> Vec<String> {
        self.describe(false)
    }

    fn describe(&self, timed: bool) -> Vec<String> {
        let phases = Phase::ALL.into_iter().filter(|phase| self.times(*phase) == timed);
        phases
            .map(|phase| format!("{}: {}", phase.name(), phase.description(self.row.input_location)))
            .collect()
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.strategy {
            Some(strategy) => write!(f, "{}:{strategy}", self.row.name),
            None => f.write_str(self.row.name),
        }
    }
}

impl FromStr for Class {
    type Err = ClassError;

    fn from_str(text: &str) -> Result<Self, ClassError> {
        let (name, strategy) = match text.split_once(':') {
            Some((name, strategy)) => (name, Some(strategy).filter(|s| !s.is_empty())),
            None => (text, None),
        };
        let Some(row) = TABLE.iter().find(|row| row.name == name) else {
            let hint = super::select::hint(name, Class::names());
            return Err(ClassError::Unknown { name: name.to_owned(), hint });
        };
        match (row.input_location, strategy) {
            (InputLocation::File, None) => Err(ClassError::NoStrategy),
            (InputLocation::File, Some(strategy)) => Ok(Class { row, strategy: Some(strategy.to_owned()) }),
            (_, Some(_)) => Err(ClassError::StrategyRefused(row.name)),
            (_, None) => Ok(Class { row, strategy: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_name_is_a_class_and_prints_as_it_parses() {
        let published = "kernel kernel-effective oneshot backend end-to-end process file:read file:mmap \
                         file:mmap-parallel cold sustained";
        for name in published.split_whitespace() {
            let class: Class = name.parse().expect(name);
            assert_eq!(class.to_string(), name);
        }
    }

    #[test]
    fn the_text_follows_the_row() {
        let class: Class = "backend".parse().expect("a class");
        assert_eq!(
            class.includes(),
            ["stage: handing the input over", "run: the work", "digest: reading the result"]
        );
        assert_eq!(
            class.excludes(),
            [
                "prepare: making the input",
                "init: starting contexts, pools and pipelines",
                "reserve: allocating buffers"
            ]
        );
    }

    #[test]
    fn every_phase_is_either_included_or_excluded_and_prepare_never_included() {
        for name in Class::names() {
            let text = if name == "file" { "file:read".to_owned() } else { name.to_owned() };
            let class: Class = text.parse().expect("a class");
            assert_eq!(class.includes().len() + class.excludes().len(), Phase::ALL.len());
            assert!(!class.times(Phase::Prepare), "{name}");
            assert!(class.times(Phase::Run), "{name}");
        }
    }

    #[test]
    fn wrong_names_are_refused_with_the_nearest() {
        let unknown = "kernal".parse::<Class>().expect_err("misspelt").to_string();
        assert!(unknown.contains("did you mean `kernel`?"), "{unknown}");
        assert_eq!("file".parse::<Class>(), Err(ClassError::NoStrategy));
        assert_eq!("kernel:fast".parse::<Class>(), Err(ClassError::StrategyRefused("kernel")));
    }
}
