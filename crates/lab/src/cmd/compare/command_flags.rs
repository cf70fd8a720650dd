//! Flags of commands after `--`, and their resolution to a comparison.

use super::commands::{CommandComparison, STANDARD_OUTPUT, search_path};
use crate::cmd::context::error::Error;
use crate::cmd::context::options::length;
use crate::command_bench::command_line::Shell;
use crate::command_bench::command_runner::{AcceptedExit, BenchCommand};
use crate::command_bench::export::{Form, MICROSECOND, MILLISECOND, SECOND};
use crate::command_bench::parameters;
use crate::command_bench::parameters::{Choice, Parameter, ParameterError, fill};
use crate::command_bench::process::{CommandSpec, Input, Output};
use crate::command_bench::run_counts::RunOptions;
use crate::fingerprint::sha256_file;
use crate::measure::plan::Plan;
use crate::model::labels::{LONGEST_LABEL, shortened};
use crate::report::schema::Build;
use crate::report::store;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Heading of these flags in the help; the short help omits them.
pub(crate) const HEADING: &str = "Commands, after --";

/// Sampling options that do not apply: a sample is one run.
const SAMPLING: [&str; 5] = ["rounds", "warm_ups", "sample_ms", "no_pin", "timeout_secs"];

#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
#[group(requires = "commands")]
pub(crate) struct Commands {
    /// Commands to compare with the first, each in quotes.
    ///
    /// A single command is measured alone. docs/from-hyperfine.md explains it.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = SAMPLING)]
    commands: Vec<String>,
    /// A command to compare the others with, which has no parameters [default: the first].
    #[arg(long, value_name = "COMMAND")]
    reference: Option<String>,
    /// A name for a command, in order.
    #[arg(short = 'n', long = "command-name", value_name = "NAME")]
    names: Vec<String>,
    /// Command before each run: one for all commands, or one for each.
    #[arg(short, long, value_name = "CMD")]
    prepare: Vec<String>,
    /// Command after each run.
    #[arg(short = 'C', long, value_name = "CMD")]
    conclude: Vec<String>,
    /// Command that runs once per command, before the measurement.
    #[arg(short, long, value_name = "CMD")]
    setup: Vec<String>,
    /// Command that runs once per command, after the measurement, also after a failure or an interruption.
    #[arg(short, long, value_name = "CMD")]
    cleanup: Vec<String>,
    /// Runs that are not measured [default: 1].
    ///
    /// The first one shows how long a command takes, so there is at least one.
    #[arg(short, long, value_name = "N")]
    warmup: Option<usize>,
    /// Exact number of runs of each [default: what the rule needs].
    ///
    /// The rule needs 10 to 40 sessions of 1 to 25 runs, and ends as soon as there is a verdict.
    #[arg(short, long, value_name = "N", conflicts_with_all = ["min_runs", "max_runs", "budget"])]
    runs: Option<usize>,
    /// Minimum number of runs.
    #[arg(short, long, value_name = "N")]
    min_runs: Option<usize>,
    /// Maximum number of runs.
    #[arg(short = 'M', long, value_name = "N")]
    max_runs: Option<usize>,
    /// Maximum time of all runs together, such as 30s.
    ///
    /// The time of a warm-up run determines how many runs fit.
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    budget: Option<Duration>,
    /// Replace {NAME} by each number from MIN to MAX.
    #[arg(short = 'P', long, value_names = ["NAME", "MIN", "MAX"], num_args = 3)]
    parameter_scan: Vec<String>,
    /// The step of --parameter-scan [default: 1].
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    parameter_step_size: Option<String>,
    /// Replace {NAME} by each of a,b,c; several parameters are combined in all ways.
    #[arg(short = 'L', long, value_names = ["NAME", "VALUES"], num_args = 2)]
    parameter_list: Vec<String>,
    /// Start all commands with this shell; `none`: without a shell [default: a shell if the line has shell syntax].
    #[arg(short = 'S', long, value_name = "SHELL")]
    shell: Option<String>,
    /// Same as --shell none.
    #[arg(short = 'N', conflicts_with = "shell")]
    no_shell: bool,
    /// Standard input of the commands: null, or a file [default: null].
    #[arg(long, value_name = "WHERE")]
    input: Option<String>,
    /// Destination of their output: pipe (for a digest), null, inherit, or a file [default: pipe].
    #[arg(long, value_name = "WHERE")]
    output: Vec<String>,
    /// Same as --output inherit.
    #[arg(long, conflicts_with = "output")]
    show_output: bool,
    /// Ignore what commands print (output), or measure those that fail, too (failure).
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    ignore: Vec<Ignored>,
    /// Measure commands that fail: all, or those with one of these exit codes.
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = "all-non-zero")]
    ignore_failure: Option<String>,
    /// Exit with 4 if a command prints something else than in its first run or than the first command.
    #[arg(long, conflicts_with_all = ["ignore", "output", "show_output"])]
    same_output: bool,
    /// Maximum time of one run, such as 10s; then it is killed [default: 10m].
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    timeout: Option<Duration>,
    /// Unit of exported tables [default: the one that fits].
    #[arg(short = 'u', long, value_name = "UNIT", value_enum)]
    time_unit: Option<UnitArg>,
    /// Results with every run, in the format of hyperfine with more fields; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Results as CSV.
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// Results as a Markdown table.
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ignored {
    Output,
    Failure,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnitArg {
    Microsecond,
    Millisecond,
    Second,
}

impl Commands {
    pub(crate) fn is_requested(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Resolves all flags for a measurement with `plan`. `json` says whether the report is printed to standard output.
    pub(crate) fn comparison(&self, plan: Plan, json: bool) -> Result<CommandComparison, Error> {
        plan.validate()?;
        let run_options = self.run_options()?;
        self.check_exports(json)?;
        let (subjects, builds, shell) = self.resolve()?;
        Ok(CommandComparison {
            plan,
            run_options,
            subjects,
            builds,
            shell,
            accepted: self.accepted()?,
            same_output: self.same_output,
            ignores_output: self.ignore.contains(&Ignored::Output),
            time_limit: self.timeout.unwrap_or(Duration::from_secs(600)),
            warm_ups: self.warmup.unwrap_or(1).max(1),
            unit: self.time_unit.map(|unit| match unit {
                UnitArg::Microsecond => MICROSECOND,
                UnitArg::Millisecond => MILLISECOND,
                UnitArg::Second => SECOND,
            }),
            exports: self.exports().map(|(path, form)| (path.to_owned(), form)).collect(),
        })
    }

    /// Files and formats of the exports.
    fn exports(&self) -> impl Iterator<Item = (&Path, Form)> {
        let all = [
            (&self.export_json, Form::Json),
            (&self.export_csv, Form::Csv),
            (&self.export_markdown, Form::Markdown),
        ];
        all.into_iter().filter_map(|(path, form)| Some((path.as_deref()?, form)))
    }

    /// Checks before the measurement whether the files can be written.
    fn check_exports(&self, json: bool) -> Result<(), Error> {
        let (here, files): (Vec<_>, Vec<_>) =
            self.exports().partition(|(path, _)| path.as_os_str() == STANDARD_OUTPUT);
        if here.len() + usize::from(json) > 1 {
            return Err(Error::Usage(
                "standard output takes one of --json, --export-json -, --export-csv - and --export-markdown -".to_owned(),
            ));
        }
        files.into_iter().try_for_each(|(path, _)| {
            store::try_writing(path).map_err(|source| Error::Keep { path: path.to_owned(), source })
        })
    }

    fn run_options(&self) -> Result<RunOptions, Error> {
        let run_options =
            RunOptions { exactly: self.runs, least: self.min_runs, most: self.max_runs, budget: self.budget };
        let mut bounds = [run_options.exactly, run_options.least, run_options.most].into_iter().flatten();
        if let Some(wrong) = bounds.find(|runs| !(1..=100_000).contains(runs)) {
            return Err(Error::Usage(format!("{wrong} runs are asked for, but they must be 1 to 100000")));
        }
        match (run_options.least, run_options.most) {
            (Some(least), Some(most)) if least > most => {
                Err(Error::Usage(format!("--min-runs {least} is more than --max-runs {most}")))
            }
            _ => Ok(run_options),
        }
    }

    /// Resolves the flags and finds all programs to start.
    fn resolve(&self) -> Result<(Vec<BenchCommand>, Vec<Build>, Shell), Error> {
        let usage = |error: &dyn std::fmt::Display| Error::Usage(error.to_string());
        let folder = std::env::current_dir().map_err(Error::Program)?;
        let places = search_path(&folder);
        let shell = match &self.shell {
            _ if self.no_shell => Shell::Never,
            None => Shell::WhereNeeded,
            Some(text) => Shell::parse(text).map_err(|error| usage(&error))?,
        };
        let parameters = self.parameters().map_err(|error| usage(&error))?;
        let texts = [&self.commands, &self.prepare, &self.conclude, &self.setup, &self.cleanup];
        let texts: Vec<String> = texts.into_iter().flatten().cloned().collect();
        let choices = parameters::choices(&parameters, &texts).map_err(|error| usage(&error))?;
        let before = usize::from(self.reference.is_some());
        let mut typed: Vec<(usize, &String, Choice)> = Vec::new();
        typed.extend(self.reference.iter().map(|line| (0, line, Choice::new())));
        for (number, line) in self.commands.iter().enumerate() {
            typed.extend(choices.iter().map(|choice| (before + number, line, choice.clone())));
        }
        if typed.len() > parameters::MOST {
            return Err(usage(&ParameterError::TooMany(typed.len())));
        }
        let counts = Counts { typed: before + self.commands.len(), all: typed.len() };
        if self.names.len() > counts.all {
            return Err(Error::Usage(format!("{} names for {} commands", self.names.len(), counts.all)));
        }
        let mut subjects: Vec<BenchCommand> = Vec::new();
        for (index, (number, line, choice)) in typed.into_iter().enumerate() {
            let start = |line: &str, output: Output| {
                let line = fill(line, &choice);
                let invocation = shell.invoke(&line, &places).map_err(|error| usage(&error))?;
                Ok::<_, Error>(CommandSpec { line, invocation, input: Input::Null, output })
            };
            let helper = |flag: &str, lines: &[String]| {
                let line = counts.pick(flag, lines, number, index)?;
                line.map(|line| start(line, Output::Null)).transpose()
            };
            let output = counts.pick("output", &self.output, number, index)?;
            let mut main = start(line, self.output(output.map(String::as_str)))?;
            main.input = self.input()?;
            let name = self.names.get(if self.names.len() == counts.all { index } else { number });
            let name = name.map_or_else(|| main.line.clone(), |name| fill(name, &choice));
            subjects.push(BenchCommand {
                label: label(&name, &subjects),
                setup: helper("setup", &self.setup)?,
                prepare: helper("prepare", &self.prepare)?,
                conclude: helper("conclude", &self.conclude)?,
                cleanup: helper("cleanup", &self.cleanup)?,
                start: main,
                name,
                choice,
            });
        }
        let builds = subjects.iter().map(build).collect::<Result<_, _>>()?;
        Ok((subjects, builds, shell))
    }

    fn parameters(&self) -> Result<Vec<Parameter>, ParameterError> {
        let step = self.parameter_step_size.as_deref().unwrap_or("1");
        let scans = self.parameter_scan.chunks_exact(3);
        let scans = scans.map(|scan| parameters::scan(&scan[0], &scan[1], &scan[2], step));
        let lists = self.parameter_list.chunks_exact(2).map(|list| Ok(parameters::list(&list[0], &list[1])));
        scans.chain(lists).collect()
    }

    fn input(&self) -> Result<Input, Error> {
        let file = match self.input.as_deref() {
            None | Some("null") => return Ok(Input::Null),
            Some(file) => PathBuf::from(file),
        };
        if hashmill_machine::is_pipe(&file) {
            return Err(Error::Usage(format!(
                "--input {} is a pipe, which only the first run could read; write it into a file",
                file.display()
            )));
        }
        Ok(Input::File(file))
    }

    fn output(&self, named: Option<&str>) -> Output {
        match named {
            _ if self.show_output => Output::Inherit,
            None | Some("pipe") => Output::Pipe,
            Some("null") => Output::Null,
            Some("inherit") => Output::Inherit,
            Some(file) => Output::File(PathBuf::from(file)),
        }
    }

    fn accepted(&self) -> Result<AcceptedExit, Error> {
        if self.ignore.contains(&Ignored::Failure) {
            return Ok(AcceptedExit::Any);
        }
        let typed = match self.ignore_failure.as_deref() {
            None => return Ok(AcceptedExit::Zero),
            Some("all-non-zero") => return Ok(AcceptedExit::Any),
            Some(typed) => typed,
        };
        let codes: Result<Vec<i32>, _> = typed.split(',').map(|code| code.trim().parse()).collect();
        codes.map(AcceptedExit::Codes).map_err(|_| {
            Error::Usage(format!("`{typed}` are not exit codes such as 1,2; use all-non-zero for all"))
        })
    }
}

/// Number of typed commands, and number after the expansion of parameters.
struct Counts {
    typed: usize,
    all: usize,
}

impl Counts {
    /// A flag given once applies to all commands; otherwise each command has its own.
    fn pick<'a>(
        &self,
        flag: &str,
        lines: &'a [String],
        number: usize,
        index: usize,
    ) -> Result<Option<&'a String>, Error> {
        match lines.len() {
            0 => Ok(None),
            1 => Ok(lines.first()),
            count if count == self.typed => Ok(lines.get(number)),
            count if count == self.all => Ok(lines.get(index)),
            count => Err(Error::Usage(format!(
                "--{flag} is given {count} times, but must be given once, or once for each of the {} commands",
                self.typed
            ))),
        }
    }
}

/// Label of a command: one line, short enough for a table, and different from those before it.
fn label(name: &str, before: &[BenchCommand]) -> String {
    let short = shortened(name, LONGEST_LABEL);
    let taken = |label: &str| before.iter().any(|subject| subject.label == label);
    let numbered = (2..).map(|count| format!("{short} ({count})"));
    std::iter::once(short.clone()).chain(numbered).find(|label| !taken(label)).unwrap_or_default()
}

/// Description of a command in a report: its line, how it is started, and which program it is.
fn build(subject: &BenchCommand) -> Result<Build, Error> {
    let CommandSpec { line, invocation, .. } = &subject.start;
    let program_sha256 = sha256_file(&invocation.program).map_err(|error| {
        Error::Usage(format!("cannot read the program {}: {error}", invocation.program.display()))
    })?;
    let by = if invocation.shell { "started by a shell" } else { "started without a shell" };
    let settings = vec![format!("{by}: {}", invocation.program.display())];
    Ok(Build {
        label: subject.label.clone(),
        source: line.clone(),
        program_sha256,
        settings,
        ..Build::default()
    })
}
