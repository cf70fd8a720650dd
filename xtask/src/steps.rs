//! The table of everything that `cargo xtask test` runs: one row, one step.

use std::env::consts;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::b3sum;
use crate::host::Need;
use crate::javascript;
use crate::metadata::{self, Package};
use crate::node;
use crate::platforms;
use crate::python;
use crate::web;

/// One row of the table.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Runs under `cargo xtask test --quick` too.
    pub(crate) quick: bool,
    /// Runs tests, so that a filter can choose some of them.
    pub(crate) filters: bool,
    /// Whether the step means anything on this machine. A step without meaning is not a skipped one.
    pub(crate) applies: fn() -> bool,
    pub(crate) needs: &'static [Need],
    /// What runs programs that this machine cannot run; without it they are only built, and that is said.
    pub(crate) runner: Option<Need>,
    pub(crate) commands: fn(&Setting<'_>) -> anyhow::Result<Vec<Cmd>>,
}

/// What the commands of a step may depend on.
pub(crate) struct Setting<'a> {
    /// The repository.
    pub(crate) root: &'a Path,
    /// Parts of the names of the tests to run; none means all.
    pub(crate) filter: &'a [String],
    /// Whether what is built can be run.
    pub(crate) runs: bool,
}

/// One process of a step, run in the repository's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cmd {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl Cmd {
    pub(crate) fn new(program: &str, args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self { program: program.to_owned(), args, env: Vec::new() }
    }

    pub(crate) fn cargo(args: &[&str]) -> Self {
        Self::new("cargo", args)
    }

    /// The arguments of the nightly toolchain's cargo.
    pub(crate) fn nightly(args: &[&str]) -> Self {
        Self::new("rustup", &[&["run", "nightly", "cargo"], args].concat())
    }

    /// The tag of the last release.
    fn last_tag(root: &Path) -> anyhow::Result<String> {
        let describe = ["describe", "--tags", "--abbrev=0", "--match=v*"];
        let output = std::process::Command::new("git").args(describe).current_dir(root).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs it in the repository, with what it prints on this terminal.
    pub(crate) fn run(&self, root: &Path) -> anyhow::Result<()> {
        let mut process = std::process::Command::new(&self.program);
        process.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        let status = process.current_dir(root).status().with_context(|| self.program.clone())?;
        ensure!(status.success(), "{} {}: {status}", self.program, self.args.join(" "));
        Ok(())
    }

    /// Ends a `cargo test`: every binary runs, what passing tests print is shown (a test says there what it skipped).
    pub(crate) fn tests(self, setting: &Setting<'_>) -> Self {
        self.tests_of(setting, &[])
    }

    /// As [`Self::tests`], and where nobody asks for certain tests, those that `choice` says to the test binaries.
    pub(crate) fn tests_of(mut self, setting: &Setting<'_>, choice: &[&str]) -> Self {
        if !setting.runs {
            self.args.push("--no-run".to_owned());
            return self;
        }
        self.args.extend(["--no-fail-fast", "--", "--show-output"].map(str::to_owned));
        match setting.filter {
            [] => self.args.extend(choice.iter().map(|&word| word.to_owned())),
            filter => self.args.extend(filter.iter().cloned()),
        }
        self
    }
}

const RUSTFMT: Need = Need::Cargo { name: "fmt", get: "rustup component add rustfmt" };
const CLIPPY: Need = Need::Cargo { name: "clippy", get: "rustup component add clippy" };
const DENY: Need = Need::Cargo { name: "deny", get: "cargo install cargo-deny --locked" };

const ACTIONLINT: Need =
    Need::Tool { name: "actionlint", get: "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12" };
const SEMVER: Need = Need::Cargo { name: "semver-checks", get: "cargo install cargo-semver-checks --locked" };

/// What the archives of a release are built for on Linux.
const MUSL: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-musl" } else { "x86_64-unknown-linux-musl" };

/// What is published, each after those that it needs; the program comes last.
const SHIPPED: [&str; 9] = [
    "hashmill-atomic-file",
    "hashmill-hash",
    "hashmill-machine",
    "hashmill-doc",
    "hashmill-files",
    "hashmill-gpu",
    "hashmill-lab",
    "hashmill-workloads",
    "hashmill-cli",
];

/// Every step, cheap ones first: a wrong format should not wait for the sanitizer.
pub(crate) fn all() -> impl Iterator<Item = &'static Step> {
    HERE.iter().chain(platforms::ALL)
}

