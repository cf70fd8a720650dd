//! Tests with a CMake project that finds all libraries.

use crate::{has, output_of, prefix, scratch, source};
use hashmill_hash::argon2::{Hasher, Input, Params};
use std::path::Path;
use std::process::Command;

/// Every request gets the same answer as from CMake's own version files.
#[test]
fn version_requests_follow_cmake_rules() {
    if !has("cmake") {
        return hashmill_testkit::skip("versions found by CMake", "no `cmake` (Debian package cmake)");
    }
    let (build, prefix) = (scratch("cmake-versions"), prefix());
    let define = |name: &str, path: &Path| format!("-D{name}={}", path.display());
    let mut ask = Command::new("cmake");
    ask.arg(define("PREFIX", &prefix))
        .arg(define("BUILD", &build))
        .arg("-P")
        .arg(source("cmake/versions.cmake"));
    assert_eq!(output_of(&mut ask).trim_end(), "-- 558 requests");
}

#[test]
fn cmake_project_finds_all_libraries() {
    if !has("cmake") {
        return hashmill_testkit::skip("libraries found by CMake", "no `cmake` (Debian package cmake)");
    }
    let build = scratch("cmake");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", prefix().display());
    output_of(Command::new("cmake").arg("-S").arg(source("cmake")).arg("-B").arg(&build).arg(prefix));
    output_of(Command::new("cmake").arg("--build").arg(&build));
    let input = Input::new(b"password", b"sixteen bytes ok");
    let tag: [u8; 32] = Hasher::new(Params::new(64, 1, 1).expect("small ones")).hash(&input).expect("memory");
    let digest = format!("{}\n", hashmill_hash::blake3::hash(&tag));
    for program in ["both", "both-static"] {
        assert_eq!(output_of(&mut Command::new(build.join(program))), digest, "{program}");
    }
}
