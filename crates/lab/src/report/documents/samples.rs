//! `lab.samples/1`: all samples of a run in a separate file beside the report, which stores its hash.
//!
//! A report is complete without it, because it stores the numbers of each session. With the samples, these numbers
//! can be computed again.

use crate::fingerprint::sha256_hex;
use crate::measure::campaign::{GroupResult, RowEvidence, Sample, SampleWork};
use crate::model::class::Class;
use crate::report::check::Problem;
use crate::report::schema::{Report, Row};
use hashmill_machine::Load;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Value of [`SamplesFile::schema`].
pub(crate) const SCHEMA: &str = "lab.samples/1";

/// File name beside a report.
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
    /// One entry per row of the report, in the same order.
    pub(crate) rows: Vec<SamplesRow>,
}

/// The samples of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplesRow {
    /// Title of the row.
    pub(crate) title: String,
    /// Readings of the system before and after each complete session.
    pub(crate) surroundings: Vec<[Load; 2]>,
    /// Processor to which all sides of a session were pinned.
    pub(crate) processors: Vec<Option<usize>>,
    /// Session of each sample.
    pub(crate) session: Vec<usize>,
    /// Round within the session.
    pub(crate) round: Vec<usize>,
    /// Position in the order of the round.
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
    fn row_evidence(&self) -> RowEvidence {
        RowEvidence {
            session_ns: self.sides.iter().map(|side| side.session_ns.clone()).collect(),
            deltas: self.sides.iter().map(|side| side.deltas.clone()).collect(),
            windows_ns: self.windows_ns.clone(),
        }
    }
}

impl SamplesFile {
    /// All samples of the measured groups.
    pub(crate) fn from_groups(id: &str, all: &[GroupResult]) -> Self {
        SamplesFile {
            schema: SCHEMA.to_owned(),
            id: id.to_owned(),
            rows: all.iter().map(SamplesRow::from_group).collect(),
        }
    }
}

impl SamplesRow {
    fn from_group(measured: &GroupResult) -> Self {
        fn column<T>(samples: &[Sample], of: impl Fn(&Sample) -> T) -> Vec<T> {
            samples.iter().map(of).collect()
        }
        let samples = &measured.samples[..];
        SamplesRow {
            title: measured.group.title.clone(),
            surroundings: measured.sessions.iter().map(|session| [session.before, session.after]).collect(),
            processors: measured.sessions.iter().map(|session| session.cpu).collect(),
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

    /// Error in the shape: every complete session must have each side once per round, at distinct positions.
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
        let (mut samples, mut places) = (BTreeSet::new(), BTreeSet::new());
        for i in 0..count {
            let (session, round, position, side) =
                (self.session[i], self.round[i], self.position[i], self.side[i]);
            if session > sessions || round >= rounds || position >= sides || side >= sides {
                return Some(format!("sample {i} is outside of the sessions, rounds or sides"));
            }
            if !samples.insert((session, round, side)) || !places.insert((session, round, position)) {
                return Some(format!("sample {i} repeats the place of another"));
            }
        }
        let whole = samples.range(..(sessions, 0, 0)).count();
        let expected = sessions.saturating_mul(rounds).saturating_mul(sides);
        if whole != expected {
            return Some(format!(
                "{sessions} sessions of {rounds} rounds and {sides} sides make {expected} samples, but there are {whole}"
            ));
        }
        let ordered = self.session.iter().zip(&self.round).is_sorted();
        (!ordered).then(|| "the samples are not in the order of their sessions and rounds".to_owned())
    }

    /// Reason why the sessions of the report do not follow from these samples.
    fn contradicts(&self, row: &Row) -> Option<String> {
        if let Some(reason) = self.misshapen(row) {
            return Some(reason);
        }
        let class: Class = row.class.parse().ok()?;
        let work = |side: &crate::report::schema::Side| SampleWork {
            iterations: (0..row.sessions.len()).map(|session| side.iterations_in(session)).collect(),
            units: side.units_per_iteration.unwrap_or(row.units.per_iteration),
        };
        let work: Vec<SampleWork> = row.sides.iter().map(work).collect();
        let samples = (0..self.ns.len()).map(|i| (self.session[i], self.side[i], self.ns[i]));
        let again = RowEvidence::from_samples(&class, samples, row.sessions.len(), &work);
        (again != row.row_evidence())
            .then(|| "what its sessions gave does not follow from the samples".to_owned())
    }
}

/// Checks a report against its samples; returns their number if they agree.
pub(crate) fn verify(report: &Report, bytes: &[u8]) -> Result<usize, Vec<Problem>> {
    let problem = |location: &str, reason: String| Problem { location: location.to_owned(), reason };
    if report.samples_sha256.as_deref() != Some(&*sha256_hex(bytes)) {
        return Err(vec![problem("samples", "it is not the file that the report refers to".to_owned())]);
    }
    let file: SamplesFile = serde_json::from_slice(bytes)
        .map_err(|error| vec![problem("samples", format!("it is not a file of samples: {error}"))])?;
    let titles = |row: &SamplesRow, of: &Row| row.title == of.title;
    let fits = file.rows.len() == report.rows.len()
        && file.rows.iter().zip(&report.rows).all(|(row, of)| titles(row, of));
    if file.schema != SCHEMA || file.id != report.id || !fits {
        return Err(vec![problem("samples", "they are from another run".to_owned())]);
    }
    let rows = file.rows.iter().zip(&report.rows);
    let found: Vec<Problem> =
        rows.filter_map(|(row, of)| Some(problem(&of.title, row.contradicts(of)?))).collect();
    if found.is_empty() { Ok(file.rows.iter().map(|row| row.ns.len()).sum()) } else { Err(found) }
}
