//! Recipe of a build: the same for both sides except for settings that the user gives for one side.

use super::error::BuildError;
use crate::model::select::hint;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::env::VarError;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Settings in the order of reports.
pub(crate) const NAMES: [&str; 10] = [
    "build",
    "bin",
    "bench",
    "example",
    "package",
    "profile",
    "features",
    "no-default-features",
    "native",
    "rustflags",
];

/// Settings that apply to custom build commands too.
const OF_ANY_BUILD: [&str; 2] = ["build", "rustflags"];

/// Kind of a cargo target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetKind {
    Bin,
    Bench,
    Example,
}

impl TargetKind {
    fn word(self) -> &'static str {
        match self {
            TargetKind::Bin => "bin",
            TargetKind::Bench => "bench",
            TargetKind::Example => "example",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// A shell command instead of cargo.
    build: Option<String>,
    /// Target in the workspace.
    kind: TargetKind,
    name: String,
    /// Package, if one is set.
    package: String,
    /// Package of the default target. Another target may belong to another package.
    default_package: String,
    profile: String,
    features: String,
    no_default_features: bool,
    /// Whether to build for this processor.
    native: bool,
    rustflags: String,
}

/// Folders of a build.
pub(super) struct BuildDirs<'a> {
    /// Working directory.
    pub(super) folder: &'a Path,
    /// Target folder of cargo.
    pub(super) target: &'a Path,
    /// Path of the resulting program.
    pub(super) program: &'a Path,
}

impl Recipe {
    /// Cargo's release build of the program `bin`, with the flags that the environment sets for every build.
    pub(crate) fn new(bin: String, rustflags: String) -> Self {
        Recipe {
            build: None,
            kind: TargetKind::Bin,
            name: bin,
            package: String::new(),
            default_package: String::new(),
            profile: "release".to_owned(),
            features: String::new(),
            no_default_features: false,
            native: false,
            rustflags,
        }
    }

