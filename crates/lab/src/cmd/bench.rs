//! The command line of a bench: what cargo and test runners say to it, and what its user does.
//!
//! `cargo bench` starts it with `--bench`, `cargo test --benches` without a word. Filters and the flags of listing are
//! those of Rust's own test programs.

mod before;
mod show;

use super::args::Measuring;
use super::compare::FailOn;
use super::contests;
use super::error::Error;
use super::github::{Annotation, Page, of_banner, of_verdicts};
use super::measure::{Beside, Job, SELF, exit_of, measure_with, session_arguments};
use super::mistake::one_line;
use super::{Console, Exit, Mount};
use crate::bench::{Benches, Named};
use crate::campaign::Contest;
use crate::fingerprint::sha256_file;
use crate::report::schema::{Build, Kind, Report};
use crate::report::store;
use crate::report::view::View;
use crate::session::process::Program;
use before::{Base, OURS, Shelf};
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};
use hashmill_machine::clock::Scripted;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The word that leads to the commands of the lab.
const LAB: &str = "lab";

/// Measure the cases of this bench, side by side with those of the run before.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true, after_help = AFTER_HELP)]
struct Arguments {
    /// Only cases whose names contain one of these, letter by letter.
    filters: Vec<String>,
    /// Filters are whole names.
    #[arg(long)]
    exact: bool,
    /// Leave out cases whose names contain this.
    #[arg(long, value_name = "FILTER")]
    skip: Vec<String>,
    /// List the cases.
    #[arg(long)]
    list: bool,
    /// Run each case once, without the clock.
    #[arg(long)]
    test: bool,
    /// Compare with this instead of the run before: a name given to --save, a program, or a revision, which is built.
    #[arg(long, value_name = "BASE")]
    base: Option<String>,
    /// Keep this program under a name, for --base.
    #[arg(long, value_name = "NAME")]
    save: Option<String>,
    /// Compare with nothing.
    #[arg(long, conflicts_with_all = ["base", "fail_on"])]
    alone: bool,
    /// Exit with 1 when this program is proven to be slower, or to have changed at all, and with 3 when nothing was compared
    /// [default: exit with 0]. A program that failed is not what the next run is compared with.
    #[arg(long, value_name = "VERDICT", value_enum)]
    fail_on: Option<FailOn>,
    /// Colours.
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto")]
    color: Colours,
    #[command(flatten)]
    measuring: Measuring,
    #[command(flatten)]
    runner: Runner,
}

/// When tables have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colours {
    /// On a terminal, if NO_COLOR is not set.
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

/// What cargo and test runners say, and a bench has no use for.
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
  0  done, and nothing speaks against the result; or no case has such a name, which another bench may have
  1  a comparison is what --fail-on names; with --test: a case failed
  2  the command makes no sense: a number out of range, no such base, or none of these cases in it
  3  nothing was proven: interrupted, inconclusive under --strict, or nothing compared under --fail-on
  4  the result must not be used: a wrong result, a failed session or control";

/// Why --fail-on, which asks about a comparison, has no answer.
const NOTHING_COMPARED: &str =
    "nothing was compared: no run of another program with these cases came before; name a base with --base";

const OUT: &str = "Folder for report.json, report.html, report.md and samples.json [default: hashmill-lab/<bench>/report in \
                   the folder of the profile]";

pub(crate) fn main(benches: &Benches) -> Exit {
    let program = env::current_exe().unwrap_or_default();
    let name = bench_name(&program);
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|word| word == LAB) {
        let mount = Mount { name: &format!("{name} {LAB}"), ..mount(benches, "") };
        // What cargo adds at the end is not for the lab.
        let rest = arguments.into_iter().skip(1).filter(|word| word != "--bench");
        return super::main(&mount, rest);
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

fn mount<'a>(benches: &'a Benches, name: &'a str) -> Mount<'a> {
    Mount { name, arguments: &[LAB], registry: &benches.registry, maker: None }
}

/// `sort` of `target/release/deps/sort-0123456789abcdef`.
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
    let chosen: Vec<&Named> = benches.cases.iter().filter(|case| arguments.wants(&case.name)).collect();
    if arguments.list {
        return list(&chosen, arguments, console);
    }
    if arguments.test || !arguments.runner.bench {
        return test(benches, &chosen, console);
    }
    if chosen.is_empty() {
        return nothing_chosen(benches, name, arguments);
    }
    let page = Page::open(arguments.measuring.github)?;
    let shelf = Shelf::of(program, name);
    let base = match (&arguments.base, arguments.alone) {
        (Some(base), _) => Some(shelf.find(base, name, program)?),
        (None, false) => shelf.before(program)?,
        (None, true) => None,
    };
    let setting = Setting { benches, name, program, arguments, shelf: &shelf };
    let report = setting.measured(&chosen, base, console)?;
    if let Some(save) = &arguments.save {
        shelf.save(program, save)?;
    }
    let strict = arguments.measuring.strict;
    let exit = match exit_of(&report, strict) {
        Exit::Ok if arguments.fail_on.is_some_and(|wish| wish.is_met(&report)) => Exit::Failed,
        exit => exit,
    };
    // What failed must not be what the next run is compared with: it would find the same program and pass.
    if exit == Exit::Ok && arguments.base.is_none() {
        shelf.keep(program)?;
    }
    let compared = report.candidates().any(|(_, comparison)| comparison.sessions > 0);
    let lacks = exit == Exit::Ok && arguments.fail_on.is_some() && !compared;
    let lacking = Some(NOTHING_COMPARED.to_owned()).filter(|_| lacks);
    let view = View::of(&report);
    let mut lines = [of_banner(&view), of_verdicts(&report, arguments.fail_on, strict)].concat();
    lines.extend(lacking.iter().map(|says| Annotation { is_error: true, says: says.clone() }));
    page.show(&view, lines)?;
    lacking.map_or(Ok(exit), |says| Err(Error::Lacking(says)))
}

