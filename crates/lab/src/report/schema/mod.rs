//! `lab.report/2`: wire format of all measurements and conclusions.
//!
//! The evidence is what each session measured: a median time for each side, and a paired difference for each side but
//! the first. All numbers under `summary` and `comparisons` can be computed from this, and [`check`](super::check)
//! does so. The samples of the sessions are in a separate file, [`samples`](crate::report::documents::samples); the
//! report stores its hash. The JSON Schema under `schema/` is generated from these types.

mod column_encoding;
pub(crate) mod commands;

use crate::model::lower_bound::{BoundKind, MinimalWork};
use crate::stats::cache_level::CacheLevel;
use hashmill_machine::{Load, Machine};
use serde::{Deserialize, Serialize};

pub(crate) use crate::measure::campaign::Role;
pub(crate) use crate::measure::session::protocol::Memory;
pub(crate) use crate::model::engine::Amount;
pub(crate) use crate::stats::layout::LayoutEffect;
pub(crate) use crate::stats::verdict::Verdict;
pub(crate) use commands::Commands;

/// Value of [`Report::schema`].
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
    /// Time of the start, in UTC.
    pub(crate) created: String,
    /// Command line.
    pub(crate) command: Vec<String>,
    /// Kind of run.
    pub(crate) kind: Kind,
    /// Final state of the run.
    pub(crate) state: State,
    /// Machine.
    pub(crate) machine: Machine,
    /// Builds that ran.
    pub(crate) builds: Vec<Build>,
    /// Plan of measurement and decision rule.
    pub(crate) plan: Plan,
    /// Test vectors that were computed before the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answers: Vec<Answers>,
    /// Result of an earlier `lab doctor --noise` on this machine; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<NoiseCard>,
    /// SHA-256 of the samples file written with the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) samples_sha256: Option<String>,
    /// Timing classes of the rows.
    pub(crate) classes: Vec<TimingClass>,
    /// Measurements and conclusions.
    pub(crate) rows: Vec<Row>,
    /// Disturbances of the machine.
    pub(crate) quality: Quality,
    /// SHA-256 of this report with an empty seal, which reveals accidental changes.
    pub(crate) seal: String,
}

/// Smallest differences that a machine can prove, from comparisons of identical sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NoiseCard {
    /// Time of the last of these comparisons, in UTC.
    pub(crate) measured: String,
    /// Least relative difference that 40 sessions can prove if the data fit the caches of one core.
    pub(crate) near: Option<f64>,
    /// The same for larger data.
    pub(crate) far: Option<f64>,
    /// Seal of the record of `lab doctor --noise`.
    pub(crate) seal: String,
}

/// Kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Rows with one side.
    Run,
    /// Comparison of engines or cases of one build.
    Engines,
    /// Comparison of two builds.
    Builds,
    /// One case for several minutes.
    #[serde(rename = "soak")]
    Sustained,
    /// Commands, each run as processes of its own.
    Commands,
}

/// Final state of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Not ended: the writer was killed or is still running.
    Running,
    /// Complete as planned.
    Complete,
    /// Interrupted from outside; data measured before are kept.
    Interrupted,
}

/// A measured program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Name by which the user requested it, such as a revision; `self` for the lab's own program.
    pub label: String,
    /// Requested revision, directory or program.
    pub source: String,
    /// Commit, if any.
    pub commit: Option<String>,
    /// Whether files differed from this commit.
    pub dirty: Option<bool>,
    /// Compiler.
    pub rustc: Option<String>,
    /// Profile and flags set by the lab.
    pub settings: Vec<String>,
    /// SHA-256 of the lock file.
    pub lock_sha256: Option<String>,
    /// SHA-256 of the program.
    pub program_sha256: String,
    /// Whether its sessions used several code layouts; unknown if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
}

/// Code layouts in the sessions of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", content = "by", rename_all = "lowercase")]
pub enum Layout {
    /// Every session ran a program of its own, linked by this linker with functions and data in another order.
    Shuffled(String),
    /// All sessions ran the same program, for this reason.
    Fixed(String),
}

/// Test vectors of one engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Answers {
    /// Engine.
    pub(crate) engine: String,
    /// Number of correct answers.
    pub(crate) right: usize,
    /// Wrong answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wrong: Option<String>,
}

