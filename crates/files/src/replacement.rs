//! A file that is written beside the one whose place it takes, so that whoever reads sees the old one or the new one.
//!
//! Where the system can, the file has no name until it is whole: then nothing is left of it, however its process ends.
//! Elsewhere it has one from the beginning. It is locked as long as somebody writes it, and the next one that is begun in its
//! directory takes away what nobody writes any more.

use crate::os::{self, FileId};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file on its way to its place. Dropped before it is there, it is gone, and what was in its place stays.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    /// The name that it has, or will have on its way to its place.
    path: PathBuf,
    state: State,
    file: Option<File>,
}

/// What is to be done with a file that comes to its end, and with one that does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Nameless,
    Named,
    /// A pipe or a device was in the place, and takes what is written as it comes.
    InPlace,
}

impl Replacement {
    /// Begins one for `target`. Where that is a link, what it leads to will be replaced. Pipes and devices are not replaced:
    /// they are written to.
    ///
    /// # Errors
    /// What the system reports; among others, that `target` is a directory.
    pub fn begin(target: &Path) -> io::Result<Replacement> {
        let target = resolved(target)?;
        let path = target.with_file_name(OwnName::next().to_string());
        if is_special(&target) {
            let file = OpenOptions::new().write(true).open(&target)?;
            return Ok(Replacement { target, path, state: State::InPlace, file: Some(file) });
        }
        Replacement::nameless(&target, &path).or_else(|_| {
            let directory = target.parent().unwrap_or(Path::new(""));
            remove_leftovers(if directory.as_os_str().is_empty() { Path::new(".") } else { directory });
            Replacement::named(&target, &path)
        })
    }

    /// The same with a name that ends so, for whoever knows that nobody else writes one.
    pub(crate) fn called(target: &Path, ending: &str) -> io::Result<Replacement> {
        let target = resolved(target)?;
        if is_special(&target) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no file that could be replaced"));
        }
        let path = beside(&target, ending)?;
        // One of this name is left from a process that ended before it was done.
        let _ = fs::remove_file(&path);
        Replacement::nameless(&target, &path).or_else(|_| Replacement::named(&target, &path))
    }

    fn nameless(target: &Path, path: &Path) -> io::Result<Replacement> {
        let directory = target.parent().unwrap_or(Path::new(""));
        let file =
            os::create_nameless(if directory.as_os_str().is_empty() { Path::new(".") } else { directory })?;
        Replacement::of(file, target, path, State::Nameless)
    }

    fn named(target: &Path, path: &Path) -> io::Result<Replacement> {
        let file = loop {
            let file = OpenOptions::new().write(true).create_new(true).open(path)?;
            // Whoever cleans up may have been faster, and then it is gone. Without locks nobody cleans up.
            let _ = file.try_lock();
            let mine = FileId::of(&file.metadata()?);
            if fs::metadata(path).is_ok_and(|there| FileId::of(&there) == mine) {
                break file;
            }
        };
        Replacement::of(file, target, path, State::Named)
    }

    fn of(file: File, target: &Path, path: &Path, state: State) -> io::Result<Replacement> {
        let (target, path) = (target.to_owned(), path.to_owned());
        let replacement = Replacement { target, path, state, file: Some(file) };
        if let Ok(there) = fs::metadata(&replacement.target) {
            replacement.file().set_permissions(there.permissions())?;
        }
        Ok(replacement)
    }

    /// The file as it is now.
    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        self.file().metadata()
    }

    /// Where the file is until it is in its place, if it has a name: that is to be removed where the process ends before.
    pub fn name(&self) -> Option<&Path> {
        (self.state == State::Named).then_some(&*self.path)
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// What the system reports. Then everything is as it was.
    pub fn finish(mut self) -> io::Result<()> {
        if self.state == State::InPlace {
            return self.file().flush();
        }
        self.file().sync_all()?;
        if self.state == State::Nameless {
            self.give_name()?;
        }
        // Some systems rename no file that is open.
        self.file = None;
        fs::rename(&self.path, &self.target)
    }

    fn give_name(&mut self) -> io::Result<()> {
        if os::name_nameless(self.file(), &self.path).is_ok() {
            self.state = State::Named;
            return Ok(());
        }
        // What a system may refuse at the last moment: its bytes then go into a file that has a name.
        let mut named = Replacement::named(&self.target, &self.path)?;
        self.state = State::Named;
        let mut file = self.file();
        file.rewind()?;
        io::copy(&mut file, &mut named)?;
        named.file().sync_all()?;
        // The name is this one's now.
        named.state = State::Nameless;
        self.file = named.file.take();
        Ok(())
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("it is taken at the end")
    }
}

/// What `target` leads to, which is no directory.
fn resolved(target: &Path) -> io::Result<PathBuf> {
    let target = match fs::canonicalize(target) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => target.to_owned(),
        Err(error) => return Err(error),
    };
    if target.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if target.file_name().is_none() {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(target)
}

fn is_special(target: &Path) -> bool {
    fs::metadata(target).is_ok_and(|there| !there.is_file())
}

/// The name of a file that is being written: short, as the one that it replaces may have a name as long as names can be.
struct OwnName {
    process: u32,
    number: u64,
}

