//! Steps for other processors and systems: builds, and their runners.
//!
//! All of them build into a target folder of their own. In the ordinary one they would share build scripts and procedural macros with
//! other steps, half a minute of compiling, but Cargo locks a folder while it compiles: with `--overlap` one of two steps would wait.
//! A warning is an error: no other step compiles this code.

use std::env::consts;
use std::path::Path;

use super::step::{Graph, Setting, Step, everywhere};
use crate::command::{Cmd, Selection};
use crate::steps::kind::Kind;
use crate::steps::needs::Need;

/// Target folder of these steps.
const FOLDER: &str = "target/platforms";

/// Tools to build for a target and to run the programs.
struct Target {
    triple: &'static str,
    /// C compiler and linker; `None` if Rust's own linker is enough and there is no C code.
    cc: Option<&'static str>,
    /// Runner of programs; `None` if this machine runs them.
    runner: Option<&'static str>,
    /// Additional flags.
    flags: &'static str,
}

const X86_64_MUSL: Target =
    Target { triple: "x86_64-unknown-linux-musl", cc: Some("musl-gcc"), runner: None, flags: "" };

/// The target of the archives. The C code uses only memory functions of a C library, so the headers of another one suffice.
const AARCH64: Target = Target {
    triple: "aarch64-unknown-linux-musl",
    cc: Some("aarch64-linux-gnu-gcc"),
    runner: Some("qemu-aarch64 -cpu max"),
    flags: "",
};

/// Linked statically, so that it needs only the processor, not 32-bit libraries.
const I686: Target = Target {
    triple: "i686-unknown-linux-gnu",
    cc: Some("i686-linux-gnu-gcc"),
    runner: None,
    flags: "-Ctarget-feature=+crt-static",
};

const WINDOWS: Target = Target {
    triple: "x86_64-pc-windows-gnu",
    cc: Some("x86_64-w64-mingw32-gcc"),
    runner: Some("wine"),
    flags: "",
};

/// Big-endian.
const S390X: Target = Target {
    triple: "s390x-unknown-linux-gnu",
    cc: Some("s390x-linux-gnu-gcc"),
    runner: Some("qemu-s390x -L /usr/s390x-linux-gnu"),
    flags: "",
};

/// The tests of a package run in its folder. Node 20 crashes when memory grows under WASI, so the initial memory is large enough.
/// With SIMD, to test its kernels beside the portable ones; [`WASM`] is built without.
const WASI: Target = Target {
    triple: "wasm32-wasip1",
    cc: None,
    runner: Some("node --no-warnings ../../xtask/probes/wasi.mjs"),
    flags: "-Ctarget-feature=+simd128 -Clink-arg=--initial-memory=1073741824",
};

const WASM: Target = Target {
    triple: "wasm32-unknown-unknown",
    cc: None,
    runner: None,
    flags: "--cfg getrandom_backend=\"custom\"",
};

/// Targets without an operating system, with the emulator of their programs.
const BARE: [(&str, Option<&str>); 3] = [
    ("x86_64-unknown-none", None),
    ("aarch64-unknown-none-softfloat", Some("qemu-aarch64")),
    ("thumbv7em-none-eabihf", Some("qemu-arm")),
];

const fn program(name: &'static str, package: &'static str) -> Need {
    Need::Program { name, package }
}

const QEMU_AARCH64: Need = program("qemu-aarch64", "qemu-user");
const ARM64_GCC: Need = program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu");
const NODE: Need = program("node", "nodejs");

/// Names of tests for targets where all would take too long: published answers, every kernel against the portable one, the document
/// format, files of other programs.
const KNOWN_ANSWERS: [&str; 9] = [
    "vectors::",
    "vectors_of",
    "standard",
    "every_kernel",
    "isa::",
    "codec::",
    "golden::",
    "files::",
    "malformed::",
];

/// The document oracle: under emulation it would mostly test itself.
const ORACLE: &str = "oracle::";

/// Two hashes of 2 GiB: the slowest test, whose result does not depend on these targets.
const LARGEST: &str = "digests_of_two_gibibytes";

