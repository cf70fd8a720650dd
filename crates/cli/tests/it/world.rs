//! Temporary directory for running programs.

use hashmill_hash::blake3::{self, Hasher};
use hashmill_testkit::wait::{self, Running};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;

/// The program under test.
pub(crate) fn hashmill() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_hashmill"))
}

/// The digest of `bytes` in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_string()
}

/// The digest of `len` zeros in hex.
pub(crate) fn zeros(len: u64) -> String {
    let piece = vec![0; 1 << 20];
    let mut hasher = Hasher::new();
    let mut left = len;
    while left > 0 {
        let now = left.min(piece.len() as u64);
        hasher.update(&piece[..now as usize]);
        left -= now;
    }
    hasher.finalize().to_string()
}

/// The note on new hashes below every recommendation.
pub(crate) const NOTE_ON_COSTS: &str =
    "hashmill: note: costs below every recommendation; OWASP's usual choice is -m 19MiB -t 2\n";

/// Result of a program.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Done {
    /// The exit code; a program that died of a signal has none and fails the test.
    #[track_caller]
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("died: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// It ended by SIGPIPE, as a program whose reader is gone, or with 1 where there is no such signal.
    #[track_caller]
    pub(crate) fn ended_unread(&self) {
        #[cfg(unix)]
        let is_as_expected = std::os::unix::process::ExitStatusExt::signal(&self.status) == Some(13);
        #[cfg(not(unix))]
        let is_as_expected = self.status.code() == Some(1);
        assert!(is_as_expected && self.err.is_empty(), "{self:?}");
    }

    /// Success without messages.
    #[track_caller]
    pub(crate) fn quiet_success(&self) -> String {
        assert_eq!((self.code(), &*self.err), (0, ""), "{}", self.text());
        self.text()
    }

    /// As `quiet_success`, ignoring the note on cheap costs, which only tests use.
    pub(crate) fn without_note_on_costs(mut self) -> Done {
        self.err = self.err.replacen(NOTE_ON_COSTS, "", 1);
        self
    }

    /// Failure with this exit code and one line on standard error for each of `lines`.
    #[track_caller]
    pub(crate) fn failure(&self, code: i32, lines: &[&str]) -> String {
        let expected: String = lines.iter().map(|line| format!("hashmill: {line}\n")).collect();
        assert_eq!((self.code(), &self.err), (code, &expected));
        self.text()
    }
}

/// Whether this program is installed and GNU's. Other implementations have other messages.
pub(crate) fn is_gnus(name: &str) -> bool {
    let version = Command::new(name).arg("--version").output();
    version.is_ok_and(|output| output.stdout.starts_with(format!("{name} (GNU coreutils) ").as_bytes()))
}

/// A temporary directory in which programs run.
pub(crate) struct World {
    dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file and creates its directories.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> &World {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self
    }

    /// Runs `hashmill sum` with nothing on standard input.
    pub(crate) fn sum<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Done {
        self.sum_with(args, b"")
    }

    /// Runs `hashmill sum` with `input` on standard input.
    pub(crate) fn sum_with<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, input: &[u8]) -> Done {
        let args: Vec<OsString> = [OsString::from("sum")]
            .into_iter()
            .chain(args.into_iter().map(|s| s.as_ref().to_owned()))
            .collect();
        self.run(&hashmill(), args, input)
    }

    /// Runs any program with `input` on standard input.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Done {
        let mut child = self.start(Command::new(program).args(args));
        let mut stdin = child.stdin.take().expect("a pipe");
        thread::scope(|scope| {
            // The program may end without reading its input.
            scope.spawn(move || drop(stdin.write_all(input)));
            finish(child)
        })
    }

    /// Starts a program with pipes for all standard streams.
    #[track_caller]
    pub(crate) fn start(&self, command: &mut Command) -> Running {
        // Without this variable Mesa's Vulkan writes to standard error, and also if it cannot create the folder of
        // its cache in the home of the user.
        command
            .env("XDG_RUNTIME_DIR", self.dir.path())
            .env("MESA_SHADER_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"));
        // The tune file of the user is not used.
        command.env("XDG_STATE_HOME", self.dir.path().join("state")).env_remove("HASHMILL_TUNE");
        // Settings of the user for other programs do not apply.
        command.current_dir(self.dir.path()).env_remove("RAYON_NUM_THREADS").env_remove("RUST_BACKTRACE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        hashmill_testkit::signal::keep_descriptors();
        wait::start(command).expect("a program that starts")
    }
}

/// Waits for the end and reads both outputs.
pub(crate) fn finish(child: Running) -> Done {
    let Output { status, stdout, stderr } = child.output().expect("pipes");
    Done { status, out: stdout, err: String::from_utf8_lossy(&stderr).into_owned() }
}