/// Those for this machine; the others are in [`platforms`].
const HERE: &[Step] = &[
    Step {
        name: "format",
        about: "rustfmt would change nothing",
        quick: true,
        filters: false,
        applies: everywhere,
        needs: &[RUSTFMT],
        runner: None,
        commands: |_| Ok(vec![Cmd::cargo(&["fmt", "--all", "--check"])]),
    },
    Step {
        name: "lint",
        about: "clippy has no warning: everything, the small program, what a bench takes, and features one by one",
        quick: true,
        filters: false,
        applies: everywhere,
        needs: &[CLIPPY],
        runner: None,
        commands: |setting| {
            let packages = metadata::packages(setting.root)?;
            let mut all = vec![
                clippy(&["--workspace", "--features", &features(&packages, &LIBFUZZER)]),
                clippy(&["-p", "hashmill-cli", "--no-default-features"]),
                clippy(&["-p", "hashmill-lab"]),
                clippy(&["-p", "hashmill-doc", "--no-default-features"]),
            ];
            let hash = packages.iter().find(|package| package.name == "hashmill-hash");
            let hash = &hash.context("the package hashmill-hash")?.features;
            let alone = [""].into_iter().chain(hash.iter().map(String::as_str));
            all.extend(
                alone.map(|set| clippy(&["-p", "hashmill-hash", "--no-default-features", "--features", set])),
            );
            Ok(all)
        },
    },
    Step {
        name: "workspace",
        about: "the tests of every crate",
        quick: true,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            let features = tested_features(&metadata::packages(setting.root)?);
            let test = ["test", "--locked", "--workspace", "--features", &features];
            // The lab's tests take the program that this makes.
            Ok(vec![Cmd::cargo(&test).with("HASHMILL_LAB_IS_MADE", "1").tests(setting)])
        },
    },
    Step {
        name: "javascript",
        about: "documents go between us, the JavaScript implementation and its servers; its tests run on our engine",
        quick: false,
        filters: true,
        applies: everywhere,
        needs: &[Need::Node, Need::NpmRegistry, Need::Std("wasm32-unknown-unknown")],
        runner: None,
        commands: beside_javascript,
    },
    Step {
        name: "web",
        about: "the package of hashes for browsers: in Node beside others, in a browser, and its types",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[Need::Node, Need::NpmRegistry, Need::Std("wasm32-unknown-unknown")],
        runner: None,
        commands: web::step,
    },
    Step {
        name: "b3sum",
        about: "b3sum's own published tests of its command line, against our program under that name",
        quick: false,
        filters: true,
        applies: everywhere,
        needs: &[Need::Program { name: "ln", package: "coreutils" }, Need::B3sumTests],
        runner: None,
        commands: |setting| {
            let build = program(&tested_features(&metadata::packages(setting.root)?));
            let target = metadata::target(setting.root)?;
            let [link, test] = b3sum::run(setting.root, &target.join("debug/hashmill"))?;
            Ok(vec![build, link, test.tests(setting)])
        },
    },
    Step {
        name: "kernels",
        about: "the kernels for NVIDIA's cards are what their text makes, byte by byte, and keep words in registers",
        quick: false,
        filters: false,
        applies: || consts::OS == "linux" && consts::ARCH == "x86_64",
        needs: &[Need::Nvcc, Need::Program { name: "g++", package: "g++" }],
        runner: None,
        commands: |_| Ok(vec![Cmd::cargo(&["xtask", "fatbin", "check"])]),
    },
    Step {
        name: "c",
        about: "the libraries for C, made from what was built: programs and tests of others on them",
        quick: false,
        filters: true,
        applies: || consts::OS == "linux",
        needs: &[
            Need::Program { name: "cc", package: "gcc" },
            Need::Program { name: "g++", package: "g++" },
            Need::Program { name: "objcopy", package: "binutils" },
        ],
        runner: None,
        commands: c,
    },
    Step {
        name: "python",
        about: "the package for Python, as a wheel in an environment of its own: its tests, types and examples",
        quick: false,
        filters: true,
        applies: || consts::OS == "linux",
        needs: &[Need::Python],
        runner: None,
        commands: |setting| python::run(setting.root, setting.filter),
    },
    Step {
        name: "node",
        about: "the package for Node: its tests, beside argon2 and blake3, whose own tests run on it; types, workers, ends",
        quick: false,
        filters: true,
        applies: || consts::OS == "linux",
        needs: &[Need::Node, Need::NpmRegistry],
        runner: None,
        commands: |setting| node::run(setting.root, setting.filter),
    },
    Step {
        name: "free-threads",
        about: "the package for a Python without the lock for all threads: its tests, with that lock gone",
        quick: false,
        filters: true,
        applies: || consts::OS == "linux",
        needs: &[Need::Tool { name: python::FREE, get: "Python 3.14, configured with --disable-gil" }],
        runner: None,
        commands: |setting| python::run_free(setting.root, setting.filter),
    },
    Step {
        name: "deny",
        about: "what ships has no other licences, sources or doubled crates than deny.toml allows, and no known advisory",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[DENY],
        runner: None,
        commands: |_| {
            let check = ["deny", "--locked", "--offline", "check", "licenses", "bans", "sources"];
            // It reads what is built on other systems, too, which nobody may have built here.
            // Advisories come from the extract in the repository: the newest database is for the hosted workflow.
            let advisories = Cmd::cargo(&["test", "--locked", "-p", "xtask", "advisories::"]);
            Ok(vec![Cmd::cargo(&["fetch", "--locked"]), Cmd::cargo(&check), advisories])
        },
    },
    Step {
        name: "actions",
        about: "the workflows of the hosted service are well-formed, and the one that docs/lab-ci.md hands out",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[ACTIONLINT],
        runner: None,
        commands: |_| Ok(vec![Cmd::new("actionlint", &[]), Cmd::new("actionlint", &["docs/lab-ci.yml"])]),
    },
    Step {
        name: "packages",
        about: "every crate that ships can be packed, and compiles from what was packed",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |_| Ok(vec![Cmd::new(".ci/crates", &SHIPPED)]),
    },
    Step {
        name: "archive",
        about: "the archive and the Debian package of a release do what they are for, unpacked in an empty folder",
        quick: false,
        filters: false,
        applies: || consts::OS == "linux" && ["x86_64", "aarch64"].contains(&consts::ARCH),
        needs: &[Need::Std(MUSL), Need::Program { name: "dpkg-deb", package: "dpkg" }],
        runner: None,
        // What is tried is what was packed, not how fast it is: `whole` links as it ships.
        commands: |_| {
            let mut package = vec![MUSL];
            let quickly =
                ["lto='off'", "codegen-units=16", "opt-level=0", "package.hashmill-cli.opt-level=0"];
            let quickly = quickly.map(|setting| format!("profile.dist.{setting}"));
            quickly.iter().for_each(|setting| package.extend(["--config", setting]));
            let [deb, tried] = [".ci/deb", ".ci/try"].map(|file| Cmd::new(file, &[MUSL]));
            Ok(vec![Cmd::new(".ci/package", &package), deb, tried])
        },
    },
    Step {
        name: "semver",
        about: "no public name went or changed since the last release, unless the version says so",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[SEMVER, Need::Tag],
        runner: None,
        commands: |setting| {
            let tag = Cmd::last_tag(setting.root)?;
            let mut args = vec!["semver-checks", "--baseline-rev", &tag];
            SHIPPED[..SHIPPED.len() - 1].iter().for_each(|library| args.extend(["-p", library]));
            Ok(vec![Cmd::cargo(&args)])
        },
    },
    Step {
        name: "doc",
        about: "rustdoc has no warning",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            let features = features(&metadata::packages(setting.root)?, &LIBFUZZER);
            let doc = Cmd::cargo(&["doc", "--locked", "--workspace", "--no-deps", "--features", &features]);
            Ok(vec![doc.with("RUSTDOCFLAGS", "-Dwarnings")])
        },
    },
    Step {
        name: "features",
        about: "the tests of `hash` without features",
        quick: false,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        // With all features they ran in the workspace, and each alone was linted; `doc` without its own is for `i686`.
        commands: |setting| {
            let hash = ["test", "--locked", "-p", "hashmill-hash", "--no-default-features"];
            Ok(vec![Cmd::cargo(&hash).tests(setting)])
        },
    },
    Step {
        name: "whole",
        about: "no key stays on the stack where a program is linked as one whole, as it ships",
        quick: false,
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |setting| {
            let test = ["test", "--locked", "--release", "-p", "hashmill-hash", "--all-features"];
            let test = Cmd::cargo(&[&test[..], &["--test", "it"]].concat());
            Ok(vec![test.tests_of(setting, &["stack::"])])
        },
    },
    Step {
        name: "no-std",
        about: "`hash` links into a program that has neither std nor alloc",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |_| Ok(no_std()),
    },
    Step {
        name: "asan",
        about: "the tests of `hash` and `files` under the address sanitizer",
        quick: false,
        filters: true,
        applies: || consts::OS == "linux",
        needs: &[Need::Nightly],
        runner: None,
        commands: |setting| Ok(vec![asan().tests(setting)]),
    },
    Step {
        name: "tsan",
        about: "readers of documents beside writers, under the thread sanitizer",
        quick: false,
        filters: false,
        applies: || consts::OS == "linux",
        needs: &[Need::Nightly, Need::NightlySource],
        runner: None,
        commands: |_| Ok(vec![tsan()]),
    },
];

