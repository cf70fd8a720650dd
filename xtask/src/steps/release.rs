//! Steps that a release depends on: lints, licences, packages, archives, rustdoc and workflows.

use std::env::consts;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::core::CLIPPY;
use super::graphs::{self, LIBFUZZER, features};
use super::step::{EXAMPLES, Graph, Step, everywhere};
use crate::command::{Cmd, Selection};
use crate::release::book;
use crate::repository::metadata;
use crate::steps::kind::Kind;
use crate::steps::needs::Need;

const DENY: Need = Need::Cargo { name: "deny", install: "cargo install cargo-deny --locked" };
const ACTIONLINT: Need = Need::Tool {
    name: "actionlint",
    install: "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12",
};
const SEMVER: Need =
    Need::Cargo { name: "semver-checks", install: "cargo install cargo-semver-checks --locked" };

/// The target of archives on Linux.
const MUSL: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-musl" } else { "x86_64-unknown-linux-musl" };

/// The packages that are published, each after those that it needs; the program comes last.
const SHIPPED: [&str; 12] = [
    "hashmill-atomic-file",
    "hashmill-hash",
    "hashmill-machine",
    "hashmill-doc",
    "hashmill-repo",
    "hashmill-server",
    "hashmill-files",
    "hashmill-gpu",
    "hashmill-engines",
    "hashmill-lab",
    "hashmill-workloads",
    "hashmill-cli",
];

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "actions",
        about: "the workflows for GitHub, and the one of docs/lab-ci.md, are well-formed",
        kind: Kind::Release,
        graph: Graph::None,
        filters: false,
        applies: everywhere,
        needs: &[ACTIONLINT],
        runner: None,
        commands: |_| Ok(vec![Cmd::new("actionlint", &[]), Cmd::new("actionlint", &["docs/lab-ci.yml"])]),
    },
    Step {
        name: "book",
        about: "mdBook builds the pages of docs, and no link of the book is broken",
        kind: Kind::Release,
        graph: Graph::None,
        filters: false,
        applies: everywhere,
        needs: &[Need::Mdbook],
        runner: None,
        commands: |setting| Ok(book::commands(setting.root)),
    },
    Step {
        name: "deny",
        about: "crates that ship have the licences, sources and versions that deny.toml allows, and no known advisory",
        kind: Kind::Release,
        graph: Graph::Own("xtask"),
        filters: false,
        applies: everywhere,
        needs: &[DENY],
        runner: None,
        commands: |_| {
            let check = ["deny", "--locked", "--offline", "check", "licenses", "bans", "sources"];
            // `fetch` downloads crates for other systems too. Advisories come from the extract in the repository; the hosted workflow asks
            // for the newest database.
            let advisories = Cmd::cargo(&["test", "--locked", "-p", "xtask", "advisories::"]);
            Ok(vec![Cmd::cargo(&["fetch", "--locked"]), Cmd::cargo(&check), advisories])
        },
    },
    Step {
        name: "lints",
        about: "clippy has no warning with all features, without each feature, and in the small programs",
        kind: Kind::Release,
        graph: Graph::Own("whole and small ones, checked"),
        filters: false,
        applies: everywhere,
        needs: &[CLIPPY],
        runner: None,
        commands: |setting| lints(setting.root),
    },
    Step {
        name: "packages",
        about: "every crate that ships can be packed, and compiles from what was packed",
        kind: Kind::Release,
        graph: Graph::Own("each shipped crate, checked"),
        filters: false,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |_| Ok(vec![Cmd::new(".ci/crates", &SHIPPED)]),
    },
    Step {
        name: "archive",
        about: "the archive and the Debian package of a release work, unpacked in an empty folder",
        kind: Kind::Release,
        graph: Graph::Own("program for musl, not optimised"),
        filters: false,
        applies: || consts::OS == "linux" && ["x86_64", "aarch64"].contains(&consts::ARCH),
        needs: &[Need::Std(MUSL), Need::Program { name: "dpkg-deb", package: "dpkg" }],
        runner: None,
        // The contents are tested here, not the speed: `stack` links as a release does.
        commands: |_| {
            let mut package = vec![MUSL];
            let less_optimised =
                ["lto='off'", "codegen-units=16", "opt-level=0", "package.hashmill-cli.opt-level=0"];
            let less_optimised = less_optimised.map(|setting| format!("profile.dist.{setting}"));
            less_optimised.iter().for_each(|setting| package.extend(["--config", setting]));
            let [deb, test] = [".ci/deb", ".ci/try"].map(|file| Cmd::new(file, &[MUSL]));
            Ok(vec![Cmd::new(".ci/package", &package), deb, test])
        },
    },
    Step {
        name: "semver",
        about: "no public name went or changed since the last release, unless the version says so",
        kind: Kind::Release,
        graph: Graph::Own("rustdoc of two versions"),
        filters: false,
        applies: everywhere,
        needs: &[SEMVER, Need::Tag],
        runner: None,
        commands: |setting| {
            let tag = last_tag(setting.root)?;
            let mut args = vec!["semver-checks", "--baseline-rev", &tag];
            SHIPPED[..SHIPPED.len() - 1].iter().for_each(|library| args.extend(["-p", library]));
            Ok(vec![Cmd::cargo(&args)])
        },
    },
    Step {
        name: "doc",
        about: "rustdoc has no warning, and documentation examples outside of core run",
        kind: Kind::Release,
        graph: Graph::Whole,
        filters: false,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            let features = features(&metadata::packages(setting.root)?, &[LIBFUZZER]);
            let doc = Cmd::cargo(&["doc", "--locked", "--workspace", "--no-deps", "--features", &features]);
            let examples = graphs::in_whole(setting.root, &EXAMPLES, &[], &["--"])?;
            let paths = ["crates/gpu", "crates/inventory", "crates/rivals", "bindings/"];
            Ok(vec![doc.with("RUSTDOCFLAGS", "-Dwarnings"), setting.examples(examples, &paths)])
        },
    },
    Step {
        name: "stack",
        about: "no key stays on the stack of a program that is linked as a release is",
        kind: Kind::Release,
        graph: Graph::Own("hash, optimised"),
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            let test =
                ["test", "--locked", "--release", "-p", "hashmill-hash", "--all-features", "--test", "it"];
            Ok(vec![setting.tests(Cmd::cargo(&test), Selection::by_names(&["stack_residue::"]))])
        },
    },
];

