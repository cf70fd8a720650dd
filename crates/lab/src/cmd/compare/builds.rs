//! Two builds of one program, built alike, in sessions side by side.

use crate::build::{Bench, BuildError, Recipe, RecipeFile, Source, Workshop};
use crate::cmd::contests::{self, refuse_sustained, wants_control};
use crate::cmd::error::Error;
use crate::cmd::measure::{Job, SELF};
use crate::cmd::{Mount, paths};
use crate::commands::sides::Line;
use crate::model::key::Key;
use crate::model::select::matches;
use crate::plan::Plan;
use crate::report::schema::{Build, Kind};
use crate::session::peer::PeerError;
use crate::session::process::{Program, start};
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Cases that two builds are compared in although nobody chose.
const FEW: usize = 16;

/// The word that leads to the lab in a bench that is written with it.
const IN_A_BENCH: &str = "lab";

#[derive(Debug, Args)]
pub(super) struct Building {
    /// A setting of the builds: build (a shell command that writes $LAB_PROGRAM), rustflags; for cargo, where there is no
    /// build: bin, bench, example, package, profile, features, no-default-features, native [default: cargo's release build of
    /// this program].
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A file with settings, and with what to run [default: hashmill-lab.toml at the top of the repository].
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    recipe: Option<PathBuf>,
    /// Engines and cases: build this program from a revision or a folder, and run each session in a link of its own.
    #[arg(long, value_name = "SOURCE")]
    pub(super) from: Option<String>,
    /// A setting of the baseline's build alone.
    #[arg(long, hide_short_help = true, value_name = "NAME=VALUE")]
    baseline_set: Vec<String>,
    /// A setting of the candidate's build alone.
    #[arg(long, hide_short_help = true, value_name = "NAME=VALUE")]
    candidate_set: Vec<String>,
    /// Let all sessions run one link of each build. Without it each runs a link of its own, with functions and data in
    /// another order, so that the luck of a layout does not pass for speed.
    #[arg(long, hide_short_help = true)]
    one_link: bool,
    /// Folder for sources and programs [default: lab in the user's cache].
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// What has to be measured for two builds, and by what.
pub(super) struct Meeting {
    pub(super) job: Job,
    /// What their sessions are linked of, where that is known.
    pub(super) bench: Option<Bench>,
    /// The lines that start them, where they know nothing of the lab, and where the recipe lies.
    pub(super) lines: Option<(Vec<Line>, PathBuf)>,
}

/// Prepares the comparison of two builds, baseline first. The candidate's recipe builds both.
pub(super) fn job(
    mount: &Mount<'_>,
    sides: &[String; 2],
    cases: &[String],
    building: &Building,
    mut plan: Plan,
) -> Result<Meeting, Error> {
    if building.from.is_some() {
        return Err(Error::Usage(
            "--from is for engines and cases: builds come from what they are".to_owned(),
        ));
    }
    let workshop = workshop(building)?;
    let here = env::current_dir().map_err(Error::Program)?;
    let [baseline, candidate] = sides;
    let file = RecipeFile::of(building.recipe.as_deref(), &Source::parse(candidate, &here))?;
    let recipe = default_recipe()?;
    let is_told = file.is_some() || !building.set.is_empty();
    let of_file = file.as_ref().map(|file| &file.settings[..]).unwrap_or_default();
    let recipe = recipe.with(of_file)?.with(&building.set)?;
    let words = words(mount, file.as_ref(), &recipe);
    let recipes = [recipe.clone().with(&building.baseline_set)?, recipe.with(&building.candidate_set)?];
    let labels = labels(baseline, candidate);
    let mut made = Vec::new();
    for ((label, name), recipe) in labels.iter().zip([baseline, candidate]).zip(&recipes) {
        let provided = workshop.provide(label, &Source::parse(name, &here), recipe, &says);
        made.push(provided.map_err(|error| if is_told { error } else { with_hint(error) })?);
    }
    let mut builds: Vec<Build> = made.iter().map(|made| made.build.clone()).collect();
    let programs: Vec<Program> = made.iter().map(|made| program(&words, &made.program)).collect();
    let same_code = builds[0].program_sha256 == builds[1].program_sha256;
    if same_code {
        says("both sides are the same bytes: whatever is found between them is an error of the measurement");
    }
    let (layouts, bench) = Bench::of(&workshop, made, !building.one_link)?;
    builds.iter_mut().zip(layouts).for_each(|(build, layout)| build.layout = Some(layout));
    plan.rule = match bench {
        Some(_) => plan.rule.with_links(),
        None if same_code => plan.rule,
        None => plan.rule.with_fixed_layout(),
    };
    let file = file.filter(|file| !file.commands.is_empty());
    let lines = file.map(|file| Ok::<_, Error>((chosen(file.commands, cases)?, file.folder))).transpose()?;
    let keys = match &lines {
        Some((lines, _)) => lines.iter().map(Line::key).collect(),
        None => {
            for (name, program) in sides.iter().zip(&programs) {
                greet(name, sides, program, Duration::from_secs(plan.timeout_s))?;
            }
            offered(&words, &programs[1].path, cases)?
        }
    };
    refuse_sustained(&keys)?;
    let meetings = keys.iter().enumerate();
    let labels = [labels[0].as_str(), labels[1].as_str()];
    let meetings =
        meetings.map(|(i, key)| contests::builds(key, labels, wants_control(plan.control, i) && !same_code));
    let contests = meetings.collect();
    Ok(Meeting { job: Job { kind: Kind::Builds, contests, builds, programs, plan, same_code }, bench, lines })
}

/// Those whose names, or whose keys, fit a pattern.
fn chosen(commands: Vec<(String, String)>, patterns: &[String]) -> Result<Vec<Line>, Error> {
    let all: Vec<Line> = commands.into_iter().map(|(name, text)| Line { name, text }).collect();
    let fits = |line: &&Line| {
        let names = [line.name.clone(), line.key().to_string()];
        patterns.is_empty() || patterns.iter().any(|pattern| names.iter().any(|name| matches(pattern, name)))
    };
    let lines: Vec<Line> = all.iter().filter(fits).cloned().collect();
    if lines.is_empty() {
        let names: Vec<&str> = all.iter().map(|line| line.name.as_str()).collect();
        return Err(Error::Usage(format!("the recipe has no such commands: it has {}", names.join(", "))));
    }
    Ok(lines)
}

/// The program that runs now, built from a source whose links are then known.
pub(super) fn own(
    mount: &Mount<'_>,
    source: &str,
    building: &Building,
) -> Result<(Build, Program, Option<Bench>), Error> {
    let workshop = workshop(building)?;
    let recipe = default_recipe()?.with(&building.set)?;
    let here = env::current_dir().map_err(Error::Program)?;
    let made = workshop.provide(SELF, &Source::parse(source, &here), &recipe, &says)?;
    let (mut build, program) = (made.build.clone(), program(&own_words(mount), &made.program));
    let (layouts, bench) = Bench::of(&workshop, vec![made], !building.one_link)?;
    build.layout = layouts.into_iter().next();
    Ok((build, program, bench))
}

fn workshop(building: &Building) -> Result<Workshop, Error> {
    Ok(Workshop::new(cache(building.cache.as_deref())?, env::consts::EXE_SUFFIX))
}

/// Says what would help, where nobody said how another repository is built.
fn with_hint(error: BuildError) -> BuildError {
    match error {
        BuildError::Failed { source_name, status, log, tail } => {
            let tail = format!(
                "{tail}\nhow the program of another repository is built stands in its hashmill-lab.toml"
            );
            BuildError::Failed { source_name, status, log, tail }
        }
        error => error,
    }
}

/// What a program is told before the words of the lab: what its recipe says, or what leads to the lab in a bench, or else
/// what leads to it in this program.
fn words(mount: &Mount<'_>, file: Option<&RecipeFile>, recipe: &Recipe) -> Vec<OsString> {
    match file.and_then(|file| file.arguments.clone()) {
        Some(arguments) => arguments,
        None if recipe.is_bench() => vec![OsString::from(IN_A_BENCH)],
        None => own_words(mount),
    }
}

fn own_words(mount: &Mount<'_>) -> Vec<OsString> {
    mount.arguments.iter().map(OsString::from).collect()
}

fn program(words: &[OsString], path: &Path) -> Program {
    let arguments = words.iter().cloned().chain([OsString::from("session")]).collect();
    Program { path: path.to_owned(), arguments }
}

fn says(what: &str) {
    writeln!(std::io::stderr(), "{what}").ok();
}

/// Names of the two builds: as they were typed, told apart where that was the same.
fn labels(baseline: &str, candidate: &str) -> [String; 2] {
    let name = |word: &str| if word == "." { "work tree".to_owned() } else { word.to_owned() };
    match baseline == candidate {
        true => [format!("{}, baseline", name(baseline)), format!("{}, candidate", name(candidate))],
        false => [name(baseline), name(candidate)],
    }
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
        None => paths::cache()?.join("builds"),
    };
    std::path::absolute(&path).map_err(|source| Error::Write { path, source })
}

