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

pub(crate) use super::commands::Commands;
pub(crate) use super::instructions::Instructions;
pub(crate) use super::layout::Layout;
pub(crate) use crate::campaign::Role;
pub(crate) use crate::model::engine::Amount;
pub(crate) use crate::session::protocol::Memory;
pub(crate) use crate::stats::layout::Moved;
pub(crate) use crate::stats::verdict::Verdict;

/// What stands in [`Report::schema`].
pub(crate) const SCHEMA: &str = "lab.report/2";

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// Always `lab.report/2`.
    pub(crate) schema: String,
    /// Version of the lab that wrote it.
    pub(crate) tool: String,
    /// Short unique name of the run.
    pub(crate) id: String,
    /// When the run started, in UTC.
    pub(crate) created: String,
    /// The command.
    pub(crate) command: Vec<String>,
    /// What kind of run.
    pub(crate) kind: Kind,
    /// How the run ended.
    pub(crate) state: State,
    /// Where it ran.
    pub(crate) machine: Machine,
    /// What ran.
    pub(crate) builds: Vec<Build>,
    /// How it was measured and decided.
    pub(crate) plan: Plan,
    /// Known answers that were computed before anything was timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answers: Vec<Answers>,
    /// What `lab doctor --noise` had found on this machine before; absent where nobody had asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<NoiseCard>,
    /// SHA-256 of the file of samples that was written with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) samples_sha256: Option<String>,
    /// The timing classes of the rows.
    pub(crate) classes: Vec<TimingClass>,
    /// What was measured and concluded.
    pub(crate) rows: Vec<Row>,
    /// How disturbed the machine was.
    pub(crate) quality: Quality,
    /// SHA-256 over this report with an empty seal: an accidental change shows.
    pub(crate) seal: String,
}

/// The smallest differences that a machine can prove, from comparisons of identical sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NoiseCard {
    /// When the last of them was made, in UTC.
    pub(crate) measured: String,
    /// What 40 sessions would prove, as a share of the time, where the data fit a core's own caches.
    pub(crate) near: Option<f64>,
    /// The same where they do not.
    pub(crate) far: Option<f64>,
    /// Seal of the record of `lab doctor --noise`.
    pub(crate) seal: String,
}

/// What kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
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
pub(crate) enum State {
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
pub(crate) struct Answers {
    /// Whose.
    pub(crate) engine: String,
    /// How many were right.
    pub(crate) right: usize,
    /// What was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wrong: Option<String>,
}

/// How it was measured and decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// Numbers of sessions at which the data were looked at.
    pub(crate) looks: Vec<usize>,
    /// Error that each look may spend.
    pub(crate) alpha: Vec<f64>,
    /// Smallest difference that may be claimed.
    pub(crate) min_effect: f64,
    /// The same for rows whose data lie far away; as large as `min_effect` where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_effect_far: Option<f64>,
    /// Band of sameness.
    pub(crate) same_within: f64,
    /// Fewest sessions for sameness.
    pub(crate) same_from: usize,
    /// Smallest difference that may be claimed of builds with one layout each, in rows of which no more is known; absent where
    /// layouts were many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fixed_layout: Option<f64>,
    /// Version of the rule; 2 where it is absent. Since 3 the intervals, sameness among them, pay for the looks.
    #[serde(default = "second", skip_serializing_if = "is_second")]
    pub(crate) rule: u32,
    /// Confidence of the intervals.
    pub(crate) level: f64,
    /// Sessions of a row without a comparison.
    pub(crate) solo_sessions: usize,
    /// Rounds per session.
    pub(crate) rounds: usize,
    /// Untimed samples per side before the first round.
    pub(crate) warm_ups: usize,
    /// Intended length of a sample.
    pub(crate) sample_ns: u64,
    /// Pause between sessions.
    pub(crate) cool_down_ms: u64,
    /// Whether single-threaded sides were kept on one processor per session.
    pub(crate) pin: bool,
    /// Seed of inputs and orders.
    pub(crate) seed: u64,
    /// Comparisons that share one error budget.
    pub(crate) family: usize,
    /// Whether the sides are the same code on purpose.
    pub(crate) same_code: bool,
}

