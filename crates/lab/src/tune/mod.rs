//! Settings that race each other, and the choice that a program reads back later.
//!
//! All candidates take samples in turn in the same sessions. At each planned look those that are proven slower than
//! the best leave; what remains are ties, and among ties the cheapest is chosen: fewest threads first, then the
//! order in which the program lists them. A profile may give up some speed for it.

pub(crate) mod standing;
pub(crate) mod view;

use crate::model::reach::Reach;
use crate::report::schema::Plan;
use crate::report::store::{ReadError, read_bytes};
use hashmill_machine::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use standing::{Standing, settle};
use std::path::{Path, PathBuf};

/// What stands in [`TuneRecord::schema`].
pub const SCHEMA: &str = "lab.tune/1";

/// How long a choice is believed: kernels, firmware and neighbours change.
const DAYS: u64 = 14;

/// How much speed may be given up for fewer resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// None that can be proven.
    Throughput,
    /// One percent of the peak.
    Balanced,
    /// A quarter of the peak.
    Efficiency,
}

/// A finished race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TuneRecord {
    /// Always `lab.tune/1`.
    pub schema: String,
    /// Version of the lab.
    pub tool: String,
    /// When it was raced, in UTC.
    pub created: String,
    /// Where; the choice is for no other machine.
    pub machine: Machine,
    /// SHA-256 of the program.
    pub program_sha256: String,
    /// Workload, engine, class and size that all candidates share.
    pub subject: String,
    /// Whether the data fit the caches of one core; near where it is absent.
    #[serde(default, skip_serializing_if = "Reach::is_near")]
    pub reach: Reach,
    /// What the choice weighs.
    pub profile: Profile,
    /// How it was measured and decided.
    pub plan: Plan,
    /// Who raced, in the order of the program.
    pub candidates: Vec<Candidate>,
    /// Index of the fastest.
    pub best: usize,
    /// Indices of those that are not proven slower, the fastest among them.
    pub tied: Vec<usize>,
    /// Index of the choice.
    pub chosen: usize,
    /// SHA-256 over this record with an empty seal.
    pub seal: String,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Its case.
    pub case: String,
    /// Threads that it uses.
    pub threads: u32,
    /// The kernel that ran.
    pub kernel: String,
    /// Logarithm of its time in each session, over that of one candidate of the session; comparable within a session.
    pub relative: Vec<f64>,
}

impl Profile {
    /// Share of the peak rate that must remain.
    #[must_use]
    pub fn floor(self) -> f64 {
        match self {
            Profile::Throughput => 1.0,
            Profile::Balanced => 0.99,
            Profile::Efficiency => 0.75,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Profile::Throughput => "no speed is given up that could be proven",
            Profile::Balanced => "one percent of the peak may go for fewer threads",
            Profile::Efficiency => "a quarter of the peak may go for fewer threads",
        }
    }

    /// Its word on the command line and in file names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Throughput => "throughput",
            Profile::Balanced => "balanced",
            Profile::Efficiency => "efficiency",
        }
    }
}

impl TuneRecord {
    /// Draws the conclusions from the sessions and seals the record.
    pub(crate) fn conclude(mut self) -> Self {
        let standing = self.standing();
        self.best = standing.best;
        self.tied = standing.survivors();
        self.chosen = self.choice(&standing);
        self.seal = self.compute_seal();
        self
    }

    fn standing(&self) -> Standing {
        let relative: Vec<&[f64]> = self.candidates.iter().map(|c| c.relative.as_slice()).collect();
        settle(&self.plan.rule(), self.reach, &relative)
    }

    /// Whether the race was run to its end; one that was interrupted has chosen nothing.
    pub(crate) fn is_finished(&self) -> bool {
        self.standing().wanted.is_none()
    }

    /// The cheapest of those that tie with the best or reach the profile's share of its rate.
    fn choice(&self, standing: &Standing) -> usize {
        let enough =
            |index: &usize| !standing.dropped[*index] || standing.ratio[*index] <= 1.0 / self.profile.floor();
        let allowed = (0..self.candidates.len()).filter(enough);
        allowed.min_by_key(|index| (self.candidates[*index].threads, *index)).unwrap_or(standing.best)
    }

    /// Time of a candidate over that of the fastest.
    #[must_use]
    pub fn ratio(&self, candidate: usize) -> f64 {
        self.standing().ratio[candidate]
    }

    /// The seal that belongs to the rest of the record.
    #[must_use]
    pub fn compute_seal(&self) -> String {
        let unsealed = TuneRecord { seal: String::new(), ..self.clone() };
        crate::fingerprint::sha256_hex(&serde_json::to_vec(&unsealed).expect("a record is plain data"))
    }

    /// What is wrong with the record; nothing when its choice follows from its sessions.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Err(error) = self.plan.rule().validate() {
            return vec![format!("plan: {error}")];
        }
        let most = self.plan.rule().most_sessions();
        let sound = |candidate: &Candidate| {
            candidate.relative.len() <= most && candidate.relative.iter().all(|r| r.is_finite())
        };
        if self.candidates.len() < 2 || !self.candidates.iter().all(sound) {
            return vec!["candidates: there must be two, with finite numbers, within the plan".to_owned()];
        }
        let again = self.clone().conclude();
        if (again.best, &again.tied, again.chosen) != (self.best, &self.tied, self.chosen) {
            found.push("the choice does not follow from the sessions".to_owned());
        }
        if self.machine.id != self.machine.fingerprint() {
            found.push(format!("the machine's id {} belongs to another machine", self.machine.id));
        }
        if again.seal != self.seal {
            found.push("seal: the record was changed after it was written".to_owned());
        }
        found
    }

    /// The seconds since 1970 until which the choice is believed.
    #[must_use]
    pub fn expires(&self) -> u64 {
        hashmill_machine::date::parse_utc(&self.created).unwrap_or(0) + DAYS * 86_400
    }
}

/// Where the choice for a subject is kept below `cache`.
#[must_use]
pub fn place(cache: &Path, machine: &Machine, subject: &str, profile: Profile) -> PathBuf {
    let name = format!("{}-{}.json", subject.replace(['/', ':'], "-"), profile.name());
    cache.join("tune").join(&machine.id).join(name)
}

/// Reads a kept choice. An error for a broken or foreign one; `None` where there is none or it is too old.
pub fn recall(
    cache: &Path,
    machine: &Machine,
    subject: &str,
    profile: Profile,
) -> Result<Option<TuneRecord>, ReadError> {
    let path = place(cache, machine, subject, profile);
    if !path.exists() {
        return Ok(None);
    }
    let record: TuneRecord = serde_json::from_slice(&read_bytes(&path)?)?;
    let foreign = record.machine.id != machine.id || record.subject != subject || record.profile != profile;
    if record.schema != SCHEMA || foreign || !record.problems().is_empty() {
        let found = format!("{} of {} on {}", record.schema, record.subject, record.machine.id);
        return Err(ReadError::Foreign { found });
    }
    Ok(Some(record)
        .filter(|record| record.is_finished() && record.expires() > hashmill_machine::date::now_seconds()))
}

#[cfg(test)]
mod tests;