/// Refuses a side whose program gives no session: whatever else it prints is no list of cases.
fn greet(name: &str, sides: &[String; 2], program: &Program, timeout: Duration) -> Result<(), Error> {
    match start(program, 0, timeout) {
        // A session of another protocol is a session all the same: the report says why it measures nothing.
        Ok(_) | Err(PeerError::Protocol { .. }) => Ok(()),
        Err(error @ PeerError::Start { .. }) => Err(Error::Usage(error.to_string())),
        Err(PeerError::Died { .. } | PeerError::Hung(_) | PeerError::Confused(_)) => {
            let instead = match sides.iter().all(|side| Path::new(side).is_file()) {
                true => format!("; whole programs: compare -- {}", quoted(sides)),
                false => {
                    "; what it is compared by stands in a hashmill-lab.toml, under [commands]".to_owned()
                }
            };
            Err(Error::Usage(format!("{name} does not speak the lab's protocol{instead}")))
        }
    }
}

/// Words as a shell takes them.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// The candidate's answer to `list`, because this program may know other cases.
fn offered(words: &[OsString], program: &Path, patterns: &[String]) -> Result<Vec<Key>, Error> {
    let all = ["*".to_owned()];
    let asked = if patterns.is_empty() { &all } else { patterns };
    let output = Command::new(program).args(words).arg("list").args(asked).output();
    let output = output.map_err(Error::Program)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Usage(format!("the candidate lists no such cases: {}", words.trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut keys: Vec<Key> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    if patterns.is_empty() {
        // The lab's own probes are about the machine.
        keys.retain(|key| !key.workload.starts_with("lab."));
        if keys.len() > FEW {
            return Err(Error::Usage(format!("there are {} cases: choose some with --cases", keys.len())));
        }
    }
    if keys.is_empty() {
        return Err(Error::Usage("the candidate lists no such cases".to_owned()));
    }
    Ok(keys)
}
