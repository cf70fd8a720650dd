//! Instruction counts of a comparison, shown beside its times. A count does not depend on code layout or on other
//! processes.

use crate::report::schema::{Counted, Instructions};
use crate::report::schema::{Report, Row, Status};
use crate::report::sections::cells::met;
use crate::report::view::Table;
use crate::stats::ratio::{ratio, times};

/// Counts that differ by less than this share are equal: counts include the communication of the session and depend
/// on memory addresses.
const EQUAL: f64 = 0.0005;

/// Ratio of instructions for the same work: baseline over side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) ratio: f64,
    pub(crate) is_none: bool,
}

impl Row {
    fn counted(&self, side: usize) -> Option<Counted> {
        match self.instructions.get(side)? {
            Instructions::Counted(counted) => {
                let units =
                    self.sides[side].units_per_iteration.unwrap_or(self.units.per_iteration).max(1) as f64;
                let per_iteration = counted.per_iteration / units;
                Some(Counted { per_iteration, resolution: counted.resolution / units })
            }
            Instructions::Refused(_) => None,
        }
    }

    /// Change of instructions from the baseline to `side`; none unless both were counted.
    pub(crate) fn change(&self, side: usize) -> Option<Change> {
        let (a, b) = (self.counted(0)?, self.counted(side)?);
        let apart = (a.per_iteration - b.per_iteration).abs();
        let noise = (a.resolution + b.resolution).max(EQUAL * a.per_iteration);
        Some(Change { ratio: ratio(a.per_iteration, b.per_iteration), is_none: apart <= noise })
    }

    /// Returns the first error in the counts.
    pub(crate) fn wrong_count(&self) -> Option<&'static str> {
        if self.instructions.len() > self.sides.len() {
            return Some("there are more counts of instructions than sides");
        }
        let sound = self.instructions.iter().all(|counted| match counted {
            Instructions::Counted(Counted { per_iteration, resolution }) => {
                per_iteration.is_finite()
                    && *per_iteration > 0.0
                    && resolution.is_finite()
                    && *resolution >= 0.0
            }
            Instructions::Refused(reason) => !reason.is_empty(),
        });
        (!sound).then_some("a count of instructions is none")
    }
}

/// Adds a column of instructions to the table of comparisons if anything was counted. `sides` has the row and the
/// side of each line.
pub(crate) fn beside(table: &mut Table, sides: &[Option<(&Row, usize)>]) {
    let changes: Vec<Option<Change>> =
        sides.iter().map(|side| side.and_then(|(row, side)| row.change(side))).collect();
    if changes.iter().all(Option::is_none) {
        return;
    }
    let index = table.columns.len() - 2;
    table.columns.insert(index, "instructions".to_owned());
    for (line, change) in table.rows.iter_mut().zip(changes) {
        let words = match change {
            Some(Change { is_none: true, .. }) => "equal".to_owned(),
            Some(Change { ratio, .. }) => times(ratio),
            None => "–".to_owned(),
        };
        line.cells.insert(index, words);
    }
}

/// Explains the direction of the column of instructions.
pub(crate) fn means(report: &Report) -> Option<String> {
    let counted = report.candidates().any(|(row, comparison)| row.change(comparison.side).is_some());
    let words = match met(report) {
        Some([baseline, candidate]) => format!("the count of {baseline} over that of {candidate}"),
        None => "the baseline's count over the candidate's".to_owned(),
    };
    counted.then(|| format!("instructions: {words}, for the same work"))
}

/// Notes below the tables: rows where time and instructions disagree, and sides that could not be counted.
pub(crate) fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    for (row, comparison) in report.candidates().filter(|(row, _)| row.status == Status::Ok) {
        let Some(change) = row.change(comparison.side) else { continue };
        if comparison.verdict.is_claim() && change.is_none {
            let cause = if report.is_shuffled() {
                "memory, or the order of instructions"
            } else {
                "layout or memory"
            };
            notes.push(format!("{}: no difference in instructions: {cause}", row.title));
        }
        if !comparison.verdict.is_claim() && !change.is_none {
            let [baseline, candidate] = [0, comparison.side].map(|side| &row.sides[side].label);
            let ratio = times(change.ratio);
            notes.push(format!(
                "{}: {baseline} has {ratio} the instructions of {candidate}, but the times prove no difference",
                row.title
            ));
        }
    }
    let refused = report.rows.iter().flat_map(|row| &row.instructions).filter_map(|counted| match counted {
        Instructions::Refused(reason) => Some(format!("instructions not counted: {reason}")),
        Instructions::Counted(_) => None,
    });
    for note in refused {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::schema::Verdict;
    use crate::report::tests::report;
    use crate::report::view::View;

    /// The golden report; the row with this verdict gets instruction counts.
    fn counted(verdict: Verdict, ratio: f64) -> (Report, String) {
        let mut report = report();
        let found = report.rows.iter_mut().find(|row| {
            row.status == Status::Ok && row.comparisons.first().is_some_and(|c| c.verdict == verdict)
        });
        let row = found.expect("such a row");
        let of = |per_iteration: f64| Instructions::Counted(Counted { per_iteration, resolution: 0.1 });
        row.instructions = vec![of(1000.0 * ratio), of(1000.0)];
        let title = row.title.clone();
        (report, title)
    }

    fn column(report: &Report, title: &str) -> Option<String> {
        let view = View::from_report(report);
        let table = view.tables.first().expect("comparisons");
        let index = table.columns.iter().position(|column| *column == "instructions")?;
        table.rows.iter().find(|line| line.cells[0] == title).map(|line| line.cells[index].clone())
    }

    #[test]
    fn time_without_instructions_is_called_out() {
        let (report, title) = counted(Verdict::Faster, 1.0002);
        assert_eq!(column(&report, &title).as_deref(), Some("equal"));
        assert_eq!(notes(&report), [format!("{title}: no difference in instructions: layout or memory")]);
        let (report, title) = counted(Verdict::Faster, 1.1);
        assert_eq!(column(&report, &title).as_deref(), Some("1.100×"));
        assert_eq!(notes(&report), [""; 0], "both say the same");
    }

    #[test]
    fn reports_instruction_changes_without_time_changes() {
        let (report, title) = counted(Verdict::Inconclusive, 1.01);
        assert_eq!(
            notes(&report),
            [format!(
                "{title}: rival has 1.010× the instructions of ours, but the times prove no difference"
            )]
        );
    }

    #[test]
    fn without_counts_there_is_no_column_and_one_note() {
        let mut report = report();
        assert_eq!(column(&report, "faster"), None);
        for row in &mut report.rows {
            row.instructions = vec![Instructions::Refused("no Valgrind".to_owned()); row.sides.len()];
        }
        assert_eq!(notes(&report), ["instructions not counted: no Valgrind"]);
        assert!(report.rows.iter().all(|row| row.wrong_count().is_none()));
        report.rows[0].instructions =
            vec![Instructions::Counted(Counted { per_iteration: 0.0, resolution: 0.0 })];
        assert!(report.rows[0].wrong_count().is_some());
    }
}