impl Arguments {
    fn wants(&self, name: &str) -> bool {
        let hit = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }
}

/// Cargo says the same words to every bench of a package, and ends with the first that fails: where others may have what was
/// asked for, it is said and no mistake. But a check has no answer.
fn nothing_chosen(benches: &Benches, name: &str, arguments: &Arguments) -> Result<Exit, Error> {
    let filters: Vec<String> = arguments.filters.iter().map(|filter| format!("`{filter}`")).collect();
    let says = match (benches.cases.is_empty(), arguments.exact) {
        (true, _) => "there are no cases".to_owned(),
        _ if filters.is_empty() => return Err(Error::Usage("no case is left".to_owned())),
        (_, true) => format!("no case is called {}", filters.join(" or ")),
        (_, false) => format!("no case that is left has {} in its name", filters.join(" or ")),
    };
    if arguments.fail_on.is_some() {
        return Err(Error::Lacking(format!("nothing was compared: {says}")));
    }
    writeln!(std::io::stderr(), "{name}: {says}; --list shows what there is").ok();
    Ok(Exit::Ok)
}

/// As a test program of Rust lists its benches; none is ever ignored.
fn list(chosen: &[&Named], arguments: &Arguments, console: &mut Console<'_>) -> Result<Exit, Error> {
    let chosen = if arguments.runner.ignored { &[][..] } else { chosen };
    for case in chosen {
        writeln!(console.out, "{}: benchmark", case.name)?;
    }
    if arguments.runner.format.as_deref() != Some("terse") {
        writeln!(console.out, "\n0 tests, {} benchmarks", chosen.len())?;
    }
    Ok(Exit::Ok)
}

/// Every case once: does it run, and is its result right?
fn test(benches: &Benches, chosen: &[&Named], console: &mut Console<'_>) -> Result<Exit, Error> {
    let clock = Scripted::default();
    let mut failed = 0;
    for case in chosen {
        write!(console.out, "test {} ... ", case.name)?;
        console.out.flush()?;
        let prepared = benches.registry.prepare(&case.key, 1);
        let lap = prepared.and_then(|prepared| {
            let lap = benches.registry.drive(&case.key, &prepared)?.lap(&clock, 1)?;
            Ok((lap.digest, prepared.reference))
        });
        let words = match lap {
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

/// What a run of benches depends on.
struct Setting<'a> {
    benches: &'a Benches,
    name: &'a str,
    program: &'a Path,
    arguments: &'a Arguments,
    shelf: &'a Shelf,
}

impl Setting<'_> {
    /// Measures the chosen cases, those that the base has beside it, and shows what came out.
    fn measured(
        &self,
        chosen: &[&Named],
        base: Option<Base>,
        console: &mut Console<'_>,
    ) -> Result<Report, Error> {
        let mut plan = self.arguments.measuring.plan();
        let mount = mount(self.benches, self.name);
        let source = base.as_ref().map(|base| base.source.clone());
        let known = base.as_ref().map(Base::cases).transpose()?.unwrap_or_default();
        if let Some(base) = &self.arguments.base
            && !chosen.iter().any(|case| known.contains(&case.name))
        {
            return Err(Error::Usage(format!(
                "{base} has none of these cases, so nothing can be compared; without --base they are measured alone"
            )));
        }
        let same_code = base.as_ref().is_some_and(Base::is_same);
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
        let programs = paths.into_iter().map(|path| Program { path, arguments: session_arguments(&mount) });
        let mut controls = 0;
        let contests = chosen.iter().map(|case| {
            let contest = if known.contains(&case.name) {
                controls += 1;
                let control = contests::wants_control(plan.control, controls - 1) && !same_code;
                contests::builds(&case.key, [source.as_deref().unwrap_or_default(), OURS], control)
            } else {
                let mut contest = contests::alone(&case.key);
                contest.sides.iter_mut().for_each(|side| side.build = builds.len() - 1);
                contest
            };
            Contest { title: case.name.clone(), ..contest }
        });
        let contests: Vec<Contest> = contests.collect();
        let compares = contests.iter().any(|contest| contest.sides.len() > 1);
        plan.rule = match bench {
            Some(_) if compares => plan.rule.with_links(),
            None if compares && !same_code => plan.rule.with_fixed_layout(),
            _ => plan.rule,
        };
        let kind = if compares { Kind::Builds } else { Kind::Run };
        let mut options = self.arguments.measuring.clone();
        options.out.get_or_insert_with(|| self.shelf.report());
        let job = Job { kind, contests, builds, programs: programs.collect(), plan, same_code };
        // Links of their own are for sessions of both programs.
        let bench = bench.filter(|_| compares);
        let (report, folder) = measure_with(&mount, &options, job, Beside { bench, ..Beside::default() })?;
        let text = match options.json {
            true => store::pretty(&report),
            false => {
                let place = shown(&folder.join("report.html"));
                show::render(&report, source.as_deref(), console.colour)
                    + &format!("report {}\n", place.display())
            }
        };
        console.out.write_all(text.as_bytes())?;
        Ok(report)
    }
}

/// A path as short as it can be said here.
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
    fn what_runners_say_is_understood() {
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
    fn colours_are_what_was_asked_for() {
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
