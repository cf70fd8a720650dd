//! `cargo xtask test`: runs steps, and reports the skipped ones at the end.

mod binaries;
mod output;
mod process;
mod report;
mod step;
mod test_counts;

use std::env;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use anyhow::Context;

use self::output::StepResult;
use self::report::{Outcome, Summary};
use crate::command::Cmd;
use crate::steps::kind::Kind;
use crate::steps::needs::Need;
use crate::steps::{Setting, Step, min_tests};

/// The steps to run, and how.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) steps: Vec<&'static Step>,
    pub(crate) filter: Vec<String>,
    pub(crate) verbose: bool,
    /// Runs platforms and sanitizers beside the others: one step runs tests while another compiles or links on one processor.
    pub(crate) overlap: bool,
    /// Builds the tests and does not run them.
    pub(crate) no_run: bool,
    /// Kinds that are not run, for the closing lines.
    pub(crate) not_run: Vec<Kind>,
}

/// Runs the steps; true if nothing failed.
pub(crate) fn run(root: &Path, request: &Request) -> anyhow::Result<bool> {
    let require_all = env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1");
    let steps: Vec<_> = request.steps.iter().copied().filter(|step| (step.applies)()).collect();
    let count = steps.len();
    let lists = lists(steps, request.overlap);
    let mut summary = Summary::new(require_all, request.not_run.clone());
    let (mut started, mut error) = (0, None);
    thread::scope(|scope| {
        let (sender, events) = mpsc::channel();
        for list in &lists {
            let sender = sender.clone();
            scope.spawn(move || run_list(root, list, request, &sender));
        }
        drop(sender);
        for event in events {
            match event {
                Event::Begins(step) => {
                    started += 1;
                    report::begin(started, count, step);
                }
                Event::Ends(step, Ok(outcome)) => {
                    report::end(step, &outcome, request.verbose, lists.len() > 1);
                    summary.add(step.name, outcome);
                }
                Event::Ends(_, Err(failed)) => _ = error.get_or_insert(failed),
            }
        }
    });
    match error {
        Some(error) => Err(error),
        None => {
            print!("{}", summary.text());
            Ok(summary.passed())
        }
    }
}

/// The steps as one list, or platforms and sanitizers as a second one: they build no program that another step runs. The other
/// steps write the same programs, such as `target/debug/hashmill`, and must not run at the same time.
fn lists(steps: Vec<&'static Step>, overlap: bool) -> Vec<Vec<&'static Step>> {
    let builds_alone = |step: &&Step| matches!(step.kind, Kind::Platforms | Kind::Sanitizers);
    let (second, first): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| overlap && builds_alone(step));
    [first, second].into_iter().filter(|list| !list.is_empty()).collect()
}

