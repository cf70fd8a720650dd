//! `lab.noise/1`: how often this machine and this rule call a difference where there is none, and how often they
//! miss one that was put there.

use super::schema::{Plan, Verdict};
use crate::host::Machine;
use crate::stats::binomial::share_interval;
use crate::stats::order::{mad, median};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands in [`NoiseRecord::schema`].
pub const SCHEMA: &str = "lab.noise/1";

/// Trials of several series on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseRecord {
    /// Always `lab.noise/1`.
    pub schema: String,
    /// Version of the lab.
    pub tool: String,
    /// SHA-256 of the program.
    pub program_sha256: String,
    /// Where it ran.
    pub machine: Machine,
    /// How every trial was measured and decided.
    pub plan: Plan,
    /// What was tried.
    pub series: Vec<Series>,
    /// SHA-256 over this record with an empty seal.
    pub seal: String,
}

/// Repeated comparisons of the same two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Case of the baseline.
    pub case: String,
    /// True extra work of the candidate, in thousandths; zero for an A/A series.
    pub extra_permille: u64,
    /// Whether both sides shared one process per session.
    pub together: bool,
    /// The comparisons.
    pub trials: Vec<Trial>,
}

/// One comparison, complete under its rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// When it started.
    pub created: String,
    /// Its seed.
    pub seed: u64,
    /// Load average when it started.
    pub load: Option<f64>,
    /// Paired log ratio of each session.
    pub deltas: Vec<f64>,
    /// What the rule said.
    pub verdict: Verdict,
}

/// What a series shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tally {
    pub(crate) trials: u64,
    pub(crate) slower: u64,
    pub(crate) faster: u64,
    pub(crate) same: u64,
    /// Of the claims, for A/A; of the right claims, for a true difference. 95 %.
    pub(crate) share: (f64, f64),
    /// Median over the trials of the robust standard deviation of their sessions.
    pub(crate) spread: f64,
    /// Median of the measured log ratios.
    pub(crate) centre: f64,
    /// Mean number of sessions.
    pub(crate) sessions: f64,
}

impl Series {
    pub(crate) fn tally(&self) -> Tally {
        let count = |verdict| self.trials.iter().filter(|trial| trial.verdict == verdict).count() as u64;
        let (slower, faster, same) = (count(Verdict::Slower), count(Verdict::Faster), count(Verdict::Same));
        let trials = self.trials.len() as u64;
        let hits = if self.extra_permille == 0 { slower + faster } else { slower };
        let spreads: Vec<f64> = self.trials.iter().map(|trial| 1.4826 * mad(&trial.deltas)).collect();
        let centres: Vec<f64> = self.trials.iter().map(|trial| median(&trial.deltas)).collect();
        let sessions: usize = self.trials.iter().map(|trial| trial.deltas.len()).sum();
        Tally {
            trials,
            slower,
            faster,
            same,
            share: share_interval(hits, trials, 0.95),
            spread: median(&spreads),
            centre: median(&centres),
            sessions: sessions as f64 / trials.max(1) as f64,
        }
    }

    pub(crate) fn name(&self) -> String {
        let what = match self.extra_permille {
            0 => "A/A".to_owned(),
            extra => format!("+{:.1} %", extra as f64 / 10.0),
        };
        let how = if self.together { "one process" } else { "two processes" };
        format!("{what} {} ({how})", self.case)
    }
}

impl NoiseRecord {
    /// The seal that belongs to the rest of the record.
    #[must_use]
    pub fn compute_seal(&self) -> String {
        let unsealed = NoiseRecord { seal: String::new(), ..self.clone() };
        crate::fingerprint::sha256_hex(&serde_json::to_vec(&unsealed).expect("a record is plain data"))
    }

    /// The schema of these types as JSON Schema.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(NoiseRecord).into()
    }

    /// What is wrong with the record; nothing when every verdict follows from its sessions.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.machine.id != self.machine.fingerprint() {
            found.push(format!("the machine's id {} belongs to another machine", self.machine.id));
        }
        let rule = self.plan.rule();
        if let Err(error) = rule.validate() {
            found.push(format!("plan: {error}"));
            return found;
        }
        for series in &self.series {
            for (i, trial) in series.trials.iter().enumerate() {
                let place = format!("{}, trial {}", series.name(), i + 1);
                let sound =
                    trial.deltas.len() <= rule.most_sessions() && trial.deltas.iter().all(|d| d.is_finite());
                if !sound || rule.sessions_wanted(1, &trial.deltas).is_some() {
                    found.push(format!("{place}: its sessions do not make a complete comparison"));
                    continue;
                }
                let verdict = Verdict::from(rule.judge(std::slice::from_ref(&trial.deltas))[0].verdict);
                if verdict != trial.verdict {
                    let (stated, computed) = (trial.verdict.word(), verdict.word());
                    found.push(format!("{place}: stated as {stated}, but its sessions say {computed}"));
                }
            }
        }
        if self.seal != self.compute_seal() {
            found.push("seal: the record was changed after it was written".to_owned());
        }
        found
    }
}
