//! How a program is made: the same for both sides, but for what the user sets apart.

use super::error::BuildError;
use crate::model::select::hint;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The settings in the order in which reports show them.
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

/// Those that a command of the user's own hears of, too.
const OF_ANY_BUILD: [&str; 2] = ["build", "rustflags"];

/// What cargo calls a program.
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
    /// A command for the shell, instead of cargo.
    build: Option<String>,
    /// The program of the workspace.
    kind: TargetKind,
    name: String,
    /// Whose program, where several packages have one of this name.
    package: String,
    profile: String,
    features: String,
    no_default_features: bool,
    /// For the processor at hand.
    native: bool,
    rustflags: String,
}

/// What a build is given.
pub(super) struct Workplace<'a> {
    /// Where it runs.
    pub(super) folder: &'a Path,
    /// Where cargo keeps what it made.
    pub(super) target: &'a Path,
    /// Where the program must be in the end.
    pub(super) program: &'a Path,
}

impl Recipe {
    /// Cargo's release build of the program `bin`, with the flags that the environment gives to every build.
    pub(crate) fn new(bin: String, rustflags: String) -> Self {
        Recipe {
            build: None,
            kind: TargetKind::Bin,
            name: bin,
            package: String::new(),
            profile: "release".to_owned(),
            features: String::new(),
            no_default_features: false,
            native: false,
            rustflags,
        }
    }

    /// With settings of the form `NAME=VALUE` from one place. They win over those from before: a command that builds takes
    /// the place of all that cargo was told, but beside it nothing is said to cargo.
    pub(crate) fn with(mut self, settings: &[String]) -> Result<Self, BuildError> {
        let mut of_cargo = None;
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap_or((setting.as_str(), ""));
            let known = NAMES.iter().find(|known| **known == name);
            let Some(known) = known.filter(|_| setting.contains('=')) else {
                return Err(BuildError::Setting { name: name.to_owned(), hint: hint(name, NAMES) });
            };
            of_cargo = of_cargo.or(Some(*known).filter(|name| !OF_ANY_BUILD.contains(name)));
            let yes = || match value {
                "true" => Ok(true),
                "false" => Ok(false),
                other => Err(BuildError::NotABool { name: known, value: other.to_owned() }),
            };
            match *known {
                "build" => self.build = Some(value.to_owned()).filter(|command| !command.is_empty()),
                "bin" => (self.kind, self.name) = (TargetKind::Bin, value.to_owned()),
                "bench" => (self.kind, self.name) = (TargetKind::Bench, value.to_owned()),
                "example" => (self.kind, self.name) = (TargetKind::Example, value.to_owned()),
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

    /// What a report says about it; two builds with equal lines were made alike.
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
        settings.extend(Some(format!("package={}", self.package)).filter(|_| !self.package.is_empty()));
        settings.extend(NAMES[5..].iter().zip(values).map(|(name, value)| format!("{name}={value}")));
        settings
    }

    /// Whether it builds a bench by cargo.
    pub(crate) fn is_bench(&self) -> bool {
        self.build.is_none() && self.kind == TargetKind::Bench
    }

    /// Where cargo's messages go, which say what it made; nothing where something else builds.
    pub(super) fn messages(&self, place: &Workplace<'_>) -> Option<PathBuf> {
        self.build.is_none().then(|| place.target.join("lab-messages"))
    }

    /// The command that builds.
    pub(super) fn command(&self, place: &Workplace<'_>) -> Command {
        let mut command = match &self.build {
            Some(text) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", text]);
                shell
            }
            None => self.cargo(),
        };
        // Also where there are none: flags of whoever calls must not reach a build whose settings do not name them.
        match self.flags() {
            flags if flags.is_empty() => command.env_remove("RUSTFLAGS"),
            flags => command.env("RUSTFLAGS", flags),
        };
        command
            .current_dir(place.folder)
            .env("CARGO_TARGET_DIR", place.target)
            .env("LAB_PROGRAM", place.program)
            // Where cargo leaves the program must not depend on who calls.
            .env_remove("CARGO_BUILD_TARGET");
        command
    }

