//! Steps for processors and systems that this machine is not: what is built for each, and what runs it.
//!
//! All of them build into the ordinary folder of builds: what runs on this machine (build scripts, derive macros) is
//! there already, and flags for a target do not reach it. A warning is an error here: nobody else sees these.

use std::env::consts;
use std::path::Path;

use crate::host::Need;
use crate::steps::{Cmd, Setting, Step};

/// What this machine needs to build for a target and to run what it built.
struct Target {
    triple: &'static str,
    /// Compiles C, and links; none where Rust's own linker does and nothing is in C.
    cc: Option<&'static str>,
    /// Starts a program; none where this machine can.
    runner: Option<&'static str>,
    /// Besides those that all have.
    flags: &'static str,
}

const X86_64_MUSL: Target =
    Target { triple: "x86_64-unknown-linux-musl", cc: Some("musl-gcc"), runner: None, flags: "" };

/// What the archives are built for. The C code calls memory and nothing else of a C library, so the headers of another one do.
const AARCH64: Target = Target {
    triple: "aarch64-unknown-linux-musl",
    cc: Some("aarch64-linux-gnu-gcc"),
    runner: Some("qemu-aarch64 -cpu max"),
    flags: "",
};

/// Linked statically, so that the processor alone has to be able to run it, and not the system.
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

/// Its bytes go the other way round.
const S390X: Target = Target {
    triple: "s390x-unknown-linux-gnu",
    cc: Some("s390x-linux-gnu-gcc"),
    runner: Some("qemu-s390x -L /usr/s390x-linux-gnu"),
    flags: "",
};

/// The tests of a package run in its folder. Node 20 dies of memory that grows under WASI, whatever the program, so that
/// there is enough from the start. With vectors, so that their kernels are beside the portable ones; what is built without is
/// run as [`WASM`].
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

/// Targets without an operating system, and what runs their programs here.
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

/// What is run where all tests would take too long: published answers, every kernel beside the portable one, the format
/// of documents, files of others. The oracle, asked on such a machine, would answer for itself above all.
const ANSWERS: [&str; 11] = [
    "vectors::",
    "vectors_of",
    "standard",
    "every_kernel",
    "isa::",
    "codec::",
    "golden::",
    "files::",
    "malformed::",
    "--skip",
    "oracle::",
];

/// Two hashes of 2 GiB: the slowest test, and it finds on these what it finds on this machine.
const WITHOUT_THE_LARGEST: [&str; 2] = ["--skip", "digests_of_two_gibibytes"];

/// Hashes of other makers are computed by crates that have no code of ours: emulated, they took a sixth of the time.
const WITHOUT_FOREIGN_HASHES: [&str; 2] = ["--skip", "foreign::"];

