//! Comparison of two builds of one program, built alike, in interleaved sessions.

use crate::builds::{BuildCache, BuildError, Recipe, RecipeFile, RelinkInputs, Source};
use crate::cmd::context::cache_dir;
use crate::cmd::context::error::Error;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::pairings::{refuse_sustained, wants_control};
use crate::cmd::measuring::programs::SELF;
use crate::cmd::measuring::{Job, pairings};
use crate::command_bench::build_runner::NamedCommand;
use crate::measure::plan::Plan;
use crate::measure::session::handle::SessionError;
use crate::measure::session::process::{Program, start};
use crate::model::key::Key;
use crate::model::select::matches;
use crate::report::schema::{Build, Kind};
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Maximum number of cases without a selection by the user.
const FEW: usize = 16;

/// First argument that selects the lab in a bench written with it.
const IN_A_BENCH: &str = "lab";

#[derive(Debug, Args)]
pub(crate) struct Building {
    /// A setting of the builds: build (a shell command that writes $LAB_PROGRAM), rustflags; for cargo, without
    /// build: bin, bench, example, package, profile, features, no-default-features, native [default: cargo's release
    /// build of this program].
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A file with settings and with the commands to run [default: hashmill-lab.toml at the top of the repository].
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    recipe: Option<PathBuf>,
    /// For engines and cases: build this program from a revision or a folder, and run each session with a relinked
    /// program.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: Option<String>,
    /// A setting of the baseline's build only.
    #[arg(long, hide_short_help = true, value_name = "NAME=VALUE")]
    baseline_set: Vec<String>,
    /// A setting of the candidate's build only.
    #[arg(long, hide_short_help = true, value_name = "NAME=VALUE")]
    candidate_set: Vec<String>,
    /// Run the same link of each build in all sessions. By default each session links the program again with
    /// functions and data in another order, so that an effect of code layout is not mistaken for speed.
    #[arg(long, hide_short_help = true)]
    one_link: bool,
    /// Folder for sources and programs [default: lab in the user's cache].
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// Job for two builds.
pub(crate) struct Meeting {
    pub(crate) job: Job,
    /// Link inputs, if known.
    pub(crate) bench: Option<RelinkInputs>,
    /// Command lines and folder of the recipe, if the programs do not contain the lab.
    pub(crate) lines: Option<(Vec<NamedCommand>, PathBuf)>,
}

/// Prepares the comparison of two builds, baseline first. The candidate's recipe builds both.
pub(crate) fn job(
    lab: &LabSetup<'_>,
    sides: &[String; 2],
    cases: &[String],
    building: &Building,
    mut plan: Plan,
) -> Result<Meeting, Error> {
    if building.from.is_some() {
        return Err(Error::Usage(
            "--from is for engines and cases; the sides of a comparison of builds are their own sources"
                .to_owned(),
        ));
    }
    let build_cache = build_cache(building)?;
    let here = env::current_dir().map_err(Error::Program)?;
    let [baseline, candidate] = sides;
    let file = RecipeFile::find(building.recipe.as_deref(), &Source::parse(candidate, &here))?;
    let recipe = default_recipe(lab)?;
    let has_settings = file.is_some() || !building.set.is_empty();
    let of_file = file.as_ref().map(|file| &file.settings[..]).unwrap_or_default();
    let recipe = recipe.with(of_file)?.with(&building.set)?;
    let words = words(lab, file.as_ref(), &recipe);
    let recipes = [recipe.clone().with(&building.baseline_set)?, recipe.with(&building.candidate_set)?];
    let labels = labels(baseline, candidate);
    let mut built_programs = Vec::new();
    for ((label, name), recipe) in labels.iter().zip([baseline, candidate]).zip(&recipes) {
        let provided = build_cache.provide(label, &Source::parse(name, &here), recipe, &announce);
        built_programs.push(provided.map_err(|error| if has_settings { error } else { with_hint(error) })?);
    }
    let mut builds: Vec<Build> = built_programs.iter().map(|built| built.build.clone()).collect();
    let programs: Vec<Program> = built_programs.iter().map(|built| program(&words, &built.program)).collect();
    let same_code = builds[0].program_sha256 == builds[1].program_sha256;
    if same_code {
        announce("both programs have equal bytes: any difference is an error of the measurement");
    }
    let (layouts, bench) = RelinkInputs::from_builds(&build_cache, built_programs, !building.one_link)?;
    builds.iter_mut().zip(layouts).for_each(|(build, layout)| build.layout = Some(layout));
    plan.rule = match bench {
        Some(_) => plan.rule.with_links(),
        None if same_code => plan.rule,
        None => plan.rule.with_fixed_layout(),
    };
    let file = file.filter(|file| !file.commands.is_empty());
    let lines = file.map(|file| Ok::<_, Error>((chosen(file.commands, cases)?, file.folder))).transpose()?;
    let keys = match &lines {
        Some((lines, _)) => lines.iter().map(NamedCommand::key).collect(),
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
        meetings.map(|(i, key)| pairings::builds(key, labels, wants_control(plan.control, i) && !same_code));
    let groups = meetings.collect();
    Ok(Meeting { job: Job { kind: Kind::Builds, groups, builds, programs, plan, same_code }, bench, lines })
}

/// Commands whose names or keys match a pattern.
fn chosen(commands: Vec<(String, String)>, patterns: &[String]) -> Result<Vec<NamedCommand>, Error> {
    let all: Vec<NamedCommand> =
        commands.into_iter().map(|(name, text)| NamedCommand { name, text }).collect();
    let fits = |line: &&NamedCommand| {
        let names = [line.name.clone(), line.key().to_string()];
        patterns.is_empty() || patterns.iter().any(|pattern| names.iter().any(|name| matches(pattern, name)))
    };
    let lines: Vec<NamedCommand> = all.iter().filter(fits).cloned().collect();
    if lines.is_empty() {
        let names: Vec<&str> = all.iter().map(|line| line.name.as_str()).collect();
        return Err(Error::Usage(format!("the recipe has no such commands: it has {}", names.join(", "))));
    }
    Ok(lines)
}

/// Builds the running program from a source, so that its link inputs are known.
pub(crate) fn own(
    lab: &LabSetup<'_>,
    source: &str,
    building: &Building,
) -> Result<(Build, Program, Option<RelinkInputs>), Error> {
    let build_cache = build_cache(building)?;
    let recipe = default_recipe(lab)?.with(&building.set)?;
    let here = env::current_dir().map_err(Error::Program)?;
    let built = build_cache.provide(SELF, &Source::parse(source, &here), &recipe, &announce)?;
    let (mut build, program) = (built.build.clone(), program(&own_words(lab), &built.program));
    let (layouts, bench) = RelinkInputs::from_builds(&build_cache, vec![built], !building.one_link)?;
    build.layout = layouts.into_iter().next();
    Ok((build, program, bench))
}

fn build_cache(building: &Building) -> Result<BuildCache, Error> {
    Ok(BuildCache::new(cache(building.cache.as_deref())?, env::consts::EXE_SUFFIX))
}

/// Adds a hint if the recipe of another repository is missing.
fn with_hint(error: BuildError) -> BuildError {
    match error {
        BuildError::Failed { source_name, status, log, tail } => {
            let tail =
                format!("{tail}\nthe hashmill-lab.toml of another repository says how its program is built");
            BuildError::Failed { source_name, status, log, tail }
        }
        error => error,
    }
}

/// Arguments of a program before those of the lab: from its recipe, or those that select the lab in a bench, or those
/// of this program.
fn words(lab: &LabSetup<'_>, file: Option<&RecipeFile>, recipe: &Recipe) -> Vec<OsString> {
    match file.and_then(|file| file.arguments.clone()) {
        Some(arguments) => arguments,
        None if recipe.is_bench() => vec![OsString::from(IN_A_BENCH)],
        None => own_words(lab),
    }
}

fn own_words(lab: &LabSetup<'_>) -> Vec<OsString> {
    lab.arguments.iter().map(OsString::from).collect()
}

fn program(words: &[OsString], path: &Path) -> Program {
    let arguments = words.iter().cloned().chain([OsString::from("session")]).collect();
    Program { path: path.to_owned(), arguments }
}

fn announce(what: &str) {
    writeln!(std::io::stderr(), "{what}").ok();
}

/// Labels of the two builds: as typed, made distinct if equal.
fn labels(baseline: &str, candidate: &str) -> [String; 2] {
    let name = |word: &str| if word == "." { "work tree".to_owned() } else { word.to_owned() };
    match baseline == candidate {
        true => [format!("{}, baseline", name(baseline)), format!("{}, candidate", name(candidate))],
        false => [name(baseline), name(candidate)],
    }
}

/// Release build of the running program, with the flags that the environment sets for every build.
fn default_recipe(lab: &LabSetup<'_>) -> Result<Recipe, Error> {
    let own = env::current_exe().map_err(Error::Program)?;
    let bin = own.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Recipe::of_environment(bin)?.in_package(lab.package.unwrap_or_default()))
}

/// Folder of the build cache: an absolute path, because builds run elsewhere.
fn cache(given: Option<&Path>) -> Result<PathBuf, Error> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => cache_dir::cache()?.join("builds"),
    };
    std::path::absolute(&path).map_err(|source| Error::Write { path, source })
}