/// Foreign password hashes are computed by third-party crates; under emulation they took a sixth of the time.
const FOREIGN_HASHES: &str = "foreign::";

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "aarch64",
        about: "the tests of `hash`, without foreign hashes, and known answers of `doc` for aarch64 Linux, under qemu",
        kind: Kind::Platforms,
        graph: Graph::Own("hash, doc for aarch64"),
        filters: true,
        // On such a processor, the other steps run the NEON kernels.
        applies: on_debian,
        needs: &[ARM64_GCC, Need::Std(AARCH64.triple)],
        runner: Some(QEMU_AARCH64),
        commands: |setting| {
            let hash = test(&AARCH64, &[ENGINES[0]], &["--lib", "--all-features"]);
            let hash = setting.tests(hash, Selection::default().without(&[FOREIGN_HASHES]));
            Ok(vec![hash, known_answers(&AARCH64, &[ENGINES[1]], setting)])
        },
    },
    Step {
        name: "musl",
        about: "the tests of `hash` and `files` and known answers of `doc` for x86-64 Linux with musl",
        kind: Kind::Platforms,
        graph: Graph::Own("hash, files, doc for musl"),
        filters: true,
        applies: on_debian,
        needs: &[program("musl-gcc", "musl-tools"), Need::Std(X86_64_MUSL.triple)],
        runner: None,
        commands: |setting| {
            let system = test(&X86_64_MUSL, &WITH_SYSTEM, &["--lib"]);
            let system = setting.tests(system, Selection::default().without(&[LARGEST]));
            Ok(vec![system, documents(&X86_64_MUSL, &[], setting)])
        },
    },
    Step {
        name: "i686",
        about: "the tests of `hash`, and of `doc` without threads and without shortcuts, for x86 of 32 bits",
        kind: Kind::Platforms,
        graph: Graph::Own("hash, doc for i686"),
        filters: true,
        applies: on_debian,
        needs: &[program("i686-linux-gnu-gcc", "gcc-i686-linux-gnu"), Need::Std(I686.triple)],
        runner: None,
        commands: |setting| {
            let features = [
                "--lib",
                "--no-default-features",
                "--features",
                "hashmill-hash/default,hashmill-doc/general",
            ];
            let test = test(&I686, &ENGINES, &[&features, &LESS_OPTIMISED[..]].concat());
            Ok(vec![setting.tests(test, Selection::default().without(&[LARGEST]))])
        },
    },
    Step {
        name: "s390x",
        about: "known answers of `hash` and `doc` for a big-endian processor, under qemu",
        kind: Kind::Platforms,
        graph: Graph::Own("hash, doc for s390x"),
        filters: true,
        applies: on_debian,
        needs: &[program("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"), Need::Std(S390X.triple)],
        runner: Some(program("qemu-s390x", "qemu-user")),
        commands: |setting| Ok(vec![known_answers(&S390X, &ENGINES, setting)]),
    },
    Step {
        name: "windows",
        about: "the tests of `hash` and `files` and known answers of `doc` for x86-64 Windows, under wine",
        kind: Kind::Platforms,
        graph: Graph::Own("hash, files, doc for Windows"),
        filters: true,
        applies: on_debian,
        needs: &[program("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"), Need::Std(WINDOWS.triple)],
        runner: Some(program("wine", "wine")),
        commands: |setting| {
            let system = test(&WINDOWS, &WITH_SYSTEM, &["--lib"]);
            let system = setting.tests(system, Selection::default().without(&[LARGEST]));
            // For a deeply nested value, wine's allocator takes minutes.
            let doc = documents(&WINDOWS, &["deep_value_is_cloned"], setting);
            Ok(vec![random_library_for_wine(), in_wine(system, setting.root), in_wine(doc, setting.root)])
        },
    },
    Step {
        name: "wasi",
        about: "known answers of `hash` and `doc` for WebAssembly with WASI, in Node",
        kind: Kind::Platforms,
        graph: Graph::Own("hash, doc for WASI"),
        filters: true,
        applies: everywhere,
        needs: &[Need::Std(WASI.triple)],
        runner: Some(NODE),
        commands: |setting| Ok(vec![known_answers(&WASI, &ENGINES, setting)]),
    },
    Step {
        name: "wasm",
        about: "known answers of `hash` and `doc` in a module for JavaScript, in Node",
        kind: Kind::Platforms,
        graph: Graph::Own("hash, doc for wasm32"),
        filters: false,
        applies: everywhere,
        needs: &[Need::Std(WASM.triple)],
        runner: Some(NODE),
        commands: |setting| Ok(wasm(setting.runs)),
    },
    Step {
        name: "features",
        about: "tests of `hash` without features",
        kind: Kind::Platforms,
        graph: Graph::Own("hash without features"),
        filters: true,
        applies: everywhere,
        needs: &[],
        runner: None,
        // With all features they ran in core, and each feature alone was linted; `doc` without its own is tested by `i686`.
        commands: |setting| {
            let test = ["test", "--locked", "--target-dir", FOLDER, "-p", "hashmill-hash"];
            let hash = Cmd::cargo(&[&test[..], &["--no-default-features"]].concat());
            Ok(vec![setting.tests(hash, Selection::default())])
        },
    },
    Step {
        name: "no-std",
        about: "`hash` links into a program that has neither std nor alloc",
        kind: Kind::Platforms,
        graph: Graph::Own("hash without features"),
        filters: false,
        applies: everywhere,
        needs: &[],
        runner: None,
        commands: |_| Ok(no_std()),
    },
    Step {
        name: "bare",
        about: "`hash` links and computes without an operating system: x86-64, aarch64 soft-float, thumbv7em",
        kind: Kind::Platforms,
        graph: Graph::Own("hash for three targets"),
        filters: false,
        applies: on_debian,
        needs: &[Need::Std(BARE[0].0), Need::Std(BARE[1].0), Need::Std(BARE[2].0)],
        runner: Some(QEMU_AARCH64),
        commands: |setting| Ok(bare(setting.runs)),
    },
];

