//! `cargo xtask test`: decides which steps run, drives them, and says at the end what was left out.

use std::env;
use std::path::Path;

use crate::host::Need;
use crate::report::{self, Outcome, Summary};
use crate::run::{self, Ended};
use crate::steps::{Setting, Step};

/// Which steps to run, and how.
pub(crate) struct Request {
    pub(crate) steps: Vec<&'static Step>,
    pub(crate) filter: Vec<String>,
    pub(crate) verbose: bool,
}

/// Runs the steps; true if nothing failed.
pub(crate) fn run(root: &Path, request: &Request) -> anyhow::Result<bool> {
    let require_all = env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1");
    let steps: Vec<_> = request.steps.iter().copied().filter(|step| (step.applies)()).collect();
    let mut summary = Summary::new(require_all);
    for (index, step) in steps.iter().enumerate() {
        report::begin(index + 1, steps.len(), step);
        let outcome = match step.needs.iter().find_map(|need| need.missing()) {
            Some(reason) => Outcome::Skipped(reason),
            None => Outcome::Ended(ended(root, step, request)?),
        };
        report::end(step, &outcome, request.verbose);
        summary.add(step.name, &outcome);
    }
    print!("{}", summary.text());
    Ok(summary.passed())
}

/// Runs a step, or as much of it as this machine can.
fn ended(root: &Path, step: &Step, request: &Request) -> anyhow::Result<Ended> {
    let lacking = step.runner.as_ref().and_then(Need::missing);
    let setting = Setting { root, filter: &request.filter, runs: lacking.is_none() };
    let commands = match (step.commands)(&setting) {
        Ok(commands) => commands,
        // The others go on.
        Err(error) => return run::failed(root, step.name, &error),
    };
    let mut ended = run::step(root, step.name, &commands, request.verbose)?;
    ended.tally.skipped.extend(lacking.map(|reason| format!("built and not run: {reason}")));
    // A step may choose its tests by parts of their names, and names change.
    if step.filters && setting.runs && setting.filter.is_empty() {
        ended.must_have_tested();
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_step_that_cannot_say_what_to_run_has_failed_and_ends_nothing_else() {
        let root = env::temp_dir().join(format!("xtask-suite-{}", std::process::id()));
        let step = Step {
            name: "broken",
            about: "",
            quick: false,
            filters: true,
            applies: || true,
            needs: &[],
            runner: None,
            commands: |_| anyhow::bail!("no environment"),
        };
        let request = Request { steps: vec![], filter: vec![], verbose: false };
        let ended = ended(&root, &step, &request).expect("the end of a step");
        assert_eq!(ended.failure.as_deref(), Some("no environment"));
        assert!(fs::read_to_string(&ended.log).is_ok_and(|log| log.contains("no environment")));
        fs::remove_dir_all(&root).expect("the folder of this test");
    }
}
