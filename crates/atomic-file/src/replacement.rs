//! [`Replacement`]: a file that is written beside the one that it replaces.

use crate::error::{Error, Refusal};
use crate::finish::{Finished, Stamp, Steps, finish};
use crate::resolve::{folder_of, resolve};
use crate::{open_regular, os, temporary};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// State of the target that the caller expects at the end of a replacement.
#[derive(Clone, Copy, Debug)]
pub enum Expected<'a> {
    /// Anything may be there.
    Anything,
    /// Nothing is there; whatever was created meanwhile stays ([`Error::Exists`]).
    Absent,
    /// A file with these bytes ([`Error::Changed`] otherwise).
    Bytes(&'a [u8]),
    /// The file with this stamp ([`Error::Changed`] otherwise).
    Stamp(Stamp),
}

/// New file before its renaming. If it is dropped before [`Replacement::finish`], it is removed, and the
/// target is unchanged.
#[derive(Debug)]
pub struct Replacement {
    /// Target, symbolic links resolved.
    target: PathBuf,
    state: State,
    /// `None` once it has been closed to be renamed.
    file: Option<File>,
    /// The target when the replacement began.
    before: Option<Metadata>,
    mode: Mode,
    owner_required: bool,
}

#[derive(PartialEq, Eq, Debug)]
enum State {
    Nameless,
    /// It has this name, or had it until it was renamed.
    Named(PathBuf),
    /// The target is a pipe or a device, which takes the bytes as they come.
    Stream,
}

/// Source of the new file's permissions.
#[derive(Debug)]
enum Mode {
    /// The file that is replaced.
    Unchanged,
    Executable,
    Given(Permissions),
}

impl Replacement {
    /// Starts to replace the file at `target`, or to create it.
    ///
    /// # Errors
    /// [`Error::Refused`] if the target is no regular file, or is reached by a planted link; errors of the
    /// system.
    pub fn begin(target: &Path) -> Result<Replacement, Error> {
        Replacement::begin_as(target, false)
    }

    /// As [`Replacement::begin`]; but a file that did not exist is readable by its owner alone.
    ///
    /// # Errors
    /// As [`Replacement::begin`].
    pub fn begin_private(target: &Path) -> Result<Replacement, Error> {
        Replacement::begin_as(target, true)
    }

    fn begin_as(target: &Path, private: bool) -> Result<Replacement, Error> {
        let target = resolve(target)?;
        if target.file_name().is_none() {
            return Err(io::Error::from(ErrorKind::InvalidInput).into());
        }
        let before = match fs::symlink_metadata(&target) {
            Ok(before) if before.is_dir() => return Err(io::Error::from(ErrorKind::IsADirectory).into()),
            Ok(before) if !before.is_file() => return Err(Refusal::NotAFile.into()),
            Ok(before) => Some(before),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        // A file that only some may read must not be readable by others while it is written.
        let private = private || before.is_some();
        let (state, file) = match os::create_nameless(folder_of(&target), private) {
            Ok(file) => (State::Nameless, file),
            Err(_) => {
                let (name, file) = temporary::create(&target, private)?;
                (State::Named(name), file)
            }
        };
        Ok(Replacement::new(target, state, file, before))
    }

    /// As [`Replacement::begin`]; but a pipe or a device is not replaced: it is opened, and gets the bytes as they come.
    ///
    /// # Errors
    /// Errors of the system. Waits until a pipe has a reader.
    pub fn begin_or_stream(target: &Path) -> Result<Replacement, Error> {
        if !is_stream(target) {
            return Replacement::begin(target);
        }
        let file = OpenOptions::new().write(true).open(target)?;
        Ok(Replacement::new(target.to_owned(), State::Stream, file, None))
    }

    fn new(target: PathBuf, state: State, file: File, before: Option<Metadata>) -> Replacement {
        Replacement { target, state, file: Some(file), before, mode: Mode::Unchanged, owner_required: false }
    }

    /// Makes it an error ([`Error::Owner`]) if the owner and group of the old file cannot be kept.
    pub fn require_owner(&mut self) {
        self.owner_required = true;
    }

    /// Makes the new file executable for all users, whatever the old one was.
    pub fn set_executable(&mut self) {
        self.mode = Mode::Executable;
    }

    /// Facts about the new file as it is now.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file().metadata()
    }

    /// The new file, for a writer that needs a file of its own. It must have written everything before [`Replacement::finish`].
    ///
    /// # Errors
    /// Errors of the system.
    pub fn try_clone(&self) -> io::Result<File> {
        self.file().try_clone()
    }

    /// Did a file exist when the replacement began?
    pub fn replaces(&self) -> bool {
        self.before.is_some()
    }

    /// The temporary name of the new file, if it has one: a process that ends early has to remove it.
    pub fn temporary_name(&self) -> Option<&Path> {
        match &self.state {
            State::Named(path) => Some(path),
            State::Nameless | State::Stream => None,
        }
    }

    /// Puts the new file in its place.
    ///
    /// # Errors
    /// See [`Error`]. After every error but [`Error::Unsynced`] the target is as it was.
    pub fn finish(mut self, expected: Expected<'_>) -> Result<Finished, Error> {
        if self.state == State::Stream {
            self.file().flush()?;
            return Ok(Finished::default());
        }
        finish(&mut Disk { new: &mut self, expected })
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("it is closed by the last step only")
    }

