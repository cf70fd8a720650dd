//! Command line of a bench: the flags of cargo and test runners, and those of its users.
//!
//! `cargo bench` passes `--bench`, `cargo test --benches` passes no flag. Filters and listing flags are those of
//! Rust's own test programs.

mod previous_build;
mod table;

use super::github::{Annotation, StepSummary, of_banner, of_verdicts};
use super::measuring::{Extras, Job, measure_with, pairings};
use crate::bench::{Benches, NamedCase};
use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::{FailOn, Measuring};
use crate::cmd::context::setup::LabSetup;
use crate::cmd::context::usage_error::one_line;
use crate::cmd::measuring::outcome::exit_of;
use crate::cmd::measuring::programs::{SELF, session_arguments};
use crate::fingerprint::sha256_file;
use crate::measure::campaign::CaseGroup;
use crate::measure::session::process::Program;
use crate::model::inputs::Limits;
use crate::report::schema::{Build, Kind, Report};
use crate::report::store;
use crate::report::view::View;
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use hashmill_machine::clock::ScriptedClock;
use previous_build::{BaseProgram, PreviousBuilds, THIS_PROGRAM};
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// First argument that selects the commands of the lab.
const LAB: &str = "lab";

/// Measure the cases of this bench, side by side with the program of the previous run.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true, after_help = AFTER_HELP)]
struct Arguments {
    /// Only cases whose names contain one of these texts.
    filters: Vec<String>,
    /// Filters are whole names.
    #[arg(long)]
    exact: bool,
    /// Skip cases whose names contain this text.
    #[arg(long, value_name = "FILTER")]
    skip: Vec<String>,
    /// List the cases.
    #[arg(long)]
    list: bool,
    /// Run each case once without timing.
    #[arg(long)]
    test: bool,
    /// Compare with this instead of the previous run: a name given to --save, a program, or a revision, which is
    /// built.
    #[arg(long, value_name = "BASE")]
    base: Option<String>,
    /// Save this program under a name, for --base.
    #[arg(long, value_name = "NAME")]
    save: Option<String>,
    /// Measure without a comparison.
    #[arg(long, conflicts_with_all = ["base", "fail_on"])]
    alone: bool,
    /// Exit with 1 if this program is proven to be slower, or to have changed at all, and with 3 if nothing was
    /// compared [default: exit with 0]. The next run is not compared with a program that failed.
    #[arg(long, value_name = "VERDICT", value_enum)]
    fail_on: Option<FailOn>,
    /// Use colours.
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto")]
    color: Colours,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    runner: Runner,
}

/// Colours of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colours {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

impl Colours {
    fn shown(self, on_terminal: bool, no_color: Option<&OsStr>) -> bool {
        match self {
            Colours::Auto => on_terminal && no_color.is_none_or(OsStr::is_empty),
            Colours::Always => true,
            Colours::Never => false,
        }
    }
}

/// Flags of cargo and test runners that a bench ignores.
#[derive(Debug, clap::Args)]
struct Runner {
    #[arg(long, hide = true)]
    bench: bool,
    #[arg(long, hide = true)]
    ignored: bool,
    #[arg(long, hide = true)]
    include_ignored: bool,
    #[arg(long, hide = true)]
    nocapture: bool,
    #[arg(long, hide = true)]
    no_capture: bool,
    #[arg(long, hide = true)]
    show_output: bool,
    #[arg(short, long, hide = true)]
    quiet: bool,
    #[arg(long, hide = true)]
    format: Option<String>,
    #[arg(long, hide = true)]
    test_threads: Option<u32>,
}

const AFTER_HELP: &str = "\
`cargo bench -- lab …` has all commands of the lab: `lab list`, `lab check REPORT`, `lab --help`.

Exit codes:
  0  success; also if no case has such a name, because another bench may have it
  1  a verdict is a failure by --fail-on; with --test: a case failed
  2  invalid command line: a number out of range, no such base, or none of these cases in it
  3  nothing was proven: interrupted, inconclusive with --strict, or nothing compared with --fail-on
  4  the result must not be used: a wrong result, a failed session or control";

/// Error of --fail-on if nothing was compared.
const NOTHING_COMPARED: &str = "nothing was compared: there is no earlier run of another program with these cases; name a base with --base";

const OUT: &str = "Folder for report.json, report.html, report.md and samples.json [default: hashmill-lab/<bench>/report in \
                   the folder of the profile]";

