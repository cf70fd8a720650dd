//! One process of a step, and the tests that it selects.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// One process of a step, run in the repository's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cmd {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// For a `cargo test`: the binaries are built by cargo and run by `suite::binaries`.
    pub(crate) tests: Option<Selection>,
}

/// The tests to run of the binaries that a `cargo test` builds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Parts of names; none selects all.
    pub(crate) names: Vec<String>,
    /// Parts of names of tests that are left out.
    pub(crate) skip: Vec<String>,
    /// Folders of packages, relative to the repository; none selects all.
    pub(crate) packages: Vec<String>,
    /// Modules; none selects all.
    pub(crate) modules: Vec<TestModule>,
}

/// A module of a package, with the modules in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestModule {
    /// Folder of the package, relative to the repository.
    pub(crate) package: String,
    /// Name of the test file; `None` for libraries and programs.
    pub(crate) target: Option<String>,
    /// The start of the names of its tests, such as `sum::limits::`.
    pub(crate) module: String,
}

impl Selection {
    pub(crate) fn by_names(names: &[&str]) -> Self {
        Self { names: owned(names), ..Self::default() }
    }

    pub(crate) fn by_packages(packages: &[&str]) -> Self {
        Self { packages: owned(packages), ..Self::default() }
    }

    pub(crate) fn with_names(self, names: &[&str]) -> Self {
        Self { names: owned(names), ..self }
    }

    pub(crate) fn without(mut self, skip: &[&str]) -> Self {
        self.skip.extend(owned(skip));
        self
    }

    /// Whether a test of this name is selected.
    pub(crate) fn has_test(&self, name: &str) -> bool {
        let any = |parts: &[String]| parts.iter().any(|part| name.contains(part.as_str()));
        (self.names.is_empty() || any(&self.names)) && !any(&self.skip)
    }

    /// Whether a test of a binary is in one of the selected modules.
    pub(crate) fn has_module(&self, package: &str, target: &str, test: &str) -> bool {
        let has = |module: &TestModule| {
            module.package == package
                && module.target.as_deref().is_none_or(|selected| selected == target)
                && test.starts_with(&module.module)
        };
        self.modules.is_empty() || self.modules.iter().any(has)
    }

    /// Whether tests of the package in `folder` are selected.
    pub(crate) fn has_package(&self, folder: &str) -> bool {
        self.packages.is_empty() || self.packages.iter().any(|package| package == folder)
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

impl Cmd {
    pub(crate) fn new(program: &str, args: &[&str]) -> Self {
        Self { program: program.to_owned(), args: owned(args), env: Vec::new(), tests: None }
    }

    pub(crate) fn cargo(args: &[&str]) -> Self {
        Self::new("cargo", args)
    }

    /// A command of the nightly toolchain's cargo.
    pub(crate) fn nightly(args: &[&str]) -> Self {
        Self::new("rustup", &[&["run", "nightly", "cargo"], args].concat())
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes `suite::binaries` run the binaries of a `cargo test`.
    pub(crate) fn tests(mut self, selection: Selection) -> Self {
        self.tests = Some(selection);
        self
    }

    /// Runs it in the repository, with its output on this terminal.
    pub(crate) fn run(&self, root: &Path) -> anyhow::Result<()> {
        ensure!(self.succeeds(root)?, "failed: {}", self.shell_line());
        Ok(())
    }

    /// As [`Self::run`]; false if it fails.
    pub(crate) fn succeeds(&self, root: &Path) -> anyhow::Result<bool> {
        Ok(self.process(root).status().with_context(|| self.program.clone())?.success())
    }

    /// The process, not yet started.
    pub(crate) fn process(&self, root: &Path) -> Command {
        let mut process = Command::new(&self.program);
        process.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        process.current_dir(root);
        process
    }

    /// The command as a line for a shell.
    pub(crate) fn shell_line(&self) -> String {
        let quoted = |text: &str| match text.is_empty() || text.contains(char::is_whitespace) {
            true => format!("'{text}'"),
            false => text.to_owned(),
        };
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let args = self.args.iter().map(|arg| quoted(arg));
        env.chain([self.program.clone()]).chain(args).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_shell_lines() {
        let command = Cmd::new("cargo", &["test", "--features", ""]).with("RUNNER", "qemu -cpu max");
        assert_eq!(command.shell_line(), "RUNNER='qemu -cpu max' cargo test --features ''");
    }

    #[test]
    fn a_selection_matches_parts_of_names_and_complete_packages() {
        let selection = Selection::by_names(&["vectors::", "codec"]).without(&["oracle::"]);
        assert!(selection.has_test("vectors::long") && selection.has_test("codec"));
        assert!(!selection.has_test("vectors::oracle::long") && !selection.has_test("text"));
        assert!(Selection::default().has_test("text") && selection.has_package("crates/doc"));
        assert!(selection.has_module("crates/doc", "it", "vectors::long"));
        let gpu = Selection::by_packages(&["crates/gpu"]);
        assert!(
            gpu.has_package("crates/gpu") && !gpu.has_package("crates/gpu-tools") && gpu.has_test("text")
        );
    }

    #[test]
    fn a_selection_of_modules_includes_nested_modules() {
        let module = |target: Option<&str>, module: &str| TestModule {
            package: "crates/a".to_owned(),
            target: target.map(str::to_owned),
            module: module.to_owned(),
        };
        let modules = vec![module(Some("it"), "b::"), module(None, "c::")];
        let selection = Selection { modules, ..Selection::default() };
        assert!(selection.has_module("crates/a", "it", "b::d::test"));
        assert!(selection.has_module("crates/a", "hashmill_a", "c::tests::test"));
        assert!(!selection.has_module("crates/a", "hashmill_a", "b::test"));
        assert!(!selection.has_module("crates/b", "it", "b::test"));
        assert!(!selection.has_module("crates/a", "it", "bb::test"));
    }
}