const ENGINES: [&str; 2] = ["hashmill-hash", "hashmill-doc"];

/// Packages that use more of the system than memory and threads.
const WITH_SYSTEM: [&str; 2] = ["hashmill-hash", "hashmill-files"];

/// The compilers and emulators are Debian packages for x86-64. Other machines skip these steps.
fn on_debian() -> bool {
    consts::OS == "linux" && consts::ARCH == "x86_64"
}

/// Cargo options for all tests of documents, run once: optimising for speed would take longer than it saves.
const LESS_OPTIMISED: [&str; 4] = [
    "--config",
    "profile.dev.package.hashmill-doc.opt-level=1",
    "--config",
    "profile.dev.package.hashmill-testkit.opt-level=1",
];

/// Cargo options for a few tests of documents. Under qemu they take 70 s longer than with the options above, and compiling 150 s less.
const NOT_OPTIMISED: [&str; 4] = [
    "--config",
    "profile.dev.package.hashmill-doc.opt-level=0",
    "--config",
    "profile.dev.package.hashmill-testkit.opt-level=0",
];

/// Tests of known answers.
fn known_answers(target: &Target, packages: &[&str], setting: &Setting<'_>) -> Cmd {
    let test = test(target, packages, &[&["--lib"], &NOT_OPTIMISED[..]].concat());
    setting.tests(test, Selection::by_names(&KNOWN_ANSWERS).without(&[ORACLE]))
}

/// Tests of `doc` for another system on the same processor: known answers, and what depends on the system. `doc` has no unsafe code
/// and takes only threads, memory, a stack and random names from the system, so the other tests would repeat those of this system.
fn documents(target: &Target, excluded: &[&str], setting: &Setting<'_>) -> Cmd {
    let system_dependent = ["thread", "limits::", "hostile::", "deep_value"];
    let selection = Selection::by_names(&[&KNOWN_ANSWERS[..], &system_dependent].concat());
    setting.tests(
        test(target, &[ENGINES[1]], &NOT_OPTIMISED),
        selection.without(&[&[ORACLE], excluded].concat()),
    )
}

