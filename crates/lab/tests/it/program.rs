//! Runs the example that contains the lab.

use hashmill_testkit::wait::{self, Running};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The example program; cargo builds it if it is missing or outdated.
pub(crate) fn lab() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let own = std::env::current_exe().expect("a test has a path");
        let profile = own.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>");
        let program = profile.join("examples").join(format!("lab{}", std::env::consts::EXE_SUFFIX));
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        // `cargo xtask core` has just built it. Built alone, its dependencies would be built again with fewer
        // features.
        if std::env::var_os("HASHMILL_LAB_IS_MADE").is_some() && program.is_file() {
            return program;
        }
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--example", "lab", "--features", "full", "--manifest-path"]);
        build.arg(package.join("Cargo.toml"));
        build.arg("--target-dir").arg(profile.parent().expect("target"));
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let built = wait::long_output(&mut build).expect("cargo runs");
        assert!(built.status.success(), "the example must build: {}", String::from_utf8_lossy(&built.stderr));
        program
    });
    let mut command = Command::new(program);
    // Tests must not write into the cache of this machine's user.
    command.env("NO_COLOR", "1").env("XDG_CACHE_HOME", cache());
    command
}

/// Cache folder of the lab.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache")
}

/// Output and exit code of a command.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn result_of(command: &mut Command) -> CommandResult {
    read(wait::output(command).expect("the program starts"))
}

/// The same for cargo, which may build.
pub(crate) fn result_of_build(command: &mut Command) -> CommandResult {
    read(wait::long_output(command).expect("cargo starts"))
}

fn read(Output { status, stdout, stderr }: Output) -> CommandResult {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    CommandResult { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// Waits for the end of a program started with pipes.
pub(crate) fn finish(running: Running) -> CommandResult {
    read(running.output().expect("pipes"))
}

/// A temporary folder of a test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("lab-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Sends SIGINT to a process. By the shell, since a small system has no program `kill`.
#[cfg(unix)]
pub(crate) fn interrupt(id: &str) -> CommandResult {
    result_of(Command::new("sh").args(["-c", "kill -INT \"$1\"", "sh", id]))
}
