//! The folder in which programs are made and kept.

use super::error::BuildError;
use super::git;
use super::links::{self, Keeper, LinkError, Links};
use super::recipe::{Recipe, Workplace};
use super::source::Source;
use crate::fingerprint::{sha256_file, sha256_hex};
use crate::report::schema::Build;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Part of the name of a program in the cache: those from before links were kept have none.
const KEPT_SINCE: &str = "links/2";

/// After this time the links of a run have no owner; while it measures, each session touches their folder.
const ABANDONED: Duration = Duration::from_hours(24);

/// Lines of a failed build that are shown.
const TAIL: usize = 20;

/// The cache: `sources` holds a clone per repository, `targets` what cargo keeps, `programs` the results.
pub(crate) struct Workshop {
    root: PathBuf,
    exe_suffix: &'static str,
}

/// A program that can be started, with where it came from.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) build: Build,
    pub(crate) program: PathBuf,
    /// What it can be linked of once more.
    pub(crate) links: Result<Links, LinkError>,
}

/// What a build left.
struct Fresh {
    program: PathBuf,
    /// What the keeper kept, or why it kept nothing.
    kept: Result<PathBuf, LinkError>,
}

/// A tree of files that is to be built.
struct Frozen {
    /// Names the repository's folders in the cache.
    id: String,
    clone: PathBuf,
    prefix: PathBuf,
    tree: String,
    commit: String,
    dirty: bool,
    /// What builds there, as the repository's own folder chooses it.
    compiler: String,
    toolchain: Option<String>,
    /// Held until the program is there: two labs must not change a source folder under each other.
    _lock: File,
}

impl Workshop {
    pub(crate) fn new(root: PathBuf, exe_suffix: &'static str) -> Self {
        Workshop { root, exe_suffix }
    }

    /// The program of one side: found, or made now. `says` hears when something takes long.
    pub(crate) fn provide(
        &self,
        label: &str,
        source: &Source,
        recipe: &Recipe,
        says: &dyn Fn(&str),
    ) -> Result<Made, BuildError> {
        let mut made = match source {
            Source::Program(path) => {
                let fresh = Fresh { program: path.clone(), kept: Err(LinkError::Unknown) };
                self.adopt(fresh, Build::default())?
            }
            Source::Directory(folder) => match git::place(folder) {
                Some(place) => {
                    let frozen = self.freeze(&place)?;
                    self.make(source, &frozen, recipe, says)?
                }
                None => self.make_in_place(source, folder, recipe, says)?,
            },
            Source::Revision { folder, name } => {
                let frozen = self.revision(folder, name)?;
                self.make(source, &frozen, recipe, says)?
            }
        };
        label.clone_into(&mut made.build.label);
        made.build.source = source.name();
        Ok(made)
    }

    fn revision(&self, folder: &Path, name: &str) -> Result<Frozen, BuildError> {
        let unknown = |reason: String| BuildError::Unknown {
            name: name.to_owned(),
            repository: folder.to_owned(),
            reason,
        };
        let place = git::place(folder).ok_or_else(|| unknown("there is no git repository".to_owned()))?;
        let commit = git::commit(folder, name).map_err(|error| match error {
            BuildError::Git { reason, .. } => unknown(reason),
            other => other,
        })?;
        let tree = git::tree_of(folder, &commit)?;
        self.frozen(&place, tree, commit, false)
    }

    fn freeze(&self, place: &git::Place) -> Result<Frozen, BuildError> {
        let commit = git::commit(&place.top, "HEAD")?;
        let committed = git::tree_of(&place.top, &commit)?;
        let mut frozen = self.frozen(place, committed.clone(), commit, false)?;
        frozen.tree = git::freeze(&frozen.clone, &place.top)?;
        frozen.dirty = frozen.tree != committed;
        Ok(frozen)
    }

