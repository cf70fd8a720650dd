//! Search for inputs that break an invariant: targets, generated inputs, findings.
//!
//! Inputs come in blocks. The seed of the run and the number of a block determine all its inputs: it starts from a few
//! documents of its own, and accepted inputs are mutated further.

mod bases;
mod catch;
pub mod child;
pub mod parent;
mod shrink;
mod targets;

pub use catch::{Finding, quietly};
pub use shrink::shrink;
pub use targets::{TARGETS, Target};

/// Inputs of a block, without those that repair others.
pub const BLOCK: usize = 512;

/// Counts of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Inputs that the engine processed.
    pub executions: u64,
    /// Inputs of which the engine accepted a part.
    pub accepted: u64,
    /// Inputs of which the engine accepted nothing.
    pub refused: u64,
    /// Inputs that broke the property.
    pub findings: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.executions += more.executions;
        self.accepted += more.accepted;
        self.refused += more.refused;
        self.findings += more.findings;
    }
}

/// Runs one block of a target. `before` gets each input, and `found` gets its finding.
pub fn run_block(
    target: &Target,
    seed: u64,
    number: u64,
    before: &mut dyn FnMut(&[u8]),
    found: &mut dyn FnMut(&[u8], Finding),
) -> Tally {
    let mut tally = Tally::default();
    let seed = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut run = |input: &[u8]| {
        before(input);
        tally.executions += 1;
        match catch::run(|| (target.body)(input)) {
            Ok(verdict) => {
                let accepted = verdict == crate::Verdict::Accepted;
                *(if accepted { &mut tally.accepted } else { &mut tally.refused }) += 1;
                Some(verdict)
            }
            Err(finding) => {
                tally.findings += 1;
                found(input, finding);
                None
            }
        }
    };
    // The input generator uses the engine too, so it may panic itself.
    if let Err(finding) = catch::run(|| (target.block)(seed, &mut run)) {
        tally.findings += 1;
        found(&[], finding);
    }
    tally
}
