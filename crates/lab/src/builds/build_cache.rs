//! Cache of built programs.

use super::error::BuildError;
use super::recipe::{BuildDirs, Recipe};
use super::relink::{LinkError, LinkInputs, LinkerCapture};
use super::source::Source;
use super::{git, relink};
use crate::fingerprint::{sha256_file, sha256_hex};
use crate::report::schema::Build;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Version of the cache's entries, a part of their names; entries without it lack link inputs.
const FORMAT_TAG: &str = "links/2";

/// Age after which the relinked programs of a run are abandoned; while a run measures, each session touches their
/// folder.
const ABANDONED: Duration = Duration::from_hours(24);

/// Number of lines shown of a failed build.
const TAIL: usize = 20;

/// The cache: `sources` has a clone per repository, `targets` cargo's target folders, `programs` the results.
pub(crate) struct BuildCache {
    root: PathBuf,
    exe_suffix: &'static str,
}

/// A built program and its origin.
#[derive(Debug)]
pub(crate) struct BuiltProgram {
    pub(crate) build: Build,
    pub(crate) program: PathBuf,
    /// Inputs for linking it again.
    pub(crate) links: Result<LinkInputs, LinkError>,
}

/// Result of a build.
struct BuildOutput {
    program: PathBuf,
    /// Captured link inputs, or the reason why there are none.
    link_inputs: Result<PathBuf, LinkError>,
}

/// Snapshot of a source tree to build.
struct SourceSnapshot {
    /// Name of the repository's folders in the cache.
    id: String,
    clone: PathBuf,
    prefix: PathBuf,
    tree: String,
    commit: String,
    dirty: bool,
    /// Compiler that the repository's folder selects.
    compiler: String,
    toolchain: Option<String>,
    /// Held until the program is built: two processes must not change a source folder at the same time.
    _lock: File,
}

impl BuildCache {
    pub(crate) fn new(root: PathBuf, exe_suffix: &'static str) -> Self {
        BuildCache { root, exe_suffix }
    }

    /// Returns the program of one side from the cache, or builds it. `announce` is called before slow steps.
    pub(crate) fn provide(
        &self,
        label: &str,
        source: &Source,
        recipe: &Recipe,
        announce: &dyn Fn(&str),
    ) -> Result<BuiltProgram, BuildError> {
        let mut built = match source {
            Source::Program(path) => {
                let fresh = BuildOutput { program: path.clone(), link_inputs: Err(LinkError::Unknown) };
                self.adopt(fresh, Build::default())?
            }
            Source::Directory(folder) => match git::locate(folder)? {
                Some(location) => {
                    let snapshot = self.freeze(&location)?;
                    self.make(source, &snapshot, recipe, announce)?
                }
                None => self.make_in_place(source, folder, recipe, announce)?,
            },
            Source::Revision { folder, name } => {
                let snapshot = self.revision(folder, name)?;
                self.make(source, &snapshot, recipe, announce)?
            }
        };
        label.clone_into(&mut built.build.label);
        built.build.source = source.name();
        Ok(built)
    }

    fn revision(&self, folder: &Path, name: &str) -> Result<SourceSnapshot, BuildError> {
        let unknown = |reason: String| BuildError::Unknown {
            name: name.to_owned(),
            repository: folder.to_owned(),
            reason,
        };
        let location =
            git::locate(folder)?.ok_or_else(|| unknown("there is no git repository".to_owned()))?;
        let commit = git::commit(folder, name).map_err(|error| match error {
            BuildError::Git { reason, .. } => unknown(reason),
            other => other,
        })?;
        let tree = git::tree_of(folder, &commit)?;
        self.snapshot(&location, tree, commit, false)
    }

    fn freeze(&self, location: &git::RepoLocation) -> Result<SourceSnapshot, BuildError> {
        let commit = git::commit(&location.top, "HEAD")?;
        let committed = git::tree_of(&location.top, &commit)?;
        let mut snapshot = self.snapshot(location, committed.clone(), commit, false)?;
        snapshot.tree = git::freeze(&snapshot.clone, &location.top)?;
        snapshot.dirty = snapshot.tree != committed;
        Ok(snapshot)
    }

    fn snapshot(
        &self,
        location: &git::RepoLocation,
        tree: String,
        commit: String,
        dirty: bool,
    ) -> Result<SourceSnapshot, BuildError> {
        let id = short(&location.top.to_string_lossy());
        let clone = self.folder("sources")?.join(&id);
        let lock = self.lock(&id)?;
        git::clone(&location.top, &clone)?;
        let compiler = rustc(&location.top, &["-vV"]).unwrap_or_default();
        let toolchain = rustc(&location.top, &["--print", "sysroot"]);
        let prefix = location.prefix.clone();
        Ok(SourceSnapshot { id, clone, prefix, tree, commit, dirty, compiler, toolchain, _lock: lock })
    }

