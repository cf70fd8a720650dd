//! How a program is made: the same for both sides, but for what the user sets apart.

use super::error::BuildError;
use crate::model::select::hint;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The settings in the order in which reports show them.
pub(crate) const NAMES: [&str; 7] =
    ["build", "bin", "profile", "features", "no-default-features", "native", "rustflags"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// A command for the shell, instead of cargo.
    build: Option<String>,
    /// The program of the workspace.
    bin: String,
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
    pub(super) exe_suffix: &'a str,
}

impl Recipe {
    /// Cargo's release build of the program `bin`, with the flags that the environment gives to every build.
    pub(crate) fn new(bin: String, rustflags: String) -> Self {
        Recipe {
            build: None,
            bin,
            profile: "release".to_owned(),
            features: String::new(),
            no_default_features: false,
            native: false,
            rustflags,
        }
    }

    /// With settings of the form `NAME=VALUE`.
    pub(crate) fn with(mut self, settings: &[String]) -> Result<Self, BuildError> {
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap_or((setting.as_str(), ""));
            let known = NAMES.iter().find(|known| **known == name);
            let Some(known) = known.filter(|_| setting.contains('=')) else {
                return Err(BuildError::Setting { name: name.to_owned(), hint: hint(name, NAMES) });
            };
            let yes = || match value {
                "true" => Ok(true),
                "false" => Ok(false),
                other => Err(BuildError::NotABool { name: known, value: other.to_owned() }),
            };
            match *known {
                "build" => self.build = Some(value.to_owned()).filter(|command| !command.is_empty()),
                "bin" => value.clone_into(&mut self.bin),
                "profile" => value.clone_into(&mut self.profile),
                "features" => value.clone_into(&mut self.features),
                "no-default-features" => self.no_default_features = yes()?,
                "native" => self.native = yes()?,
                _ => value.clone_into(&mut self.rustflags),
            }
        }
        Ok(self)
    }

    /// What a report says about it; two builds with equal lines were made alike.
    pub(crate) fn settings(&self) -> Vec<String> {
        if let Some(build) = &self.build {
            return vec![format!("build={build}")];
        }
        let values = [
            &self.bin,
            &self.profile,
            &self.features,
            &self.no_default_features.to_string(),
            &self.native.to_string(),
            &self.rustflags,
        ];
        NAMES[1..].iter().zip(values).map(|(name, value)| format!("{name}={value}")).collect()
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
        cargo.args(["build", "--profile", &self.profile, "--bin", &self.bin]);
        if !self.features.is_empty() {
            cargo.args(["--features", &self.features]);
        }
        if self.no_default_features {
            cargo.arg("--no-default-features");
        }
        let native = if self.native { " -C target-cpu=native" } else { "" };
        let flags = format!("{}{native}", self.rustflags);
        if !flags.is_empty() {
            cargo.env("RUSTFLAGS", flags.trim());
        }
        cargo
    }

    /// Where the build leaves the program, if not where it was told to.
    pub(super) fn result(&self, place: &Workplace<'_>) -> PathBuf {
        if self.build.is_some() {
            return place.program.to_owned();
        }
        let folder = if self.profile == "dev" { "debug" } else { &self.profile };
        place.target.join(folder).join(format!("{}{}", self.bin, place.exe_suffix))
    }
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
        let place = Workplace {
            folder: Path::new("/s"),
            target: Path::new("/t"),
            program: Path::new("/p"),
            exe_suffix: "",
        };
        let command = recipe.command(&place);
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        assert_eq!(
            arguments.join(" "),
            "build --profile dev --bin tool --features a,b --no-default-features"
        );
        let flags = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS").and_then(|(_, value)| value);
        assert_eq!(flags, Some("-C target-cpu=native".as_ref()));
        assert_eq!(recipe.result(&place), Path::new("/t/debug/tool"));
    }

    #[test]
    fn a_custom_build_puts_the_program_where_it_is_told() {
        let recipe = recipe().with(&["build=make".to_owned()]).expect("known");
        assert_eq!(recipe.settings(), ["build=make"]);
        let place = Workplace {
            folder: Path::new("/s"),
            target: Path::new("/t"),
            program: Path::new("/p"),
            exe_suffix: "",
        };
        assert_eq!(recipe.result(&place), Path::new("/p"));
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
