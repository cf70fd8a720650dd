//! Commands as they are typed after `--`: what the flags mean, measuring, exports.

use crate::cmd::args::{Measuring, length};
use crate::cmd::error::Error;
use crate::cmd::measure::{Beside, Job, conclude, exit_of, measure_with};
use crate::cmd::{Console, Exit, Mount, interrupt};
use crate::commands::desk::{Accepted, Desk, Kept, Subject};
use crate::commands::export::{self, Form, MICROSECOND, MILLISECOND, SECOND};
use crate::commands::line::{Invocation, LONGEST_LABEL, Places, Shell, shortened};
use crate::commands::parameters::{self, Choice, Parameter, ParameterError, fill};
use crate::commands::process::{Guard, Input, Output, Start};
use crate::commands::runs::{self, Wishes};
use crate::commands::tally;
use crate::fingerprint::sha256_file;
use crate::plan::Control;
use crate::report::commands as wire;
use crate::report::schema::{Build, Kind, Report};
use crate::report::store;
use crate::report::view::View;
use crate::stats::order::median;
use clap::{Args, ValueEnum};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The heading of these flags in the help, of which the short one has none of them.
pub(in crate::cmd) const HEADING: &str = "Commands, after --";

/// What a sample and a session are is not to be chosen where a sample is one run.
const SAMPLING: [&str; 5] = ["rounds", "warm_ups", "sample_ms", "no_pin", "timeout_secs"];

#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
#[group(requires = "commands")]
pub(super) struct Commands {
    /// Commands to compare with the first, each one word in quotes.
    ///
    /// One alone is measured alone. docs/from-hyperfine.md explains it.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = SAMPLING)]
    commands: Vec<String>,
    /// A command to compare the others with, to which no parameter applies [default: the first].
    #[arg(long, value_name = "COMMAND")]
    reference: Option<String>,
    /// A name for a command, in their order.
    #[arg(short = 'n', long = "command-name", value_name = "NAME")]
    names: Vec<String>,
    /// Before each run: once for all commands, or once for each.
    #[arg(short, long, value_name = "CMD")]
    prepare: Vec<String>,
    /// After each run.
    #[arg(short = 'C', long, value_name = "CMD")]
    conclude: Vec<String>,
    /// Once for each command, before anything is measured.
    #[arg(short, long, value_name = "CMD")]
    setup: Vec<String>,
    /// Once for each command, after everything is measured, also when it failed or was interrupted.
    #[arg(short, long, value_name = "CMD")]
    cleanup: Vec<String>,
    /// Runs that are not counted [default: 1].
    ///
    /// The first says how long a command takes, so there is at least one.
    #[arg(short, long, value_name = "N")]
    warmup: Option<usize>,
    /// Exactly so many runs of each [default: what the rule needs].
    ///
    /// The rule needs 10 to 40 sessions of 1 to 25 runs, and ends as soon as it is settled.
    #[arg(short, long, value_name = "N", conflicts_with_all = ["min_runs", "max_runs", "budget"])]
    runs: Option<usize>,
    /// At least so many runs.
    #[arg(short, long, value_name = "N")]
    min_runs: Option<usize>,
    /// At most so many runs.
    #[arg(short = 'M', long, value_name = "N")]
    max_runs: Option<usize>,
    /// Longest time of all runs together, such as 30s.
    ///
    /// What a warm-up run takes decides how many fit.
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    budget: Option<Duration>,
    /// Fill {NAME} with each number from MIN to MAX.
    #[arg(short = 'P', long, value_names = ["NAME", "MIN", "MAX"], num_args = 3)]
    parameter_scan: Vec<String>,
    /// The step of --parameter-scan [default: 1].
    #[arg(short = 'D', long, value_name = "STEP", requires = "parameter_scan")]
    parameter_step_size: Option<String>,
    /// Fill {NAME} with each of a,b,c; several parameters are taken in all combinations.
    #[arg(short = 'L', long, value_names = ["NAME", "VALUES"], num_args = 2)]
    parameter_list: Vec<String>,
    /// Start all commands by this shell; `none`: never by one [default: a shell where the line has shell syntax].
    #[arg(short = 'S', long, value_name = "SHELL")]
    shell: Option<String>,
    /// The same as --shell none.
    #[arg(short = 'N', conflicts_with = "shell")]
    no_shell: bool,
    /// What commands read: null, or a file [default: null].
    #[arg(long, value_name = "WHERE")]
    input: Option<String>,
    /// Where their output goes: pipe (into a digest), null, inherit, or a file [default: pipe].
    #[arg(long, value_name = "WHERE")]
    output: Vec<String>,
    /// The same as --output inherit.
    #[arg(long, conflicts_with = "output")]
    show_output: bool,
    /// Say nothing of what commands print (output), or measure those that fail, too (failure).
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    ignore: Vec<Ignored>,
    /// Measure commands that fail: all of them, or those that return one of these codes.
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = "all-non-zero")]
    ignore_failure: Option<String>,
    /// End with 4 if a command prints something else than it did at first, or than the first did.
    #[arg(long, conflicts_with_all = ["ignore", "output", "show_output"])]
    same_output: bool,
    /// Longest time of one run, such as 10s; then it is ended [default: 10m].
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    timeout: Option<Duration>,
    /// Unit of exported tables [default: what fits].
    #[arg(short = 'u', long, value_name = "UNIT", value_enum)]
    time_unit: Option<UnitArg>,
    /// Results with every run, in the fields of hyperfine and more; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Results as CSV.
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// A table in Markdown.
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

