//! `lab.report/2`: the wire form of everything that was measured and concluded.
//!
//! What each session gave is the evidence: a median time for each side, a paired difference for each but the first.
//! Every number under `summary` and `comparisons` can be computed again from them and is, by [`check`](super::check).
//! The samples behind the sessions lie in a file of their own, [`samples`](super::samples), whose hash the report names.
//! The JSON Schema under `schema/` is generated from these types.

use super::columns;
use crate::model::floor::{Bound, Work};
use crate::model::reach::Reach;
use hashmill_machine::{Load, Machine};
use serde::{Deserialize, Serialize};

pub use super::commands::{Commands, Use, Used};
pub use super::instructions::Instructions;
pub use super::layout::Layout;
pub use crate::campaign::Role;
pub use crate::model::engine::Amount;
pub use crate::stats::verdict::Verdict;

/// What stands in [`Report::schema`].
pub const SCHEMA: &str = "lab.report/2";

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Always `lab.report/2`.
    pub schema: String,
    /// Version of the lab that wrote it.
    pub tool: String,
    /// Short unique name of the run.
    pub id: String,
    /// When the run started, in UTC.
    pub created: String,
    /// The command.
    pub command: Vec<String>,
    /// What kind of run.
    pub kind: Kind,
    /// How the run ended.
    pub state: State,
    /// Where it ran.
    pub machine: Machine,
    /// What ran.
    pub builds: Vec<Build>,
    /// How it was measured and decided.
    pub plan: Plan,
    /// Known answers that were computed before anything was timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answers>,
    /// What `lab doctor --noise` had found on this machine before; absent where nobody had asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseCard>,
    /// SHA-256 of the file of samples that was written with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_sha256: Option<String>,
    /// The timing classes of the rows.
    pub classes: Vec<TimingClass>,
    /// What was measured and concluded.
    pub rows: Vec<Row>,
    /// How disturbed the machine was.
    pub quality: Quality,
    /// SHA-256 over this report with an empty seal: an accidental change shows.
    pub seal: String,
}

/// The smallest differences that a machine can prove, from comparisons of identical sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoiseCard {
    /// When the last of them was made, in UTC.
    pub measured: String,
    /// What 40 sessions would prove, as a share of the time, where the data fit a core's own caches.
    pub near: Option<f64>,
    /// The same where they do not.
    pub far: Option<f64>,
    /// Seal of the record of `lab doctor --noise`.
    pub seal: String,
}

/// What kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Rows alone.
    Run,
    /// Engines or cases of one build against each other.
    Engines,
    /// Two builds.
    Builds,
    /// One case for minutes.
    Soak,
    /// Commands, each started as processes of its own.
    Commands,
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It did not: the writer was killed, or is still at work.
    Running,
    /// As planned.
    Complete,
    /// Stopped from outside; what was measured until then is kept.
    Interrupted,
}

/// One program that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// What it was asked for as, such as a revision; `self` for the lab's own program.
    pub label: String,
    /// Revision, directory or program as it was asked for.
    pub source: String,
    /// Commit, where there is one.
    pub commit: Option<String>,
    /// Whether files differed from that commit.
    pub dirty: Option<bool>,
    /// Compiler.
    pub rustc: Option<String>,
    /// Profile and flags that the lab gave to the build.
    pub settings: Vec<String>,
    /// SHA-256 of the lock file.
    pub lock_sha256: Option<String>,
    /// SHA-256 of the program.
    pub program_sha256: String,
    /// Whether its sessions covered the luck of link layout; unknown where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// The known answers of one engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// Whose.
    pub engine: String,
    /// How many were right.
    pub right: usize,
    /// What was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// How it was measured and decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Numbers of sessions at which the data were looked at.
    pub looks: Vec<usize>,
    /// Error that each look may spend.
    pub alpha: Vec<f64>,
    /// Smallest difference that may be claimed.
    pub min_effect: f64,
    /// The same for rows whose data lie far away; as large as `min_effect` where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_effect_far: Option<f64>,
    /// Band of sameness.
    pub same_within: f64,
    /// Fewest sessions for sameness.
    pub same_from: usize,
    /// Smallest difference that may be claimed of builds with one layout each; absent where layouts were many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_layout: Option<f64>,
    /// Version of the rule; 2 where it is absent. Since 3 the intervals, sameness among them, pay for the looks.
    #[serde(default = "second", skip_serializing_if = "is_second")]
    pub rule: u32,
    /// Confidence of the intervals.
    pub level: f64,
    /// Sessions of a row without a comparison.
    pub solo_sessions: usize,
    /// Rounds per session.
    pub rounds: usize,
    /// Untimed samples per side before the first round.
    pub warm_ups: usize,
    /// Intended length of a sample.
    pub sample_ns: u64,
    /// Pause between sessions.
    pub cool_down_ms: u64,
    /// Whether single-threaded sides were kept on one processor per session.
    pub pin: bool,
    /// Seed of inputs and orders.
    pub seed: u64,
    /// Comparisons that share one error budget.
    pub family: usize,
    /// Whether the sides are the same code on purpose.
    pub same_code: bool,
}

impl Build {
    /// Label of the program that measures.
    pub(crate) const SELF: &str = "self";
}