/// Runs the benches of `define` according to the command line, and ends the process.
///
/// `--help` lists the flags. The first argument `lab` selects the commands of the lab, such as `lab check`.
#[expect(clippy::exit, reason = "all that the `main` of a bench does")]
pub fn benches(define: impl FnOnce(&mut Benches)) -> ! {
    let mut benches = Benches::new(Limits::default());
    define(&mut benches);
    std::process::exit(main(&benches).code())
}

fn main(benches: &Benches) -> Exit {
    let program = match env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            writeln!(std::io::stderr(), "{}", Error::Program(error)).ok();
            return Exit::Usage;
        }
    };
    let name = bench_name(&program);
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|word| word == LAB) {
        let lab = LabSetup { name: &format!("{name} {LAB}"), ..lab(benches, "") };
        // Removes the flag that cargo adds.
        let rest = arguments.into_iter().skip(1).filter(|word| word != "--bench");
        return super::main(&lab, rest);
    }
    let parsed = Arguments::command()
        .name("cargo bench --")
        .mut_arg("out", |out| out.help(OUT))
        .try_get_matches_from(std::iter::once(OsString::from(&name)).chain(arguments));
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) if !error.use_stderr() => {
            error.print().ok();
            return Exit::Ok;
        }
        Err(error) => {
            writeln!(std::io::stderr(), "{name}: {}", one_line(&error)).ok();
            return Exit::Usage;
        }
    };
    let stdout = std::io::stdout();
    let colour = arguments.color.shown(stdout.is_terminal(), env::var_os("NO_COLOR").as_deref());
    let mut out = stdout.lock();
    let result = run(benches, &name, &program, &arguments, &mut Console { out: &mut out, colour });
    let result = result.and_then(|exit| out.flush().map(|()| exit).map_err(Error::Output));
    result.unwrap_or_else(|error| {
        let exit = error.exit(!arguments.list);
        if exit != Exit::Ok {
            writeln!(std::io::stderr(), "{name}: {error}").ok();
        }
        exit
    })
}

fn lab<'a>(benches: &'a Benches, name: &'a str) -> LabSetup<'a> {
    LabSetup { name, arguments: &[LAB], registry: &benches.registry, package: None, builder: None }
}

/// Name of a bench: `sort` of `target/release/deps/sort-0123456789abcdef`.
fn bench_name(program: &Path) -> String {
    let stem = program.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    match stem.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()) => {
            name.to_owned()
        }
        _ => stem,
    }
}

fn run(
    benches: &Benches,
    name: &str,
    program: &Path,
    arguments: &Arguments,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    let chosen: Vec<&NamedCase> = benches.cases.iter().filter(|case| arguments.wants(&case.name)).collect();
    if arguments.list {
        return list(&chosen, arguments, console);
    }
    if arguments.test || !arguments.runner.bench {
        return test(benches, &chosen, console);
    }
    if chosen.is_empty() {
        return nothing_chosen(benches, name, arguments);
    }
    let page = StepSummary::open(arguments.measuring.github)?;
    let previous = PreviousBuilds::beside(program, name);
    let base = match (&arguments.base, arguments.alone) {
        (Some(base), _) => Some(previous.find(base, name, program)?),
        (None, false) => previous.before(program)?,
        (None, true) => None,
    };
    let setting = BenchRun { benches, name, program, arguments, previous: &previous };
    let report = setting.measured(&chosen, base, console)?;
    if let Some(save) = &arguments.save {
        previous.save(program, save)?;
    }
    let strict = arguments.measuring.strict;
    let exit = match exit_of(&report, strict) {
        Exit::Ok if arguments.fail_on.is_some_and(|requested| requested.is_met(&report)) => Exit::Failed,
        exit => exit,
    };
    // The next run must not be compared with a failed program: it would find no difference and pass.
    if exit == Exit::Ok && arguments.base.is_none() {
        previous.keep(program)?;
    }
    let compared = report.candidates().any(|(_, comparison)| comparison.sessions > 0);
    let lacks = exit == Exit::Ok && arguments.fail_on.is_some() && !compared;
    let lacking = Some(NOTHING_COMPARED.to_owned()).filter(|_| lacks);
    let view = View::from_report(&report);
    let mut lines = [of_banner(&view), of_verdicts(&report, arguments.fail_on, strict)].concat();
    lines.extend(lacking.iter().map(|message| Annotation { is_error: true, message: message.clone() }));
    page.show(&view, lines)?;
    lacking.map_or(Ok(exit), |message| Err(Error::Lacking(message)))
}

