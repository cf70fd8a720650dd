//! `lab.history/1`: medians of the runs and commits of one machine, one run per line, and where they changed.
//!
//! Two runs differ by more than their sessions suggest, because the machine and its load change in between; many runs
//! show by how much. So this file makes statements about levels only, not about single runs.

use crate::model::labels::{LONGEST_LABEL, shortened};
use crate::model::units::duration;
use crate::report::schema::{Kind, Report, Role, Row, State, Status};
use crate::report::store::ReadError;
use crate::report::view::{Line, Table, Tone, View};
use crate::report::{check, store};
use crate::stats::change::{Change, changes};
use crate::stats::ratio::{ratio, times};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Value of [`Run::schema`].
pub(crate) const SCHEMA: &str = "lab.history/1";

/// Least change of a time that is reported; for a ratio it is the smallest claim of a comparison.
const LEAST_TIME: f64 = 0.02;
const LEAST_RATIO: f64 = 0.005;

/// One run, a line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// Always `lab.history/1`.
    pub(crate) schema: String,
    /// Name of the run.
    pub(crate) id: String,
    /// Time of the start, in UTC.
    pub(crate) created: String,
    /// Id of the machine.
    pub(crate) machine: String,
    /// Commit of its last build, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// Measured numbers.
    pub(crate) points: Vec<Point>,
}

/// One number of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    /// The case.
    pub(crate) case: String,
    /// What it was compared with: `value` is then a ratio, how many times as fast the case is, and nanoseconds
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<String>,
    /// Median.
    pub(crate) value: f64,
}

/// Reason why a run cannot be added to a history.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("line {line} is no run of a history: {source}")]
    Line {
        /// Line number, from 1.
        line: usize,
        source: serde_json::Error,
    },
    #[error("line {line} is of the format `{found}`, this version reads {SCHEMA}")]
    Foreign {
        /// Line number, from 1.
        line: usize,
        found: String,
    },
    /// Numbers from two machines say nothing about a code change.
    #[error("it is of machine {added}, the history is of {history}; keep a file for each machine")]
    Machine { added: String, history: String },
    #[error("run {0} is in the history already")]
    Twice(String),
    #[error("it cannot be added to a history: {0}")]
    Unusable(String),
}

impl Run {
    /// Entry of a report for its history.
    pub(crate) fn from_report(report: &Report) -> Result<Self, HistoryError> {
        if let Some(problem) = check::problems(report).first() {
            return Err(HistoryError::Unusable(problem.to_string()));
        }
        if !report.is_valid() || report.state != State::Complete {
            let reason = "it has a wrong result, a failed control, or was not finished";
            return Err(HistoryError::Unusable(reason.to_owned()));
        }
        let points: Vec<Point> = report
            .rows
            .iter()
            .filter(|row| row.status == Status::Ok)
            .flat_map(|row| Point::from_row(report, row))
            .collect();
        if points.is_empty() {
            return Err(HistoryError::Unusable("nothing was measured".to_owned()));
        }
        Ok(Run {
            schema: SCHEMA.to_owned(),
            id: report.id.clone(),
            created: report.created.clone(),
            machine: report.machine.id.clone(),
            commit: report.builds.iter().rev().find_map(|build| build.commit.clone()),
            points,
        })
    }

    /// Label in a chart: the commit, or the day.
    fn name(&self) -> &str {
        match &self.commit {
            Some(commit) => commit.get(..7).unwrap_or(commit),
            None => self.created.split('T').next().unwrap_or_default(),
        }
    }
}

impl Point {
    /// Times of rows with one side; ratios of comparisons, which are more reliable because both sides ran under the
    /// same conditions.
    fn from_row(report: &Report, row: &Row) -> Vec<Point> {
        let case = |side: usize| case_of(report, row, side);
        if let ([_], Some(summary)) = (&row.sides[..], row.sides[0].summary) {
            return vec![Point { case: case(0), against: None, value: summary.median_ns }];
        }
        let of = row.found(Role::Candidate).filter(|comparison| comparison.sessions > 0);
        of.map(|comparison| Point {
            case: case(comparison.side),
            against: Some(case(0)),
            value: comparison.ratio,
        })
        .collect()
    }
}