/// Plan of measurement and decision rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// Numbers of sessions after which the data were analysed.
    pub(crate) looks: Vec<usize>,
    /// Error probability of each analysis.
    pub(crate) alpha: Vec<f64>,
    /// Smallest difference that may be reported.
    pub(crate) min_effect: f64,
    /// The same for rows with data outside the caches of one core; equal to `min_effect` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) min_effect_far: Option<f64>,
    /// Equivalence band.
    pub(crate) same_within: f64,
    /// Minimum number of sessions for equivalence.
    pub(crate) same_from: usize,
    /// Smallest difference that may be reported for builds with one layout each, in rows without more knowledge;
    /// absent if there were many layouts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fixed_layout: Option<f64>,
    /// Version of the decision rule; 2 if absent. Since version 3 all intervals account for the repeated analyses,
    /// including those for equivalence.
    #[serde(default = "second", skip_serializing_if = "is_second")]
    pub(crate) rule: u32,
    /// Confidence of the intervals.
    pub(crate) level: f64,
    /// Number of sessions of a row without a comparison.
    pub(crate) solo_sessions: usize,
    /// Rounds per session.
    pub(crate) rounds: usize,
    /// Untimed samples per side before the first round.
    pub(crate) warm_ups: usize,
    /// Target length of a sample.
    pub(crate) sample_ns: u64,
    /// Pause between sessions.
    pub(crate) cool_down_ms: u64,
    /// Whether single-threaded sides were pinned to one processor per session.
    pub(crate) pin: bool,
    /// Seed of inputs and orders.
    pub(crate) seed: u64,
    /// Number of comparisons that share one error budget.
    pub(crate) family: usize,
    /// Whether the sides are the same code on purpose, as a control.
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

/// A group of sides, or a single case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Title in tables.
    pub(crate) title: String,
    /// Name of the timing class of all sides; [`Report::classes`] says what is timed.
    pub(crate) class: String,
    /// Work of one iteration.
    pub(crate) units: Units,
    /// Minimal work of one iteration, if the workload computes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) work: Option<MinimalWork>,
    /// Cache level of the data; `near` if absent.
    #[serde(default, skip_serializing_if = "CacheLevel::is_near")]
    pub(crate) reach: CacheLevel,
    /// Effect of layouts on it in earlier runs, if its sides have one link each; if absent, the value of the plan
    /// applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) layouts: Option<LayoutEffect>,
    /// Whether all sides shared one process per session.
    pub(crate) together: bool,
    /// Rounds per session of this row.
    pub(crate) rounds: usize,
    /// Status of the row.
    pub(crate) status: Status,
    /// Measured sides.
    pub(crate) sides: Vec<Side>,
    /// One entry per complete session, encoded as columns.
    #[serde(with = "column_encoding")]
    #[cfg_attr(feature = "schema", schemars(with = "column_encoding::SessionColumns"))]
    pub(crate) sessions: Vec<Memory>,
    /// Time of all iterations in each window of a sustained run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) windows_ns: Vec<u64>,
    /// Sessions whose process ended or hung, and which were repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) retried: Vec<Retry>,
    /// Conclusions from the sessions.
    pub(crate) comparisons: Vec<Comparison>,
    /// Instructions of its sides in order, without controls, if counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) instructions: Vec<Instructions>,
    /// Resource usage, if the sides are commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commands: Option<Commands>,
}

/// What was timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TimingClass {
    /// Name.
    pub(crate) name: String,
    /// Timed phases.
    pub(crate) includes: Vec<String>,
    /// Phases that were not timed.
    pub(crate) excludes: Vec<String>,
}

/// Work of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Units {
    /// `bytes`, `hashes` or `operations`; empty if no session could be opened.
    pub(crate) kind: String,
    /// Amount.
    pub(crate) per_iteration: u64,
}