pub(crate) const ALL: &[Step] = &[
    Step {
        name: "aarch64",
        about: "the tests of `hash`, without foreign hashes, and known answers of `doc` for aarch64 Linux, under qemu",
        quick: false,
        filters: true,
        // There, the other steps run the NEON kernels on the real thing.
        applies: on_debian,
        needs: &[ARM64_GCC, Need::Std(AARCH64.triple)],
        runner: Some(QEMU_AARCH64),
        commands: |setting| {
            let hash = test(&AARCH64, &[ENGINES[0]], &["--lib", "--all-features"]);
            let hash = hash.tests_of(setting, &WITHOUT_FOREIGN_HASHES);
            Ok(vec![hash, answers(&AARCH64, &[ENGINES[1]], setting)])
        },
    },
    Step {
        name: "musl",
        about: "the tests of `hash` and `files` and known answers of `doc` for x86-64 Linux with musl",
        quick: false,
        filters: true,
        applies: on_debian,
        needs: &[program("musl-gcc", "musl-tools"), Need::Std(X86_64_MUSL.triple)],
        runner: None,
        commands: |setting| {
            let system = test(&X86_64_MUSL, &SYSTEM, &["--lib"]).tests_of(setting, &WITHOUT_THE_LARGEST);
            Ok(vec![system, documents(&X86_64_MUSL, &[], setting)])
        },
    },
    Step {
        name: "i686",
        about: "the tests of `hash`, and of `doc` without threads and without shortcuts, for x86 of 32 bits",
        quick: false,
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
            Ok(vec![test(&I686, &ENGINES, &features).tests_of(setting, &WITHOUT_THE_LARGEST)])
        },
    },
    Step {
        name: "s390x",
        about: "known answers of `hash` and `doc` for a big-endian processor, under qemu",
        quick: false,
        filters: true,
        applies: on_debian,
        needs: &[program("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"), Need::Std(S390X.triple)],
        runner: Some(program("qemu-s390x", "qemu-user")),
        commands: |setting| Ok(vec![answers(&S390X, &ENGINES, setting)]),
    },
    Step {
        name: "windows",
        about: "the tests of `hash` and `files` and known answers of `doc` for x86-64 Windows, under wine",
        quick: false,
        filters: true,
        applies: on_debian,
        needs: &[program("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"), Need::Std(WINDOWS.triple)],
        runner: Some(program("wine", "wine")),
        commands: |setting| {
            let system = test(&WINDOWS, &SYSTEM, &["--lib"]).tests_of(setting, &WITHOUT_THE_LARGEST);
            // A value of many levels, for which wine's allocator takes minutes.
            let doc = documents(&WINDOWS, &["--skip", "a_deep_value_is_cloned"], setting);
            Ok(vec![random_for_wine(), in_wine(system, setting.root), in_wine(doc, setting.root)])
        },
    },
    Step {
        name: "wasi",
        about: "known answers of `hash` and `doc` for WebAssembly with WASI, in Node",
        quick: false,
        filters: true,
        applies: everywhere,
        needs: &[Need::Std(WASI.triple)],
        runner: Some(NODE),
        commands: |setting| Ok(vec![answers(&WASI, &ENGINES, setting)]),
    },
    Step {
        name: "wasm",
        about: "known answers of `hash` and `doc` in a module for JavaScript, in Node",
        quick: false,
        filters: false,
        applies: everywhere,
        needs: &[Need::Std(WASM.triple)],
        runner: Some(NODE),
        commands: |setting| Ok(wasm(setting.runs)),
    },
    Step {
        name: "bare",
        about: "`hash` links and computes without an operating system: x86-64, aarch64 soft-float, thumbv7em",
        quick: false,
        filters: false,
        applies: on_debian,
        needs: &[Need::Std(BARE[0].0), Need::Std(BARE[1].0), Need::Std(BARE[2].0)],
        runner: Some(QEMU_AARCH64),
        commands: |setting| Ok(bare(setting.runs)),
    },
];

const ENGINES: [&str; 2] = ["hashmill-hash", "hashmill-doc"];

/// What asks the system for more than memory and threads.
const SYSTEM: [&str; 2] = ["hashmill-hash", "hashmill-files"];

fn everywhere() -> bool {
    true
}

/// The compilers and emulators are packages of Debian for this processor. Elsewhere another machine does it.
fn on_debian() -> bool {
    consts::OS == "linux" && consts::ARCH == "x86_64"
}

/// Options of cargo, for tests of documents that take less time than to optimise what they run.
const QUICKLY: [&str; 4] = [
    "--config",
    "profile.dev.package.hashmill-doc.opt-level=1",
    "--config",
    "profile.dev.package.hashmill-testkit.opt-level=1",
];

/// Known answers.
fn answers(target: &Target, packages: &[&str], setting: &Setting<'_>) -> Cmd {
    test(target, packages, &[&["--lib"], &QUICKLY[..]].concat()).tests_of(setting, &ANSWERS)
}

/// Of documents where another system runs on the same processor: known answers, and what the system gives. `doc` has no unsafe
/// code and asks it for threads, memory, a stack and random names alone, so that its parts, and all else, find there what they
/// find on this system.
fn documents(target: &Target, but: &[&str], setting: &Setting<'_>) -> Cmd {
    let given = ["thread", "limits::", "hostile::", "a_deep_value"];
    test(target, &[ENGINES[1]], &QUICKLY).tests_of(setting, &[&ANSWERS[..], &given, but].concat())
}