    /// The same with the flags of the environment. Flags that are not UTF-8 cannot be stored in a report and are
    /// refused.
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo reads the same variable for the builds of a comparison"
    )]
    pub(crate) fn of_environment(bin: String) -> Result<Self, BuildError> {
        match std::env::var("RUSTFLAGS") {
            Ok(rustflags) => Ok(Recipe::new(bin, rustflags)),
            Err(VarError::NotPresent) => Ok(Recipe::new(bin, String::new())),
            Err(VarError::NotUnicode(flags)) => Err(BuildError::Flags { flags }),
        }
    }

    /// The same, built from a package of the workspace; an empty name is the one that cargo chooses.
    pub(crate) fn in_package(self, package: &str) -> Self {
        Recipe { default_package: package.to_owned(), ..self }
    }

    /// Applies settings of the form `NAME=VALUE` from one source. They override earlier ones: a custom build command
    /// replaces all settings for cargo, and excludes others.
    pub(crate) fn with(mut self, settings: &[String]) -> Result<Self, BuildError> {
        let mut of_cargo = None;
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap_or((setting.as_str(), ""));
            let known = NAMES.iter().find(|known| **known == name);
            let Some(known) = known.filter(|_| setting.contains('=')) else {
                return Err(BuildError::Setting {
                    name: name.to_owned(),
                    hint: hint(name, NAMES),
                    known: &NAMES,
                });
            };
            of_cargo = of_cargo.or(Some(*known).filter(|name| !OF_ANY_BUILD.contains(name)));
            let yes = || match value {
                "true" => Ok(true),
                "false" => Ok(false),
                other => Err(BuildError::NotABool { name: known, value: other.to_owned() }),
            };
            match *known {
                "build" => self.build = Some(value.to_owned()).filter(|command| !command.is_empty()),
                "bin" => self.set_target(TargetKind::Bin, value),
                "bench" => self.set_target(TargetKind::Bench, value),
                "example" => self.set_target(TargetKind::Example, value),
                "package" => value.clone_into(&mut self.package),
                "profile" => value.clone_into(&mut self.profile),
                "features" => value.clone_into(&mut self.features),
                "no-default-features" => self.no_default_features = yes()?,
                "native" => self.native = yes()?,
                _ => value.clone_into(&mut self.rustflags),
            }
        }
        match of_cargo.filter(|_| self.build.is_some()) {
            Some(name) => Err(BuildError::Beside { name }),
            None => Ok(self),
        }
    }

    fn set_target(&mut self, kind: TargetKind, name: &str) {
        (self.kind, self.name) = (kind, name.to_owned());
        self.default_package.clear();
    }

    fn package(&self) -> &str {
        if self.package.is_empty() { &self.default_package } else { &self.package }
    }

    /// Settings for reports; builds with equal settings were built alike.
    pub(crate) fn settings(&self) -> Vec<String> {
        if let Some(build) = &self.build {
            let flags = Some(format!("rustflags={}", self.rustflags)).filter(|_| !self.rustflags.is_empty());
            return std::iter::once(format!("build={build}")).chain(flags).collect();
        }
        let values = [
            &self.profile,
            &self.features,
            &self.no_default_features.to_string(),
            &self.native.to_string(),
            &self.rustflags,
        ];
        let mut settings = vec![format!("{}={}", self.kind.word(), self.name)];
        settings.extend(Some(format!("package={}", self.package())).filter(|_| !self.package().is_empty()));
        settings.extend(NAMES[5..].iter().zip(values).map(|(name, value)| format!("{name}={value}")));
        settings
    }

    /// Whether it builds a bench with cargo.
    pub(crate) fn is_bench(&self) -> bool {
        self.build.is_none() && self.kind == TargetKind::Bench
    }

    /// File for cargo's messages, which name the built program; none for other builds.
    pub(super) fn messages(&self, dirs: &BuildDirs<'_>) -> Option<PathBuf> {
        self.build.is_none().then(|| dirs.target.join("lab-messages"))
    }

    /// Command of the build.
    pub(super) fn command(&self, dirs: &BuildDirs<'_>) -> Command {
        let mut command = match &self.build {
            Some(text) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", text]);
                shell
            }
            None => self.cargo(),
        };
        // Also if empty: flags in the caller's environment must not affect a build whose settings do not name them.
        match self.flags() {
            flags if flags.is_empty() => command.env_remove("RUSTFLAGS"),
            flags => command.env("RUSTFLAGS", flags),
        };
        command
            .current_dir(dirs.folder)
            .env("CARGO_TARGET_DIR", dirs.target)
            .env("LAB_PROGRAM", dirs.program)
            // The place of the program must not depend on the caller.
            .env_remove("CARGO_BUILD_TARGET");
        command
    }

    fn cargo(&self) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--message-format", "json-render-diagnostics"]);
        cargo.args(["--profile", &self.profile, &format!("--{}", self.kind.word()), &self.name]);
        if !self.package().is_empty() {
            cargo.args(["--package", self.package()]);
        }
        if !self.features.is_empty() {
            cargo.args(["--features", &self.features]);
        }
        if self.no_default_features {
            cargo.arg("--no-default-features");
        }
        cargo
    }

    /// Compiler flags. Custom build commands have no setting for this processor.
    fn flags(&self) -> String {
        let native = if self.native && self.build.is_none() { " -C target-cpu=native" } else { "" };
        format!("{}{native}", self.rustflags).trim().to_owned()
    }

    /// Path of the built program: the requested path, or the one that cargo reports.
    pub(super) fn result(&self, source_name: &str, dirs: &BuildDirs<'_>) -> Result<PathBuf, BuildError> {
        let Some(messages) = self.messages(dirs) else { return Ok(dirs.program.to_owned()) };
        let text = fs::read_to_string(&messages).map_err(BuildError::io(&messages))?;
        let programs: BTreeSet<PathBuf> = text.lines().filter_map(|line| self.program_of(line)).collect();
        if programs.len() > 1 {
            return Err(BuildError::Several {
                source_name: source_name.to_owned(),
                what: format!("{} `{}`", self.kind.word(), self.name),
            });
        }
        Ok(programs.into_iter().next().unwrap_or_else(|| dirs.program.to_owned()))
    }

    /// Returns the program in a message of cargo, if it is the requested one.
    fn program_of(&self, message: &str) -> Option<PathBuf> {
        let artifact: Artifact = serde_json::from_str(message).ok()?;
        let is_it = artifact.target.name == self.name
            && artifact.target.kind.iter().any(|kind| kind == self.kind.word());
        artifact.executable.filter(|_| is_it && artifact.reason == "compiler-artifact")
    }
}

