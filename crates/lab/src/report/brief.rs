//! The summary of a run for somebody who meets the program: one table that fits any terminal, and one sentence. The page has
//! the rest.

use super::floor::is_probe;
use super::quality::explain;
use super::schema::{Report, Row, State, Status};
use super::text::lay_out;
use super::view::{Line, Table, Tone, side_rate, side_time};
use crate::model::units::duration;

/// Flags that a newcomer can do something about.
const TELLING: [&str; 4] = ["busy", "stolen-time", "cpu-pressure", "memory-pressure"];

/// Renders the rows that `names` (title of a row, its name in words) knows.
pub(crate) fn render(report: &Report, names: &[(String, String)], colour: bool) -> String {
    let rows: Vec<(&Row, &str)> = report
        .rows
        .iter()
        .filter(|row| !is_probe(row))
        .map(|row| {
            (row, names.iter().find(|(title, _)| *title == row.title).map_or(&*row.title, |(_, name)| name))
        })
        .collect();
    let columns = ["what", "time", "rate", "of this machine's limit"];
    let table = Table::new(columns, rows.iter().map(|(row, name)| line(row, name)));
    format!("{}\n{}\n", lay_out(&table, colour), sentence(report, &rows))
}

fn line(row: &Row, name: &str) -> Line {
    let side = &row.sides[0];
    let (reached, tone) = match (&row.status, side.floor) {
        (Status::Incorrect(_), _) => ("WRONG RESULT".to_owned(), Tone::Bad),
        (Status::Failed(_), _) => ("FAILED".to_owned(), Tone::Bad),
        (Status::Skipped(_), _) => ("skipped".to_owned(), Tone::Dim),
        (_, None) => ("no floor is known".to_owned(), Tone::Dim),
        (_, Some(floor)) => (format!("{:.0} %", floor.share * 100.0), Tone::Plain),
    };
    Line::new([name.to_owned(), side_time(side), side_rate(row, side), reached], tone)
}

/// What it comes to.
fn sentence(report: &Report, rows: &[(&Row, &str)]) -> String {
    let count = |holds: fn(&Status) -> bool| rows.iter().filter(|(row, _)| holds(&row.status)).count();
    let wrong = count(|status| matches!(status, Status::Incorrect(_) | Status::Failed(_)));
    let skipped = count(|status| matches!(status, Status::Skipped(_)));
    let took = duration(report.quality.elapsed_ms as f64 * 1e6);
    let mut words = format!("{} rows in {took} on {}", rows.len(), report.machine.cpu);
    if report.state != State::Complete {
        words += ", not finished";
    }
    if skipped > 0 {
        words += &format!(", {skipped} skipped");
    }
    let answers: usize = report.answers.iter().map(|answers| answers.right).sum();
    words += &match wrong {
        0 => format!(": {answers} published answers and every timed result are right"),
        _ => format!(": {wrong} gave a wrong result or failed, so none of this must be used"),
    };
    let mut shares: Vec<f64> =
        rows.iter().filter_map(|(row, _)| row.sides[0].floor.map(|floor| floor.share * 100.0)).collect();
    shares.sort_unstable_by(f64::total_cmp);
    if let (0, [least, .., most]) = (wrong, &*shares) {
        words += &format!(
            "; {} rows with a known floor reach {least:.0} to {most:.0} % of what this machine can do",
            shares.len()
        );
    }
    let conditions = report.quality.flags.iter().filter(|flag| TELLING.contains(&flag.as_str()));
    conditions.for_each(|flag| words += &format!("; {}", explain(flag)));
    words + "."
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    fn rendered(report: &Report) -> (Vec<String>, String) {
        let names = [("hash/ours/oneshot/1KiB/t1".to_owned(), "a small hash".to_owned())];
        let text = render(report, &names, false);
        let (table, sentence) = text.split_once("\n\n").expect("a table, then a sentence");
        (table.lines().map(str::to_owned).collect(), sentence.trim_end().to_owned())
    }

    #[test]
    fn a_row_has_its_name_and_says_what_is_not_known_of_it() {
        let (table, _) = rendered(&report());
        let small = table.iter().find(|line| line.starts_with("a small hash")).expect("its row");
        assert!(small.contains("700.1 ns") && small.ends_with("no floor is known"), "{table:?}");
        let absent = table.iter().find(|line| line.contains("/2MiB/")).expect("its row");
        assert!(absent.ends_with("skipped"), "{absent}");
    }

    #[test]
    fn after_a_wrong_result_the_sentence_praises_nothing() {
        let mut report = report();
        let (table, sentence) = rendered(&report);
        assert!(table.iter().any(|line| line.ends_with("WRONG RESULT")), "{table:?}");
        assert!(
            sentence.contains("1 skipped: 1 gave a wrong result") && !sentence.contains("right"),
            "{sentence}"
        );
        report.rows.retain(|row| !matches!(row.status, Status::Incorrect(_)));
        let (_, sentence) = rendered(&report);
        assert!(sentence.ends_with("every timed result are right."), "{sentence}");
    }
}