    /// Gives the nameless file a temporary name.
    fn give_name(&mut self) -> Result<PathBuf, Error> {
        if let State::Named(path) = &self.state {
            return Ok(path.clone());
        }
        loop {
            let path = temporary::name_beside(&self.target);
            match os::name_nameless(self.file(), &path) {
                Ok(()) => {
                    self.state = State::Named(path.clone());
                    return Ok(path);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(_) => return self.copy_to_named(),
            }
        }
    }

    /// Copies the nameless file to one with a name: some systems refuse names at the last moment.
    fn copy_to_named(&mut self) -> Result<PathBuf, Error> {
        let (path, mut named) = temporary::create(&self.target, true)?;
        let mut file = self.file.replace(named.try_clone()?).expect("it is closed by the last step only");
        self.state = State::Named(path.clone());
        file.rewind()?;
        io::copy(&mut file, &mut named)?;
        Disk { new: self, expected: Expected::Anything }.take_over()?;
        named.sync_all()?;
        Ok(path)
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let State::Named(path) = &self.state {
            // Where it was renamed, nothing has this name any more.
            let _ = fs::remove_file(path);
        }
    }
}

/// The steps on a real disk.
struct Disk<'a> {
    new: &'a mut Replacement,
    expected: Expected<'a>,
}

impl Steps for Disk<'_> {
    fn take_over(&mut self) -> Result<Finished, Error> {
        let Replacement { target, before, mode, owner_required, .. } = &*self.new;
        let now = match fs::symlink_metadata(target) {
            Ok(now) => Some(now).filter(Metadata::is_file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // Without the facts of the old file, the new one could get other permissions.
            Err(error) => return Err(error.into()),
        };
        let other_names = now.as_ref().map_or(0, |now| os::facts(now).links.saturating_sub(1));
        if let Some(like) = now.as_ref().or(before.as_ref())
            && !os::make_like(self.new.file(), like, target)?
            && *owner_required
        {
            return Err(Error::Owner);
        }
        match mode {
            Mode::Unchanged => {}
            Mode::Executable => os::set_executable(self.new.file())?,
            Mode::Given(permissions) => self.new.file().set_permissions(permissions.clone())?,
        }
        Ok(Finished { other_names })
    }

    fn sync_file(&mut self) -> io::Result<()> {
        self.new.file().sync_all()
    }

    fn check(&mut self) -> Result<(), Error> {
        let target = &self.new.target;
        let is_as_expected = match self.expected {
            Expected::Anything => true,
            Expected::Absent => match fs::symlink_metadata(target) {
                Ok(_) => return Err(Error::Exists),
                Err(error) if error.kind() == ErrorKind::NotFound => true,
                Err(error) => return Err(error.into()),
            },
            Expected::Bytes(bytes) => holds(target, bytes)?,
            Expected::Stamp(stamp) => match fs::symlink_metadata(target) {
                Ok(now) => Stamp::from_metadata(&now) == stamp,
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                Err(error) => return Err(error.into()),
            },
        };
        if is_as_expected { Ok(()) } else { Err(Error::Changed) }
    }

    fn install(&mut self) -> Result<(), Error> {
        let is_new = matches!(self.expected, Expected::Absent);
        // A link is refused where something exists, which a rename would replace.
        if is_new && self.new.state == State::Nameless {
            match os::name_nameless(self.new.file(), &self.new.target) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(Error::Exists),
                Err(_) => {}
            }
        }
        let named = self.new.give_name()?;
        // Some systems rename no file that is open.
        self.new.file = None;
        let target = &self.new.target;
        if !is_new {
            return Ok(fs::rename(named, target)?);
        }
        match fs::hard_link(&named, target).or_else(|error| match error.kind() {
            ErrorKind::AlreadyExists => Err(error),
            // Some file systems have no hard links.
            _ => os::rename_new(&named, target),
        }) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::Exists),
            // The temporary name, if it still exists, is removed when the replacement is dropped.
            done => Ok(done?),
        }
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        os::sync_folder(folder_of(&self.new.target))
    }
}

/// Does a path lead to a pipe, socket or device?
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Has a file exactly these bytes? Compares without a second copy in memory.
fn holds(path: &Path, bytes: &[u8]) -> Result<bool, Error> {
    let mut file = match open_regular(path) {
        Err(Error::Io(error)) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(Error::Refused(_)) => return Ok(false),
        done => done?,
    };
    let mut piece = vec![0; 1 << 20];
    let mut left = bytes;
    loop {
        let count = match file.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            done => done?,
        };
        match left.split_at_checked(count) {
            _ if count == 0 => return Ok(left.is_empty()),
            Some((now, rest)) if *now == piece[..count] => left = rest,
            _ => return Ok(false),
        }
    }
}

/// Replaces or creates a file with these bytes, whatever is there.
///
/// # Errors
/// See [`Replacement::begin`] and [`Replacement::finish`].
pub fn write(target: &Path, bytes: &[u8]) -> Result<Finished, Error> {
    let mut file = Replacement::begin(target)?;
    file.write_all(bytes)?;
    file.finish(Expected::Anything)
}

/// Replaces or creates a file with the bytes and permissions of another one.
///
/// # Errors
/// See [`open_regular`], [`Replacement::begin`] and [`Replacement::finish`].
pub fn copy(from: &Path, target: &Path) -> Result<Finished, Error> {
    let mut source = open_regular(from)?;
    let mut file = Replacement::begin(target)?;
    file.mode = Mode::Given(source.metadata()?.permissions());
    io::copy(&mut source, &mut file)?;
    file.finish(Expected::Anything)
}

#[cfg(test)]
mod tests;
