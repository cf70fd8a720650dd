//! A temporary directory, and programs run in it.

use hashmill_hash::blake3::{self, Hasher};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// What is said of new hashes that are cheaper than anybody recommends.
pub(crate) const NOTE_ON_COSTS: &str =
    "hashmill: take note: costs below every recommendation; OWASP's usual choice is -m 19MiB -t 2\n";

/// What a program did.
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

    /// It ended as every program whose output nobody reads any more: by the signal for that, where there is one.
    #[track_caller]
    pub(crate) fn ended_unread(&self) {
        #[cfg(unix)]
        let said = std::os::unix::process::ExitStatusExt::signal(&self.status) == Some(13);
        #[cfg(not(unix))]
        let said = self.status.code() == Some(1);
        assert!(said && self.err.is_empty(), "{self:?}");
    }

    /// Everything went well and nothing was said about it.
    #[track_caller]
    pub(crate) fn quiet_success(&self) -> String {
        assert_eq!((self.code(), &*self.err), (0, ""), "{}", self.text());
        self.text()
    }

    /// The same without the note on cheap costs, which nothing but tests should have.
    pub(crate) fn without_note_on_costs(mut self) -> Done {
        self.err = self.err.replacen(NOTE_ON_COSTS, "", 1);
        self
    }

    /// It failed with this code, and with one line on standard error for each of `lines`.
    #[track_caller]
    pub(crate) fn failure(&self, code: i32, lines: &[&str]) -> String {
        let expected: String = lines.iter().map(|line| format!("hashmill: {line}\n")).collect();
        assert_eq!((self.code(), &self.err), (code, &expected));
        self.text()
    }
}

/// Whether this program is here, and GNU's. Others of that name have other words.
pub(crate) fn is_gnus(name: &str) -> bool {
    let version = Command::new(name).arg("--version").output();
    version.is_ok_and(|said| said.stdout.starts_with(format!("{name} (GNU coreutils) ").as_bytes()))
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

    /// Writes a file, with the directories that it needs.
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

    /// Starts a program with pipes at all ends.
    pub(crate) fn start(&self, command: &mut Command) -> Child {
        // As in every session: without it Mesa's Vulkan complains.
        command.env("XDG_RUNTIME_DIR", self.dir.path());
        // Nor is a choice of kernels used that whoever runs the tests has kept.
        command.env("XDG_STATE_HOME", self.dir.path().join("state")).env_remove("HASHMILL_TUNE");
        // What whoever runs the tests has asked of other programs is not asked of these.
        command.current_dir(self.dir.path()).env_remove("RAYON_NUM_THREADS").env_remove("RUST_BACKTRACE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a program that starts")
    }
}

/// Waits for the end, reading both outputs meanwhile.
pub(crate) fn finish(mut child: Child) -> Done {
    let mut out = Vec::new();
    let mut err = Vec::new();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| stderr.map(|mut pipe| pipe.read_to_end(&mut err)));
        stdout.map(|mut pipe| pipe.read_to_end(&mut out));
    });
    let status = child.wait().expect("the program ends");
    Done { status, out, err: String::from_utf8_lossy(&err).into_owned() }
}

/// Waits until something holds. A minute without it is a failure.
#[track_caller]
pub(crate) fn within_a_minute(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing happened for a minute");
        thread::sleep(Duration::from_millis(5));
    }
}
