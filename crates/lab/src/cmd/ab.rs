//! `lab ab`: two builds of one program, built alike, in sessions side by side.

use super::args::Measuring;
use super::contests::{self, refuse_sustained, wants_control};
use super::error::Error;
use super::measure::{Job, conclude, measure, session_arguments};
use super::{Console, Exit, Mount};
use crate::build::{Recipe, Source, Workshop};
use crate::model::key::Key;
use crate::report::schema::Kind;
use crate::session::process::Program;
use clap::Args;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub(super) struct Ab {
    /// Cases, as in `list`; the candidate is asked which there are.
    #[arg(required = true)]
    patterns: Vec<String>,
    /// A: a revision, a directory or a program.
    #[arg(long, value_name = "SOURCE")]
    base: String,
    /// B: a revision, a directory or a program. A directory is taken as it is now, with uncommitted changes.
    #[arg(long, value_name = "SOURCE", default_value = ".")]
    cand: String,
    /// A setting of both builds: build (a shell command that writes $LAB_PROGRAM), bin, profile, features,
    /// no-default-features, native, rustflags [default: cargo's release build of this program].
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A setting of A's build alone.
    #[arg(long, value_name = "NAME=VALUE")]
    base_set: Vec<String>,
    /// A setting of B's build alone.
    #[arg(long, value_name = "NAME=VALUE")]
    cand_set: Vec<String>,
    /// Folder for sources and programs [default: lab in the user's cache].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

pub(super) fn main(mount: &Mount<'_>, args: &Ab, console: &mut Console<'_>) -> Result<Exit, Error> {
    let plan = args.measuring.plan();
    plan.validate()?;
    let workshop = Workshop::new(cache(args.cache.as_deref())?, env::consts::EXE_SUFFIX);
    let recipe = default_recipe()?.with(&args.set)?;
    let recipes = [recipe.clone().with(&args.base_set)?, recipe.with(&args.cand_set)?];
    let says = |what: &str| drop(writeln!(std::io::stderr(), "{what}"));
    let here = env::current_dir().map_err(Error::Program)?;
    let mut builds = Vec::new();
    let mut programs = Vec::new();
    for ((label, name), recipe) in [("A", &args.base), ("B", &args.cand)].into_iter().zip(&recipes) {
        let made = workshop.provide(label, &Source::parse(name, &here), recipe, &says)?;
        builds.push(made.build);
        programs.push(Program { path: made.program, arguments: session_arguments(mount) });
    }
    let same_code = builds[0].program_sha256 == builds[1].program_sha256;
    if same_code {
        says("A and B are the same bytes: whatever is found between them is an error of the measurement");
    }
    let keys = offered(mount, &programs[1].path, &args.patterns)?;
    refuse_sustained(&keys)?;
    let meetings = keys.iter().enumerate();
    let meetings =
        meetings.map(|(i, key)| contests::builds(key, wants_control(plan.control, i) && !same_code));
    let contests = meetings.collect();
    let job = Job { kind: Kind::Ab, contests, builds, programs, plan, same_code };
    let (report, folder) = measure(mount, &args.measuring, job)?;
    conclude(&report, &folder, &args.measuring, console)
}

/// The release build of the program that runs now, with the flags that the environment gives to every build.
fn default_recipe() -> Result<Recipe, Error> {
    let own = env::current_exe().map_err(Error::Program)?;
    let bin = own.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Recipe::new(bin, env::var("RUSTFLAGS").unwrap_or_default()))
}

/// Where programs are kept: an absolute path, because builds run elsewhere.
fn cache(given: Option<&Path>) -> Result<PathBuf, Error> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => super::paths::cache()?.join("builds"),
    };
    std::path::absolute(&path).map_err(|source| Error::Write { path, source })
}

/// The candidate's own answer to `list`, because this program may know other cases.
fn offered(mount: &Mount<'_>, program: &Path, patterns: &[String]) -> Result<Vec<Key>, Error> {
    let output = Command::new(program).args(mount.arguments).arg("list").args(patterns).output();
    let output = output.map_err(Error::Program)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Usage(format!("the candidate lists no such cases: {}", words.trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let keys: Vec<Key> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    if keys.is_empty() {
        return Err(Error::Usage("the candidate lists no such cases".to_owned()));
    }
    Ok(keys)
}