/// A `cargo test` for a target, without a selection of tests.
fn test(target: &Target, packages: &[&str], options: &[&str]) -> Cmd {
    let mut args =
        vec!["test", "--locked", "--target-dir", FOLDER, "--target", target.triple, "--test", "it"];
    packages.iter().for_each(|package| args.extend(["-p", package]));
    args.extend(options);
    let lower = target.triple.replace('-', "_");
    let upper = lower.to_uppercase();
    let mut cmd = Cmd::cargo(&args).with("RUSTFLAGS", &flags(target));
    if let Some(cc) = target.cc {
        cmd = cmd.with(&format!("CC_{lower}"), cc);
        // For musl, Rust has the C library and start files that the compiler's wrapper would add.
        if cc != "musl-gcc" {
            cmd = cmd.with(&format!("CARGO_TARGET_{upper}_LINKER"), cc);
        }
    }
    match target.runner {
        Some(runner) => cmd.with(&format!("CARGO_TARGET_{upper}_RUNNER"), runner),
        None => cmd,
    }
}

fn flags(target: &Target) -> String {
    format!("-Dwarnings {}", target.flags).trim_end().to_owned()
}

/// Folder of wine's drives, and of a library that wine may lack.
const WINE: &str = "target/wine";

/// Builds the library from which Rust's standard library takes random bytes: wine has it only since version 9.
fn random_library_for_wine() -> Cmd {
    let library = ["--crate-type=cdylib", "--crate-name=bcryptprimitives", "-Cpanic=abort", "-Copt-level=1"];
    let output = ["--target", WINDOWS.triple, "--out-dir", WINE, "xtask/probes/bcryptprimitives.rs"];
    Cmd::new("rustc", &[&["--edition=2024"], &library[..], &output].concat())
}

/// Runs in wine without its warnings, and without files in the user's folder.
fn in_wine(cmd: Cmd, root: &Path) -> Cmd {
    let folder = root.join(WINE).display().to_string();
    cmd.with("WINEDEBUG", "-all")
        .with("WINEPREFIX", &format!("{folder}/prefix"))
        .with("WINEPATH", &format!("Z:{}", folder.replace('/', "\\")))
}