    /// Builds the program of a snapshot. Its name in the cache is derived from the tree, the compiler and the
    /// settings including compiler flags. Other inputs of a build, such as CFLAGS or another C compiler, are not part
    /// of it.
    fn make(
        &self,
        source: &Source,
        snapshot: &SourceSnapshot,
        recipe: &Recipe,
        announce: &dyn Fn(&str),
    ) -> Result<BuiltProgram, BuildError> {
        let prefix = snapshot.prefix.to_string_lossy();
        let settings = recipe.settings().join("\n");
        let key = [&snapshot.tree, &*prefix, &snapshot.compiler, &settings, FORMAT_TAG].join("\n\n");
        let home = self.folder("programs")?.join(short(&key));
        let mut built = match self.found(&home) {
            Some(built) => built,
            None => {
                announce(&format!(
                    "building {} ({})",
                    source.name(),
                    &snapshot.commit[..12.min(snapshot.commit.len())]
                ));
                git::check_out(&snapshot.clone, &snapshot.tree)?;
                let folder = snapshot.clone.join(&snapshot.prefix);
                let target = self.folder("targets")?.join(&snapshot.id);
                let capture = self.capture(&snapshot.compiler, snapshot.toolchain.as_deref());
                let fresh = self.run(source, &folder, &target, recipe, capture)?;
                self.store(&home, fresh, about(&folder, recipe)?)?
            }
        };
        built.build.commit = Some(snapshot.commit.clone());
        built.build.dirty = Some(snapshot.dirty);
        Ok(built)
    }

    /// A folder outside of any repository cannot be snapshotted: it is built in place every time.
    fn make_in_place(
        &self,
        source: &Source,
        folder: &Path,
        recipe: &Recipe,
        announce: &dyn Fn(&str),
    ) -> Result<BuiltProgram, BuildError> {
        announce(&format!("building {}", source.name()));
        let id = short(&folder.to_string_lossy());
        let _lock = self.lock(&id)?;
        let target = self.folder("targets")?.join(&id);
        let compiler = rustc(folder, &["-vV"]).unwrap_or_default();
        let capture = self.capture(&compiler, rustc(folder, &["--print", "sysroot"]).as_deref());
        let fresh = self.run(source, folder, &target, recipe, capture)?;
        let about = about(folder, recipe)?;
        self.adopt(fresh, about)
    }

    fn capture(&self, compiler: &str, toolchain: Option<&str>) -> Result<LinkerCapture, LinkError> {
        let folder = self.folder("linker").map_err(|error| LinkError::Failed(error.to_string()))?;
        LinkerCapture::new(&folder, compiler, toolchain)
    }