fn everywhere() -> bool {
    true
}

fn clippy(of: &[&str]) -> Cmd {
    Cmd::cargo(&[&["clippy", "--locked", "--all-targets"], of, &["--", "-Dwarnings"]].concat())
}

/// What wants a compiler for C++.
const LIBFUZZER: [&str; 1] = ["hashmill-fuzz/libfuzzer"];

/// Every feature but six. Clippy still sees five: the engines that documents are measured beside, and the build that
/// counts their memory, take longer to build than all else, and no test needs them; documents without shortcuts, and beside
/// JavaScript, are steps of their own, and so are the libraries for C.
fn tested_features(packages: &[Package]) -> String {
    let elsewhere = [
        "hashmill-c/installed",
        "hashmill-rivals/counting",
        "hashmill-rivals/doc-engines",
        "hashmill-rivals/javascript",
        "hashmill-doc/general",
    ];
    features(packages, &[&elsewhere[..], &LIBFUZZER].concat())
}

/// Every feature of every package, as cargo wants it, but some.
fn features(packages: &[Package], but: &[&str]) -> String {
    let all = packages
        .iter()
        .flat_map(|package| package.features.iter().map(|feature| format!("{}/{feature}", package.name)));
    all.filter(|feature| !but.contains(&feature.as_str())).collect::<Vec<_>>().join(",")
}

