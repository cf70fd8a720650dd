//! From the samples of a gate's rows to its verdict. Pure.

use crate::gates::{Gate, Judge, Verdict};
use crate::report::{GateReport, RowReport, SessionReport, Summary, Unit, rounded};
use crate::stats::{self, Estimate, Session};

/// Everything measured for one row.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The row's name.
    pub row: String,
    /// Bytes that one call works on.
    pub bytes: usize,
    /// What the samples are.
    pub unit: Unit,
    /// Samples for the estimate.
    pub sessions: Vec<Session>,
    /// The same samples for the record.
    pub reports: Vec<SessionReport>,
    /// How our side did it.
    pub how: String,
    /// Core clock in GHz, as each session saw it.
    pub clocks: Vec<f64>,
    /// Whether the row was measured again after it had been found among the lowest.
    pub second_look: bool,
}

impl Measured {
    /// Takes the samples of one more process.
    pub fn add(&mut self, lane: &str, layout: &str, calls: u64, pairs: Vec<[f64; 2]>) {
        self.reports.push(SessionReport {
            lane: lane.to_owned(),
            calls,
            rival_ns: pairs.iter().map(|pair| rounded(pair[0])).collect(),
            ours_ns: pairs.iter().map(|pair| rounded(pair[1])).collect(),
        });
        self.sessions.push(Session { layout: layout.to_owned(), pairs });
    }
}

/// Judges a gate by its rows. Rows without samples are left out.
pub fn gate(gate: &Gate, rows: &[&Measured], seed: u64) -> GateReport {
    let estimated: Vec<(&Measured, Estimate)> =
        rows.iter().filter_map(|row| Some((*row, stats::estimate(&row.sessions, seed)?))).collect();
    let combined = match gate.judge {
        Judge::Each => None,
        Judge::Geomean => {
            let all: Vec<Estimate> = estimated.iter().map(|(_, estimate)| estimate.clone()).collect();
            stats::combine(&all).map(|estimate| (format!("geometric mean of {} rows", all.len()), estimate))
        }
        Judge::Minimum => estimated
            .iter()
            .filter(|(row, _)| row.second_look)
            .min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))
            .map(|(row, estimate)| (format!("lowest: {}", row.row), estimate.clone())),
    };
    let each = |estimate: &Estimate| match gate.judge {
        Judge::Each => gate.verdict(estimate),
        Judge::Geomean | Judge::Minimum => Verdict::Open,
    };
    let rows: Vec<RowReport> =
        estimated.iter().map(|(row, estimate)| row_report(row, estimate, each(estimate))).collect();
    let verdict = match &combined {
        Some((_, estimate)) => gate.verdict(estimate),
        None => rows
            .iter()
            .map(|row| row.verdict)
            .max_by_key(|&verdict| severity(verdict))
            .unwrap_or(Verdict::Open),
    };
    GateReport {
        summary: combined.map(|(what, estimate)| Summary { what, estimate: (&estimate).into() }),
        skipped: None,
        verdict,
        rows,
        ..skipped(gate, "")
    }
}

fn row_report(row: &Measured, estimate: &Estimate, verdict: Verdict) -> RowReport {
    RowReport {
        row: row.row.clone(),
        bytes: row.bytes,
        unit: row.unit,
        estimate: estimate.into(),
        verdict,
        how: row.how.clone(),
        clock_ghz: (!row.clocks.is_empty()).then(|| rounded(stats::median(row.clocks.clone()))),
        second_look: row.second_look,
        sessions: row.reports.clone(),
    }
}

/// A gate that could not be measured, and why.
pub fn skipped(gate: &Gate, why: &str) -> GateReport {
    GateReport {
        name: gate.name.clone(),
        must: gate.must,
        aim: gate.aim,
        within_us: gate.within_us,
        judge: gate.judge,
        level: gate.level,
        verdict: Verdict::Open,
        summary: None,
        skipped: Some(why.to_owned()),
        rows: Vec::new(),
    }
}

/// A gate is as good as its worst row.
fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Open => 0,
        Verdict::Aim => 1,
        Verdict::Met => 2,
        Verdict::Unproven => 3,
        Verdict::Missed => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Level;

    fn row(name: &str, ratio: f64, second_look: bool) -> Measured {
        let mut row = Measured { row: name.into(), bytes: 64, second_look, ..Measured::default() };
        row.add("lane", "plain", 10, vec![[ratio, 1.0]; 5]);
        row
    }

    fn judged(judge: Judge, rows: &[Measured]) -> GateReport {
        let bar = Gate {
            name: "test".into(),
            rows: vec![],
            must: Some(1.1),
            aim: Some(1.3),
            rival: None,
            within_us: None,
            judge,
            level: Level::Native,
            layouts: false,
        };
        gate(&bar, &rows.iter().collect::<Vec<_>>(), 1)
    }

    #[test]
    fn each_row_counts_and_the_worst_decides() {
        let report = judged(Judge::Each, &[row("a", 1.4, false), row("b", 1.2, false)]);
        assert_eq!(
            report.rows.iter().map(|row| row.verdict).collect::<Vec<_>>(),
            [Verdict::Aim, Verdict::Met]
        );
        assert_eq!(report.verdict, Verdict::Met);
        assert_eq!(
            judged(Judge::Each, &[row("a", 1.4, false), row("b", 1.0, false)]).verdict,
            Verdict::Missed
        );
        assert_eq!(judged(Judge::Each, &[]).verdict, Verdict::Open);
    }

    #[test]
    fn a_mean_forgives_one_low_row() {
        let report = judged(Judge::Geomean, &[row("a", 2.0, false), row("b", 0.9, false)]);
        assert_eq!(report.verdict, Verdict::Aim);
        assert_eq!(report.summary.map(|summary| summary.estimate.ratio), Some(1.342));
    }

    #[test]
    fn a_sweep_is_judged_by_its_second_look_alone() {
        let rows = [row("lucky", 0.5, false), row("low", 1.15, true), row("high", 2.0, true)];
        let report = judged(Judge::Minimum, &rows);
        assert_eq!(report.summary.map(|summary| summary.what).as_deref(), Some("lowest: low"));
        assert_eq!(report.verdict, Verdict::Met);
        assert_eq!(report.rows.len(), 3, "but every row is reported");
    }
}