    fn cargo(&self) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--message-format", "json-render-diagnostics"]);
        cargo.args(["--profile", &self.profile, &format!("--{}", self.kind.word()), &self.name]);
        if !self.package.is_empty() {
            cargo.args(["--package", &self.package]);
        }
        if !self.features.is_empty() {
            cargo.args(["--features", &self.features]);
        }
        if self.no_default_features {
            cargo.arg("--no-default-features");
        }
        cargo
    }

    /// The flags of the compiler. A command of the user's own has no setting for the processor at hand.
    fn flags(&self) -> String {
        let native = if self.native && self.build.is_none() { " -C target-cpu=native" } else { "" };
        format!("{}{native}", self.rustflags).trim().to_owned()
    }

    /// Where the build left the program: where it was told to, or where cargo says.
    pub(super) fn result(&self, source_name: &str, place: &Workplace<'_>) -> Result<PathBuf, BuildError> {
        let Some(messages) = self.messages(place) else { return Ok(place.program.to_owned()) };
        let text = fs::read_to_string(&messages).map_err(BuildError::io(&messages))?;
        let made: BTreeSet<PathBuf> = text.lines().filter_map(|line| self.made(line)).collect();
        if made.len() > 1 {
            return Err(BuildError::Several {
                source_name: source_name.to_owned(),
                what: format!("{} `{}`", self.kind.word(), self.name),
            });
        }
        Ok(made.into_iter().next().unwrap_or_else(|| place.program.to_owned()))
    }

    /// The program that a message of cargo speaks of, if it is the one that was asked for.
    fn made(&self, message: &str) -> Option<PathBuf> {
        let artifact: Artifact = serde_json::from_str(message).ok()?;
        let is_it = artifact.target.name == self.name
            && artifact.target.kind.iter().any(|kind| kind == self.kind.word());
        artifact.executable.filter(|_| is_it && artifact.reason == "compiler-artifact")
    }
}

/// What is read of a message of cargo.
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
        let place = Workplace { folder: Path::new("/s"), target: Path::new("/t"), program: Path::new("/p") };
        let command = recipe.command(&place);
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        assert_eq!(
            arguments.join(" "),
            "build --message-format json-render-diagnostics --profile dev --bin tool --features a,b --no-default-features"
        );
        let flags = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS").and_then(|(_, value)| value);
        assert_eq!(flags, Some("-C target-cpu=native".as_ref()));
    }

    #[test]
    fn programs_are_those_that_cargo_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Workplace { folder: folder.path(), target: folder.path(), program: Path::new("/p") };
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
                .result("main", &place)
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
    fn a_custom_build_puts_the_program_where_it_is_told() {
        let bench = recipe().with(&["bench=b".to_owned()]).expect("known");
        assert!(bench.is_bench());
        let recipe = bench.with(&["build=make".to_owned()]).expect("known");
        assert_eq!(recipe.settings(), ["build=make"]);
        assert!(!recipe.is_bench(), "cargo does not build");
        let place = Workplace { folder: Path::new("/s"), target: Path::new("/t"), program: Path::new("/p") };
        assert_eq!(recipe.result("main", &place).expect("as it was told"), Path::new("/p"));
    }

    #[test]
    fn flags_of_the_environment_reach_a_custom_build_and_what_is_said_of_it() {
        let place = Workplace { folder: Path::new("/s"), target: Path::new("/t"), program: Path::new("/p") };
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
            let command = recipe.command(&place);
            let seen = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS");
            assert_eq!(seen, Some(("RUSTFLAGS".as_ref(), given.map(AsRef::as_ref))), "set, or taken away");
        }
    }

    #[test]
    fn what_a_custom_build_would_not_hear_is_refused() {
        let with = |recipe: Recipe, settings: &[&str]| {
            recipe.with(&settings.iter().map(|setting| (*setting).to_owned()).collect::<Vec<_>>())
        };
        for beside in ["bin=b", "bench=b", "example=b", "package=p", "profile=dev", "features=f"] {
            let error = with(recipe(), &["build=make", beside]).expect_err(beside).to_string();
            let name = beside.split('=').next().expect("a name");
            assert!(error.starts_with(&format!("`{name}` is for cargo, and `build`")), "{error}");
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
