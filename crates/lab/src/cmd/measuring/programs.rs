//! Programs that a command starts for its sessions.

use crate::cmd::context::error::Error;
use crate::cmd::context::setup::LabSetup;
use crate::fingerprint::sha256_file;
use crate::measure::session::process::Program;
use crate::report::schema::Build;
use std::ffi::OsString;
use std::path::PathBuf;

/// Label of the program that measures.
pub(crate) const SELF: &str = Build::SELF;

/// This program as a build, and how to start it.
pub(crate) fn own_program(lab: &LabSetup<'_>) -> Result<(Build, Program), Error> {
    described(lab, SELF, std::env::current_exe().map_err(Error::Program)?)
}

/// The program built as `name` says, and its build.
pub(crate) fn other_program(lab: &LabSetup<'_>, name: &str) -> Result<(Build, Program), Error> {
    let builder = lab
        .builder
        .ok_or_else(|| Error::Usage(format!("{} has no build `{name}`: it knows only itself", lab.name)))?;
    let path = builder.build(name).map_err(|error| Error::Usage(format!("build `{name}`: {error}")))?;
    let (mut build, program) = described(lab, name, path)?;
    build.settings.push(name.to_owned());
    Ok((build, program))
}

fn described(lab: &LabSetup<'_>, label: &str, path: PathBuf) -> Result<(Build, Program), Error> {
    let described = lab.builder.map_or_else(|| Ok(Build::default()), |builder| builder.describe());
    let build = Build {
        label: label.to_owned(),
        source: path.display().to_string(),
        program_sha256: sha256_file(&path).map_err(Error::Program)?,
        ..described.map_err(|error| Error::Usage(format!("the build of this program is unknown: {error}")))?
    };
    Ok((build, Program { path, arguments: session_arguments(lab) }))
}

pub(crate) fn session_arguments(lab: &LabSetup<'_>) -> Vec<OsString> {
    lab.arguments.iter().copied().chain(["session"]).map(OsString::from).collect()
}
