//! Programs of earlier runs, kept below cargo's target folder so that the next run can be set against them.
//!
//! What is kept is the program and not its times: two runs of one and the same program, a minute apart, differ more often
//! than not.

use super::super::error::Error;
use crate::build::{Bench, Recipe, Source, Workshop};
use crate::fingerprint::sha256_file;
use crate::report::schema::{Build, Layout};
use crate::session::protocol::VERSION;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What this program is compared with.
pub(super) struct Base {
    /// As tables and reports call it.
    pub(super) source: String,
    /// The baseline first, then the program of this run.
    pub(super) programs: [PathBuf; 2],
    /// What is known of them.
    pub(super) builds: [Build; 2],
    /// What their sessions are linked of, where both were built for this run.
    pub(super) bench: Option<Bench>,
}

/// What reports call the program that cargo has built.
pub(super) const OURS: &str = "this program";

impl Base {
    /// A program that is there, beside ours. Each has one link, and what it was linked of is not known.
    fn given(source: &str, base: PathBuf, ours: &Path) -> Result<Self, Error> {
        let programs = [base, ours.to_owned()];
        let mut builds = [Build::default(), Build::default()];
        for ((build, label), program) in builds.iter_mut().zip([source, OURS]).zip(&programs) {
            label.clone_into(&mut build.label);
            build.source = program.display().to_string();
            build.program_sha256 = sha256_file(program).map_err(Error::Program)?;
            build.layout = Some(Layout::Fixed("it was built for one link".to_owned()));
        }
        Ok(Base { source: source.to_owned(), programs, builds, bench: None })
    }

    /// Whether there is nothing to find.
    pub(super) fn is_same(&self) -> bool {
        self.builds[0].program_sha256 == self.builds[1].program_sha256
    }

    /// The names of its cases.
    pub(super) fn cases(&self) -> Result<Vec<String>, Error> {
        let failed = |why: String| Error::Usage(format!("{} does not list its cases: {why}", self.source));
        let output = Command::new(&self.programs[0]).args(["--list", "--format", "terse"]).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": benchmark")).map(str::to_owned).collect())
    }
}

/// The folder of a bench below the folder of its profile.
pub(super) struct Shelf(PathBuf);

impl Shelf {
    pub(super) fn of(program: &Path, name: &str) -> Self {
        let folder = program.parent().unwrap_or(Path::new(""));
        let profile = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
        Shelf(profile.join("hashmill-lab").join(name))
    }

    /// Where reports go.
    pub(super) fn report(&self) -> PathBuf {
        self.0.join("report")
    }

    /// Another version of the lab speaks another language, so it is another file.
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

    /// The program of the run before, if it was another one.
    pub(super) fn before(&self, program: &Path) -> Result<Option<Base>, Error> {
        let last = self.last();
        if !last.is_file() {
            return Ok(None);
        }
        let base = Base::given("the run before", last, program)?;
        Ok(Some(base).filter(|base| !base.is_same()))
    }

    /// What was saved under a name, a program, or a revision of the repository around this folder. A revision is built, and
    /// so is this folder: then sessions have links of their own.
    pub(super) fn find(&self, base: &str, bench: &str, ours: &Path) -> Result<Base, Error> {
        let saved = self.saved(base).ok().filter(|path| path.is_file());
        if let Some(program) = saved.or_else(|| Some(PathBuf::from(base)).filter(|path| path.is_file())) {
            let program = std::path::absolute(&program).map_err(Error::Program)?;
            return Base::given(base, program, ours);
        }
        let here = env::current_dir().map_err(Error::Program)?;
        let recipe = Recipe::new(bench.to_owned(), env::var("RUSTFLAGS").unwrap_or_default());
        let recipe = recipe.with(&[format!("build={}", build_of(bench))])?;
        let says = |what: &str| drop(writeln!(std::io::stderr(), "{what}"));
        let workshop = Workshop::new(self.0.join("builds"), env::consts::EXE_SUFFIX);
        let theirs = workshop.provide(base, &Source::parse(base, &here), &recipe, &says)?;
        let ours = workshop.provide(OURS, &Source::Directory(here), &recipe, &says)?;
        let programs = [theirs.program.clone(), ours.program.clone()];
        let mut builds = [theirs.build.clone(), ours.build.clone()];
        let (layouts, bench) = Bench::of(&workshop, vec![theirs, ours], true)?;
        builds.iter_mut().zip(layouts).for_each(|(build, layout)| build.layout = Some(layout));
        Ok(Base { source: base.to_owned(), programs, builds, bench })
    }

    /// Keeps the program for the next run.
    pub(super) fn keep(&self, program: &Path) -> Result<(), Error> {
        copy(program, &self.last())
    }

    /// Keeps the program under a name.
    pub(super) fn save(&self, program: &Path, name: &str) -> Result<(), Error> {
        copy(program, &self.saved(name)?)
    }
}

/// What builds the bench of a revision: cargo says where it left the program. The name is that of a program, in which
/// hyphens have become underscores.
fn build_of(bench: &str) -> String {
    let bench = bench.replace('_', "[-_]");
    format!(
        "exe=$(cargo bench --no-run --bench '{bench}' --message-format json-render-diagnostics \
         | sed -n 's/.*\"executable\":\"\\([^\"]*\\)\".*/\\1/p' | tail -n 1) && cp \"$exe\" \"$LAB_PROGRAM\""
    )
}

/// A whole copy or none, under a name that is never that of half a program.
fn copy(program: &Path, to: &Path) -> Result<(), Error> {
    let folder = fs::create_dir_all(to.parent().unwrap_or(to));
    let copied = folder.and_then(|()| Ok(hashmill_atomic_file::copy(program, to)?));
    copied.map(drop).map_err(Error::write(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shelf_lies_in_the_folder_of_the_profile() {
        for program in ["/t/release/deps/sort-0123456789abcdef", "/t/release/sort"] {
            assert_eq!(Shelf::of(Path::new(program), "sort").0, Path::new("/t/release/hashmill-lab/sort"));
        }
    }

    #[test]
    fn names_stay_on_the_shelf() {
        let shelf = Shelf(PathBuf::from("/s"));
        assert!(shelf.saved("main").is_ok_and(|path| path.starts_with("/s/saved")));
        for name in ["", "../main", "a/b", ".hidden"] {
            assert!(shelf.saved(name).is_err(), "{name}");
        }
    }
}
