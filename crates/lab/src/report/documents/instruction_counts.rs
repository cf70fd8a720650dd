//! `lab.count/1`: instructions per call, and the comparison of two such records.

use crate::report::view::{Line, Table, Tone, View, machine_facts, shown};
use hashmill_machine::Machine;
use serde::{Deserialize, Serialize};

/// Value of [`CountRecord::schema`].
pub(crate) const SCHEMA: &str = "lab.count/1";

/// Instruction counts of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CountRecord {
    /// Always `lab.count/1`.
    pub(crate) schema: String,
    /// Version of the lab.
    pub(crate) tool: String,
    /// Time of counting.
    pub(crate) created: String,
    /// Tool that counted.
    pub(crate) counter: String,
    /// Machine.
    pub(crate) machine: Machine,
    /// SHA-256 of the program.
    pub(crate) program_sha256: String,
    /// Counted cases.
    pub(crate) rows: Vec<CountRow>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CountRow {
    /// Key of the case.
    pub(crate) case: String,
    /// Kernel that was counted; the same kernel is timed.
    pub(crate) kernel: String,
    /// Instructions per call; none if the tool gave no count.
    pub(crate) instructions: Option<f64>,
    /// Difference between two identical runs, per call.
    pub(crate) resolution: Option<f64>,
    /// Reason why there is no count.
    pub(crate) refused: Option<String>,
}

/// Reason why two records cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CompareError {
    #[error(
        "the baseline was counted on machine {baseline}, this is {current}; libraries choose their code by the processor"
    )]
    Machine { baseline: String, current: String },
    #[error("the baseline has no count of {0}")]
    Absent(String),
    #[error(
        "{case} was counted with `{baseline}` and now with `{current}`; there is no delta between kernels"
    )]
    Kernel { case: String, baseline: String, current: String },
}

impl CountRecord {
    /// For each counted row, its instructions relative to the baseline.
    pub(crate) fn against(&self, baseline: &CountRecord) -> Result<Vec<(String, f64)>, CompareError> {
        if self.machine.id != baseline.machine.id {
            let (baseline, current) = (baseline.machine.id.clone(), self.machine.id.clone());
            return Err(CompareError::Machine { baseline, current });
        }
        let mut ratios = Vec::new();
        for row in &self.rows {
            let Some(now) = row.instructions else { continue };
            let absent = || CompareError::Absent(row.case.clone());
            let old = baseline.rows.iter().find(|old| old.case == row.case).ok_or_else(absent)?;
            if old.kernel != row.kernel && old.instructions.is_some() {
                let (baseline, current) = (old.kernel.clone(), row.kernel.clone());
                return Err(CompareError::Kernel { case: row.case.clone(), baseline, current });
            }
            ratios.push((row.case.clone(), now / old.instructions.ok_or_else(absent)?));
        }
        Ok(ratios)
    }

    /// Errors in the record: every row needs a count or a reason.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.machine.id != self.machine.fingerprint() {
            found.push(format!("the machine's id {} belongs to another machine", self.machine.id));
        }
        for row in &self.rows {
            let counted = row.instructions.is_some_and(|count| count.is_finite() && count >= 0.0);
            if counted == row.refused.is_some() {
                found.push(format!("{}: it needs either a count or a reason why there is none", row.case));
            }
        }
        found
    }

    pub(crate) fn view(&self, change: Option<&Change>) -> View {
        let mut facts = machine_facts(&self.machine);
        facts.push(("counted", format!("{} with {}", self.created, self.counter)));
        let notes = vec!["instructions of one call; a count proves nothing about speed".to_owned()];
        View {
            title: "lab run --explain".to_owned(),
            banner: Vec::new(),
            facts,
            tables: vec![self.table(change)],
            notes,
        }
    }

    pub(crate) fn table(&self, change: Option<&Change>) -> Table {
        let rows = self.rows.iter().map(|row| {
            let ratio = change.and_then(|change| change.ratio(&row.case));
            let grown = change.filter(|change| ratio.is_some_and(|ratio| change.is_growth(ratio)));
            let number = |value: Option<f64>| shown(value, |value| format!("{value:.1}"));
            let message = match (&row.refused, grown) {
                (Some(reason), _) => reason.clone(),
                (None, Some(change)) => format!("GREW by more than {} %", change.limit_pct),
                (None, None) => "ok".to_owned(),
            };
            let cells = [
                row.case.clone(),
                number(row.instructions),
                number(row.resolution),
                shown(ratio, |ratio| format!("{:+.3} %", (ratio - 1.0) * 100.0)),
                row.kernel.clone(),
                message,
            ];
            let bad = grown.is_some() || row.refused.is_some();
            Line::new(cells, if bad { Tone::Bad } else { Tone::Plain })
        });
        Table::new(["case", "instructions", "±", "growth", "kernel", "status"], rows)
    }
}

/// Counts relative to a baseline, and how much they may grow.
pub(crate) struct Change {
    pub(crate) ratios: Vec<(String, f64)>,
    pub(crate) limit_pct: f64,
}

impl Change {
    pub(crate) fn any_growth(&self) -> bool {
        self.ratios.iter().any(|(_, ratio)| self.is_growth(*ratio))
    }

    pub(crate) fn ratio(&self, case: &str) -> Option<f64> {
        self.ratios.iter().find(|(name, _)| name == case).map(|(_, ratio)| *ratio)
    }

    pub(crate) fn is_growth(&self, ratio: f64) -> bool {
        (ratio - 1.0) * 100.0 > self.limit_pct
    }
}