/// Builds our engine for JavaScript, and installs exactly what the lock file names, below the crate that knows all competitors,
/// and runs no scripts of theirs. What else is built is what the step of the workspace has built, but for these tests.
fn beside_javascript(setting: &Setting<'_>) -> anyhow::Result<Vec<Cmd>> {
    let options = ["--ignore-scripts", "--no-audit", "--no-fund", "--cache", "target/npm"];
    let install = Cmd::new("npm", &[&["ci", "--prefix", "crates/rivals/js"], &options[..]].concat());
    let features = tested_features(&metadata::packages(setting.root)?) + ",hashmill-rivals/javascript";
    let of = ["--locked", "--workspace", "--features", &features];
    let target = metadata::target(setting.root)?;
    let (mut commands, engine) = javascript::engine(setting.root, &target, "wasm-test", "nodejs")?;
    let (for_browsers, script) = javascript::engine(setting.root, &target, "wasm-test", "web")?;
    commands.extend(for_browsers);
    let engine = setting.root.join(engine);
    let folder = setting.root.join(script).with_file_name("");
    let mut test = Cmd::cargo(&[&["test"], &of[..], &["--test", "javascript"]].concat())
        .with("HASHMILL_ENGINE", &engine.to_string_lossy())
        .with("HASHMILL_ENGINE_FOR_BROWSERS", &folder.to_string_lossy())
        .tests(setting);
    test = match javascript::tests(setting.root) {
        Ok(tests) => test.with("HASHMILL_AUTOMERGE_TESTS", &tests),
        Err(why) => test.with("HASHMILL_NO_AUTOMERGE_TESTS", &why),
    };
    commands.extend([install, program(&features), test]);
    Ok(commands)
}

