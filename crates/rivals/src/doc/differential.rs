//! Differential tests: many random scripts on two engines, until they differ.

use std::fmt;

use super::hashmill::Hashmill;
use super::official::Official;
use super::peer::Peer;
use super::runner::{Difference, run};
use super::script::Script;
use super::shrink::shrink;

/// Totals of scripts without a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub scripts: usize,
    /// Changes whose bytes were compared.
    pub changes: usize,
    /// Calls whose results were compared, including edits.
    pub calls: usize,
    /// Scripts that stopped because the oracle panicked.
    pub oracle_panics: usize,
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scripts, changes, calls, oracle_panics } = self;
        write!(f, "{calls} calls and {changes} changes of {scripts} scripts")?;
        if *oracle_panics > 0 { write!(f, " ({oracle_panics} times the oracle panicked)") } else { Ok(()) }
    }
}

/// A minimised script on which two engines differ.
#[derive(Clone, Debug)]
pub struct Finding {
    pub seed: u64,
    pub script: Script,
    pub difference: Box<Difference>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, text in {:?}, {} replicas",
            self.seed, self.script.encoding, self.script.replicas
        )?;
        for (index, step) in self.script.steps.iter().enumerate() {
            writeln!(f, "  {index}: replica {} does {:?}", step.replica, step.action)?;
        }
        write!(f, "{}", self.difference)
    }
}

/// Runs scripts of `length` steps, the first with `seed`, until `calls` calls were compared or a difference is found.
///
/// `progress` gets the totals after every 100 scripts.
pub fn search<A: Peer, B: Peer>(
    seed: u64,
    length: usize,
    calls: usize,
    mut progress: impl FnMut(&Total),
) -> Result<Total, Box<Finding>> {
    let mut total = Total::default();
    for seed in seed.. {
        let script = Script::random(seed, length);
        match run::<A, B>(&script) {
            Ok(outcome) => {
                total.scripts += 1;
                total.changes += outcome.changes;
                total.calls += outcome.calls;
                total.oracle_panics += usize::from(outcome.oracle_panicked);
            }
            Err(_) => return Err(Box::new(minimise::<A, B>(seed, script))),
        }
        if total.scripts.is_multiple_of(100) {
            progress(&total);
        }
        if total.calls >= calls {
            break;
        }
    }
    Ok(total)
}

/// [`search`] for the official crate and Hashmill's engine.
pub fn official_and_hashmill(
    seed: u64,
    length: usize,
    calls: usize,
    progress: impl FnMut(&Total),
) -> Result<Total, Box<Finding>> {
    search::<Official, Hashmill>(seed, length, calls, progress)
}

fn minimise<A: Peer, B: Peer>(seed: u64, script: Script) -> Finding {
    let script = shrink(script, |script| run::<A, B>(script).is_err());
    let difference = run::<A, B>(&script).expect_err("the engines differ on the minimised script");
    Finding { seed, script, difference }
}
