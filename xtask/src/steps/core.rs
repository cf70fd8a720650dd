//! Steps of the default, and the same tests at full size.

use super::graphs;
use super::step::{EXAMPLES, Graph, Setting, Step, everywhere};
use crate::command::{Cmd, Selection};
use crate::repository::sized_tests;
use crate::steps::kind::{CORE, Kind};
use crate::steps::needs::Need;

const RUSTFMT: Need = Need::Cargo { name: "fmt", install: "rustup component add rustfmt" };
pub(super) const CLIPPY: Need = Need::Cargo { name: "clippy", install: "rustup component add clippy" };

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "format",
        about: "rustfmt would change nothing",
        kind: Kind::Core,
        graph: Graph::None,
        filters: false,
        applies: everywhere,
        needs: &[RUSTFMT],
        runner: None,
        commands: |_| Ok(vec![Cmd::cargo(&["fmt", "--all", "--check"])]),
    },
    Step {
        name: "core",
        about: "tests and documentation examples of the crates that need Rust alone",
        kind: Kind::Core,
        graph: Graph::Core,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            let examples = graphs::in_core(setting.root, &EXAMPLES, &["--"])?;
            Ok(vec![tests(setting, Selection::default())?, setting.examples(examples, &[])])
        },
    },
    Step {
        name: "lint",
        about: "clippy has no warning in the crates that need Rust alone",
        kind: Kind::Core,
        graph: Graph::Own("core, checked"),
        filters: false,
        applies: everywhere,
        needs: &[CLIPPY],
        runner: None,
        commands: |setting| {
            let strict = ["--", "-Dwarnings"];
            Ok(vec![graphs::in_core(setting.root, &["clippy", "--all-targets"], &strict)?])
        },
    },
];

pub(super) const SLOW: &[Step] = &[Step {
    name: "sweeps",
    about: "the tests of `core` that have a small size, with all seeds and sizes",
    kind: Kind::Slow,
    graph: Graph::Core,
    filters: true,
    applies: everywhere,
    needs: &[],
    runner: None,
    commands: |setting| {
        let modules = sized_tests::modules(setting.root, &CORE)?;
        let sized = Selection { modules, ..Selection::default() };
        Ok(vec![tests(setting, sized)?.with("HASHMILL_TESTS", "full")])
    },
}];

fn tests(setting: &Setting<'_>, selection: Selection) -> anyhow::Result<Cmd> {
    // The lab's tests take the program that this builds.
    let test = graphs::in_core(setting.root, &["test"], &[])?.with("HASHMILL_LAB_IS_MADE", "1");
    Ok(setting.tests(test, selection))
}
