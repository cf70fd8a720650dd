//! `lab.samples/1`: every sample of a run, in a file of its own beside the report, which names its hash.
//!
//! A report stands without it: its evidence are the numbers that each session gave. Whoever has the samples computes
//! those numbers again, too.

use super::check::Problem;
use super::schema::{Report, Row};
use crate::campaign::{Gave, Measured, Sample, SampleWork};
use crate::fingerprint::sha256_hex;
use crate::model::class::Class;
use hashmill_machine::Load;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What stands in [`SamplesFile::schema`].
pub(crate) const SCHEMA: &str = "lab.samples/1";

/// Name of the file beside a report.
pub(crate) const NAME: &str = "samples.json";

/// The samples of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplesFile {
    /// Always `lab.samples/1`.
    pub(crate) schema: String,
    /// Name of the run.
    pub(crate) id: String,
    /// One entry for each row of the report, in its order.
    pub(crate) rows: Vec<SamplesRow>,
}

/// The samples of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplesRow {
    /// Title of the row.
    pub(crate) title: String,
    /// What the system said before and after each whole session.
    pub(crate) surroundings: Vec<[Load; 2]>,
    /// Processor on which all sides of a session were kept.
    pub(crate) processors: Vec<Option<usize>>,
    /// Session of each sample.
    pub(crate) session: Vec<usize>,
    /// Round within the session.
    pub(crate) round: Vec<usize>,
    /// Place in the order of the round.
    pub(crate) position: Vec<usize>,
    /// Side: index into the sides of the row.
    pub(crate) side: Vec<usize>,
    /// Time of all iterations.
    pub(crate) ns: Vec<u64>,
    /// Processor time of all threads.
    pub(crate) cpu_ns: Vec<Option<u64>>,
    /// Page faults.
    pub(crate) faults: Vec<Option<u64>>,
    /// Involuntary context switches of the main thread.
    pub(crate) switches: Vec<Option<u64>>,
}

impl Row {
    fn gave(&self) -> Gave {
        Gave {
            session_ns: self.sides.iter().map(|side| side.session_ns.clone()).collect(),
            deltas: self.sides.iter().map(|side| side.deltas.clone()).collect(),
            windows_ns: self.windows_ns.clone(),
        }
    }
}

impl SamplesFile {
    /// All samples of what was measured.
    pub(crate) fn of(id: &str, all: &[Measured]) -> Self {
        SamplesFile {
            schema: SCHEMA.to_owned(),
            id: id.to_owned(),
            rows: all.iter().map(SamplesRow::of).collect(),
        }
    }
}

impl SamplesRow {
    fn of(measured: &Measured) -> Self {
        fn column<T>(samples: &[Sample], of: impl Fn(&Sample) -> T) -> Vec<T> {
            samples.iter().map(of).collect()
        }
        let samples = &measured.samples[..];
        SamplesRow {
            title: measured.contest.title.clone(),
            surroundings: measured.sessions.iter().map(|seen| [seen.before, seen.after]).collect(),
            processors: measured.sessions.iter().map(|seen| seen.cpu).collect(),
            session: column(samples, |sample| sample.session),
            round: column(samples, |sample| sample.round),
            position: column(samples, |sample| sample.position),
            side: column(samples, |sample| sample.side),
            ns: column(samples, |sample| sample.ns),
            cpu_ns: column(samples, |sample| sample.cpu_ns),
            faults: column(samples, |sample| sample.faults),
            switches: column(samples, |sample| sample.switches),
        }
    }

    /// What is wrong with the shape: every whole session must hold each side once in every round, at distinct places.
    fn misshapen(&self, row: &Row) -> Option<String> {
        let count = self.ns.len();
        let columns = [
            self.session.len(),
            self.round.len(),
            self.position.len(),
            self.side.len(),
            self.cpu_ns.len(),
            self.faults.len(),
            self.switches.len(),
        ];
        if columns.iter().any(|length| *length != count) {
            return Some("the columns of samples differ in length".to_owned());
        }
        if self.ns.contains(&0) {
            return Some("a sample took no time at all".to_owned());
        }
        let (sessions, rounds, sides) = (row.sessions.len(), row.rounds, row.sides.len());
        let (mut seen, mut places) = (BTreeSet::new(), BTreeSet::new());
        for i in 0..count {
            let (session, round, position, side) =
                (self.session[i], self.round[i], self.position[i], self.side[i]);
            if session > sessions || round >= rounds || position >= sides || side >= sides {
                return Some(format!("sample {i} lies outside of the sessions, rounds or sides"));
            }
            if !seen.insert((session, round, side)) || !places.insert((session, round, position)) {
                return Some(format!("sample {i} repeats the place of another"));
            }
        }
        let whole = seen.range(..(sessions, 0, 0)).count();
        let expected = sessions.saturating_mul(rounds).saturating_mul(sides);
        if whole != expected {
            return Some(format!(
                "{sessions} sessions of {rounds} rounds and {sides} sides make {expected} samples, but there are {whole}"
            ));
        }
        let ordered = self.session.iter().zip(&self.round).is_sorted();
        (!ordered).then(|| "the samples are not in the order of their sessions and rounds".to_owned())
    }

    /// Why what the report says that the sessions gave does not follow from these samples.
    fn contradicts(&self, row: &Row) -> Option<String> {
        if let Some(why) = self.misshapen(row) {
            return Some(why);
        }
        let class: Class = row.class.parse().ok()?;
        let work = |side: &super::schema::Side| SampleWork {
            iterations: (0..row.sessions.len()).map(|session| side.iterations_in(session)).collect(),
            units: side.units_per_iteration.unwrap_or(row.units.per_iteration),
        };
        let work: Vec<SampleWork> = row.sides.iter().map(work).collect();
        let samples = (0..self.ns.len()).map(|i| (self.session[i], self.side[i], self.ns[i]));
        let again = Gave::of(&class, samples, row.sessions.len(), &work);
        (again != row.gave()).then(|| "what its sessions gave does not follow from the samples".to_owned())
    }
}

/// What is wrong with a report in the light of its samples; how many there are, where nothing is.
pub(crate) fn verify(report: &Report, bytes: &[u8]) -> Result<usize, Vec<Problem>> {
    let problem = |place: &str, reason: String| Problem { place: place.to_owned(), reason };
    if report.samples_sha256.as_deref() != Some(&*sha256_hex(bytes)) {
        return Err(vec![problem("samples", "the file is not the one that the report names".to_owned())]);
    }
    let file: SamplesFile = serde_json::from_slice(bytes)
        .map_err(|error| vec![problem("samples", format!("it is no file of samples: {error}"))])?;
    let titles = |row: &SamplesRow, of: &Row| row.title == of.title;
    let fits = file.rows.len() == report.rows.len()
        && file.rows.iter().zip(&report.rows).all(|(row, of)| titles(row, of));
    if file.schema != SCHEMA || file.id != report.id || !fits {
        return Err(vec![problem("samples", "they are those of another run".to_owned())]);
    }
    let rows = file.rows.iter().zip(&report.rows);
    let found: Vec<Problem> =
        rows.filter_map(|(row, of)| Some(problem(&of.title, row.contradicts(of)?))).collect();
    if found.is_empty() { Ok(file.rows.iter().map(|row| row.ns.len()).sum()) } else { Err(found) }
}