impl Side {
    /// Iterations per sample in a session.
    pub(crate) fn iterations_in(&self, session: usize) -> u64 {
        self.session_iterations.get(session).copied().unwrap_or(self.iterations)
    }
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
pub(crate) struct Row {
    /// What a table shows on its left.
    pub(crate) title: String,
    /// Name of the timing class of all sides; [`Report::classes`] says what it times.
    pub(crate) class: String,
    /// Work of one iteration.
    pub(crate) units: Units,
    /// The least work of one iteration, where the workload counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) work: Option<Work>,
    /// Whether the data fit the caches of one core; near where it is absent.
    #[serde(default, skip_serializing_if = "Reach::is_near")]
    pub(crate) reach: Reach,
    /// What layouts did to it before, where its sides have one link each; the plan says what counts where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) layouts: Option<Moved>,
    /// Whether all sides shared one process per session.
    pub(crate) together: bool,
    /// Rounds per session of this row.
    pub(crate) rounds: usize,
    /// Whether it can be trusted.
    pub(crate) status: Status,
    /// Who was measured.
    pub(crate) sides: Vec<Side>,
    /// One entry per whole session, written as columns.
    #[serde(with = "columns")]
    #[cfg_attr(feature = "schema", schemars(with = "columns::Columns"))]
    pub(crate) sessions: Vec<Memory>,
    /// Time of each window of a sustained run, of all iterations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) windows_ns: Vec<u64>,
    /// Sessions whose process ended or hung, and that were taken again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) retried: Vec<Retry>,
    /// What follows from the sessions.
    pub(crate) comparisons: Vec<Comparison>,
    /// Instructions of its sides, in their order and without controls, where somebody counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) instructions: Vec<Instructions>,
    /// What commands used beside their time, where the sides are commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commands: Option<Commands>,
}

/// What the clock saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TimingClass {
    /// Its name.
    pub(crate) name: String,
    /// Phases that were timed.
    pub(crate) includes: Vec<String>,
    /// Phases that were not.
    pub(crate) excludes: Vec<String>,
}

/// Work of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Units {
    /// `bytes`, `hashes` or `operations`; empty when no session could be opened.
    pub(crate) kind: String,
    /// How many.
    pub(crate) per_iteration: u64,
}

/// Whether a row can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", content = "why", rename_all = "lowercase")]
pub(crate) enum Status {
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
pub(crate) struct Side {
    /// Short name in this row.
    pub(crate) label: String,
    /// Its part.
    pub(crate) role: Role,
    /// Index into [`Report::builds`].
    pub(crate) build: usize,
    /// The case.
    pub(crate) key: String,
    /// Kernel that ran, as the engine names it.
    pub(crate) kernel: String,
    /// Iterations per sample, in the last session where they changed.
    pub(crate) iterations: u64,
    /// Iterations per sample in each session; absent where they were always the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) session_iterations: Vec<u64>,
    /// Work of one of its iterations, where that is not the row's: sides are compared by the time for the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) units_per_iteration: Option<u64>,
    /// What it computed.
    pub(crate) digest: String,
    /// What is right, where that is something else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reference: String,
    /// Median time of an iteration in each session, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) session_ns: Vec<f64>,
    /// Paired log ratio of the first side's time to its own in each session, above zero where it is faster; empty for the
    /// first side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) deltas: Vec<f64>,
    /// What was counted of it, once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) amounts: Vec<Amount>,
    /// What its sessions say.
    pub(crate) summary: Option<Summary>,
    /// How far that is from what the machine can do, where its limits were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) floor: Option<Floor>,
}

/// The shortest time that the machine's limits allow for an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Floor {
    /// The limit that allows the least.
    pub(crate) bound: Bound,
    /// The time that it would take if nothing else did.
    pub(crate) ns: f64,
    /// That over the median time of the side: 1 is all that the machine can do.
    pub(crate) share: f64,
}

/// What the sessions of one side say, in nanoseconds per iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Summary {
    /// Median of the session medians.
    pub(crate) median_ns: f64,
    /// Exact interval of that median; absent with fewer than eight sessions.
    pub(crate) interval_ns: Option<[f64; 2]>,
}

/// A session that was lost and taken again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Retry {
    /// Which.
    pub(crate) session: usize,
    /// How its process ended.
    pub(crate) why: String,
}

/// One side against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Comparison {
    /// Index of the side in [`Row::sides`].
    pub(crate) side: usize,
    /// Sessions that contributed.
    pub(crate) sessions: usize,
    /// The baseline's time over its own: above 1, it is faster.
    pub(crate) ratio: f64,
    /// 99 % interval of the ratio.
    pub(crate) interval: Option<[f64; 2]>,
    /// Exact signed-rank p of all sessions, looked at once.
    pub(crate) p: f64,
    /// The same, corrected for looks and family.
    pub(crate) p_family: f64,
    /// Robust standard deviation of the session log ratios.
    pub(crate) spread: f64,
    /// The decision.
    pub(crate) verdict: Verdict,
    /// Sessions that would settle an inconclusive one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sessions_needed: Option<u64>,
}

/// How disturbed the machine was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Quality {
    /// At the start.
    pub(crate) before: Load,
    /// At the end.
    pub(crate) after: Load,
    /// Time between the two.
    pub(crate) elapsed_ms: u64,
    /// What a reader should know; flags never remove samples.
    pub(crate) flags: Vec<String>,
}

impl Row {
    /// Whether it has a side, and each of those that its comparisons name.
    pub(super) fn is_whole(&self) -> bool {
        let known = |comparison: &Comparison| (1..self.sides.len()).contains(&comparison.side);
        !self.sides.is_empty() && self.comparisons.iter().all(known)
    }

    /// What was found of its sides in a role.
    pub(crate) fn found(&self, role: Role) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |found| self.sides[found.side].role == role)
    }
}

impl Report {
    /// The seal that belongs to the rest of the report.
    pub(crate) fn compute_seal(&self) -> String {
        let unsealed = Report { seal: String::new(), ..self.clone() };
        let text = serde_json::to_vec(&unsealed).expect("a report is plain data");
        crate::fingerprint::sha256_hex(&text)
    }
}
