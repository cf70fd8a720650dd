//! Any document of the lab; the field `schema` says which one.

pub(crate) mod history;
pub(crate) mod imported;
pub(crate) mod instruction_counts;
pub(crate) mod noise;
pub(crate) mod report_diff;
pub(crate) mod samples;

use super::schema::Report;
use super::store::ReadError;
use super::view::View;
use super::{check, store};
use instruction_counts::CountRecord;
use noise::NoiseRecord;

pub(crate) enum Document {
    Report(Box<Report>),
    Noise(NoiseRecord),
    Count(CountRecord),
}

impl Document {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ReadError> {
        Ok(match store::schema_of(bytes)?.as_deref() {
            Some(noise::SCHEMA) => Document::Noise(serde_json::from_slice(bytes)?),
            Some(instruction_counts::SCHEMA) => Document::Count(serde_json::from_slice(bytes)?),
            _ => Document::Report(Box::new(store::parse(bytes)?)),
        })
    }

    /// Errors in the document; none if its conclusions follow from the measured data.
    pub(crate) fn problems(&self) -> Vec<String> {
        match self {
            Document::Report(report) => check::problems(report).iter().map(ToString::to_string).collect(),
            Document::Noise(record) => record.problems(),
            Document::Count(record) => record.problems(),
        }
    }

    /// Whether it has usable results: a correct report may consist of failures only.
    pub(crate) fn is_usable(&self) -> bool {
        match self {
            Document::Report(report) => report.is_valid(),
            _ => true,
        }
    }

    /// Parts that a check has recomputed.
    pub(crate) fn checked(&self) -> String {
        match self {
            Document::Report(report) => {
                let sides = report.rows.iter().flat_map(|row| &row.sides);
                let medians: usize = sides.map(|side| side.session_ns.len()).sum();
                format!(
                    "{medians} medians of sessions, {} verdicts computed again",
                    report.candidates().count()
                )
            }
            Document::Noise(record) => {
                let trials: usize = record.series.iter().map(|series| series.trials.len()).sum();
                format!("{trials} comparisons judged again")
            }
            Document::Count(record) => format!("{} counts", record.rows.len()),
        }
    }

    pub(crate) fn view(&self) -> View {
        match self {
            Document::Report(report) => View::from_report(report),
            Document::Noise(record) => record.view(),
            Document::Count(record) => record.view(None),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        match self {
            Document::Report(report) => store::pretty(report),
            Document::Noise(record) => store::pretty(record),
            Document::Count(record) => store::pretty(record),
        }
    }
}