fn second() -> u32 {
    2
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_second(rule: &u32) -> bool {
    *rule == second()
}

/// One contest, or one case alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What a table shows on its left.
    pub title: String,
    /// Name of the timing class of all sides; [`Report::classes`] says what it times.
    pub class: String,
    /// Work of one iteration.
    pub units: Units,
    /// The least work of one iteration, where the workload counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// Whether the data fit the caches of one core; near where it is absent.
    #[serde(default, skip_serializing_if = "Reach::is_near")]
    pub reach: Reach,
    /// Whether all sides shared one process per session.
    pub together: bool,
    /// Rounds per session of this row.
    pub rounds: usize,
    /// Whether it can be trusted.
    pub status: Status,
    /// Who was measured.
    pub sides: Vec<Side>,
    /// One entry per whole session, written as columns.
    #[serde(with = "columns")]
    #[cfg_attr(feature = "schema", schemars(with = "columns::Columns"))]
    pub sessions: Vec<Session>,
    /// Time of each window of a sustained run, of all iterations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows_ns: Vec<u64>,
    /// Sessions whose process ended or hung, and that were taken again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<Retry>,
    /// What follows from the sessions.
    pub comparisons: Vec<Comparison>,
    /// Instructions of its sides, in their order and without controls, where somebody counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instructions>,
    /// What commands used beside their time, where the sides are commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
}

/// What the clock saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TimingClass {
    /// Its name.
    pub name: String,
    /// Phases that were timed.
    pub includes: Vec<String>,
    /// Phases that were not.
    pub excludes: Vec<String>,
}

/// Work of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Units {
    /// `bytes`, `hashes` or `operations`; empty when no session could be opened.
    pub kind: String,
    /// How many.
    pub per_iteration: u64,
}

/// Whether a row can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", content = "why", rename_all = "lowercase")]
pub enum Status {
    /// Measured as planned.
    Ok,
    /// Not finished; what there is, is kept.
    Unfinished,
    /// This machine lacks something.
    Skipped(String),
    /// A wrong result.
    Incorrect(String),
    /// A session failed.
    Failed(String),
}

/// One side of a contest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Short name in this row.
    pub label: String,
    /// Its part.
    pub role: Role,
    /// Index into [`Report::builds`].
    pub build: usize,
    /// The case.
    pub key: String,
    /// Kernel that ran, as the engine names it.
    pub kernel: String,
    /// Iterations per sample.
    pub iterations: u64,
    /// Work of one of its iterations, where that is not the row's: sides are compared by the time for the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units_per_iteration: Option<u64>,
    /// What it computed.
    pub digest: String,
    /// What is right, where that is something else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// Median time of an iteration in each session, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_ns: Vec<f64>,
    /// Paired log ratio of the first side's time to its own in each session, above zero where it is faster; empty for the
    /// first side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<f64>,
    /// What was counted of it, once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amounts: Vec<Amount>,
    /// What its sessions say.
    pub summary: Option<Summary>,
    /// How far that is from what the machine can do, where its limits were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
}

/// The shortest time that the machine's limits allow for an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// The limit that allows the least.
    pub bound: Bound,
    /// The time that it would take if nothing else did.
    pub ns: f64,
    /// That over the median time of the side: 1 is all that the machine can do.
    pub share: f64,
}

/// What the sessions of one side say, in nanoseconds per iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Median of the session medians.
    pub median_ns: f64,
    /// Exact interval of that median; absent with fewer than eight sessions.
    pub interval_ns: Option<[f64; 2]>,
}

/// The memory of one session, where the case is large enough for it to matter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Session {
    /// Bytes of its processes in huge pages.
    pub huge_bytes: Option<u64>,
    /// Bytes of its processes in memory, in pages of any size.
    pub resident_bytes: Option<u64>,
    /// Bytes of its processes in pages that were reserved as huge ones; the other huge pages are transparent.
    pub reserved_bytes: Option<u64>,
    /// Bytes of its processes in reserved pages of 1 GiB and more; the other reserved ones have 2 MiB or so.
    pub gigantic_bytes: Option<u64>,
}

/// A session that was lost and taken again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Which.
    pub session: usize,
    /// How its process ended.
    pub why: String,
}

/// One side against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Index of the side in [`Row::sides`].
    pub side: usize,
    /// Sessions that contributed.
    pub sessions: usize,
    /// The baseline's time over its own: above 1, it is faster.
    pub ratio: f64,
    /// 99 % interval of the ratio.
    pub interval: Option<[f64; 2]>,
    /// Exact signed-rank p of all sessions, looked at once.
    pub p: f64,
    /// The same, corrected for looks and family.
    pub p_family: f64,
    /// Robust standard deviation of the session log ratios.
    pub spread: f64,
    /// The decision.
    pub verdict: Verdict,
    /// Sessions that would settle an inconclusive one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_needed: Option<u64>,
}

/// How disturbed the machine was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// At the start.
    pub before: Load,
    /// At the end.
    pub after: Load,
    /// Time between the two.
    pub elapsed_ms: u64,
    /// What a reader should know; flags never remove samples.
    pub flags: Vec<String>,
}

impl Row {
    /// Whether it has a side, and each of those that its comparisons name.
    pub(super) fn is_whole(&self) -> bool {
        let known = |comparison: &Comparison| (1..self.sides.len()).contains(&comparison.side);
        !self.sides.is_empty() && self.comparisons.iter().all(known)
    }
}

impl Report {
    /// The seal that belongs to the rest of the report.
    #[must_use]
    pub fn compute_seal(&self) -> String {
        let unsealed = Report { seal: String::new(), ..self.clone() };
        let text = serde_json::to_vec(&unsealed).expect("a report is plain data");
        crate::fingerprint::sha256_hex(&text)
    }

    /// The schema of these types as JSON Schema.
    #[cfg(feature = "schema")]
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(Report).into()
    }
}