impl Arguments {
    fn wants(&self, name: &str) -> bool {
        let hit = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }
}

/// Cargo passes the same arguments to every bench of a package and stops at the first failure, so an empty selection
/// is not an error. But a check needs a result.
fn nothing_chosen(benches: &Benches, name: &str, arguments: &Arguments) -> Result<Exit, Error> {
    let filters: Vec<String> = arguments.filters.iter().map(|filter| format!("`{filter}`")).collect();
    let message = match (benches.cases.is_empty(), arguments.exact) {
        (true, _) => "there are no cases".to_owned(),
        _ if filters.is_empty() => return Err(Error::Usage("no case remains".to_owned())),
        (_, true) => format!("no case is called {}", filters.join(" or ")),
        (_, false) => format!("no remaining case has {} in its name", filters.join(" or ")),
    };
    if arguments.fail_on.is_some() {
        return Err(Error::Lacking(format!("nothing was compared: {message}")));
    }
    writeln!(std::io::stderr(), "{name}: {message}; --list shows all").ok();
    Ok(Exit::Ok)
}

/// Lists cases like a test program of Rust; none is ever ignored.
fn list(chosen: &[&NamedCase], arguments: &Arguments, console: &mut Console<'_>) -> Result<Exit, Error> {
    let chosen = if arguments.runner.ignored { &[][..] } else { chosen };
    for case in chosen {
        writeln!(console.out, "{}: benchmark", case.name)?;
    }
    if arguments.runner.format.as_deref() != Some("terse") {
        writeln!(console.out, "\n0 tests, {} benchmarks", chosen.len())?;
    }
    Ok(Exit::Ok)
}

/// Runs every case once and checks its result.
fn test(benches: &Benches, chosen: &[&NamedCase], console: &mut Console<'_>) -> Result<Exit, Error> {
    let clock = ScriptedClock::default();
    let mut failed = 0;
    for case in chosen {
        write!(console.out, "test {} ... ", case.name)?;
        console.out.flush()?;
        let prepared = benches.registry.prepare(&case.key, 1);
        let sample = prepared.and_then(|prepared| {
            let sample = benches.registry.drive(&case.key, &prepared)?.sample(&clock, 1)?;
            Ok((sample.digest, prepared.reference))
        });
        let words = match sample {
            Ok((digest, reference)) if digest == reference => "ok".to_owned(),
            Ok((digest, reference)) => format!("FAILED: it computed {digest}, the reference is {reference}"),
            Err(fault) => format!("FAILED: {fault}"),
        };
        failed += usize::from(words != "ok");
        writeln!(console.out, "{words}")?;
    }
    writeln!(console.out, "\n{} of {} cases ran", chosen.len() - failed, chosen.len())?;
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

/// Parameters of a run of benches.
struct BenchRun<'a> {
    benches: &'a Benches,
    name: &'a str,
    program: &'a Path,
    arguments: &'a Arguments,
    previous: &'a PreviousBuilds,
}