/// Status of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", content = "why", rename_all = "lowercase")]
pub(crate) enum Status {
    /// Measured as planned.
    Ok,
    /// Not finished; the measured data are kept.
    Unfinished,
    /// The machine lacks something that the case needs.
    Skipped(String),
    /// A wrong result.
    Incorrect(String),
    /// A session failed.
    Failed(String),
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Side {
    /// Short name in this row.
    pub(crate) label: String,
    /// Role.
    pub(crate) role: Role,
    /// Index into [`Report::builds`].
    pub(crate) build: usize,
    /// Key of the case.
    pub(crate) key: String,
    /// Kernel that ran, as named by the engine.
    pub(crate) kernel: String,
    /// Iterations per sample; of the last session if they changed.
    pub(crate) iterations: u64,
    /// Iterations per sample in each session; absent if constant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) session_iterations: Vec<u64>,
    /// Work of one of its iterations, if it differs from the row's: sides are compared by the time for equal work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) units_per_iteration: Option<u64>,
    /// Digest of its result.
    pub(crate) digest: String,
    /// Expected digest, if it differs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reference: String,
    /// Median time of an iteration in each session, in nanoseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) session_ns: Vec<f64>,
    /// Paired log ratio of the first side's time to its time in each session, positive if it is faster; empty for the
    /// first side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) deltas: Vec<f64>,
    /// Counted amounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) amounts: Vec<Amount>,
    /// Summary of its sessions.
    pub(crate) summary: Option<Summary>,
    /// Distance to the machine's limits, if these were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) floor: Option<Floor>,
}

/// Shortest possible time of an iteration within the machine's limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Floor {
    /// The limiting resource.
    pub(crate) bound: BoundKind,
    /// Time for this resource alone.
    pub(crate) ns: f64,
    /// This time divided by the median time of the side: 1 is the maximum of the machine.
    pub(crate) share: f64,
}

/// Instruction count of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", content = "of", rename_all = "lowercase")]
pub(crate) enum Instructions {
    /// Instructions per iteration.
    Counted(Counted),
    /// Reason why there is no count.
    Refused(String),
}

/// A count of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Counted {
    /// Per iteration.
    pub(crate) per_iteration: f64,
    /// Difference between two identical runs, per iteration.
    pub(crate) resolution: f64,
}

/// Summary of the sessions of one side, in nanoseconds per iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Summary {
    /// Median of the session medians.
    pub(crate) median_ns: f64,
    /// Exact interval of this median; absent with fewer than eight sessions.
    pub(crate) interval_ns: Option<[f64; 2]>,
}

/// A session that was lost and repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Retry {
    /// Index of the session.
    pub(crate) session: usize,
    /// How its process ended.
    pub(crate) why: String,
}

/// Comparison of one side with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Comparison {
    /// Index of the side in [`Row::sides`].
    pub(crate) side: usize,
    /// Number of sessions used.
    pub(crate) sessions: usize,
    /// Time of the baseline divided by its time: above 1, it is faster.
    pub(crate) ratio: f64,
    /// 99 % interval of the ratio.
    pub(crate) interval: Option<[f64; 2]>,
    /// Exact signed-rank p-value of all sessions, for a single analysis.
    pub(crate) p: f64,
    /// The same, corrected for repeated analyses and for the family of comparisons.
    pub(crate) p_family: f64,
    /// Robust standard deviation of the session log ratios.
    pub(crate) spread: f64,
    /// Verdict.
    pub(crate) verdict: Verdict,
    /// Number of sessions that would resolve an inconclusive comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sessions_needed: Option<u64>,
}

/// Disturbances of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Quality {
    /// At the start.
    pub(crate) before: Load,
    /// At the end.
    pub(crate) after: Load,
    /// Time between them.
    pub(crate) elapsed_ms: u64,
    /// Conditions that the reader should know; flags never remove samples.
    pub(crate) flags: Vec<String>,
}

impl Row {
    /// Whether it has at least one side and all sides that its comparisons refer to.
    pub(crate) fn is_whole(&self) -> bool {
        let known = |comparison: &Comparison| (1..self.sides.len()).contains(&comparison.side);
        !self.sides.is_empty() && self.comparisons.iter().all(known)
    }

    /// Comparisons of its sides with this role.
    pub(crate) fn found(&self, role: Role) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |found| self.sides[found.side].role == role)
    }
}

impl Report {
    /// Seal of the rest of the report.
    pub(crate) fn compute_seal(&self) -> String {
        let unsealed = Report { seal: String::new(), ..self.clone() };
        let text = serde_json::to_vec(&unsealed).expect("a report is plain data");
        crate::fingerprint::sha256_hex(&text)
    }
}