/// The parts of cargo's messages that are read.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        Recipe::new("tool".into(), String::new())
    }

    #[test]
    fn settings_change_the_command_and_are_written_down() {
        let settings = ["features=a,b", "native=true", "profile=dev", "no-default-features=true"];
        let recipe = recipe().with(&settings.map(str::to_owned)).expect("known");
        assert_eq!(
            recipe.settings(),
            [
                "bin=tool",
                "profile=dev",
                "features=a,b",
                "no-default-features=true",
                "native=true",
                "rustflags="
            ]
        );
        let dirs = BuildDirs { folder: Path::new("/s"), target: Path::new("/t"), program: Path::new("/p") };
        let command = recipe.command(&dirs);
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        assert_eq!(
            arguments.join(" "),
            "build --message-format json-render-diagnostics --profile dev --bin tool --features a,b --no-default-features"
        );
        let flags = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS").and_then(|(_, value)| value);
        assert_eq!(flags, Some("-C target-cpu=native".as_ref()));
    }

    #[test]
    fn the_default_package_is_that_of_the_default_target() {
        let packages = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
            let recipe = recipe().in_package("tools").with(&settings).expect("known");
            let written = recipe.settings().iter().any(|setting| setting == "package=tools");
            let arguments: Vec<_> = recipe.cargo().get_args().map(|arg| arg.to_owned()).collect();
            assert_eq!(written, arguments.windows(2).any(|pair| pair == ["--package", "tools"]));
            recipe.package().to_owned()
        };
        assert_eq!(packages(&["profile=dev"]), "tools");
        assert_eq!(packages(&["package=other"]), "other");
        assert_eq!(packages(&["bin=other"]), "");
        assert_eq!(packages(&["package=more", "bench=sort"]), "more");
    }

    #[test]
    fn programs_are_those_that_cargo_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let dirs = BuildDirs { folder: folder.path(), target: folder.path(), program: Path::new("/p") };
        let message = |kind: &str, name: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"kind":["{kind}"],"name":"{name}"}},"executable":{executable}}}"#
            )
        };
        let result = |settings: &[&str], lines: &[String]| {
            let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
            let recipe = recipe().with(&settings).expect("known");
            fs::write(folder.path().join("lab-messages"), lines.join("\n")).expect("a writable folder");
            recipe
                .result("main", &dirs)
                .map(|path| path.display().to_string())
                .map_err(|error| error.to_string())
        };
        let lines = [
            "no message".to_owned(),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            message("bin", "tool", "\"/t/release/tool\""),
            message("lib", "tool", "null"),
            message("bench", "sort", "\"/t/release/deps/sort-1\""),
            message("example", "sort", "\"/t/release/examples/sort\""),
        ];
        assert_eq!(result(&[], &lines).as_deref(), Ok("/t/release/tool"));
        assert_eq!(result(&["bench=sort"], &lines).as_deref(), Ok("/t/release/deps/sort-1"));
        assert_eq!(result(&["example=sort"], &lines).as_deref(), Ok("/t/release/examples/sort"));
        assert_eq!(result(&["bench=none"], &lines).as_deref(), Ok("/p"), "which is not there");
        let two = [message("bench", "sort", "\"/t/a\""), message("bench", "sort", "\"/t/b\"")];
        let error = result(&["bench=sort"], &two).expect_err("of two packages");
        assert!(error.contains("several packages have a bench `sort`"), "{error}");
        let alike = [two[0].clone(), two[0].clone()];
        assert_eq!(result(&["bench=sort"], &alike).as_deref(), Ok("/t/a"));
    }

    #[test]
    fn a_custom_build_writes_the_program_to_the_given_path() {
        let bench = recipe().with(&["bench=b".to_owned()]).expect("known");
        assert!(bench.is_bench());
        let recipe = bench.with(&["build=make".to_owned()]).expect("known");
        assert_eq!(recipe.settings(), ["build=make"]);
        assert!(!recipe.is_bench(), "cargo does not build");
        let dirs = BuildDirs { folder: Path::new("/s"), target: Path::new("/t"), program: Path::new("/p") };
        assert_eq!(recipe.result("main", &dirs).expect("as it was told"), Path::new("/p"));
    }

    #[test]
    fn flags_of_the_environment_apply_to_custom_builds_and_are_reported() {
        let dirs = BuildDirs { folder: Path::new("/s"), target: Path::new("/t"), program: Path::new("/p") };
        for (flags, settings, given) in [
            ("", &["build=make"][..], None),
            (
                "-C target-cpu=native",
                &["build=make", "rustflags=-C target-cpu=native"],
                Some("-C target-cpu=native"),
            ),
        ] {
            let recipe = Recipe::new("tool".into(), flags.into()).with(&["build=make".to_owned()]);
            let recipe = recipe.expect("known");
            assert_eq!(recipe.settings(), settings);
            let command = recipe.command(&dirs);
            let variable = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS");
            assert_eq!(
                variable,
                Some(("RUSTFLAGS".as_ref(), given.map(AsRef::as_ref))),
                "set, or taken away"
            );
        }
    }

    #[test]
    fn rejects_cargo_settings_of_custom_builds() {
        let with = |recipe: Recipe, settings: &[&str]| {
            recipe.with(&settings.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>())
        };
        for beside in ["bin=b", "bench=b", "example=b", "package=p", "profile=dev", "features=f"] {
            let error = with(recipe(), &["build=make", beside]).expect_err(beside).to_string();
            let name = beside.split('=').next().expect("a name");
            assert!(error.starts_with(&format!("`{name}` is for cargo, but `build`")), "{error}");
        }
        for beside in ["native=true", "no-default-features=true"] {
            assert!(with(recipe(), &[beside, "build=make"]).is_err(), "in any order: {beside}");
        }
        let custom = with(recipe(), &["build=make", "rustflags=-g"]).expect("every build has flags");
        assert!(with(custom.clone(), &["features=f"]).is_err(), "a file said how to build");
        assert!(with(custom, &["build=", "features=f"]).is_ok(), "cargo builds again");
        let native = with(recipe(), &["native=true"]).and_then(|recipe| with(recipe, &["build=make"]));
        assert_eq!(native.expect("what a file said of cargo is replaced").flags(), "");
    }

    #[test]
    fn unknown_settings_are_refused_with_the_nearest() {
        let error = recipe().with(&["profil=dev".to_owned()]).expect_err("misspelt").to_string();
        assert!(error.contains("did you mean `profile`?"), "{error}");
        let error = recipe().with(&["native=yes".to_owned()]).expect_err("no bool").to_string();
        assert!(error.contains("must be true or false"), "{error}");
        assert!(recipe().with(&["native".to_owned()]).is_err(), "no value");
    }
}
