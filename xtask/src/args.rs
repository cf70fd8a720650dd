//! The command line of `cargo xtask`, parsed into one value.

use std::ffi::OsString;

use anyhow::{Context, bail};
use lexopt::prelude::*;

use crate::fuzz::FuzzRequest;
use crate::measure::layouts::LayoutsRequest;
use crate::steps::kind::Kind;
use crate::steps::{self, Step};
use crate::suite::Request;

/// A command and its arguments.
pub(crate) enum Command {
    Help,
    Suite(Request),
    /// The kinds that files changed since a revision can affect.
    Changed {
        revision: String,
        verbose: bool,
        overlap: bool,
    },
    Tidy,
    Fuzz(FuzzRequest),
    /// Arguments for the mutation program.
    Mutate(Vec<OsString>),
    Codegen,
    Fatbin,
    FatbinCheck,
    Javascript,
    NodePackage,
    Numbers,
    /// Called by mdBook.
    BookLinks,
    BookSupports,
    BookCheck,
    Notices,
    /// A checkout of the RustSec database.
    Advisories(String),
    Tune,
    Layouts(LayoutsRequest),
}

impl Command {
    pub(crate) fn parse(mut parser: lexopt::Parser) -> anyhow::Result<Self> {
        let mut positional = Vec::new();
        let (mut changed, mut verbose, mut overlap, mut no_run) = (None, false, false, false);
        while let Some(arg) = parser.next()? {
            match arg {
                Short('h') | Long("help") => return Ok(Self::Help),
                Long("changed") => changed = Some(parser.value()?.string()?),
                Short('v') | Long("verbose") => verbose = true,
                Long("overlap") => overlap = true,
                Long("no-run") => no_run = true,
                // The rest are arguments of another program.
                Value(value) if positional.is_empty() && value == "mutate" => {
                    return Ok(Self::Mutate(parser.raw_args()?.collect()));
                }
                Value(value) => positional.push(value.string()?),
                _ => return Err(arg.unexpected().into()),
            }
        }
        let mut positional = positional.into_iter();
        let Some(name) = positional.next() else { return Ok(Self::Help) };
        let rest: Vec<String> = positional.collect();
        if changed.is_some() && (name != "test" || !rest.is_empty()) {
            bail!("`--changed REV` belongs to `cargo xtask test`, without kinds");
        }
        if overlap && name != "test" {
            bail!("`--overlap` belongs to `cargo xtask test`");
        }
        if no_run && !steps::all().any(|step| step.name == name && step.filters) {
            bail!("`--no-run` belongs to a step that runs tests");
        }
        match (name.as_str(), rest.as_slice()) {
            ("help", []) => Ok(Self::Help),
            ("test", kinds) => match changed {
                Some(revision) => Ok(Self::Changed { revision, verbose, overlap }),
                None => Ok(Self::Suite(Request { overlap, ..request(&parse_kinds(kinds)?, verbose) })),
            },
            ("tidy", []) => Ok(Self::Tidy),
            ("codegen", []) => Ok(Self::Codegen),
            ("fatbin", []) => Ok(Self::Fatbin),
            ("fatbin", [mode]) if mode == "check" => Ok(Self::FatbinCheck),
            ("javascript-package", []) => Ok(Self::Javascript),
            ("node-package", []) => Ok(Self::NodePackage),
            ("numbers", []) => Ok(Self::Numbers),
            // mdBook first asks whether the preprocessor supports its output.
            ("book-links", []) => Ok(Self::BookLinks),
            ("book-links", [request, _]) if request == "supports" => Ok(Self::BookSupports),
            ("book-check", []) => Ok(Self::BookCheck),
            ("notices", []) => Ok(Self::Notices),
            ("advisories", [database]) => Ok(Self::Advisories(database.clone())),
            ("tune", []) => Ok(Self::Tune),
            ("layouts", [] | [_]) => Ok(Self::Layouts(LayoutsRequest {
                seconds: match rest.first() {
                    Some(text) => text.parse().context("the seconds to measure for")?,
                    None => 3600,
                },
            })),
            ("fuzz", [] | [_] | [_, _]) => Ok(Self::Fuzz(FuzzRequest {
                target: rest.first().cloned(),
                seconds: match rest.get(1) {
                    Some(text) => text.parse().context("the seconds to fuzz for")?,
                    None => 60,
                },
            })),
            (name, filter) => match steps::all().find(|step| step.name == name) {
                Some(step) if filter.is_empty() || step.filters => {
                    let filter = filter.to_vec();
                    Ok(Self::Suite(Request {
                        steps: vec![step],
                        filter,
                        verbose,
                        no_run,
                        ..Request::default()
                    }))
                }
                _ => bail!("no such command: {name} {}(see `cargo xtask help`)", spaced(filter)),
            },
        }
    }
}