/// Installs what is linked of the archive that tests of the whole workspace are built with, and tests that.
fn c(setting: &Setting<'_>) -> anyhow::Result<Vec<Cmd>> {
    let prefix = metadata::target(setting.root)?.join("c");
    let prefix = prefix.to_string_lossy();
    let archive = metadata::target(setting.root)?.join("debug/libhashmill_c.a");
    let features = tested_features(&metadata::packages(setting.root)?);
    let of = ["--locked", "--workspace", "--features", &features];
    let build = Cmd::cargo(&[&["build"], &of[..], &["--lib", "--test", "it"]].concat());
    let features = features.clone() + ",hashmill-c/installed";
    let of = ["--locked", "--workspace", "--features", &features, "--test", "c"];
    let test = Cmd::cargo(&[&["test"], &of[..]].concat()).with("HASHMILL_C", &prefix);
    Ok(vec![
        build,
        Cmd::new("bindings/c/install", &[&prefix, &archive.to_string_lossy()]),
        test.tests(setting),
    ])
}

/// The program, as tests of the whole workspace with these features build it: tests ask some dependencies for more, so that
/// without one of them the graphics devices, the lab and others were compiled again.
fn program(features: &str) -> Cmd {
    let of = ["build", "--locked", "--workspace", "--features", features];
    Cmd::cargo(&[&of[..], &["--bin", "hashmill", "--test", "it"]].concat())
}

/// A final link is the only honest judge: `std` would bring a second panic handler, `alloc` ask for an allocator.
fn no_std() -> Vec<Cmd> {
    let folder = "target/no-std";
    let library =
        ["build", "--locked", "-p", "hashmill-hash", "--no-default-features", "--target-dir", folder];
    let program = [
        "--edition=2024",
        "--crate-type=staticlib",
        "-Cpanic=abort",
        "--extern=hashmill_hash=target/no-std/debug/libhashmill_hash.rlib",
        "-Ldependency=target/no-std/debug/deps",
        "--out-dir=target/no-std",
        "xtask/probes/no_std.rs",
    ];
    vec![Cmd::cargo(&library), Cmd::new("rustc", &program)]
}

/// An explicit target keeps the flags away from build scripts and procedural macros.
fn asan() -> Cmd {
    let target = format!("{}-unknown-linux-gnu", consts::ARCH);
    let test = ["test", "--locked", "--target", &target, "--target-dir", "target/asan", "--tests"];
    let packages = ["-p", "hashmill-hash", "-p", "hashmill-files", "--all-features"];
    Cmd::nightly(&[&test[..], &packages].concat())
        .with("RUSTFLAGS", "-Zsanitizer=address")
        // A test asks for more memory than there is: it must be refused, as by any other allocator. Another reads what
        // a call leaves on its stack, so locals must be there and not on a heap of the sanitizer's.
        .with("ASAN_OPTIONS", "allocator_may_return_null=1:detect_stack_use_after_return=0")
}

/// The sanitizer must see the standard library's own reads and writes, so that is built with it.
fn tsan() -> Cmd {
    let target = format!("{}-unknown-linux-gnu", consts::ARCH);
    let test = ["test", "--locked", "-Zbuild-std", "--target", &target, "--target-dir", "target/tsan"];
    let of = ["-p", "hashmill-doc", "--test", "it", "--", "threads"];
    Cmd::nightly(&[&test[..], &of].concat()).with("RUSTFLAGS", "-Zsanitizer=thread")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_beside_ours_are_not_built_for_tests() {
        let package = |name: &str, features: &[&str]| Package {
            name: name.to_owned(),
            features: features.iter().map(|&feature| feature.to_owned()).collect(),
            dependencies: Vec::new(),
        };
        let packages = [
            package("hashmill-hash", &["std"]),
            package("hashmill-rivals", &["counting", "doc-engines", "layout-1"]),
        ];
        assert_eq!(tested_features(&packages), "hashmill-hash/std,hashmill-rivals/layout-1");
    }

    #[test]
    fn names_are_unique_and_the_quick_steps_come_first() {
        let mut names: Vec<_> = all().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        assert!(all().is_sorted_by_key(|step| !step.quick), "the help text says so");
    }

    #[test]
    fn a_filter_reaches_the_test_binaries() {
        let filter = ["neon".to_owned()];
        let setting = Setting { root: Path::new("/"), filter: &filter, runs: true };
        let cmd = Cmd::cargo(&["test"]).tests(&setting);
        assert_eq!(cmd.args, ["test", "--no-fail-fast", "--", "--show-output", "neon"]);
        assert_eq!(Cmd::cargo(&["test"]).tests_of(&setting, &["vectors"]), cmd, "who asks, chooses");
        let setting = Setting { filter: &[], ..setting };
        assert!(
            Cmd::cargo(&["test"]).tests_of(&setting, &["vectors"]).args.ends_with(&["vectors".to_owned()])
        );
    }
}