/// A program of a `probes` file, linked with crates that were built for `target`.
fn probe(target: &str, crates: &[&str], kind: &str, out: &str, source: &str) -> Cmd {
    let mut args = vec!["--edition=2024".to_owned(), format!("--target={target}"), "-Dwarnings".to_owned()];
    args.push(format!("--crate-type={kind}"));
    for name in crates {
        args.push(format!("--extern={name}={FOLDER}/{target}/debug/lib{name}.rlib"));
    }
    // Derive macros are compiled for this machine.
    args.push(format!("-Ldependency={FOLDER}/{target}/debug/deps"));
    args.push(format!("-Ldependency={FOLDER}/debug/deps"));
    args.extend(["-o".to_owned(), format!("{FOLDER}/{target}/{out}"), format!("xtask/probes/{source}")]);
    Cmd::new("rustc", &args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn wasm(runs: bool) -> Vec<Cmd> {
    let build = [
        "build",
        "--locked",
        "--target-dir",
        FOLDER,
        "--target",
        WASM.triple,
        "-p",
        ENGINES[0],
        "-p",
        ENGINES[1],
    ];
    // A module has one thread; `doc` must not need another.
    let features = ["--no-default-features", "--features", "hashmill-hash/std"];
    let crates = ["hashmill_hash", "hashmill_doc"];
    let module = format!("{FOLDER}/{}/probe.wasm", WASM.triple);
    let mut cmds = vec![
        Cmd::cargo(&[&build[..], &features].concat()).with("RUSTFLAGS", &flags(&WASM)),
        probe(WASM.triple, &crates, "cdylib", "probe.wasm", "wasm.rs"),
    ];
    if runs {
        cmds.push(Cmd::new("node", &["xtask/probes/wasm.mjs", &module]));
    }
    cmds
}

/// Only a final link shows it: `std` would add a second panic handler, and `alloc` would need an allocator.
fn no_std() -> Vec<Cmd> {
    let folder = "target/no-std";
    let library =
        ["build", "--locked", "-p", "hashmill-hash", "--no-default-features", "--target-dir", folder];
    let program = [
        "--edition=2024",
        "--crate-type=staticlib",
        "-Cpanic=abort",
        "--extern=hashmill_hash=target/no-std/debug/libhashmill_hash.rlib",
        "-Ldependency=target/no-std/debug/deps",
        "--out-dir=target/no-std",
        "xtask/probes/no_std.rs",
    ];
    vec![Cmd::cargo(&library), Cmd::new("rustc", &program)]
}

/// Only a final link shows it; then the program is run.
fn bare(runs: bool) -> Vec<Cmd> {
    let mut build =
        vec!["build", "--locked", "--target-dir", FOLDER, "-p", ENGINES[0], "--no-default-features"];
    BARE.iter().for_each(|(target, _)| build.extend(["--target", target]));
    let mut cmds = vec![Cmd::cargo(&build).with("RUSTFLAGS", "-Dwarnings")];
    for (target, runner) in BARE {
        let mut link = probe(target, &["hashmill_hash"], "bin", "bare", "bare.rs");
        // There is no loader to relocate the program, so it is linked at a fixed address.
        link.args
            .extend(["-Cpanic=abort", "-Crelocation-model=static", "-Ccode-model=small"].map(str::to_owned));
        cmds.push(link);
        let file = format!("{FOLDER}/{target}/bare");
        match runner {
            None => cmds.push(Cmd::new(&file, &[])),
            Some(runner) if runs => cmds.push(Cmd::new(runner, &[&file])),
            Some(_) => {}
        }
    }
    cmds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(cmd: &Cmd) -> Vec<&str> {
        cmd.env.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_target_sets_its_compiler_linker_and_runner() {
        let upper =
            ["CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER", "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER"];
        let expected = [&["RUSTFLAGS", "CC_s390x_unknown_linux_gnu"][..], &upper].concat();
        assert_eq!(variables(&test(&S390X, &ENGINES, &[])), expected);
        assert_eq!(
            variables(&test(&X86_64_MUSL, &ENGINES, &[])),
            ["RUSTFLAGS", "CC_x86_64_unknown_linux_musl"]
        );
    }

    #[test]
    fn a_warning_is_an_error_for_every_target() {
        let setting = Setting { root: Path::new("/"), filter: &[], runs: true };
        for step in STEPS {
            for cmd in (step.commands)(&setting).expect("nothing here can fail") {
                let strict = cmd.args.iter().any(|arg| arg == "-Dwarnings")
                    || cmd
                        .env
                        .iter()
                        .any(|(name, value)| name == "RUSTFLAGS" && value.starts_with("-Dwarnings"));
                let builds = ["cargo", "rustc"].contains(&cmd.program.as_str());
                // The steps `features` and `no-std` are for this machine.
                let builds =
                    builds && cmd.args.iter().any(|arg| arg == "--target" || arg.starts_with("--target="));
                assert!(strict || !builds || cmd == random_library_for_wine(), "{}: {cmd:?}", step.name);
            }
        }
    }

    #[test]
    fn programs_without_a_runner_are_still_built() {
        let setting = Setting { root: Path::new("/"), filter: &[], runs: false };
        let runs =
            |cmd: &Cmd| cmd.tests.is_some() || cmd.program == "node" || cmd.program.starts_with("qemu");
        for step in STEPS.iter().filter(|step| step.runner.is_some()) {
            let cmds = (step.commands)(&setting).expect("nothing here can fail");
            assert!(!cmds.is_empty() && !cmds.iter().any(runs), "{}: {cmds:?}", step.name);
        }
    }
}
