//! Properties of a child's files (program, script, pipe), and opening of its output.

use std::fs::File;
use std::io;
use std::path::Path;

/// Can the file be started as a program?
#[must_use]
pub fn is_program(path: &Path) -> bool {
    system::is_program(path)
}

/// Is the program a script without `#!`? The system refuses it, and a shell runs it itself. A file that
/// cannot be read counts as none.
#[must_use]
pub fn is_script(path: &Path) -> bool {
    system::is_script(path)
}

/// Is the file a pipe or a socket, whose data has one reader?
#[must_use]
pub fn is_pipe(path: &Path) -> bool {
    system::is_pipe(path)
}

/// Opens a file for a child's output, and truncates it. A pipe without a reader is an error, where the system
/// would wait without limit; `stop` returns whether to stop waiting at once.
///
/// # Errors
/// When it cannot be opened, or is such a pipe.
pub fn open_output(path: &Path, stop: &dyn Fn() -> bool) -> io::Result<File> {
    system::open_output(path, stop)
}

/// Creates a symbolic link to a directory.
///
/// # Errors
/// When it cannot be created, or the system has no such links.
pub fn link_directory(target: &Path, link: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, link);
    #[cfg(windows)]
    return std::os::windows::fs::symlink_dir(target, link);
    #[cfg(not(any(unix, windows)))]
    return Err(io::ErrorKind::Unsupported.into());
}

#[cfg(unix)]
mod system {
    use rustix::fs::{Access, access};
    use rustix::io::ioctl_fionbio;
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    use std::path::Path;
    use std::time::{Duration, Instant};

    pub(super) fn is_program(path: &Path) -> bool {
        path.is_file() && access(path, Access::EXEC_OK).is_ok()
    }

    /// The prefix of a file that is examined: every program that is no text has a zero in it.
    const BEGINNING: u64 = 128;

    pub(super) fn is_script(path: &Path) -> bool {
        let mut begins = Vec::new();
        let read = File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut begins));
        read.is_ok() && !begins.starts_with(b"#!") && !begins.contains(&0)
    }

    pub(super) fn is_pipe(path: &Path) -> bool {
        let kind = path.metadata().map(|about| about.file_type());
        kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
    }

    /// Time that a pipe may be without a reader: one that reads each run separately is absent in between.
    const UNREAD: Duration = Duration::from_secs(1);

    pub(super) fn open_output(path: &Path, stop: &dyn Fn() -> bool) -> io::Result<File> {
        if !is_pipe(path) {
            return File::create(path);
        }
        let begin = Instant::now();
        loop {
            let error = match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
                Ok(file) => {
                    // Only opening must not block: writing to a full pipe does.
                    ioctl_fionbio(&file, false)?;
                    return Ok(file);
                }
                Err(error) => error,
            };
            if error.raw_os_error() != Some(libc::ENXIO) {
                return Err(error);
            }
            if stop() || begin.elapsed() > UNREAD {
                return Err(io::Error::new(error.kind(), "it is a pipe without a reader"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn is_program(path: &Path) -> bool {
        path.is_file()
    }

    pub(super) fn is_script(_: &Path) -> bool {
        false
    }

    pub(super) fn is_pipe(_: &Path) -> bool {
        false
    }

    pub(super) fn open_output(path: &Path, _: &dyn Fn() -> bool) -> io::Result<File> {
        File::create(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn programs_scripts_and_pipes_are_recognized() {
        assert!(is_program(Path::new("/bin/sh")) && !is_program(Path::new("/")));
        assert!(!is_pipe(Path::new("/dev/null")) && !is_pipe(Path::new("/nowhere")));
        let folder = tempfile::tempdir().expect("a folder");
        let is_script = |text: &[u8]| {
            let path = folder.path().join("file");
            std::fs::write(&path, text).expect("a writable folder");
            is_script(&path)
        };
        assert!(is_script(b"echo 1\n") && is_script(b""));
        assert!(!is_script(b"#!/bin/sh\n") && !is_script(b"\x7fELF\x02\x01\x01\0"));
    }

    #[test]
    fn output_opens_files_and_pipes_with_a_reader() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, stop: bool| -> io::Result<()> {
            let mut file = open_output(&folder.path().join(name), &|| stop)?;
            io::Write::write_all(&mut file, name.as_bytes())
        };
        std::fs::write(folder.path().join("file"), "longer than its name").expect("a writable folder");
        write("file", false).expect("it can be written");
        assert_eq!(std::fs::read(folder.path().join("file")).expect("written"), b"file");
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        for stop in [true, false] {
            let error = write("pipe", stop).expect_err("a pipe without a reader").to_string();
            assert_eq!(error, "it is a pipe without a reader");
        }
        // The reader stays until it has read, and opens the pipe for writing as well, so that opening does
        // not block.
        let mut reader = File::options().read(true).write(true).open(&pipe).expect("a pipe");
        write("pipe", true).expect("a pipe with a reader");
        let mut read = [0; 4];
        io::Read::read_exact(&mut reader, &mut read).expect("four bytes");
        assert_eq!(&read, b"pipe");
    }
}