/// Prefix of the case name of a command in a history.
const COMMAND: &str = "command: ";

/// Name of a side that is the same in every run: its case; for commands the given name, or the command line. The key
/// of a command is its position among the arguments, so different commands would share a series.
fn case_of(report: &Report, row: &Row, side: usize) -> String {
    let side = &row.sides[side];
    let Some(build) = report.builds.get(side.build).filter(|_| report.kind == Kind::Commands) else {
        return side.key.clone();
    };
    // Labels shorten long names, but not command lines; a given name shares nothing with the command line.
    let is_named = build.label != shortened(&build.source, LONGEST_LABEL);
    let is_numbered =
        build.label.ends_with(')') && build.label.starts_with(&shortened(&build.source, LONGEST_LABEL));
    format!("{COMMAND}{}", if is_named && !is_numbered { &build.label } else { &build.source })
}

/// Whether a case identifies a command by position, as histories did before 28 November 2026.
fn is_position(case: &str) -> bool {
    let number = case.strip_prefix("command/c").and_then(|rest| rest.strip_suffix("/process/1/t1"));
    number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()))
}

/// Runs of one machine, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    pub(crate) runs: Vec<Run>,
}

/// Numbers of one case over the runs that measured it.
pub(crate) struct Series<'a> {
    pub(crate) name: String,
    pub(crate) runs: Vec<&'a Run>,
    pub(crate) values: Vec<f64>,
    pub(crate) is_ratio: bool,
    pub(crate) changes: Vec<Change>,
}

impl History {
    /// Reads the file. A missing file is an empty history.
    pub(crate) fn read(path: &Path) -> Result<Self, HistoryError> {
        // A file that cannot be accessed is an error: an empty history would overwrite it.
        if path.try_exists().is_ok_and(|exists| !exists) {
            return Ok(History::default());
        }
        let bytes = store::read_bytes(path)?;
        let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let mut runs: Vec<Run> = Vec::new();
        for (index, text) in lines {
            let run: Run = serde_json::from_slice(text)
                .map_err(|source| HistoryError::Line { line: index + 1, source })?;
            if run.schema != SCHEMA {
                return Err(HistoryError::Foreign { line: index + 1, found: run.schema });
            }
            runs.push(run);
        }
        runs.sort_by(|a, b| a.created.cmp(&b.created));
        Ok(History { runs })
    }

    /// Inserts a run by time.
    pub(crate) fn add(&mut self, run: Run) -> Result<(), HistoryError> {
        if self.runs.iter().any(|known| known.id == run.id) {
            return Err(HistoryError::Twice(run.id));
        }
        if let Some(other) = self.runs.iter().find(|known| known.machine != run.machine) {
            return Err(HistoryError::Machine { added: run.machine, history: other.machine.clone() });
        }
        let index = self.runs.partition_point(|known| known.created <= run.created);
        self.runs.insert(index, run);
        Ok(())
    }

    /// Text of the file.
    pub(crate) fn text(&self) -> String {
        let lines =
            self.runs.iter().map(|run| serde_json::to_string(run).expect("a run is plain data") + "\n");
        lines.collect()
    }

