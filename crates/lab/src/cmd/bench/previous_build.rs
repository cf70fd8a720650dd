//! Programs of earlier runs, kept in cargo's target folder so that the next run can be compared with them.
//!
//! The program is kept, not its times: two runs of the same program, a minute apart, usually differ.

use crate::builds::{BuildCache, Recipe, RelinkInputs, Source};
use crate::cmd::context::error::Error;
use crate::fingerprint::sha256_file;
use crate::measure::session::protocol::VERSION;
use crate::report::schema::{Build, Layout};
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Program to compare with.
pub(crate) struct BaseProgram {
    /// Label in tables and reports.
    pub(crate) source: String,
    /// Programs: the baseline, then that of this run.
    pub(crate) programs: [PathBuf; 2],
    /// Their builds.
    pub(crate) builds: [Build; 2],
    /// Link inputs, if both were built for this run.
    pub(crate) bench: Option<RelinkInputs>,
}

/// Label of the program that cargo built.
pub(crate) const THIS_PROGRAM: &str = "this program";

impl BaseProgram {
    /// Compares an existing program with ours. Each has one link, and the link inputs are unknown.
    fn given(source: &str, base: PathBuf, this_program: &Path) -> Result<Self, Error> {
        let programs = [base, this_program.to_owned()];
        let mut builds = [Build::default(), Build::default()];
        for ((build, label), program) in builds.iter_mut().zip([source, THIS_PROGRAM]).zip(&programs) {
            label.clone_into(&mut build.label);
            build.source = program.display().to_string();
            build.program_sha256 = sha256_file(program).map_err(Error::Program)?;
            build.layout = Some(Layout::Fixed("it was built for one link".to_owned()));
        }
        Ok(BaseProgram { source: source.to_owned(), programs, builds, bench: None })
    }

    /// Whether both are the same program.
    pub(crate) fn is_same(&self) -> bool {
        self.builds[0].program_sha256 == self.builds[1].program_sha256
    }

    /// Names of its cases.
    pub(crate) fn cases(&self) -> Result<Vec<String>, Error> {
        let failed =
            |reason: String| Error::Usage(format!("{} does not list its cases: {reason}", self.source));
        let output = Command::new(&self.programs[0]).args(["--list", "--format", "terse"]).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": benchmark")).map(str::to_owned).collect())
    }
}

/// Folder of a bench in the folder of its profile.
pub(crate) struct PreviousBuilds(PathBuf);

impl PreviousBuilds {
    pub(crate) fn beside(program: &Path, name: &str) -> Self {
        let folder = program.parent().unwrap_or(Path::new(""));
        let profile = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
        PreviousBuilds(profile.join("hashmill-lab").join(name))
    }

    /// Folder for reports.
    pub(crate) fn report(&self) -> PathBuf {
        self.0.join("report")
    }

    /// Another version of the lab has another protocol, so it uses another file.
    fn last(&self) -> PathBuf {
        self.0.join(format!("before-{VERSION}{}", env::consts::EXE_SUFFIX))
    }

    fn saved(&self, name: &str) -> Result<PathBuf, Error> {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._+-".contains(c));
        if !plain || name.starts_with('.') {
            return Err(Error::Usage(format!("`{name}` cannot be the name of a saved program")));
        }
        Ok(self.0.join("saved").join(format!("{name}{}", env::consts::EXE_SUFFIX)))
    }

    /// The program of the previous run, if it differs.
    pub(crate) fn before(&self, program: &Path) -> Result<Option<BaseProgram>, Error> {
        let last = self.last();
        if !last.is_file() {
            return Ok(None);
        }
        let base = BaseProgram::given("the run before", last, program)?;
        Ok(Some(base).filter(|base| !base.is_same()))
    }

    /// Finds a saved program, a program file, or a revision of the repository of this folder. A revision and this
    /// folder are both built, so that sessions use relinked programs.
    pub(crate) fn find(&self, base: &str, bench: &str, this_program: &Path) -> Result<BaseProgram, Error> {
        let saved = self.saved(base).ok().filter(|path| path.is_file());
        if let Some(program) = saved.or_else(|| Some(PathBuf::from(base)).filter(|path| path.is_file())) {
            let program = std::path::absolute(&program).map_err(Error::Program)?;
            return BaseProgram::given(base, program, this_program);
        }
        let here = env::current_dir().map_err(Error::Program)?;
        let recipe = Recipe::of_environment(bench.to_owned())?;
        let recipe = recipe.with(&[format!("build={}", build_of(bench))])?;
        let announce = |what: &str| drop(writeln!(std::io::stderr(), "{what}"));
        let build_cache = BuildCache::new(self.0.join("builds"), env::consts::EXE_SUFFIX);
        let base_built = build_cache.provide(base, &Source::parse(base, &here), &recipe, &announce)?;
        let this_program = build_cache.provide(THIS_PROGRAM, &Source::Directory(here), &recipe, &announce)?;
        let programs = [base_built.program.clone(), this_program.program.clone()];
        let mut builds = [base_built.build.clone(), this_program.build.clone()];
        let (layouts, bench) = RelinkInputs::from_builds(&build_cache, vec![base_built, this_program], true)?;
        builds.iter_mut().zip(layouts).for_each(|(build, layout)| build.layout = Some(layout));
        Ok(BaseProgram { source: base.to_owned(), programs, builds, bench })
    }

    /// Saves the program for the next run.
    pub(crate) fn keep(&self, program: &Path) -> Result<(), Error> {
        copy(program, &self.last())
    }

    /// Saves the program under a name.
    pub(crate) fn save(&self, program: &Path, name: &str) -> Result<(), Error> {
        copy(program, &self.saved(name)?)
    }
}

/// Command that builds the bench of a revision; cargo reports the path of the program. The name is that of a program,
/// in which hyphens have become underscores.
fn build_of(bench: &str) -> String {
    let bench = bench.replace('_', "[-_]");
    format!(
        "exe=$(cargo bench --no-run --bench '{bench}' --message-format json-render-diagnostics \
         | sed -n 's/.*\"executable\":\"\\([^\"]*\\)\".*/\\1/p' | tail -n 1) && cp \"$exe\" \"$LAB_PROGRAM\""
    )
}

/// Copies atomically: the name never refers to an incomplete program.
fn copy(program: &Path, to: &Path) -> Result<(), Error> {
    let folder = fs::create_dir_all(to.parent().unwrap_or(to));
    let copied = folder.and_then(|()| Ok(hashmill_atomic_file::copy(program, to)?));
    copied.map(drop).map_err(Error::write(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previous_builds_are_in_the_folder_of_the_profile() {
        for program in ["/t/release/deps/sort-0123456789abcdef", "/t/release/sort"] {
            assert_eq!(
                PreviousBuilds::beside(Path::new(program), "sort").0,
                Path::new("/t/release/hashmill-lab/sort")
            );
        }
    }

    #[test]
    fn saved_names_cannot_leave_the_folder() {
        let previous = PreviousBuilds(PathBuf::from("/s"));
        assert!(previous.saved("main").is_ok_and(|path| path.starts_with("/s/saved")));
        for name in ["", "../main", "a/b", ".hidden"] {
            assert!(previous.saved(name).is_err(), "{name}");
        }
    }
}