/// Progress of a list of steps. An error ends its list.
enum Event {
    Begins(&'static Step),
    Ends(&'static Step, anyhow::Result<Outcome>),
}

/// Runs steps one after another.
fn run_list(root: &Path, steps: &[&'static Step], request: &Request, events: &mpsc::Sender<Event>) {
    let missing = missing_needs(steps);
    for &step in steps {
        let _ = events.send(Event::Begins(step));
        let outcome = match missing.recv().context("the needs of a step were not checked") {
            Ok(Some(reason)) => Ok(Outcome::Skipped(reason)),
            Ok(None) => run_step(root, step, request).map(Outcome::Finished),
            Err(error) => Err(error),
        };
        let is_error = outcome.is_err();
        let _ = events.send(Event::Ends(step, outcome));
        if is_error {
            return;
        }
    }
}

/// The missing need of each step, in order. A thread checks them while earlier steps run: some needs are downloaded and unpacked, which
/// takes a minute of the network and of one processor.
fn missing_needs(steps: &[&'static Step]) -> mpsc::Receiver<Option<String>> {
    let (sender, receiver) = mpsc::channel();
    let needs: Vec<_> = steps.iter().map(|step| step.needs).collect();
    thread::spawn(move || {
        let mut missing = needs.iter().map(|needs| needs.iter().find_map(Need::missing));
        // The receiver is dropped if the run ends early.
        missing.try_for_each(|reason| sender.send(reason))
    });
    receiver
}

/// Runs a step, or as much of it as this machine can.
fn run_step(root: &Path, step: &Step, request: &Request) -> anyhow::Result<StepResult> {
    let missing = step.runner.as_ref().and_then(Need::missing);
    let setting = Setting { root, filter: &request.filter, runs: missing.is_none() };
    let commands = match (step.commands)(&setting) {
        Ok(commands) if request.no_run => builds(commands),
        Ok(commands) => commands,
        // The other steps still run.
        Err(error) => return step::without_commands(root, step.name, &error),
    };
    let mut result = step::run(root, step.name, &commands, request.verbose)?;
    result.test_counts.skipped.extend(missing.map(|reason| format!("built and not run: {reason}")));
    // A step may choose its tests by parts of their names, and names change.
    if step.filters && setting.runs && setting.filter.is_empty() && !request.no_run {
        result.require_tests(min_tests::for_step(step.name));
    }
    Ok(result)
}

/// The commands that build the tests of a step.
fn builds(commands: Vec<Cmd>) -> Vec<Cmd> {
    let tests = commands.into_iter().filter(|command| command.tests.is_some());
    let build = |mut command: Cmd| {
        command.tests = None;
        command.args.push("--no-run".to_owned());
        command
    };
    tests.map(build).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::command::Selection;
    use crate::steps::Graph;

    const fn step(needs: &'static [Need]) -> Step {
        Step {
            name: "broken",
            about: "",
            kind: Kind::Core,
            graph: Graph::None,
            filters: true,
            applies: || true,
            needs,
            runner: None,
            commands: |_| Ok(vec![]),
        }
    }

    #[test]
    fn each_step_gets_its_own_missing_need() {
        const ABSENT: Need = Need::Program { name: "no-such-program-anywhere", package: "nowhere" };
        const HERE: Need = Need::Program { name: "cargo", package: "cargo" };
        static STEPS: [Step; 3] = [step(&[]), step(&[HERE, ABSENT]), step(&[HERE])];
        let reasons: Vec<_> = missing_needs(&STEPS.iter().collect::<Vec<_>>()).iter().collect();
        let absent = Some("needs `no-such-program-anywhere` (Debian package nowhere)".to_owned());
        assert_eq!(reasons, [None, absent, None]);
    }

    #[test]
    fn steps_that_build_alone_are_a_second_list_on_request() {
        static STEPS: [Step; 3] =
            [step(&[]), Step { kind: Kind::Platforms, ..step(&[]) }, Step { kind: Kind::Slow, ..step(&[]) }];
        let lengths = |overlap: bool| {
            let lists = lists(STEPS.iter().collect(), overlap);
            lists.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!((lengths(false), lengths(true)), (vec![3], vec![2, 1]));
        assert!(lists(Vec::new(), true).is_empty());
    }

    #[test]
    fn tests_are_built_by_the_commands_that_run_them() {
        let tests = Cmd { tests: Some(Selection::default()), ..Cmd::cargo(&["test", "--locked"]) };
        let built = builds(vec![tests, Cmd::cargo(&["test", "--doc"])]);
        assert_eq!(built.iter().map(Cmd::shell_line).collect::<Vec<_>>(), ["cargo test --locked --no-run"]);
        assert!(built[0].tests.is_none(), "a command that cargo runs as it is");
    }

    #[test]
    fn a_step_whose_commands_cannot_be_determined_has_failed() {
        let root = env::temp_dir().join(format!("xtask-suite-{}", std::process::id()));
        let step = Step { commands: |_| anyhow::bail!("no environment"), ..step(&[]) };
        let result = run_step(&root, &step, &Request::default()).expect("the result of a step");
        assert_eq!(result.failure.as_deref(), Some("no environment"));
        assert!(fs::read_to_string(&result.log).is_ok_and(|log| log.contains("no environment")));
        fs::remove_dir_all(&root).expect("the folder of this test");
    }
}
