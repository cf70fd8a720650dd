//! The command line of `cargo xtask`, parsed into one value.

use std::ffi::OsString;

use anyhow::{Context, bail};
use lexopt::prelude::*;

use crate::fuzz::FuzzRequest;
use crate::layouts::LayoutsRequest;
use crate::steps::{self, Step};
use crate::suite::Request;

/// What the user asked for.
pub(crate) enum Command {
    Help,
    Suite(Request),
    Tidy,
    Fuzz(FuzzRequest),
    /// The arguments of the program that does it.
    Mutate(Vec<OsString>),
    Codegen,
    Fatbin,
    FatbinCheck,
    Javascript,
    NodePackage,
    Numbers,
    Notices,
    /// A checkout of the RustSec database.
    Advisories(String),
    Tune,
    Layouts(LayoutsRequest),
}

impl Command {
    pub(crate) fn parse(mut parser: lexopt::Parser) -> anyhow::Result<Self> {
        let mut words = Vec::new();
        let (mut quick, mut verbose) = (false, false);
        while let Some(arg) = parser.next()? {
            match arg {
                Short('h') | Long("help") => return Ok(Self::Help),
                Long("quick") => quick = true,
                Short('v') | Long("verbose") => verbose = true,
                // What follows is for another program.
                Value(word) if words.is_empty() && word == "mutate" => {
                    return Ok(Self::Mutate(parser.raw_args()?.collect()));
                }
                Value(word) => words.push(word.string()?),
                _ => return Err(arg.unexpected().into()),
            }
        }
        let mut words = words.into_iter();
        let Some(name) = words.next() else { return Ok(Self::Help) };
        let rest: Vec<String> = words.collect();
        if quick && name != "test" {
            bail!("`--quick` belongs to `cargo xtask test`");
        }
        match (name.as_str(), rest.as_slice()) {
            ("help", []) => Ok(Self::Help),
            ("test", []) => {
                let steps = steps::all().filter(|step| step.quick || !quick).collect();
                Ok(Self::Suite(Request { steps, filter: Vec::new(), verbose }))
            }
            ("tidy", []) => Ok(Self::Tidy),
            ("codegen", []) => Ok(Self::Codegen),
            ("fatbin", []) => Ok(Self::Fatbin),
            ("fatbin", [word]) if word == "check" => Ok(Self::FatbinCheck),
            ("javascript-package", []) => Ok(Self::Javascript),
            ("node-package", []) => Ok(Self::NodePackage),
            ("numbers", []) => Ok(Self::Numbers),
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
                    Ok(Self::Suite(Request { steps: vec![step], filter: filter.to_vec(), verbose }))
                }
                _ => bail!("no such command: {name} {}(see `cargo xtask help`)", spaced(filter)),
            },
        }
    }
}

fn spaced(words: &[String]) -> String {
    words.iter().map(|word| format!("{word} ")).collect()
}

/// The text of `cargo xtask help`: the steps come from their table.
pub(crate) fn help() -> String {
    let row = |step: &Step| {
        let name = format!("{}{}", step.name, if step.filters { " [FILTER…]" } else { "" });
        format!("  {name:<26}{}\n", step.about)
    };
    let steps: String = steps::all().map(row).collect();
    format!(
        "cargo xtask COMMAND [--verbose]\n\n\
         Everything:\n\
         \x20 test [--quick]            every step below that this machine can run; --quick: the first few\n\
         \n\
         One step, alone:\n{steps}\n\
         Other:\n\
         \x20 tidy                      the rules of the tree (also an ordinary test of this package)\n\
         \x20 numbers                   write docs/curves.md and its pictures from reports under bench/records (a test compares them)\n\
         \x20 notices                   print the licences of everything that the program links, for packages\n\
         \x20 advisories DIR            write the extract of the RustSec database from a checkout (a test compares it with what ships)\n\
         \x20 codegen                   write the generated assembly (a test compares it with what is committed)\n\
         \x20 fatbin [check]            write the kernels for NVIDIA's cards and the table of them; check: say what is not as it would be\n\
         \x20 javascript-package        write the package of the engine for JavaScript below target/javascript/package\n\
         \x20 node-package              build the package for Node for release, below target/node/package\n\
         \x20 tune                      measure this host (`hashmill tune`) and print its rows of the plans\n\
         \x20 layouts [SECONDS]         prove that the lab does not take link layout for speed; goes on where it stopped\n\
         \x20 fuzz [TARGET [SECONDS]]   search for new inputs with cargo-fuzz; all targets, 60 seconds each\n\
         \x20 mutate [TARGET…] [--help]   make inputs for the targets of documents by mutation, count, keep what is found\n\
         \n\
         REQUIRE_ALL=1 turns everything skipped into a failure. Logs: target/xtask/STEP.log\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> anyhow::Result<Command> {
        Command::parse(lexopt::Parser::from_args(words))
    }

    fn steps(words: &[&str]) -> Vec<&'static str> {
        match parse(words) {
            Ok(Command::Suite(request)) => request.steps.iter().map(|step| step.name).collect(),
            _ => panic!("{words:?} is a suite"),
        }
    }

    #[test]
    fn test_means_every_step_and_quick_fewer() {
        let (all, quick) = (steps(&["test"]), steps(&["test", "--quick"]));
        assert_eq!(all.len(), steps::all().count());
        assert!(quick.len() < all.len() && quick.contains(&"workspace"));
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
    fn what_follows_mutate_is_for_another_program() {
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
    fn what_is_not_understood_is_refused() {
        for words in
            [&["tests"][..], &["test", "--fast"], &["tidy", "x"], &["tune", "today"], &["aarch64", "--quick"]]
        {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
