//! Running the example that carries the lab, as a user would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The example program; cargo makes it if it is not there or not fresh.
pub(crate) fn lab() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let own = std::env::current_exe().expect("a test has a path");
        let profile = own.parent().and_then(Path::parent).expect("target/<profile>/deps/<test>");
        let program = profile.join("examples").join(format!("lab{}", std::env::consts::EXE_SUFFIX));
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        // `cargo xtask workspace` has just made it. Asked for alone, cargo would make all that it needs once more, with fewer features.
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
        assert!(build.status().expect("cargo runs").success(), "the example must build");
        program
    });
    let mut command = Command::new(program);
    // What a test keeps is not for whoever uses the lab on this machine.
    command.env("NO_COLOR", "1").env("XDG_CACHE_HOME", cache());
    command
}

/// Where the lab keeps what outlives a command.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache")
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn said(command: &mut Command) -> Said {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Said { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// A folder of this test's own, removed at its end.
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