    fn frozen(
        &self,
        place: &git::Place,
        tree: String,
        commit: String,
        dirty: bool,
    ) -> Result<Frozen, BuildError> {
        let id = short(&place.top.to_string_lossy());
        let clone = self.folder("sources")?.join(&id);
        let lock = self.lock(&id)?;
        git::clone(&place.top, &clone)?;
        let compiler = rustc(&place.top, &["-vV"]).unwrap_or_default();
        let toolchain = rustc(&place.top, &["--print", "sysroot"]);
        let prefix = place.prefix.clone();
        Ok(Frozen { id, clone, prefix, tree, commit, dirty, compiler, toolchain, _lock: lock })
    }

    /// The program of a frozen tree. Its name in the cache is made of the tree, the compiler and the settings, flags of the
    /// compiler among them. What else a build reads, such as CFLAGS or another compiler, is not in it.
    fn make(
        &self,
        source: &Source,
        frozen: &Frozen,
        recipe: &Recipe,
        says: &dyn Fn(&str),
    ) -> Result<Made, BuildError> {
        let prefix = frozen.prefix.to_string_lossy();
        let settings = recipe.settings().join("\n");
        let key = [&frozen.tree, &*prefix, &frozen.compiler, &settings, KEPT_SINCE].join("\n\n");
        let home = self.folder("programs")?.join(short(&key));
        let mut made = match self.found(&home) {
            Some(made) => made,
            None => {
                says(&format!(
                    "building {} ({})",
                    source.name(),
                    &frozen.commit[..12.min(frozen.commit.len())]
                ));
                git::check_out(&frozen.clone, &frozen.tree)?;
                let folder = frozen.clone.join(&frozen.prefix);
                let target = self.folder("targets")?.join(&frozen.id);
                let keeper = self.keeper(&frozen.compiler, frozen.toolchain.as_deref());
                let fresh = self.run(source, &folder, &target, recipe, keeper)?;
                self.store(&home, fresh, about(&folder, recipe))?
            }
        };
        made.build.commit = Some(frozen.commit.clone());
        made.build.dirty = Some(frozen.dirty);
        Ok(made)
    }

    /// A folder outside of every repository cannot be frozen: it is built where it is, each time anew.
    fn make_in_place(
        &self,
        source: &Source,
        folder: &Path,
        recipe: &Recipe,
        says: &dyn Fn(&str),
    ) -> Result<Made, BuildError> {
        says(&format!("building {}", source.name()));
        let id = short(&folder.to_string_lossy());
        let _lock = self.lock(&id)?;
        let target = self.folder("targets")?.join(&id);
        let compiler = rustc(folder, &["-vV"]).unwrap_or_default();
        let keeper = self.keeper(&compiler, rustc(folder, &["--print", "sysroot"]).as_deref());
        let fresh = self.run(source, folder, &target, recipe, keeper)?;
        let about = about(folder, recipe);
        self.adopt(fresh, about)
    }

    fn keeper(&self, compiler: &str, toolchain: Option<&str>) -> Result<Keeper, LinkError> {
        let folder = self.folder("linker").map_err(|error| LinkError::Failed(error.to_string()))?;
        Keeper::new(&folder, compiler, toolchain)
    }

