//! Tests of libargon2: the reference implementation's own test and program, and a comparison with it.

use crate::{cc, compile, has, output_of, package, prefix, scratch, source};
use hashmill_testkit::skip;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The package with the sources of the reference implementation.
const PACKAGE: &str = "argon2-sys-0.1.0";

/// The number of contexts and strings compared with each other library.
const CASES: &str = "700";

fn reference(what: &str) -> Option<PathBuf> {
    Some(package(PACKAGE, what)?.join("argon2"))
}

/// Arguments for the header and our shared library.
fn shared() -> [String; 4] {
    let prefix = prefix();
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    [
        format!("-I{}", include.display()),
        format!("-L{}", lib.display()),
        format!("-Wl,-rpath,{}", lib.display()),
        "-largon2".to_owned(),
    ]
}

/// Arguments for the header and our static library.
fn fixed() -> [String; 5] {
    let prefix = prefix();
    let library = prefix.join("lib/libargon2.a").display().to_string();
    [
        format!("-I{}", prefix.join("include").display()),
        library,
        "-lgcc_s".into(),
        "-lpthread".into(),
        "-lm".into(),
    ]
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

/// The built reference implementation.
fn reference_library(reference: &Path, folder: &Path) -> PathBuf {
    let files = ["argon2.c", "core.c", "blake2/blake2b.c", "thread.c", "encoding.c", "ref.c"];
    let files = names(&files.map(|file| reference.join("src").join(file)));
    let include = format!("-I{}", reference.join("include").display());
    let options = ["-O2", "-pthread", "-fPIC", "-shared", &include].map(str::to_owned);
    compile(&folder.join("theirs.so"), options.iter().chain(&files))
}

#[test]
fn abi_is_that_of_compiled_programs() {
    let folder = scratch("layout");
    let file = source("argon2/layout.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    for language in [["-xc", "-std=c89"], ["-xc", "-std=c17"], ["-xc++", "-std=c++20"]] {
        let strict = ["-fsyntax-only", "-pedantic", "-Wall", "-Wextra", "-Werror"];
        output_of(cc().args(language).args(strict).args([&include, &file]));
    }
    let wrong = folder.join("wrong.c");
    let text = fs::read_to_string(source("argon2/layout.c")).unwrap();
    fs::write(&wrong, text.replace("AT(flags, 112)", "AT(flags, 116)")).unwrap();
    let refused = cc().args(["-fsyntax-only", &include]).arg(&wrong).output().unwrap();
    assert!(!refused.status.success(), "the assertions assert nothing");
}

#[test]
fn shared_library_exports_the_reference_names_only() {
    if !has("nm") || !has("readelf") {
        return skip("names of libargon2.so.1", "no `nm` and `readelf` (Debian package binutils)");
    }
    let library = prefix().join("lib/libargon2.so.1");
    let listed = output_of(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let listed: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let header = fs::read_to_string(prefix().join("include/argon2.h")).unwrap();
    let mut declared: Vec<_> = header
        .split("ARGON2_PUBLIC ")
        .skip(1)
        .filter_map(|text| text.split('(').next()?.split([' ', '*']).next_back())
        .collect();
    declared.sort_unstable();
    assert_eq!(listed, declared);
    assert_eq!(listed.len(), 22);
    let dynamic = output_of(Command::new("readelf").arg("-d").arg(&library));
    assert!(dynamic.contains("Library soname: [libargon2.so.1]"), "{dynamic}");
}

#[test]
fn suite_of_the_reference_implementation_passes() {
    let Some(reference) = reference("the test of the reference implementation") else { return };
    let folder = scratch("test");
    let file = reference.join("src/test.c").display().to_string();
    for (name, link) in [("shared", shared().to_vec()), ("fixed", fixed().to_vec())] {
        let program = compile(&folder.join(name), [&file].into_iter().chain(&link));
        let text = output_of(&mut Command::new(program));
        assert!(text.matches("PASS").count() >= 34 && !text.contains("FAIL"), "{name}:\n{text}");
    }
}

/// The program's output for a password, without the time.
fn program(program: &Path, args: &[&str], password: &str) -> (Option<i32>, String) {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = hashmill_testkit::wait::start(&mut command).unwrap();
    // A program that refuses its flags does not read standard input.
    let _ = child.stdin.take().unwrap().write_all(password.as_bytes());
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let lines: Vec<_> = text.lines().filter(|line| !line.ends_with(" seconds")).collect();
    (output.status.code(), lines.join("\n").replace(&program.display().to_string(), "argon2"))
}

#[test]
fn reference_program_has_equal_output_with_this_library() {
    let Some(reference) = reference("the program of the reference implementation") else { return };
    let folder = scratch("program");
    let run = reference.join("src/run.c").display().to_string();
    // The program also needs a function that only the static library exports.
    let wipe = source("argon2/wipe.c").display().to_string();
    let own_programs = [
        compile(&folder.join("shared"), [&run, &wipe].into_iter().chain(&shared())),
        compile(&folder.join("fixed"), [&run].into_iter().chain(&fixed())),
    ];
    let library = reference_library(&reference, &folder).display().to_string();
    let include = format!("-I{}", reference.join("include").display());
    let reference_program = compile(&folder.join("theirs"), [&run, &include, &library]);
    let flags: [&[&str]; 12] = [
        &[],
        &["-id"],
        &["-d", "-t", "4", "-m", "10", "-p", "4", "-l", "64"],
        &["-i", "-k", "333", "-p", "3", "-v", "10"],
        &["-id", "-e", "-m", "8"],
        &["-id", "-r", "-m", "8"],
        &["-id", "-m", "2"],
        &["-t", "0"],
        &["-p", "0"],
        &["-l", "3"],
        &["-h"],
        &["-x"],
    ];
    for salt in ["somesalt", "short"] {
        for flags in flags {
            let args = [&[salt], flags].concat();
            let expected = program(&reference_program, &args, "password");
            for own in &own_programs {
                assert_eq!(program(own, &args, "password"), expected, "{} {args:?}", own.display());
            }
        }
    }
}

#[test]
fn results_equal_those_of_the_reference_implementation() {
    let folder = scratch("differential");
    let file = source("argon2/differential.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    let differential = compile(&folder.join("differential"), ["-O1", &include, &file, "-ldl"]);
    let run = |other: &Path| {
        let own_library = prefix().join("lib/libargon2.so.1");
        output_of(Command::new(&differential).args([own_library.as_path(), other]).arg(CASES));
    };
    if let Some(reference) = reference("libargon2 beside the reference implementation") {
        run(&reference_library(&reference, &folder));
    }
    // The library of the distribution, which must not be ours.
    let folders = ["/usr/lib", "/usr/lib64", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu"];
    let installed = folders.map(|folder| Path::new(folder).join("libargon2.so.1"));
    match installed.iter().find(|file| file.exists()) {
        Some(library) => run(library),
        None => skip("libargon2 beside the installed one", "none is installed (Debian package libargon2-1)"),
    }
}

#[test]
fn allocators_flags_and_wiping_follow_the_header() {
    let folder = scratch("contract");
    let file = source("argon2/contract.c").display().to_string();
    let link = [vec!["-O1".into(), "-g".into(), "-pthread".into(), file], shared().to_vec()].concat();
    let contract = compile(&folder.join("contract"), link);
    assert_eq!(output_of(&mut Command::new(&contract)), "kept\n");
    if !has("valgrind") {
        return skip("memory of libargon2", "no `valgrind` (Debian package valgrind)");
    }
    let watch = ["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect"];
    let errors = "--errors-for-leak-kinds=definite,indirect";
    let text = output_of(Command::new("valgrind").args(watch).arg(errors).arg(&contract).arg("watched"));
    assert_eq!(text, "kept\n");
}

/// A package of a distribution that links libargon2, run with ours.
#[test]
fn argon2_cffi_runs_with_this_library() {
    let script = source("argon2/cffi.py");
    let mut python = Command::new("/usr/bin/python3");
    let uses = python.args(["-c", "import argon2._ffi"]).output();
    if !uses.is_ok_and(|output| output.status.success()) {
        return skip(
            "argon2-cffi on libargon2",
            "no argon2-cffi that links it (Debian package python3-argon2)",
        );
    }
    let lib = prefix().join("lib");
    let text = output_of(Command::new("/usr/bin/python3").arg(script).arg(&lib).env("LD_LIBRARY_PATH", &lib));
    assert_eq!(text, "verified\n");
}

/// The example of the README, unchanged.
#[test]
fn readme_example_runs() {
    if !has("pkg-config") {
        return skip("the README of bindings/c", "no `pkg-config` (Debian package pkgconf)");
    }
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let example =
        readme.split("```c\n").nth(1).and_then(|text| text.split("```").next()).expect("an example");
    let folder = scratch("readme");
    fs::write(folder.join("example.c"), example).unwrap();
    let config = prefix().join("lib/pkgconfig");
    let flags = output_of(
        Command::new("pkg-config").args(["--cflags", "--libs", "libargon2"]).env("PKG_CONFIG_PATH", config),
    );
    let file = folder.join("example.c").display().to_string();
    let program =
        compile(&folder.join("example"), [file.as_str()].into_iter().chain(flags.split_whitespace()));
    let text = output_of(Command::new(program).env("LD_LIBRARY_PATH", prefix().join("lib")));
    assert!(text.starts_with("$argon2id$v=19$m=65536,t=3,p=4$"), "{text}");
}
