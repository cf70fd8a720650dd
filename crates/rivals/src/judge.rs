//! From the samples of a gate's rows to its verdict. Pure.

use crate::gates::{Gate, Verdict};
use crate::report::{GateReport, RowReport, SessionReport, Unit, rounded};
use crate::stats::{self, Estimate, Pairs};

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
    pub sessions: Vec<Pairs>,
    /// The same samples for the record.
    pub reports: Vec<SessionReport>,
    /// How our side did it.
    pub how: String,
}

impl Measured {
    /// Takes the samples of one more session.
    pub fn add(&mut self, worker: &str, calls: u64, pairs: Pairs) {
        self.reports.push(SessionReport {
            worker: worker.to_owned(),
            calls,
            rival_ns: pairs.iter().map(|pair| rounded(pair[0])).collect(),
            ours_ns: pairs.iter().map(|pair| rounded(pair[1])).collect(),
        });
        self.sessions.push(pairs);
    }

    fn estimate(&self) -> Option<Estimate> {
        match self.unit {
            Unit::Time => stats::estimate(&self.sessions),
            Unit::Bytes => stats::counted(&self.sessions),
        }
    }
}

/// Judges a gate by its rows, of which the worst decides. Rows without samples are left out.
#[must_use]
pub fn gate(gate: &Gate, rows: &[&Measured]) -> GateReport {
    let rows: Vec<RowReport> =
        rows.iter().filter_map(|row| Some(judged(gate, row, &row.estimate()?))).collect();
    let verdicts = rows.iter().map(|row| row.verdict);
    GateReport {
        name: gate.name.clone(),
        must: gate.must,
        aim: gate.aim,
        within_us: gate.within_us,
        verdict: verdicts.max_by_key(|&verdict| severity(verdict)).unwrap_or(Verdict::Open),
        skipped: None,
        rows,
    }
}

fn judged(gate: &Gate, row: &Measured, estimate: &Estimate) -> RowReport {
    RowReport {
        row: row.row.clone(),
        bytes: row.bytes,
        unit: row.unit,
        estimate: estimate.into(),
        verdict: gate.verdict(estimate),
        how: row.how.clone(),
        sessions: row.reports.clone(),
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

    fn row(name: &str, ratio: f64, sessions: usize) -> Measured {
        let mut row = Measured { row: name.into(), bytes: 64, ..Measured::default() };
        (0..sessions).for_each(|_| row.add("worker", 10, vec![[ratio, 1.0]; 5]));
        row
    }

    fn judged(rows: &[Measured]) -> GateReport {
        let bar = Gate {
            name: "test".into(),
            rows: vec![],
            must: Some(1.1),
            aim: Some(1.3),
            rival: None,
            within_us: None,
        };
        gate(&bar, &rows.iter().collect::<Vec<_>>())
    }

    #[test]
    fn each_row_counts_and_the_worst_decides() {
        let report = judged(&[row("a", 1.4, 8), row("b", 1.2, 8)]);
        let verdicts: Vec<Verdict> = report.rows.iter().map(|row| row.verdict).collect();
        assert_eq!(verdicts, [Verdict::Aim, Verdict::Met]);
        assert_eq!(report.verdict, Verdict::Met);
        assert_eq!(judged(&[row("a", 1.4, 8), row("b", 1.0, 8)]).verdict, Verdict::Missed);
        assert_eq!(judged(&[row("a", 1.4, 3)]).verdict, Verdict::Unproven, "three sessions prove nothing");
        assert_eq!(judged(&[]).verdict, Verdict::Open);
    }
}