impl BenchRun<'_> {
    /// Measures the chosen cases, compared with those of the base program, and shows the results.
    fn measured(
        &self,
        chosen: &[&NamedCase],
        base: Option<BaseProgram>,
        console: &mut Console<'_>,
    ) -> Result<Report, Error> {
        let mut plan = self.arguments.measuring.plan();
        let lab = lab(self.benches, self.name);
        let source = base.as_ref().map(|base| base.source.clone());
        let known = base.as_ref().map(BaseProgram::cases).transpose()?.unwrap_or_default();
        if let Some(base) = &self.arguments.base
            && !chosen.iter().any(|case| known.contains(&case.name))
        {
            return Err(Error::Usage(format!(
                "{base} has none of these cases, so nothing can be compared; without --base they are measured without a comparison"
            )));
        }
        let same_code = base.as_ref().is_some_and(BaseProgram::is_same);
        let (builds, paths, bench) = match base {
            Some(base) => (base.builds.to_vec(), base.programs.to_vec(), base.bench),
            None => {
                let build = Build {
                    label: SELF.to_owned(),
                    source: self.program.display().to_string(),
                    program_sha256: sha256_file(self.program).map_err(Error::Program)?,
                    ..Build::default()
                };
                (vec![build], vec![self.program.to_owned()], None)
            }
        };
        let programs = paths.into_iter().map(|path| Program { path, arguments: session_arguments(&lab) });
        let mut controls = 0;
        let groups = chosen.iter().map(|case| {
            let group = if known.contains(&case.name) {
                controls += 1;
                let control = pairings::wants_control(plan.control, controls - 1) && !same_code;
                pairings::builds(&case.key, [source.as_deref().unwrap_or_default(), THIS_PROGRAM], control)
            } else {
                let mut group = pairings::alone(&case.key);
                group.sides.iter_mut().for_each(|side| side.build = builds.len() - 1);
                group
            };
            CaseGroup { title: case.name.clone(), ..group }
        });
        let groups: Vec<CaseGroup> = groups.collect();
        let compares = groups.iter().any(|group| group.sides.len() > 1);
        plan.rule = match bench {
            Some(_) if compares => plan.rule.with_links(),
            None if compares && !same_code => plan.rule.with_fixed_layout(),
            _ => plan.rule,
        };
        let kind = if compares { Kind::Builds } else { Kind::Run };
        let options = &self.arguments.measuring;
        let out = options.out.clone().unwrap_or_else(|| self.previous.report());
        let job = Job { kind, groups, builds, programs: programs.collect(), plan, same_code };
        // Relinked programs are for sessions of both programs.
        let bench = bench.filter(|_| compares);
        let (report, folder) = measure_with(&lab, job, Some(&out), Extras { bench, ..Extras::default() })?;
        let text = match options.json {
            true => store::pretty(&report),
            false => {
                let report_path = shown(&folder.join("report.html"));
                table::render(&report, source.as_deref(), console.colour)
                    + &format!("report {}\n", report_path.display())
            }
        };
        console.out.write_all(text.as_bytes())?;
        Ok(report)
    }
}

/// Shortest form of a path from this folder.
fn shown(path: &Path) -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).map_or_else(|_| path.to_owned(), Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Arguments {
        Arguments::try_parse_from(std::iter::once(&"bench").chain(words)).expect("known words")
    }

    #[test]
    fn filters_are_those_of_test_programs() {
        let wanted = |words: &[&str]| {
            let arguments = arguments(words);
            ["sort/10", "sort/100", "sum"]
                .into_iter()
                .filter(|name| arguments.wants(name))
                .collect::<Vec<_>>()
        };
        assert_eq!(wanted(&["--bench"]), ["sort/10", "sort/100", "sum"]);
        assert_eq!(wanted(&["sort/10", "--bench"]), ["sort/10", "sort/100"]);
        assert_eq!(wanted(&["--exact", "sort/10"]), ["sort/10"]);
        assert_eq!(wanted(&["um", "100"]), ["sort/100", "sum"]);
        assert_eq!(wanted(&["--skip", "sort"]), ["sum"]);
        assert_eq!(wanted(&["--exact", "--skip", "sum"]), ["sort/10", "sort/100"]);
    }

    #[test]
    fn accepts_the_flags_of_test_runners() {
        for words in [
            &["--list", "--format", "terse", "--ignored"][..],
            &["--nocapture", "--exact", "sum", "--test-threads", "1"],
            &["-q", "--color", "always", "--show-output", "--include-ignored"],
        ] {
            assert!(!arguments(words).runner.bench);
        }
        Arguments::command().debug_assert();
    }

    #[test]
    fn colours_follow_the_flag() {
        let shown = |words: &[&str], on_terminal: bool, no_color: Option<&str>| {
            arguments(words).color.shown(on_terminal, no_color.map(OsStr::new))
        };
        assert!(shown(&[], true, None) && shown(&[], true, Some("")));
        assert!(!shown(&[], true, Some("1")) && !shown(&[], false, None));
        assert!(!shown(&["--color", "never"], true, None));
        assert!(shown(&["--color=always"], false, Some("1")), "a word now wins over the environment");
    }

    #[test]
    fn a_program_is_named_without_the_hash_of_cargo() {
        for (path, name) in [
            ("/t/release/deps/sort-0123456789abcdef", "sort"),
            ("/t/release/deps/two-words-0123456789abcdef", "two-words"),
            ("/t/release/two-words", "two-words"),
        ] {
            assert_eq!(bench_name(Path::new(path)), name);
        }
    }
}
