//! Comparison of commands: measurement and exports.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::interrupt;
use crate::cmd::context::options::ReportOutput;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::outcome::{conclude, exit_of};
use crate::cmd::measuring::{Extras, Job, measure_with};
use crate::command_bench::command_line::{Invocation, SearchPath, Shell};
use crate::command_bench::command_runner::{AcceptedExit, BenchCommand, CommandRunner, RunLog};
use crate::command_bench::export::{Form, Unit};
use crate::command_bench::process::{CommandSpec, Input, Output, RunLimits};
use crate::command_bench::run_counts::RunOptions;
use crate::command_bench::{export, resource_usage, run_counts};
use crate::measure::plan::{Control, Plan};
use crate::report::schema::commands as wire;
use crate::report::schema::{Build, Kind, Report};
use crate::report::store;
use crate::report::view::View;
use crate::stats::order::median;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of standard output in place of a file.
pub(crate) const STANDARD_OUTPUT: &str = "-";

/// Number of runs of an empty program and of an empty shell.
const STARTS: usize = 11;

/// Commands to compare, with all flags resolved.
pub(crate) struct CommandComparison {
    pub(crate) plan: Plan,
    pub(crate) run_options: RunOptions,
    pub(crate) subjects: Vec<BenchCommand>,
    /// Descriptions of the commands for the report.
    pub(crate) builds: Vec<Build>,
    pub(crate) shell: Shell,
    pub(crate) accepted: AcceptedExit,
    /// Whether all commands must print the same.
    pub(crate) same_output: bool,
    /// Whether the report omits the outputs.
    pub(crate) ignores_output: bool,
    /// Maximum time of one run.
    pub(crate) time_limit: Duration,
    /// Runs of each command before the measurement.
    pub(crate) warm_ups: usize,
    /// Unit of exported tables.
    pub(crate) unit: Option<Unit>,
    pub(crate) exports: Vec<(PathBuf, Form)>,
}

impl CommandComparison {
    /// Measures the commands and prints the results.
    pub(crate) fn measure(
        self,
        lab: &LabSetup<'_>,
        out: Option<&Path>,
        output: ReportOutput,
        console: &mut Console<'_>,
    ) -> Result<(Report, Exit), Error> {
        let CommandComparison { mut plan, run_options, subjects, builds, accepted, same_output, .. } = self;
        interrupt::watch();
        let limits = RunLimits { limit: self.time_limit, flag: "--timeout", stop: &interrupt::came };
        let log = RunLog::new(subjects.len(), plan.seed).into();
        let runner = CommandRunner { subjects, accepted, same_output, limits, log };
        let mut start_times_found = start_times(&runner, &self.shell)?;
        let (set_up, ready) = runner.set_up();
        let measured = ready.and_then(|()| runner.warm_up(self.warm_ups)).map(|times| {
            let control = runner.subjects.len() > 1 && plan.control != Control::Off;
            let again = if control { times[0] } else { 0 };
            let round_ns = times.iter().fold(again, |sum, time| sum.saturating_add(*time));
            plan = run_counts::plan(&plan, run_options, runner.subjects.len() == 1, round_ns);
            let groups = vec![runner.group(control)];
            let job =
                Job { kind: Kind::Commands, groups, builds, programs: Vec::new(), plan, same_code: false };
            let after =
                |report: &mut Report| add_usage(report, &runner, self.ignores_output, &mut start_times_found);
            measure_with(
                lab,
                job,
                out,
                Extras { commands: Some((&runner, Box::new(after))), ..Extras::default() },
            )
        });
        let cleaned = runner.clean_up(set_up, &interrupt::insists());
        let (report, folder) = match (measured, &cleaned) {
            (Err(error), Err(more)) => return Err(Error::Refused(format!("{error}; {more}"))),
            (measured, _) => measured??,
        };
        let runs = &runner.log.borrow().runs;
        let (here, files): (Vec<_>, Vec<_>) =
            self.exports.iter().partition(|(path, _)| path.as_os_str() == STANDARD_OUTPUT);
        let text = |form| export::render(&report.rows[0], runs, &runner.subjects, form, self.unit);
        // The reader may close the output early. A file that cannot be written does not affect the others.
        let mut exported = Ok(());
        for (path, form) in files {
            let written = store::write_atomically(path, &text(*form));
            exported = exported.and(written.map_err(Error::keep(path)));
        }
        let exit = match here.is_empty() {
            true => conclude(&report, &folder, output, console)?,
            // Standard output is for another program, so nothing else is printed.
            false => {
                for warning in View::from_report(&report).banner.iter().filter(|warning| warning.is_fatal) {
                    writeln!(std::io::stderr(), "{}", warning.message)?;
                }
                exit_of(&report, output.strict)
            }
        };
        for (_, form) in here {
            console.out.write_all(text(*form).as_bytes())?;
        }
        exported?;
        cleaned?;
        Ok((report, exit))
    }
}

/// Measures the time to start an empty process; omitted if that fails.
fn start_times(runner: &CommandRunner<'_>, shell: &Shell) -> Result<wire::Commands, Error> {
    let folder = std::env::current_dir().map_err(Error::Program)?;
    let places = search_path(&folder);
    let usual = |found: Invocation| {
        let line = found.program.display().to_string();
        let start = CommandSpec { line, invocation: found, input: Input::Null, output: Output::Null };
        let times = (0..STARTS).map(|_| Some(start.run(0, runner.limits).ok()?.time.as_nanos() as f64));
        times.collect::<Option<Vec<f64>>>().map(|times| median(&times))
    };
    let by_shell = runner.subjects.iter().any(|subject| subject.start.invocation.shell);
    let idle = shell.invoke(":", &places).ok().filter(|idle| by_shell && idle.shell);
    Ok(wire::Commands {
        empty_ns: Shell::Never.invoke("true", &places).ok().and_then(usual),
        shell_ns: idle.and_then(usual),
        ..wire::Commands::default()
    })
}

/// Adds the resource usage of the commands to a report.
fn add_usage(
    report: &mut Report,
    runner: &CommandRunner<'_>,
    ignores_output: bool,
    row_commands: &mut wire::Commands,
) {
    let Some(row) = report.rows.first_mut() else { return };
    let runs = &runner.log.borrow().runs;
    let least_bytes = hashmill_machine::peak_bytes();
    let mut used = resource_usage::used(&runs[..row.sides.len().min(runs.len())]);
    if ignores_output {
        used.iter_mut().for_each(|used| (used.output, used.odd) = (None, 0));
    }
    let uses = resource_usage::uses(&runs[..runner.subjects.len()], least_bytes.unwrap_or(0) as f64);
    row.commands = Some(wire::Commands { least_bytes, used, uses, ..std::mem::take(row_commands) });
}

/// Search path for commands that run in `folder`.
pub(crate) fn search_path(folder: &Path) -> SearchPath<'_> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    SearchPath { folder, path: std::env::split_paths(&path).collect() }
}