/// Refuses a program that does not open a session: its other output is not a list of cases.
fn greet(name: &str, sides: &[String; 2], program: &Program, timeout: Duration) -> Result<(), Error> {
    match start(program, 0, timeout) {
        // A session with another protocol version is accepted: the report says why nothing was measured.
        Ok(_) | Err(SessionError::Protocol { .. }) => Ok(()),
        Err(error @ SessionError::Start { .. }) => Err(Error::Usage(error.to_string())),
        Err(SessionError::Died { .. } | SessionError::Hung(_) | SessionError::Confused(_)) => {
            let instead = match sides.iter().all(|side| Path::new(side).is_file()) {
                true => format!("; whole programs: compare -- {}", quoted(sides)),
                false => "; list the commands to compare in a hashmill-lab.toml, under [commands]".to_owned(),
            };
            Err(Error::Usage(format!("{name} does not support the lab's protocol{instead}")))
        }
    }
}

/// Quotes words for a shell.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Cases of the candidate, because this program may have others.
fn offered(words: &[OsString], program: &Path, patterns: &[String]) -> Result<Vec<Key>, Error> {
    let all = ["*".to_owned()];
    let requested = if patterns.is_empty() { &all } else { patterns };
    let output = Command::new(program).args(words).arg("list").args(requested).output();
    let output = output.map_err(Error::Program)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Usage(format!("the candidate lists no such cases: {}", words.trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut keys: Vec<Key> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    if patterns.is_empty() {
        // The lab's own probes measure the machine.
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