/// What is started, as it was typed, and what tables call it.
struct Decided {
    subjects: Vec<Subject>,
    builds: Vec<Build>,
    shell: Shell,
}

/// What stands for standard output where a file is named.
const STANDARD_OUTPUT: &str = "-";

/// Runs of an empty program, and of an empty shell.
const STARTS: usize = 11;

impl Commands {
    pub(super) fn is_asked(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Measures the commands, and says what they gave.
    pub(super) fn main(
        &self,
        mount: &Mount<'_>,
        options: &Measuring,
        console: &mut Console<'_>,
    ) -> Result<(Report, Exit), Error> {
        let mut plan = options.plan();
        plan.validate()?;
        let wishes = self.wishes()?;
        self.check_exports(options.json)?;
        let Decided { subjects, builds, shell } = self.decide()?;
        interrupt::watch();
        let limit = self.timeout.unwrap_or(Duration::from_secs(600));
        let guard = Guard { limit, flag: "--timeout", stop: &interrupt::came };
        let kept = Kept::new(subjects.len(), plan.seed).into();
        let (accepted, same_output) = (self.accepted()?, self.same_output);
        let desk = Desk { subjects, accepted, same_output, guard, kept };
        let mut seen = self.starts(&desk, &shell)?;
        let (set_up, ready) = desk.set_up();
        let measured = ready.and_then(|()| desk.warm_up(self.warmup.unwrap_or(1).max(1))).map(|times| {
            let control = desk.subjects.len() > 1 && plan.control != Control::Off;
            let again = if control { times[0] } else { 0 };
            let round_ns = times.iter().fold(again, |sum, time| sum.saturating_add(*time));
            plan = runs::plan(&plan, wishes, desk.subjects.len() == 1, round_ns);
            let contests = vec![desk.contest(control)];
            let job =
                Job { kind: Kind::Commands, contests, builds, programs: Vec::new(), plan, same_code: false };
            let after = |report: &mut Report| self.tell(report, &desk, &mut seen);
            measure_with(
                mount,
                options,
                job,
                Beside { commands: Some((&desk, Box::new(after))), ..Beside::default() },
            )
        });
        let cleaned = desk.clean_up(set_up, &interrupt::insists());
        let (report, folder) = match (measured, &cleaned) {
            (Err(error), Err(more)) => return Err(Error::Refused(format!("{error}; {more}"))),
            (measured, _) => measured??,
        };
        let unit = self.time_unit.map(|unit| match unit {
            UnitArg::Microsecond => MICROSECOND,
            UnitArg::Millisecond => MILLISECOND,
            UnitArg::Second => SECOND,
        });
        let runs = &desk.kept.borrow().runs;
        let (here, files): (Vec<_>, Vec<_>) =
            self.exports().partition(|(path, _)| path.as_os_str() == STANDARD_OUTPUT);
        let text = |form| export::render(&report.rows[0], runs, &desk.subjects, form, unit);
        // Whoever reads the output may leave before its end. A file that cannot be written takes nothing from the others.
        let mut kept = Ok(());
        for (path, form) in files {
            let written = store::write_atomically(path, &text(form));
            kept = kept.and(written.map_err(Error::keep(path)));
        }
        let exit = match here.is_empty() {
            true => conclude(&report, &folder, options, console)?,
            // What goes to standard output is for another program, so nothing else does.
            false => {
                for warning in View::of(&report).banner.iter().filter(|warning| warning.is_fatal) {
                    writeln!(std::io::stderr(), "{}", warning.says)?;
                }
                exit_of(&report, options.strict)
            }
        };
        for (_, form) in here {
            console.out.write_all(text(form).as_bytes())?;
        }
        kept?;
        cleaned?;
        Ok((report, exit))
    }

    /// Where results go, and in which form.
    fn exports(&self) -> impl Iterator<Item = (&Path, Form)> {
        let all = [
            (&self.export_json, Form::Json),
            (&self.export_csv, Form::Csv),
            (&self.export_markdown, Form::Markdown),
        ];
        all.into_iter().filter_map(|(path, form)| Some((path.as_deref()?, form)))
    }

    /// Finds out before anything is measured whether the results can go where they should.
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

    /// What it costs to start something that does nothing. Where that cannot be found out, nothing is said of it.
    fn starts(&self, desk: &Desk<'_>, shell: &Shell) -> Result<wire::Commands, Error> {
        let folder = std::env::current_dir().map_err(Error::Program)?;
        let places = places(&folder);
        let usual = |found: Invocation| {
            let line = found.program.display().to_string();
            let start = Start { line, invocation: found, input: Input::Null, output: Output::Null };
            let times = (0..STARTS).map(|_| Some(start.run(0, desk.guard).ok()?.time.as_nanos() as f64));
            times.collect::<Option<Vec<f64>>>().map(|times| median(&times))
        };
        let by_shell = desk.subjects.iter().any(|subject| subject.start.invocation.shell);
        let idle = shell.invoke(":", &places).ok().filter(|idle| by_shell && idle.shell);
        Ok(wire::Commands {
            empty_ns: Shell::Never.invoke("true", &places).ok().and_then(usual),
            shell_ns: idle.and_then(usual),
            ..wire::Commands::default()
        })
    }

    /// Adds to a report what the commands used.
    fn tell(&self, report: &mut Report, desk: &Desk<'_>, seen: &mut wire::Commands) {
        let Some(row) = report.rows.first_mut() else { return };
        let runs = &desk.kept.borrow().runs;
        let least_bytes = hashmill_machine::peak_bytes();
        let mut used = tally::used(&runs[..row.sides.len().min(runs.len())]);
        if self.ignore.contains(&Ignored::Output) {
            used.iter_mut().for_each(|used| (used.output, used.odd) = (None, 0));
        }
        let uses = tally::uses(&runs[..desk.subjects.len()], least_bytes.unwrap_or(0) as f64);
        row.commands = Some(wire::Commands { least_bytes, used, uses, ..std::mem::take(seen) });
    }

    fn wishes(&self) -> Result<Wishes, Error> {
        let wishes =
            Wishes { exactly: self.runs, least: self.min_runs, most: self.max_runs, budget: self.budget };
        let mut bounds = [wishes.exactly, wishes.least, wishes.most].into_iter().flatten();
        if let Some(wrong) = bounds.find(|runs| !(1..=100_000).contains(runs)) {
            return Err(Error::Usage(format!("{wrong} runs are asked for, but they must be 1 to 100000")));
        }
        match (wishes.least, wishes.most) {
            (Some(least), Some(most)) if least > most => {
                Err(Error::Usage(format!("--min-runs {least} is more than --max-runs {most}")))
            }
            _ => Ok(wishes),
        }
    }

    /// What the flags mean, with everything found that will be started.
    fn decide(&self) -> Result<Decided, Error> {
        let usage = |error: &dyn std::fmt::Display| Error::Usage(error.to_string());
        let folder = std::env::current_dir().map_err(Error::Program)?;
        let places = places(&folder);
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
        let mut subjects: Vec<Subject> = Vec::new();
        for (place, (number, line, choice)) in typed.into_iter().enumerate() {
            let start = |line: &str, output: Output| {
                let line = fill(line, &choice);
                let invocation = shell.invoke(&line, &places).map_err(|error| usage(&error))?;
                Ok::<_, Error>(Start { line, invocation, input: Input::Null, output })
            };
            let helper = |flag: &str, lines: &[String]| {
                let line = counts.pick(flag, lines, number, place)?;
                line.map(|line| start(line, Output::Null)).transpose()
            };
            let output = counts.pick("output", &self.output, number, place)?;
            let mut main = start(line, self.output(output.map(String::as_str)))?;
            main.input = self.input()?;
            let name = self.names.get(if self.names.len() == counts.all { place } else { number });
            let name = name.map_or_else(|| main.line.clone(), |name| fill(name, &choice));
            subjects.push(Subject {
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
        Ok(Decided { subjects, builds, shell })
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

    fn accepted(&self) -> Result<Accepted, Error> {
        if self.ignore.contains(&Ignored::Failure) {
            return Ok(Accepted::Any);
        }
        let typed = match self.ignore_failure.as_deref() {
            None => return Ok(Accepted::Zero),
            Some("all-non-zero") => return Ok(Accepted::Any),
            Some(typed) => typed,
        };
        let codes: Result<Vec<i32>, _> = typed.split(',').map(|code| code.trim().parse()).collect();
        codes.map(Accepted::Codes).map_err(|_| {
            Error::Usage(format!("`{typed}` are no exit codes, such as 1,2; all-non-zero stands for all"))
        })
    }
}

/// Where programs are looked for, if commands run in `folder`.
pub(super) fn places(folder: &Path) -> Places<'_> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Places { folder, path: std::env::split_paths(&path).collect() }
}

/// How many commands were typed, and how many the parameters made of them.
struct Counts {
    typed: usize,
    all: usize,
}

impl Counts {
    /// A flag that stands once is for all commands; otherwise each has its own.
    fn pick<'a>(
        &self,
        flag: &str,
        lines: &'a [String],
        number: usize,
        place: usize,
    ) -> Result<Option<&'a String>, Error> {
        match lines.len() {
            0 => Ok(None),
            1 => Ok(lines.first()),
            count if count == self.typed => Ok(lines.get(number)),
            count if count == self.all => Ok(lines.get(place)),
            count => Err(Error::Usage(format!(
                "--{flag} stands {count} times, but must stand once, or once for each of the {} commands",
                self.typed
            ))),
        }
    }
}

/// A name on one line, short enough for a table, and unlike those before it.
fn label(name: &str, before: &[Subject]) -> String {
    let short = shortened(name, LONGEST_LABEL);
    let taken = |label: &str| before.iter().any(|subject| subject.label == label);
    let numbered = (2..).map(|count| format!("{short} ({count})"));
    std::iter::once(short.clone()).chain(numbered).find(|label| !taken(label)).unwrap_or_default()
}

/// What a report says of a command: its line, how it is started, which program that is.
fn build(subject: &Subject) -> Result<Build, Error> {
    let Start { line, invocation, .. } = &subject.start;
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
