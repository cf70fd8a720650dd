//! A row of the table of steps.

use std::env::consts;
use std::path::Path;

use crate::command::{Cmd, Selection};
use crate::steps::kind::Kind;
use crate::steps::needs::Need;

/// One row of the table.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) kind: Kind,
    /// The dependency graph that it compiles.
    pub(crate) graph: Graph,
    /// Runs tests, so that a filter can choose some of them.
    pub(crate) filters: bool,
    /// Whether the step applies to this machine. A step that does not apply is not a skipped one.
    pub(crate) applies: fn() -> bool,
    pub(crate) needs: &'static [Need],
    /// Runs programs of another machine; without it they are only built, and that is reported.
    pub(crate) runner: Option<Need>,
    pub(crate) commands: fn(&Setting<'_>) -> anyhow::Result<Vec<Cmd>>,
}

/// A dependency graph: crates with their features, profile and flags. Steps of the same graph share what is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Graph {
    /// Compiles no Rust.
    None,
    /// The packages of the default, with their features but those of graphics devices.
    Core,
    /// The whole workspace with all features but rival engines of documents.
    Whole,
    /// A graph that other steps do not share.
    Own(&'static str),
}

impl Graph {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Core => "core",
            Self::Whole => "whole",
            Self::Own(name) => name,
        }
    }
}

/// Inputs of the commands of a step.
pub(crate) struct Setting<'a> {
    /// The repository.
    pub(crate) root: &'a Path,
    /// Parts of the names of the tests to run; none means all.
    pub(crate) filter: &'a [String],
    /// Whether programs that are built can be run.
    pub(crate) runs: bool,
}

impl Setting<'_> {
    /// Completes a `cargo test`: its binaries run the tests that the user asked for, or else those selected.
    pub(crate) fn tests(&self, mut command: Cmd, selection: Selection) -> Cmd {
        if !self.runs {
            command.args.push("--no-run".to_owned());
            return command;
        }
        match self.filter {
            [] => command.tests(selection),
            names => command.tests(Selection { names: names.to_vec(), skip: Vec::new(), ..selection }),
        }
    }

    /// Completes a command of [`EXAMPLES`] that ends with `--`: it runs those whose paths contain one of `paths`, or all.
    pub(crate) fn examples(&self, mut command: Cmd, paths: &[&str]) -> Cmd {
        match self.filter {
            [] => command.args.extend(paths.iter().map(|&path| path.to_owned())),
            names => command.args.extend(names.iter().cloned()),
        }
        command
    }
}

/// The start of a cargo command that runs examples in documentation.
pub(super) const EXAMPLES: [&str; 3] = ["test", "--doc", "--no-fail-fast"];

/// On any machine.
pub(super) fn everywhere() -> bool {
    true
}

pub(super) fn on_linux() -> bool {
    consts::OS == "linux"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_replaces_the_names_and_keeps_the_packages() {
        let filter = ["neon".to_owned()];
        let selection = Selection::by_packages(&["crates/hash"]).without(&["slow"]);
        let setting = Setting { root: Path::new("/"), filter: &filter, runs: true };
        let tests = setting.tests(Cmd::cargo(&["test"]), selection.clone()).tests.expect("tests");
        assert_eq!(
            (tests.names, tests.skip.len(), tests.packages),
            (filter.to_vec(), 0, selection.packages.clone())
        );
        assert!(
            setting
                .examples(Cmd::cargo(&["test", "--doc", "--"]), &["crates/a"])
                .args
                .ends_with(&["--".to_owned(), filter[0].clone()])
        );
        let setting = Setting { filter: &[], ..setting };
        assert_eq!(setting.tests(Cmd::cargo(&["test"]), selection.clone()).tests, Some(selection));
    }

    #[test]
    fn without_a_runner_tests_are_only_built() {
        let setting = Setting { root: Path::new("/"), filter: &[], runs: false };
        let command = setting.tests(Cmd::cargo(&["test"]), Selection::default());
        assert_eq!((command.args, command.tests), (vec!["test".to_owned(), "--no-run".to_owned()], None));
    }
}