fn clippy(options: &[&str]) -> Cmd {
    Cmd::cargo(&[&["clippy", "--locked", "--all-targets"], options, &["--", "-Dwarnings"]].concat())
}

fn lints(root: &Path) -> anyhow::Result<Vec<Cmd>> {
    let packages = metadata::packages(root)?;
    let hash = packages.iter().find(|package| package.name == "hashmill-hash");
    let hash = &hash.context("the package hashmill-hash")?.features;
    let feature_sets = [""].into_iter().chain(hash.iter().map(String::as_str));
    let each_alone =
        feature_sets.map(|set| clippy(&["-p", "hashmill-hash", "--no-default-features", "--features", set]));
    let mut commands = vec![
        clippy(&["--workspace", "--features", &features(&packages, &[LIBFUZZER])]),
        clippy(&["-p", "hashmill-cli", "--no-default-features"]),
        clippy(&["-p", "hashmill-lab"]),
        clippy(&["-p", "hashmill-doc", "--no-default-features"]),
    ];
    commands.extend(each_alone);
    Ok(commands)
}

/// The tag of the last release.
fn last_tag(root: &Path) -> anyhow::Result<String> {
    let describe = ["describe", "--tags", "--abbrev=0", "--match=v*"];
    let output = Command::new("git").args(describe).current_dir(root).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
