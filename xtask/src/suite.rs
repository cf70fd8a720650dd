//! `cargo xtask test`: decides which steps run, drives them, and says at the end what was left out.

use std::env;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use anyhow::Context;

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
    let lacking = lacking(&steps);
    for (index, step) in steps.iter().enumerate() {
        report::begin(index + 1, steps.len(), step);
        let outcome = match lacking.recv().context("what a step needs was not looked for")? {
            Some(reason) => Outcome::Skipped(reason),
            None => Outcome::Ended(ended(root, step, request)?),
        };
        report::end(step, &outcome, request.verbose);
        summary.add(step.name, &outcome);
    }
    print!("{}", summary.text());
    Ok(summary.passed())
}

/// What each step lacks, in order. It is looked for while the steps before run: some of what is needed is fetched from registries
/// and unpacked, which takes a minute of the network and of one processor.
fn lacking(steps: &[&'static Step]) -> mpsc::Receiver<Option<String>> {
    let (sender, receiver) = mpsc::channel();
    let needs: Vec<_> = steps.iter().map(|step| step.needs).collect();
    thread::spawn(move || {
        let mut answers = needs.iter().map(|needs| needs.iter().find_map(Need::missing));
        // Whoever ends early asks for no more.
        answers.try_for_each(|answer| sender.send(answer))
    });
    receiver
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

    const fn step(needs: &'static [Need]) -> Step {
        Step {
            name: "broken",
            about: "",
            quick: false,
            filters: true,
            applies: || true,
            needs,
            runner: None,
            commands: |_| Ok(vec![]),
        }
    }

    #[test]
    fn each_step_is_told_what_it_lacks_itself() {
        const ABSENT: Need = Need::Program { name: "no-such-program-anywhere", package: "nowhere" };
        const HERE: Need = Need::Program { name: "cargo", package: "cargo" };
        static STEPS: [Step; 3] = [step(&[]), step(&[HERE, ABSENT]), step(&[HERE])];
        let said: Vec<_> = lacking(&STEPS.iter().collect::<Vec<_>>()).iter().collect();
        let absent = Some("needs `no-such-program-anywhere` (Debian package nowhere)".to_owned());
        assert_eq!(said, [None, absent, None]);
    }

    #[test]
    fn a_step_that_cannot_say_what_to_run_has_failed_and_ends_nothing_else() {
        let root = env::temp_dir().join(format!("xtask-suite-{}", std::process::id()));
        let step = Step { commands: |_| anyhow::bail!("no environment"), ..step(&[]) };
        let request = Request { steps: vec![], filter: vec![], verbose: false };
        let ended = ended(&root, &step, &request).expect("the end of a step");
        assert_eq!(ended.failure.as_deref(), Some("no environment"));
        assert!(fs::read_to_string(&ended.log).is_ok_and(|log| log.contains("no environment")));
        fs::remove_dir_all(&root).expect("the folder of this test");
    }
}
