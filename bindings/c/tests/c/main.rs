//! Tests of the files made by `install`, with C programs compiled against its headers and linked with its libraries.
//!
//! Third-party sources come unchanged from cargo's copies of the packages that `rivals` links.

mod argon2;
mod blake3;
mod cmake;
mod hashmill;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The prefix of `install`.
fn prefix() -> PathBuf {
    let prefix = env::var_os("HASHMILL_C").expect("HASHMILL_C says where `install` has put everything");
    PathBuf::from(prefix).canonicalize().expect("the folder that HASHMILL_C names")
}

/// An empty folder for the files of a test.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A file of these tests.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// A folder of a package that cargo has fetched; reports a skip if `None`.
fn package(name: &str, what: &str) -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let registries = home.and_then(|home| home.join("registry/src").read_dir().ok());
    let mut found = registries.into_iter().flatten().flatten().map(|registry| registry.path().join(name));
    let found = found.find(|folder| folder.is_dir());
    if found.is_none() {
        hashmill_testkit::skip(what, &format!("cargo has not fetched {name}"));
    }
    found
}

/// The output of a program, which must succeed.
fn output_of(command: &mut Command) -> String {
    let output = hashmill_testkit::wait::output(command);
    let Output { status, stdout, stderr } = output.unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{command:?}: {status}\n{text}\n{}", String::from_utf8_lossy(&stderr));
    text
}

/// Whether a program can be run.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The compiler for C.
fn cc() -> Command {
    Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

/// Compiles and links a program.
fn compile<S: AsRef<OsStr>>(program: &Path, args: impl IntoIterator<Item = S>) -> PathBuf {
    output_of(cc().arg("-o").arg(program).args(args));
    program.to_owned()
}