    /// All series in the order of their first appearance.
    pub(crate) fn series(&self) -> Vec<Series<'_>> {
        let mut all: Vec<Series<'_>> = Vec::new();
        for run in &self.runs {
            for point in &run.points {
                // The command is unknown, and two runs may have different ones.
                if is_position(&point.case) {
                    continue;
                }
                let name = match &point.against {
                    Some(other) => format!("{} against {other}", point.case),
                    None => point.case.clone(),
                };
                let index = all.iter().position(|series| series.name == name);
                let index = index.unwrap_or_else(|| {
                    let is_ratio = point.against.is_some();
                    all.push(Series {
                        name,
                        runs: Vec::new(),
                        values: Vec::new(),
                        is_ratio,
                        changes: Vec::new(),
                    });
                    all.len() - 1
                });
                all[index].runs.push(run);
                all[index].values.push(point.value);
            }
        }
        for series in &mut all {
            let least = if series.is_ratio { LEAST_RATIO } else { LEAST_TIME };
            series.changes = changes(&series.values, least);
        }
        all
    }

    pub(crate) fn view(&self, series: &[Series<'_>]) -> View {
        let columns = ["case", "runs", "first", "last", "changes"];
        let tables = vec![Table::new(columns, series.iter().map(Series::line))];
        let facts = self.runs.first().zip(self.runs.last()).map(|(first, last)| {
            let runs = match self.runs.len() {
                1 => format!("one run, {}", first.created),
                many => format!("{many} runs from {} to {}", first.created, last.created),
            };
            vec![("machine", first.machine.clone()), ("measured", runs)]
        });
        let mut notes = vec![
            "a change gives the speed after relative to before, above 1 faster; changes are new levels, found by circular binary segmentation of ranks with a permutation test: 1 in 100 series of pure noise shows a change; slower hours of the machine look like changes of the code"
                .to_owned(),
            format!(
                "changes of a time below {} % and of a ratio below {} % are left out; no single run proves one, and fewer than \
                 ten rarely do",
                LEAST_TIME * 100.0,
                LEAST_RATIO * 100.0
            ),
        ];
        let unknown =
            self.runs.iter().flat_map(|run| &run.points).filter(|point| is_position(&point.case)).count();
        if unknown > 0 {
            notes.push(format!(
                "{unknown} of the numbers are from commands without command lines, stored by a version before 28 November 2026: the command is unknown, so they are in no series"
            ));
        }
        let facts = facts.unwrap_or_default();
        View { title: "lab history".to_owned(), banner: Vec::new(), facts, tables, notes }
    }
}

