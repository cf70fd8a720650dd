//! `lab.count/1`: instructions per call, and how two such records compare.

use crate::host::Machine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands in [`CountRecord::schema`].
pub const SCHEMA: &str = "lab.count/1";

/// Counts of one program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountRecord {
    /// Always `lab.count/1`.
    pub schema: String,
    /// Version of the lab.
    pub tool: String,
    /// When it was counted.
    pub created: String,
    /// What counted.
    pub counter: String,
    /// Where.
    pub machine: Machine,
    /// SHA-256 of the program.
    pub program_sha256: String,
    /// The cases.
    pub rows: Vec<CountRow>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountRow {
    /// Its key.
    pub case: String,
    /// The kernel that was counted; it is the one that is timed.
    pub kernel: String,
    /// Instructions of one call; none where it was refused.
    pub instructions: Option<f64>,
    /// How far two equal runs lay apart, per call.
    pub resolution: Option<f64>,
    /// Why there is no number.
    pub refused: Option<String>,
}

/// Why two records cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// Libraries choose other code on other processors.
    #[error(
        "the baseline was counted on machine {theirs}, this is {ours}; libraries choose their code by the processor"
    )]
    Machine {
        /// The baseline's.
        theirs: String,
        /// This one.
        ours: String,
    },
    /// Nothing to compare with.
    #[error("the baseline has no count of {0}")]
    Absent(String),
    /// Two kernels are two programs.
    #[error("{case} was counted with `{theirs}` and now with `{ours}`; there is no delta between kernels")]
    Kernel {
        /// Which case.
        case: String,
        /// The baseline's.
        theirs: String,
        /// This one.
        ours: String,
    },
}

impl CountRecord {
    /// For each counted row, its instructions over those of the baseline.
    pub fn against(&self, baseline: &CountRecord) -> Result<Vec<(String, f64)>, CompareError> {
        if self.machine.id != baseline.machine.id {
            let (theirs, ours) = (baseline.machine.id.clone(), self.machine.id.clone());
            return Err(CompareError::Machine { theirs, ours });
        }
        let mut ratios = Vec::new();
        for row in &self.rows {
            let Some(now) = row.instructions else { continue };
            let absent = || CompareError::Absent(row.case.clone());
            let old = baseline.rows.iter().find(|old| old.case == row.case).ok_or_else(absent)?;
            if old.kernel != row.kernel && old.instructions.is_some() {
                let (theirs, ours) = (old.kernel.clone(), row.kernel.clone());
                return Err(CompareError::Kernel { case: row.case.clone(), theirs, ours });
            }
            ratios.push((row.case.clone(), now / old.instructions.ok_or_else(absent)?));
        }
        Ok(ratios)
    }
}