/// A `cargo test` for a target, without its end.
fn test(target: &Target, packages: &[&str], options: &[&str]) -> Cmd {
    let mut args = vec!["test", "--locked", "--target", target.triple, "--test", "it"];
    packages.iter().for_each(|package| args.extend(["-p", package]));
    args.extend(options);
    let lower = target.triple.replace('-', "_");
    let upper = lower.to_uppercase();
    let mut cmd = Cmd::cargo(&args).with("RUSTFLAGS", &flags(target));
    if let Some(cc) = target.cc {
        cmd = cmd.with(&format!("CC_{lower}"), cc);
        // With musl, Rust brings what the compiler's wrapper would bring.
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

/// Where wine keeps its drives, and where it finds a library that it may lack.
const WINE: &str = "target/wine";

/// Rust's standard library takes random bytes from a library that wine has had since its ninth version only.
fn random_for_wine() -> Cmd {
    let library = ["--crate-type=cdylib", "--crate-name=bcryptprimitives", "-Cpanic=abort", "-Copt-level=1"];
    let place = ["--target", WINDOWS.triple, "--out-dir", WINE, "xtask/probes/bcryptprimitives.rs"];
    Cmd::new("rustc", &[&["--edition=2024"], &library[..], &place].concat())
}

/// Without a word of what wine lacks besides, and without a trace in the user's folder.
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
        args.push(format!("--extern={name}=target/{target}/debug/lib{name}.rlib"));
    }
    // Derive macros are for this machine.
    args.push(format!("-Ldependency=target/{target}/debug/deps"));
    args.push("-Ldependency=target/debug/deps".to_owned());
    args.extend(["-o".to_owned(), format!("target/{target}/{out}"), format!("xtask/probes/{source}")]);
    Cmd::new("rustc", &args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn wasm(runs: bool) -> Vec<Cmd> {
    let build = ["build", "--locked", "--target", WASM.triple, "-p", ENGINES[0], "-p", ENGINES[1]];
    // A module has one thread, and `doc` is to need no other.
    let features = ["--no-default-features", "--features", "hashmill-hash/std"];
    let crates = ["hashmill_hash", "hashmill_doc"];
    let module = format!("target/{}/probe.wasm", WASM.triple);
    let mut cmds = vec![
        Cmd::cargo(&[&build[..], &features].concat()).with("RUSTFLAGS", &flags(&WASM)),
        probe(WASM.triple, &crates, "cdylib", "probe.wasm", "wasm.rs"),
    ];
    if runs {
        cmds.push(Cmd::new("node", &["xtask/probes/wasm.mjs", &module]));
    }
    cmds
}

/// A final link is the only honest judge, and what it links is run.
fn bare(runs: bool) -> Vec<Cmd> {
    let mut build = vec!["build", "--locked", "-p", ENGINES[0], "--no-default-features"];
    BARE.iter().for_each(|(target, _)| build.extend(["--target", target]));
    let mut cmds = vec![Cmd::cargo(&build).with("RUSTFLAGS", "-Dwarnings")];
    for (target, runner) in BARE {
        let mut link = probe(target, &["hashmill_hash"], "bin", "bare", "bare.rs");
        // Where a kernel lies is for its loader to say; this one is put where the linker says, as there is no loader.
        link.args
            .extend(["-Cpanic=abort", "-Crelocation-model=static", "-Ccode-model=small"].map(str::to_owned));
        cmds.push(link);
        let file = format!("target/{target}/bare");
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

    fn names(cmd: &Cmd) -> Vec<&str> {
        cmd.env.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_target_brings_its_compiler_linker_and_runner() {
        let upper =
            ["CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER", "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER"];
        let expected = [&["RUSTFLAGS", "CC_s390x_unknown_linux_gnu"][..], &upper].concat();
        assert_eq!(names(&test(&S390X, &ENGINES, &[])), expected);
        assert_eq!(names(&test(&X86_64_MUSL, &ENGINES, &[])), ["RUSTFLAGS", "CC_x86_64_unknown_linux_musl"]);
    }

    #[test]
    fn a_warning_is_an_error_for_every_target() {
        let setting = Setting { root: Path::new("/"), filter: &[], runs: true };
        for step in ALL {
            for cmd in (step.commands)(&setting).expect("nothing here can fail") {
                let strict = cmd.args.iter().any(|arg| arg == "-Dwarnings")
                    || cmd
                        .env
                        .iter()
                        .any(|(name, value)| name == "RUSTFLAGS" && value.starts_with("-Dwarnings"));
                let builds = ["cargo", "rustc"].contains(&cmd.program.as_str());
                assert!(strict || !builds || cmd == random_for_wine(), "{}: {cmd:?}", step.name);
            }
        }
    }

    #[test]
    fn what_cannot_run_here_is_still_built() {
        let setting = Setting { root: Path::new("/"), filter: &[], runs: false };
        let runs = |cmd: &Cmd| {
            let tests = cmd.args.first().is_some_and(|arg| arg == "test");
            tests && !cmd.args.contains(&"--no-run".to_owned())
                || cmd.program == "node"
                || cmd.program.starts_with("qemu")
        };
        for step in ALL.iter().filter(|step| step.runner.is_some()) {
            let cmds = (step.commands)(&setting).expect("nothing here can fail");
            assert!(!cmds.is_empty() && !cmds.iter().any(runs), "{}: {cmds:?}", step.name);
        }
    }
}