    /// Runs the build; the program that it made.
    fn run(
        &self,
        source: &Source,
        folder: &Path,
        target: &Path,
        recipe: &Recipe,
        keeper: Result<Keeper, LinkError>,
    ) -> Result<Fresh, BuildError> {
        let log = self.folder("logs")?.join(format!("{}.log", short(&source.name())));
        fs::create_dir_all(target).map_err(BuildError::io(target))?;
        let program = target.join("lab-program");
        // A program of the build before must not pass for one of this.
        fs::remove_file(&program).ok();
        let place = Workplace { folder, target, program: &program };
        let errors = File::create(&log).map_err(BuildError::io(&log))?;
        let output = match recipe.messages(&place) {
            Some(messages) => File::create(&messages).map_err(BuildError::io(&messages))?,
            None => errors.try_clone().map_err(BuildError::io(&log))?,
        };
        let mut command = recipe.command(&place);
        let links = target.join("lab-links");
        if let Ok(keeper) = &keeper {
            keeper.tell(&mut command, &links);
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
        let result = recipe.result(&source.name(), &place)?;
        if !result.is_file() {
            return Err(BuildError::NoProgram { source_name: source.name(), place: result });
        }
        let sha256 = sha256_file(&result).map_err(BuildError::io(&result))?;
        let kept = keeper.and_then(|_| links::kept(&links, &sha256).ok_or(LinkError::NotKept));
        Ok(Fresh { program: result, kept })
    }

    /// A program of this cache, if it is still the one that was put there.
    fn found(&self, home: &Path) -> Option<Made> {
        let about = fs::read(home.join("build.json")).ok()?;
        let build: Build = serde_json::from_slice(&about).ok()?;
        let program = self.program_of(home);
        let sound = sha256_file(&program).ok()? == build.program_sha256;
        let links = match home.join("link").try_exists() {
            Ok(false) => Err(LinkError::NotKept),
            // What cannot be asked for is named by the error of opening it.
            Ok(true) | Err(_) => Links::open(&home.join("link")),
        };
        sound.then_some(Made { build, program, links })
    }

    /// Copies a program under its own fingerprint, so that it may be rebuilt while it is being measured.
    fn adopt(&self, fresh: Fresh, about: Build) -> Result<Made, BuildError> {
        let sha256 = sha256_file(&fresh.program).map_err(BuildError::io(&fresh.program))?;
        let home = self.folder("programs")?.join(&sha256[..16]);
        self.store(&home, fresh, about)
    }

    /// Copies a fresh program to its home, whole or not at all.
    fn store(&self, home: &Path, fresh: Fresh, about: Build) -> Result<Made, BuildError> {
        let Fresh { program, kept } = fresh;
        let build =
            Build { program_sha256: sha256_file(&program).map_err(BuildError::io(&program))?, ..about };
        let known = self.found(home).filter(|known| known.build.program_sha256 == build.program_sha256);
        if let Some(known) = known.filter(|known| known.links.is_ok() || kept.is_err()) {
            return Ok(Made { build, ..known });
        }
        let fill = |partial: &Path| {
            fs::copy(&program, self.program_of(partial))?;
            if let Ok(kept) = &kept {
                copy_inputs(kept, &partial.join("link"))?;
            }
            fs::write(partial.join("build.json"), crate::report::store::pretty(&build))
        };
        // The folder that is replaced, if there is one, was not sound.
        let made = home.parent().map_or(Ok(()), fs::create_dir_all);
        let stored = made.and_then(|()| Ok(hashmill_atomic_file::replace_folder(home, fill)?));
        stored.map_err(BuildError::io(home))?;
        let links = match kept {
            Ok(_) => Links::open(&home.join("link")),
            Err(error) => Err(error),
        };
        Ok(Made { build, program: self.program_of(home), links })
    }

    /// A folder for the links of one run, which are made for a session and removed after it.
    pub(crate) fn bench(&self) -> Result<PathBuf, BuildError> {
        let all = self.folder("links")?;
        // A lab that was killed could not remove its own.
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

    /// One name for all, so that both sides have paths of equal length.
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

/// What was kept of a link, but for the program itself.
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

/// What is known of a build from the folder where it happened.
fn about(folder: &Path, recipe: &Recipe) -> Build {
    Build {
        rustc: rustc(folder, &["-V"]),
        settings: recipe.settings(),
        lock_sha256: sha256_file(&folder.join("Cargo.lock")).ok(),
        ..Build::default()
    }
}

/// The compiler that `folder` would be built with.
fn rustc(folder: &Path, how: &[&str]) -> Option<String> {
    let output = Command::new("rustc").args(how).current_dir(folder).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn short(text: &str) -> String {
    sha256_hex(text.as_bytes())[..16].to_owned()
}
