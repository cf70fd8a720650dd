//! Steps of the whole workspace: graphics devices, inventories, the sync server, and comparisons with other engines.

use std::env::consts;
use std::path::Path;

use super::graphs;
use super::step::{Graph, Setting, Step, everywhere, on_linux};
use crate::command::{Cmd, Selection};
use crate::packages::b3sum_tests;
use crate::repository::metadata;
use crate::steps::kind::Kind;
use crate::steps::needs::Need;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "devices",
        about: "tests of the crates `gpu` and `engines`, and those of the program that graphics devices concern",
        kind: Kind::Gpu,
        graph: Graph::Whole,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            // No other step runs these tests at full size.
            let libraries = Selection::by_packages(&["crates/gpu", "crates/engines", "crates/workloads"]);
            let mut commands = vec![selected(setting, libraries)?.with("HASHMILL_TESTS", "full")];
            let program = Selection::by_packages(&["crates/cli"]);
            commands.push(selected(setting, program.with_names(&WITH_DEVICES))?);
            Ok(commands)
        },
    },
    Step {
        name: "kernels",
        about: "CUDA kernels are what their source makes, byte by byte, and keep words in registers",
        kind: Kind::Gpu,
        graph: Graph::Own("generator"),
        filters: false,
        applies: || consts::OS == "linux" && consts::ARCH == "x86_64",
        needs: &[Need::Nvcc, Need::Program { name: "g++", package: "g++" }],
        runner: None,
        commands: |_| Ok(vec![Cmd::cargo(&["xtask", "fatbin", "check"])]),
    },
    Step {
        name: "stores",
        about: "tests of the crate `inventory`: inventories in object stores",
        kind: Kind::Inventory,
        graph: Graph::Whole,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| tests(setting, &["crates/inventory"]),
    },
    Step {
        name: "serve",
        about: "tests of the crate `server`, and those of `hashmill serve` as its users run it",
        kind: Kind::Server,
        graph: Graph::Whole,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            let server = Selection::by_packages(&["crates/server"]).without(&SIMULATIONS);
            let program = Selection::by_packages(&["crates/cli"]).with_names(&["serve::"]);
            Ok(vec![selected(setting, server)?, selected(setting, program)?])
        },
    },
    Step {
        name: "comparisons",
        about: "tests of the crate `rivals`: our engines give the same answers as others, and clients of others work with our server",
        kind: Kind::Rivals,
        graph: Graph::Whole,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            // Clients of other implementations need a server.
            let program = program(setting.root, &[])?;
            Ok([vec![program], tests(setting, &["crates/rivals"])?].concat())
        },
    },
    Step {
        name: "b3sum",
        about: "b3sum's own published tests of its command line, against our program under that name",
        kind: Kind::Rivals,
        graph: Graph::Whole,
        filters: true,
        applies: everywhere,
        needs: &[Need::Program { name: "ln", package: "coreutils" }, Need::B3sumTests],
        runner: None,
        commands: |setting| {
            let path = metadata::target(setting.root)?.join("debug/hashmill");
            let [link, test] = b3sum_tests::run(setting.root, &path)?;
            Ok(vec![program(setting.root, &[])?, link, setting.tests(test, Selection::default())])
        },
    },
];

/// Tests at their full size.
pub(super) const SLOW: &[Step] = &[Step {
    name: "storms",
    about: "ten thousand connections to the sync server that come and go",
    kind: Kind::Slow,
    graph: Graph::Whole,
    filters: true,
    applies: on_linux,
    needs: &[],
    runner: None,
    commands: |setting| {
        let storms = Selection::by_packages(&["crates/cli"]).with_names(&["serve::storms"]);
        Ok(vec![selected(setting, storms)?.with("HASHMILL_TESTS", "full")])
    },
}];

/// Simulations of the server's core, which `core` and `sweeps` run. They have no sockets and no storage of a machine.
const SIMULATIONS: [&str; 4] = [
    "no_world_breaks_an_invariant",
    "worlds_repeat_themselves",
    "known_mistakes_are_found",
    "violations_are_reduced",
];

/// Names of the program's tests that graphics devices concern. `core` runs the others, which do not depend on devices.
const WITH_DEVICES: [&str; 6] = ["engines", "flags", "help", "info", "lab", "tune"];

/// Tests of some packages, built with the whole workspace.
pub(super) fn tests(setting: &Setting<'_>, packages: &[&str]) -> anyhow::Result<Vec<Cmd>> {
    Ok(vec![selected(setting, Selection::by_packages(packages))?])
}

fn selected(setting: &Setting<'_>, selection: Selection) -> anyhow::Result<Cmd> {
    let test = graphs::in_whole(setting.root, &["test"], &[], &[])?.with("HASHMILL_LAB_IS_MADE", "1");
    Ok(setting.tests(test, selection))
}

/// Builds the program as tests of the whole workspace with `extra` features build it: test targets enable more features of
/// some dependencies, so without them many crates would be compiled again.
pub(super) fn program(root: &Path, extra: &[&str]) -> anyhow::Result<Cmd> {
    graphs::in_whole(root, &["build"], extra, &["--bin", "hashmill", "--test", "it"])
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Without a name in the list, a file that the feature changes would be tested only without devices.
    #[test]
    fn every_file_with_code_for_devices_has_its_tests_selected() {
        let program = crate::root().join("crates/cli");
        let mut folders = vec![program.join("src"), program.join("tests/it")];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a folder") {
                let path: PathBuf = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("text");
                // The roots declare modules.
                if path.ends_with("main.rs") || !text.contains("feature = \"gpu\"") {
                    continue;
                }
                files += 1;
                let module = path.strip_prefix(&program).expect("below").to_string_lossy().into_owned();
                assert!(WITH_DEVICES.iter().any(|name| module.contains(name)), "{module}");
            }
        }
        assert!(files > 5, "{files}");
    }
}
