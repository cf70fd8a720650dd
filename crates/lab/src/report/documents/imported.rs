//! Results of hyperfine and criterion, for tables beside the lab's own results.
//!
//! Their samples were taken one program after the other, in one process each. They get medians and intervals but no
//! verdict: how much of a difference comes from the machine is unknown.

use crate::stats::order::{median, median_interval};
use crate::stats::verdict::LEVEL;
use serde::Deserialize;

/// Samples of one benchmark in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Imported {
    pub(crate) name: String,
    pub(crate) ns: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImportError {
    #[error("it is neither hyperfine's ({hyperfine}) nor criterion's ({criterion})")]
    Foreign { hyperfine: String, criterion: String },
    #[error("`{0}` has no samples that are times")]
    Empty(String),
}

#[derive(Deserialize)]
struct Hyperfine {
    results: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    command: String,
    /// In seconds.
    times: Vec<f64>,
}

/// `sample.json` of criterion: times of increasing numbers of iterations.
#[derive(Deserialize)]
struct Criterion {
    iters: Vec<f64>,
    /// In nanoseconds.
    times: Vec<f64>,
}

impl Imported {
    /// Median, and its interval if there are enough samples.
    pub(crate) fn centre(&self) -> (f64, Option<(f64, f64)>) {
        (median(&self.ns), median_interval(&self.ns, LEVEL))
    }
}

/// Parses a file; `name` is used for formats without names.
pub(crate) fn read(text: &[u8], name: &str) -> Result<Vec<Imported>, ImportError> {
    let imported = match serde_json::from_slice::<Hyperfine>(text) {
        Ok(hyperfine) => hyperfine.results.into_iter().map(from_command).collect(),
        Err(hyperfine) => {
            let sample = serde_json::from_slice::<Criterion>(text);
            let sample = sample.map_err(|criterion| ImportError::Foreign {
                hyperfine: hyperfine.to_string(),
                criterion: criterion.to_string(),
            })?;
            let per_iteration = sample.times.iter().zip(&sample.iters).map(|(time, iters)| time / iters);
            vec![Imported { name: name.to_owned(), ns: per_iteration.collect() }]
        }
    };
    sound(imported)
}

fn from_command(command: Command) -> Imported {
    Imported { name: command.command, ns: command.times.iter().map(|seconds| seconds * 1e9).collect() }
}

fn sound(imported: Vec<Imported>) -> Result<Vec<Imported>, ImportError> {
    let is_time = |ns: &f64| ns.is_finite() && *ns > 0.0;
    let bad = |one: &&Imported| one.ns.is_empty() || !one.ns.iter().all(is_time);
    match imported.iter().find(bad) {
        Some(one) => Err(ImportError::Empty(one.name.clone())),
        None => Ok(imported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyperfine_counts_in_seconds() {
        let text =
            br#"{"results":[{"command":"sleep 1","mean":1.1,"times":[1.0,1.1,1.3],"exit_codes":[0,0,0]},
                       {"command":"true","mean":0.001,"times":[0.001]}]}"#;
        let found = read(text, "x").expect("hyperfine");
        assert_eq!(found[0], Imported { name: "sleep 1".to_owned(), ns: vec![1e9, 1.1e9, 1.3e9] });
        assert_eq!(found[0].centre(), (1.1e9, None), "three samples have no interval");
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn criterion_times_growing_numbers_of_iterations() {
        let text = br#"{"sampling_mode":"Linear","iters":[10.0,20.0,30.0],"times":[100.0,220.0,360.0]}"#;
        let found = read(text, "group/sum").expect("criterion");
        assert_eq!(found, [Imported { name: "group/sum".to_owned(), ns: vec![10.0, 11.0, 12.0] }]);
    }

    #[test]
    fn rejects_other_formats() {
        assert!(matches!(read(b"{}", "x"), Err(ImportError::Foreign { .. })));
        assert!(matches!(read(b"", "x"), Err(ImportError::Foreign { .. })));
        let none = br#"{"results":[{"command":"true","times":[]}]}"#;
        assert_eq!(read(none, "x"), Err(ImportError::Empty("true".to_owned())));
        let absurd = br#"{"iters":[0.0],"times":[1.0]}"#;
        assert_eq!(read(absurd, "x"), Err(ImportError::Empty("x".to_owned())));
    }
}