impl OwnName {
    fn next() -> OwnName {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        OwnName { process: std::process::id(), number: NUMBER.fetch_add(1, Ordering::Relaxed) }
    }

    fn is(name: &str) -> bool {
        let numbers = name.strip_prefix(".hashmill.").and_then(|name| name.strip_suffix(".tmp"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers.and_then(|numbers| numbers.split_once('.')).is_some_and(|(a, b)| is_number(a) && is_number(b))
    }
}

impl std::fmt::Display for OwnName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".hashmill.{}.{}.tmp", self.process, self.number)
    }
}

/// Takes away what is left in a directory of processes that were killed. What cannot be looked at, or locked, stays.
fn remove_leftovers(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let own = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(OwnName::is));
    for entry in own.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        let path = entry.path();
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}

/// A name in the same directory: that of `target` with a dot in front and `ending` behind.
pub(crate) fn beside(target: &Path, ending: &str) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::InvalidInput)?;
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(ending);
    Ok(target.with_file_name(beside))
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
        if self.state == State::Named {
            // Once it is in its place, nothing is there any more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Begin = fn(&Path) -> io::Result<Replacement>;

    fn named(target: &Path) -> io::Result<Replacement> {
        Replacement::named(&resolved(target)?, &target.with_file_name(OwnName::next().to_string()))
    }

    fn entries(directory: &Path) -> usize {
        fs::read_dir(directory).expect("a directory").count()
    }

    #[test]
    fn the_old_file_stands_until_the_new_one_is_whole() {
        for begin in [Replacement::begin as Begin, named] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("list");
            let write = |text: &str| {
                let mut file = begin(&path).expect("a directory to write to");
                file.write_all(text.as_bytes()).expect("room");
                file
            };
            write("old").finish().expect("a new file");
            let new = write("new");
            assert_eq!(fs::read(&path).expect("a file"), b"old");
            drop(new);
            assert_eq!(fs::read(&path).expect("a file"), b"old");
            write("new").finish().expect("the same place");
            assert_eq!(fs::read(&path).expect("a file"), b"new");
            assert_eq!(entries(dir.path()), 1);
            assert!(begin(dir.path()).is_err());
            assert!(begin(&dir.path().join("none/list")).is_err());
        }
    }

    #[test]
    fn a_name_as_long_as_names_can_be_is_no_obstacle() {
        let dir = tempfile::tempdir().expect("a directory");
        // Where paths as a whole are short, a name leaves room for its directory.
        let path = dir.path().join("n".repeat(if cfg!(windows) { 200 } else { 255 }));
        for begin in [Replacement::begin as Begin, named] {
            let mut file = begin(&path).expect("a directory to write to");
            file.write_all(b"x").expect("room");
            file.finish().expect("a new file");
        }
    }

    /// As when the system gives no name at the last moment: here because that would be on another file system.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_gets_no_name_is_copied() {
        let (here, there) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir_in("/dev/shm"));
        let (Ok(there), Ok(file)) = (there, os::create_nameless(here.path())) else {
            return hashmill_testkit::skip(
                "copies of what gets no name",
                "no /dev/shm, or no files without names",
            );
        };
        let [target, path] = ["list", "t"].map(|name| there.path().join(name));
        let mut file = Replacement::of(file, &target, &path, State::Nameless).expect("a file");
        file.write_all(b"text").expect("room");
        if os::name_nameless(file.file(), &path).is_ok() {
            return hashmill_testkit::skip(
                "copies of what gets no name",
                "/dev/shm is no file system of its own",
            );
        }
        fs::write(&path, "in the way").expect("room");
        assert!(file.give_name().is_err(), "what is there is not overwritten");
        fs::remove_file(&path).expect("our own file");
        file.finish().expect("a new file");
        assert_eq!((fs::read(&target).expect("a file"), entries(there.path())), (b"text".to_vec(), 1));
    }

    /// Nobody means to have a file in the place of `/dev/null`. A pipe stands for it here, as it can be lost.
    #[cfg(target_os = "linux")]
    #[test]
    fn pipes_and_devices_are_written_to_and_stay() {
        use std::io::Read;
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
        let mut reader = os::open_itself(&pipe).expect("our own pipe");
        let mut file = Replacement::begin(&pipe).expect("a pipe that is read");
        file.write_all(b"text").expect("room");
        file.finish().expect("nothing to do");
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("what was written");
        assert_eq!((&*text, entries(dir.path())), ("text", 1));
        assert!(is_special(&pipe) && Replacement::called(&pipe, ".new").is_err());
    }

    #[test]
    fn leftovers_go_and_what_is_being_written_stays() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("list");
        let live = named(&path).expect("a directory to write to");
        for name in
            [".hashmill.1.0.tmp", ".hashmill.77.12.tmp", ".hashmill.x.1.tmp", ".hashmill.1.tmp", "tmp"]
        {
            fs::write(dir.path().join(name), "").expect("room");
        }
        remove_leftovers(dir.path());
        assert_eq!(entries(dir.path()), 4, "three of other names, and one that is being written");
        live.finish().expect("it is there");
        assert!(path.exists());
    }
}
