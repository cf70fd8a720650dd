//! Any document of the lab, told apart by the schema that it names.

use super::check;
use super::count::{self, CountRecord};
use super::noise::{self, NoiseRecord};
use super::schema::Report;
use super::store::{self, ReadError};
use super::view::View;

pub(crate) enum Document {
    Report(Box<Report>),
    Noise(NoiseRecord),
    Count(CountRecord),
}

impl Document {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ReadError> {
        Ok(match store::schema_of(bytes)?.as_deref() {
            Some(noise::SCHEMA) => Document::Noise(serde_json::from_slice(bytes)?),
            Some(count::SCHEMA) => Document::Count(serde_json::from_slice(bytes)?),
            _ => Document::Report(Box::new(store::parse(bytes)?)),
        })
    }

    /// What is wrong with it; nothing when its conclusions follow from what was measured.
    pub(crate) fn problems(&self) -> Vec<String> {
        match self {
            Document::Report(report) => check::problems(report).iter().map(ToString::to_string).collect(),
            Document::Noise(record) => record.problems(),
            Document::Count(record) => record.problems(),
        }
    }

    /// Whether it holds anything to build on: a report can be true, and be one of failures.
    pub(crate) fn is_usable(&self) -> bool {
        match self {
            Document::Report(report) => report.is_valid(),
            _ => true,
        }
    }

    /// What a check of it has computed again.
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
            Document::Report(report) => View::of(report),
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