impl Series<'_> {
    pub(crate) fn show(&self, value: f64) -> String {
        if self.is_ratio { times(value) } else { duration(value) }
    }

    /// Speed after the change relative to before.
    fn speed(&self, change: &Change) -> f64 {
        if self.is_ratio { ratio(change.after, change.before) } else { ratio(change.before, change.after) }
    }

    /// Label of a run on an axis.
    pub(crate) fn run(&self, index: usize) -> &str {
        self.runs[index].name()
    }

    fn line(&self) -> Line {
        let last = self.values.len() - 1;
        let words = self
            .changes
            .iter()
            .map(|change| format!("{} from {} on", times(self.speed(change)), self.runs[change.at].name()));
        let words: Vec<String> = words.collect();
        let slower = |change: &Change| self.speed(change) < 1.0;
        let tone = match self.changes.last() {
            None => Tone::Plain,
            Some(change) if slower(change) => Tone::Bad,
            Some(_) => Tone::Good,
        };
        let message = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        let (first, last) = (self.show(self.values[0]), self.show(self.values[last]));
        Line::new([self.name.clone(), self.values.len().to_string(), first, last, message], tone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;

    /// A report that can be added to a history: the golden report without its errors.
    fn sound() -> Report {
        let mut report = report();
        report.rows.retain(|row| matches!(row.status, Status::Ok));
        report.seal = report.compute_seal();
        report
    }

    /// Report of a single command.
    fn of_command(id: &str, label: &str, line: &str) -> Report {
        let mut report = sound();
        report.id = id.to_owned();
        report.kind = Kind::Commands;
        report.builds.truncate(1);
        (report.builds[0].label, report.builds[0].source) = (label.to_owned(), line.to_owned());
        report.rows.retain(|row| row.sides.len() == 1);
        report.rows.truncate(1);
        report
    }

    #[test]
    fn a_command_is_known_by_its_name_or_its_line_and_never_by_its_position() {
        let long = "sleep 0.001 ".repeat(10);
        let short = shortened(&long, LONGEST_LABEL);
        for (label, line, case) in [
            ("sleep 0.002", "sleep 0.002", "command: sleep 0.002"),
            ("sleep 0.002 (2)", "sleep 0.002", "command: sleep 0.002"),
            ("nap", "sleep 0.002", "command: nap"),
            (&short, &long, &format!("command: {long}")),
        ] {
            let report = of_command("one", label, line);
            assert_eq!(case_of(&report, &report.rows[0], 0), case);
        }
        let old = r#"{"schema":"lab.history/1","id":"old","created":"2026-01-01T12:00:00Z","machine":"m","points":[{"case":"command/c1/process/1/t1","value":2.0}]}"#;
        let history = History { runs: vec![serde_json::from_str(old).expect("a run of before")] };
        assert!(history.series().is_empty());
        let notes = history.view(&history.series()).notes;
        assert!(notes.last().is_some_and(|note| note.starts_with("1 of the numbers")), "{notes:?}");
    }

    fn run(day: usize, ns: f64, ratio: f64) -> Run {
        let mut run = Run::from_report(&sound()).expect("a sound report");
        run.id = day.to_string();
        run.created = format!("2026-02-{day:02}T12:00:00Z");
        run.commit = Some(format!("{day:040}"));
        run.points.truncate(1);
        run.points[0].value = ratio;
        run.points.push(Point { case: "a/b/kernel/1/t1".to_owned(), against: None, value: ns });
        run
    }

    #[test]
    fn a_report_becomes_a_line_and_a_wrong_one_does_not() {
        let run = Run::from_report(&sound()).expect("a sound report");
        assert_eq!(run.points.len(), 7, "four comparisons and three rows alone");
        let faster = &run.points[0];
        assert_eq!(faster.against.as_deref(), Some("hash/rival/kernel/4KiB/t1"));
        assert!((faster.value - 1.111).abs() < 0.001, "{}", faster.value);
        assert_eq!((run.points[4].against.clone(), run.points[4].value), (None, 700.14));
        let wrong = Run::from_report(&report()).expect_err("a wrong result");
        assert!(
            wrong.to_string().starts_with("it cannot be added to a history: it has a wrong result"),
            "{wrong}"
        );
    }

    #[test]
    fn a_history_has_one_machine_and_no_duplicate_runs() {
        let mut history = History::default();
        for day in [3, 1, 2] {
            history.add(run(day, 100.0, 1.1)).expect("a new run");
        }
        let order: Vec<&str> = history.runs.iter().map(|run| &*run.id).collect();
        assert_eq!(order, ["1", "2", "3"]);
        assert!(matches!(history.add(run(2, 100.0, 1.1)), Err(HistoryError::Twice(_))));
        let foreign = history.add(Run { machine: "m-other".to_owned(), ..run(4, 100.0, 1.1) });
        assert!(matches!(foreign, Err(HistoryError::Machine { .. })), "{foreign:?}");

        let path = std::env::temp_dir().join(format!("lab-history-{}.jsonl", std::process::id()));
        std::fs::write(&path, history.text()).expect("a writable folder");
        let back = History::read(&path).expect("readable");
        std::fs::write(&path, "\n{}\n").expect("a writable folder");
        let broken = History::read(&path).expect_err("no run").to_string();
        std::fs::remove_file(&path).expect("ours");
        assert_eq!(back, history);
        assert!(broken.starts_with("line 2 is no run of a history: missing field"), "{broken}");
        assert_eq!(History::read(&path).expect("not begun"), History::default());
    }

    #[test]
    fn a_new_level_is_named_with_its_commit() {
        let mut history = History::default();
        for day in 1..=24 {
            let ns = if day < 13 { 100.0 } else { 110.0 } + (day * 7 % 5) as f64 * 0.1;
            history.add(run(day, ns, 1.1 + (day * 3 % 7) as f64 * 1e-4)).expect("a new run");
        }
        let series = history.series();
        let table = &history.view(&series).tables[0];
        assert_eq!(table.rows[0].cells[4], "none");
        assert_eq!(table.rows[1].cells[1..], ["24", "100.2 ns", "110.3 ns", "0.909× from 0000000 on"]);
        assert_eq!(table.rows[1].tone, Tone::Bad);
        assert_eq!(series[1].changes[0].at, 12);
    }
}