/// Parses names of kinds. No name means the default.
fn parse_kinds(names: &[String]) -> anyhow::Result<Vec<Kind>> {
    if names.is_empty() {
        return Ok(vec![Kind::Core]);
    }
    let mut kinds = Vec::new();
    for name in names {
        match Kind::from_name(name) {
            Some(kind) => kinds.push(kind),
            None if name == "all" => kinds.extend(Kind::ALL),
            None => {
                let known = Kind::ALL.map(Kind::name).join(", ");
                bail!("no such kind of tests: {name} (there are {known} and all)")
            }
        }
    }
    Ok(kinds)
}

/// The steps of some kinds.
pub(crate) fn request(kinds: &[Kind], verbose: bool) -> Request {
    let steps = steps::all().filter(|step| kinds.contains(&step.kind)).collect();
    let not_run = Kind::ALL.into_iter().filter(|kind| !kinds.contains(kind)).collect();
    Request { steps, verbose, not_run, ..Request::default() }
}

fn spaced(arguments: &[String]) -> String {
    arguments.iter().map(|argument| format!("{argument} ")).collect()
}

/// The text of `cargo xtask help`: the steps come from their table.
pub(crate) fn help() -> String {
    let row = |step: &Step| {
        let name = format!("{}{}", step.name, if step.filters { " [FILTER…]" } else { "" });
        format!("  {name:<26}{}\n", step.about)
    };
    let steps: String = steps::all().map(row).collect();
    let kind = |kind: Kind| format!("  {:<26}{}\n", kind.name(), kind.about());
    let kinds: String = Kind::ALL.into_iter().map(kind).collect();
    format!(
        "cargo xtask COMMAND [--verbose]\n\n\
         Tests:\n\
         \x20 test [KIND…]              steps of these kinds that this machine can run; without KIND: core\n\
         \x20 test --changed REV        steps of the kinds that files changed since REV can affect\n\
         \x20 test --overlap …          platforms and sanitizers beside the other kinds\n\
         \x20 STEP --no-run             build the tests of one step\n\
         \n\
         Kinds of tests:\n{kinds}\x20 all                       every kind\n\
         \n\
         One step, alone:\n{steps}\n\
         Other:\n\
         \x20 tidy                      the rules of the tree (also an ordinary test of this package)\n\
         \x20 numbers                   write docs/curves.md and its pictures from reports under bench/records (a test compares them)\n\
         \x20 book-check                find broken links in the built book (the step `book` builds it: target/book)\n\
         \x20 notices                   print the licences of all crates that the program links, for packages\n\
         \x20 advisories DIR            write the extract of the RustSec database from a checkout (a test compares it with what ships)\n\
         \x20 codegen                   write the generated assembly (a test compares it with what is committed)\n\
         \x20 fatbin [check]            write the kernels for NVIDIA's devices and their table; check: report what differs from the committed files\n\
         \x20 javascript-package        write the package of the engine for JavaScript below target/javascript/package\n\
         \x20 node-package              build the package for Node for release, below target/node/package\n\
         \x20 tune                      measure this host (`hashmill tune`) and print its rows of the plans\n\
         \x20 layouts [SECONDS]         prove that the lab does not take link layout for speed; goes on where it stopped\n\
         \x20 fuzz [TARGET [SECONDS]]   search for new inputs with cargo-fuzz; all targets, 60 seconds each\n\
         \x20 mutate [TARGET…] [--help]   mutate inputs of the document targets, count them, keep findings\n\
         \n\
         REQUIRE_ALL=1 makes each skip a failure. Logs: target/xtask/STEP.log\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> anyhow::Result<Command> {
        Command::parse(lexopt::Parser::from_args(arguments))
    }

    fn steps(arguments: &[&str]) -> Vec<&'static str> {
        match parse(arguments) {
            Ok(Command::Suite(request)) => request.steps.iter().map(|step| step.name).collect(),
            _ => panic!("{arguments:?} is a suite"),
        }
    }

    #[test]
    fn test_means_core_and_takes_kinds() {
        assert_eq!(steps(&["test"]), ["format", "core", "lint"]);
        assert_eq!(steps(&["test", "all"]).len(), steps::all().count());
        let some = steps(&["test", "sanitizers", "gpu"]);
        assert!(some.contains(&"asan") && some.contains(&"devices") && !some.contains(&"core"));
        assert!(parse(&["test", "everything"]).is_err_and(|error| error.to_string().contains("sanitizers")));
    }

    #[test]
    fn kinds_that_are_not_run_are_listed() {
        let Ok(Command::Suite(request)) = parse(&["test", "gpu"]) else { panic!("a suite") };
        assert!(request.not_run.contains(&Kind::Core) && !request.not_run.contains(&Kind::Gpu));
        let Ok(Command::Suite(request)) = parse(&["test", "all"]) else { panic!("a suite") };
        assert!(request.not_run.is_empty());
    }

    #[test]
    fn changes_are_since_a_revision() {
        let Ok(Command::Changed { revision, verbose, overlap }) = parse(&["test", "--changed", "main", "-v"])
        else {
            panic!("kinds of changed files")
        };
        assert!(revision == "main" && verbose && !overlap);
        assert!(parse(&["test", "gpu", "--changed", "main"]).is_err());
        assert!(parse(&["tidy", "--changed", "main"]).is_err());
    }

    #[test]
    fn kinds_run_beside_each_other_on_request() {
        let overlaps = |arguments: &[&str]| match parse(arguments) {
            Ok(Command::Suite(request)) => request.overlap,
            _ => panic!("{arguments:?} is a suite"),
        };
        assert!(overlaps(&["test", "--overlap", "gpu", "slow"]) && !overlaps(&["test", "gpu"]));
        assert!(parse(&["core", "--overlap"]).is_err());
    }

    #[test]
    fn tests_of_a_step_can_be_built_and_not_run() {
        let Ok(Command::Suite(request)) = parse(&["core", "--no-run"]) else { panic!("a suite") };
        assert!(request.no_run && !request.overlap);
        for refused in [&["test", "--no-run"][..], &["format", "--no-run"], &["tidy", "--no-run"]] {
            assert!(parse(refused).is_err_and(|error| error.to_string().contains("--no-run")), "{refused:?}");
        }
    }

    #[test]
    fn a_step_can_be_called_alone_with_a_filter() {
        let Ok(Command::Suite(request)) = parse(&["aarch64", "neon"]) else { panic!("a suite") };
        assert_eq!((request.steps.len(), request.filter.as_slice()), (1, ["neon".to_owned()].as_slice()));
        assert!(parse(&["format", "neon"]).is_err(), "rustfmt runs no tests to choose from");
    }

    #[test]
    fn fuzz_takes_a_target_and_seconds() {
        let Ok(Command::Fuzz(request)) = parse(&["fuzz", "checkfile", "5"]) else { panic!("fuzz") };
        assert_eq!((request.target.as_deref(), request.seconds), (Some("checkfile"), 5));
        assert!(parse(&["fuzz", "checkfile", "soon"]).is_err());
    }

    #[test]
    fn arguments_after_mutate_are_passed_on() {
        let Ok(Command::Mutate(rest)) = parse(&["mutate", "doc_load", "--seconds", "5"]) else {
            panic!("mutate")
        };
        assert_eq!(rest, ["doc_load", "--seconds", "5"]);
    }

    #[test]
    fn layouts_takes_seconds() {
        let Ok(Command::Layouts(request)) = parse(&["layouts", "110"]) else { panic!("layouts") };
        assert_eq!(request.seconds, 110);
        assert!(parse(&["layouts", "long"]).is_err());
    }

    #[test]
    fn rejects_unknown_arguments() {
        for arguments in [
            &["tests"][..],
            &["test", "--fast"],
            &["tidy", "x"],
            &["tune", "today"],
            &["aarch64", "--changed", "main"],
        ] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