    /// Runs the build and returns the program.
    fn run(
        &self,
        source: &Source,
        folder: &Path,
        target: &Path,
        recipe: &Recipe,
        capture: Result<LinkerCapture, LinkError>,
    ) -> Result<BuildOutput, BuildError> {
        let log = self.folder("logs")?.join(format!("{}.log", short(&source.name())));
        fs::create_dir_all(target).map_err(BuildError::io(target))?;
        let program = target.join("lab-program");
        // The program of the previous build must not be mistaken for this one.
        match fs::remove_file(&program) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.map_err(BuildError::io(&program))?,
        }
        let dirs = BuildDirs { folder, target, program: &program };
        let errors = File::create(&log).map_err(BuildError::io(&log))?;
        let output = match recipe.messages(&dirs) {
            Some(messages) => File::create(&messages).map_err(BuildError::io(&messages))?,
            None => errors.try_clone().map_err(BuildError::io(&log))?,
        };
        let mut command = recipe.command(&dirs);
        let links = target.join("lab-links");
        if let Ok(capture) = &capture {
            capture.tell(&mut command, &links);
        }
        let status = command.stdin(Stdio::null()).stdout(output).stderr(errors).status();
        let status = status.map_err(BuildError::io(command.get_program()))?;
        if !status.success() {
            let text = fs::read(&log).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<&str> = text.lines().collect();
            return Err(BuildError::Failed {
                source_name: source.name(),
                status: status.to_string(),
                log,
                tail: lines[lines.len().saturating_sub(TAIL)..].join("\n"),
            });
        }
        let result = recipe.result(&source.name(), &dirs)?;
        if !result.is_file() {
            return Err(BuildError::NoProgram { source_name: source.name(), path: result });
        }
        let sha256 = sha256_file(&result).map_err(BuildError::io(&result))?;
        let link_inputs = capture.and_then(|_| relink::find(&links, &sha256));
        Ok(BuildOutput { program: result, link_inputs })
    }

    /// Returns a program of this cache if its contents are unchanged.
    fn found(&self, home: &Path) -> Option<BuiltProgram> {
        let about = fs::read(home.join("build.json")).ok()?;
        let build: Build = serde_json::from_slice(&about).ok()?;
        let program = self.program_of(home);
        let sound = sha256_file(&program).ok()? == build.program_sha256;
        let links = match home.join("link").try_exists() {
            Ok(false) => Err(LinkError::NotCaptured),
            // If this cannot be determined, opening it gives the error.
            Ok(true) | Err(_) => LinkInputs::open(&home.join("link")),
        };
        sound.then_some(BuiltProgram { build, program, links })
    }

    /// Copies a program under its hash, so that it may be rebuilt while it is measured.
    fn adopt(&self, fresh: BuildOutput, about: Build) -> Result<BuiltProgram, BuildError> {
        let sha256 = sha256_file(&fresh.program).map_err(BuildError::io(&fresh.program))?;
        let home = self.folder("programs")?.join(&sha256[..16]);
        self.store(&home, fresh, about)
    }

    /// Copies a new program to its place in the cache atomically.
    fn store(&self, home: &Path, fresh: BuildOutput, about: Build) -> Result<BuiltProgram, BuildError> {
        let BuildOutput { program, link_inputs } = fresh;
        let build =
            Build { program_sha256: sha256_file(&program).map_err(BuildError::io(&program))?, ..about };
        let known = self.found(home).filter(|known| known.build.program_sha256 == build.program_sha256);
        if let Some(known) = known.filter(|known| known.links.is_ok() || link_inputs.is_err()) {
            return Ok(BuiltProgram { build, ..known });
        }
        let fill = |partial: &Path| {
            fs::copy(&program, self.program_of(partial))?;
            if let Ok(link_inputs) = &link_inputs {
                copy_inputs(link_inputs, &partial.join("link"))?;
            }
            fs::write(partial.join("build.json"), crate::report::store::pretty(&build))
        };
        // An existing folder here is invalid and is replaced.
        let created = home.parent().map_or(Ok(()), fs::create_dir_all);
        let stored = created.and_then(|()| Ok(hashmill_atomic_file::replace_folder(home, fill)?));
        stored.map_err(BuildError::io(home))?;
        let links = match link_inputs {
            Ok(_) => LinkInputs::open(&home.join("link")),
            Err(error) => Err(error),
        };
        Ok(BuiltProgram { build, program: self.program_of(home), links })
    }

    /// Folder for the relinked programs of one run, which exist for one session each.
    pub(crate) fn bench(&self) -> Result<PathBuf, BuildError> {
        let all = self.folder("links")?;
        // Removes what a killed process left behind.
        let old = |entry: &fs::DirEntry| {
            let age = entry.metadata().ok().and_then(|about| about.modified().ok()?.elapsed().ok());
            age.is_some_and(|age| age > ABANDONED)
        };
        for entry in fs::read_dir(&all).map_err(BuildError::io(&all))?.flatten().filter(old) {
            fs::remove_dir_all(entry.path()).ok();
        }
        let name = format!("{}-{}", std::process::id(), hashmill_machine::date::now_utc().replace(':', ""));
        let folder = all.join(name);
        fs::create_dir_all(&folder).map_err(BuildError::io(&folder))?;
        Ok(folder)
    }

    /// All have the same name, so that the paths of both sides have equal length.
    fn program_of(&self, home: &Path) -> PathBuf {
        home.join(format!("program{}", self.exe_suffix))
    }

    fn folder(&self, name: &str) -> Result<PathBuf, BuildError> {
        let folder = self.root.join(name);
        fs::create_dir_all(&folder).map_err(BuildError::io(&folder))?;
        Ok(folder)
    }

    fn lock(&self, id: &str) -> Result<File, BuildError> {
        let path = self.folder("locks")?.join(id);
        let file = File::create(&path).map_err(BuildError::io(&path))?;
        file.lock().map_err(BuildError::io(&path))?;
        Ok(file)
    }
}

/// Copies the captured link inputs without the program itself.
fn copy_inputs(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() == "program" {
            continue;
        }
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Describes a build from its folder.
fn about(folder: &Path, recipe: &Recipe) -> Result<Build, BuildError> {
    let lock = folder.join("Cargo.lock");
    let lock_sha256 = match sha256_file(&lock) {
        // Only cargo writes one.
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        sha256 => Some(sha256.map_err(BuildError::io(&lock))?),
    };
    Ok(Build { rustc: rustc(folder, &["-V"]), settings: recipe.settings(), lock_sha256, ..Build::default() })
}

/// Compiler for builds in `folder`.
fn rustc(folder: &Path, how: &[&str]) -> Option<String> {
    let output = Command::new("rustc").args(how).current_dir(folder).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn short(text: &str) -> String {
    sha256_hex(text.as_bytes())[..16].to_owned()
}
