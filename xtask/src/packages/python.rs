//! Tests of the package for Python: an environment below `target/` with exactly the packages of `requirements.txt`, and the unchanged
//! tests of the packages that Hashmill replaces.

use std::env;
use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::command::Cmd;
use crate::repository::checkout;

/// Build folder of this step.
const FOLDER: &str = "target/python";

/// The package, in the repository.
const PACKAGE: &str = "bindings/python";

/// Published tests of other packages: the folder of their source, and the excluded tests.
const PUBLISHED_TESTS: [(&str, &[&str]); 2] = [
    ("blake3-1.0.11", &[]),
    (
        "argon2_cffi-25.1.0",
        &[
            // They read the metadata of another package.
            "tests/test_packaging.py",
            // It expects an error message of cffi.
            "tests/test_low_level.py::TestVerify::test_wrong_arg_type",
            // Two hundred hashes of 64 MiB. Our test with eight threads uses cheaper ones.
            "tests/test_password_hasher.py::test_multithreaded_hashing",
        ],
    ),
];

/// Repository with the tests of the package `automerge`, which does not publish them: of release 1.0.0rc1 and later.
const AUTOMERGE: &str = "https://github.com/automerge/automerge-py";
const AUTOMERGE_COMMIT: &str = "d0fe6afef142885101caa3cb45f281e034669911";

/// Succeeds for a supported version of Python that can create environments: Debian leaves out `ensurepip`.
const NEW_ENOUGH: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";

/// A failed download of pip, with the last line of its output.
#[derive(Debug)]
struct DownloadFailed(String);

impl fmt::Display for DownloadFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for DownloadFailed {}

/// Creates the environment. Returns a reason only if Python or a needed registry is missing; [`run`] reports any other error.
pub(crate) fn missing(root: &Path) -> Option<String> {
    if !Command::new("python3").args(["-c", NEW_ENOUGH]).output().is_ok_and(|output| output.status.success())
    {
        return Some(
            "needs `python3` from version 3.11 on, with venv (Debian package python3-venv)".to_owned(),
        );
    }
    let error = environment(root).and_then(|python| unpack_published_tests(root, &python)).err()?;
    let DownloadFailed(reason) = error.downcast_ref()?;
    Some(format!("needs a registry of Python's packages: {reason}"))
}

/// Optimising the document crate takes a third of the wheel's build time, and these tests do not need it.
const LESS_OPTIMISED: &str = "profile.dev.package.hashmill-doc.opt-level=0";

/// Commands that build and test the wheel, in the profile of all tests.
pub(crate) fn run(root: &Path, filter: &[String]) -> anyhow::Result<Vec<Cmd>> {
    let python = environment(root)?;
    unpack_published_tests(root, &python)?;
    let wheels = root.join(FOLDER).join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    }
    let (python, wheels) = (python.to_string_lossy(), wheels.to_string_lossy());
    let manifest = format!("{PACKAGE}/Cargo.toml");
    // With devices: tests of engines use software Vulkan where it is installed.
    let profile = ["--profile", "dev", "--config", LESS_OPTIMISED, "--locked", "--features", "gpu"];
    let build = [&["build"], &profile[..], &["--manifest-path", &manifest, "--out", &wheels]].concat();
    let install = ["install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", "--find-links"];
    let mut test = vec!["-m", "pytest", PACKAGE];
    let filter = filter.join(" or ");
    if !filter.is_empty() {
        test.extend(["-k", &filter]);
    }
    // One of our tests runs them, or reports the reason of the failure.
    let automerge = root.join(FOLDER).join("theirs/automerge-py");
    let (variable, value) = match checkout::tests(&automerge, AUTOMERGE, AUTOMERGE_COMMIT, "tests") {
        Ok(tests) => ("AUTOMERGE_PY_TESTS", tests),
        Err(reason) => ("AUTOMERGE_PY_MISSING", reason),
    };
    let mut commands = vec![
        Cmd::new(&python, &[&["-m", "maturin"], &build[..]].concat()),
        Cmd::new(&python, &[&["-m", "pip"], &install[..], &[&wheels, "hashmill"]].concat()),
        Cmd::new(&python, &test).with(variable, &value),
    ];
    // `tests/theirs` has our modules under the names of the replaced packages; `tests` has the report that xtask counts.
    let tests = root.join(PACKAGE).join("tests");
    let names = env::join_paths([tests.join("theirs"), tests])?;
    for (source, left_out) in PUBLISHED_TESTS.iter().filter(|_| filter.is_empty()) {
        let tests = format!("{FOLDER}/theirs/{source}/tests");
        let mut args = vec!["-m", "pytest", "-p", "conftest", &tests];
        left_out.iter().for_each(|test| args.extend(["--deselect", test]));
        commands.push(Cmd::new(&python, &args).with("PYTHONPATH", &names.to_string_lossy()));
    }
    Ok(commands)
}

/// A Python without the global interpreter lock.
pub(crate) const FREE_THREADED: &str = "python3.14t";

/// Build folder for it.
const FREE_THREADED_FOLDER: &str = "target/python/free";

/// Tests that need more packages than pytest: files, and tests of one file.
const FREE_THREADED_EXCLUDED: [&str; 7] = [
    "--ignore=bindings/python/tests/hashes/test_blake3_arrow.py",
    "--ignore=bindings/python/tests/documents/test_documents_automerge.py",
    "--ignore=bindings/python/tests/documents/test_documents_model.py",
    "--ignore=bindings/python/tests/documents/test_documents_types.py",
    "--deselect=tests/test_package.py::test_mypy_accepts_the_types",
    "--deselect=tests/test_package.py::test_examples_run",
    "--deselect=tests/test_package.py::test_every_public_name_has_a_docstring",
];

/// As [`run`] for [`FREE_THREADED`]. Few packages support it, so only our own modules are tested, for thread safety.
pub(crate) fn run_free_threaded(root: &Path, filter: &[String]) -> anyhow::Result<Vec<Cmd>> {
    let folder = root.join(FREE_THREADED_FOLDER);
    let python = folder.join("venv/bin/python");
    if !python.exists() {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        create_environment(
            Command::new(FREE_THREADED).args(["-m", "venv", "--clear"]),
            &folder.join("venv"),
        )?;
    }
    let list = root.join(PACKAGE).join("free.txt");
    pip(Command::new(&python).args(["-m", "pip", "install", "--require-hashes", "-r"]).arg(list))?;
    let wheels = folder.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    }
    let (python, wheels) = (python.to_string_lossy(), wheels.to_string_lossy());
    let manifest = format!("{PACKAGE}/Cargo.toml");
    let profile = ["-m", "maturin", "build", "--profile", "dev", "--config", LESS_OPTIMISED, "--locked"];
    let build = ["--manifest-path", &manifest, "--interpreter", &python, "--out", &wheels];
    let install =
        ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", "--find-links"];
    let mut test = [&["-m", "pytest", PACKAGE], &FREE_THREADED_EXCLUDED[..]].concat();
    let filter = filter.join(" or ");
    if !filter.is_empty() {
        test.extend(["-k", &filter]);
    }
    let helpers = root.join(PACKAGE).join("tests/theirs");
    // Its own folder, as compilation depends on the interpreter.
    let target = root.join(FREE_THREADED_FOLDER).join("target");
    Ok(vec![
        Cmd::new(&python, &[&profile[..], &build].concat())
            .with("CARGO_TARGET_DIR", &target.to_string_lossy()),
        Cmd::new(&python, &[&install[..], &[&wheels, "hashmill"]].concat()),
        Cmd::new(&python, &test).with("PYTHONPATH", &helpers.to_string_lossy()).with("PYTHON_GIL", "0"),
    ])
}

/// The interpreter of the environment, which is created and updated to the list if necessary.
fn environment(root: &Path) -> anyhow::Result<PathBuf> {
    let folder = root.join(FOLDER).join("venv");
    let python = folder.join("bin/python");
    if !python.exists() {
        create_environment(Command::new("python3").args(["-m", "venv", "--clear"]), &folder)?;
    }
    let list = root.join(PACKAGE).join("requirements.txt");
    pip(Command::new(&python).args(["-m", "pip", "install", "--require-hashes", "-r"]).arg(list))?;
    Ok(python)
}

/// Creates `folder` with `command` atomically; the result of an interrupted command is replaced.
fn create_environment(command: &mut Command, folder: &Path) -> anyhow::Result<()> {
    let part = folder.with_extension("part");
    let output = command.arg(&part).output()?;
    // `venv` reports missing parts on one stream and errors on the other.
    let messages = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "python3 -m venv: {}", String::from_utf8_lossy(&messages).trim());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::rename(&part, folder).with_context(|| folder.display().to_string())
}

/// Downloads and unpacks the sources of [`PUBLISHED_TESTS`], unless they are there.
fn unpack_published_tests(root: &Path, python: &Path) -> anyhow::Result<()> {
    let folder = root.join(FOLDER).join("theirs");
    if PUBLISHED_TESTS.iter().all(|(source, _)| folder.join(source).join("tests").is_dir()) {
        return Ok(());
    }
    // Pip builds the metadata of a source before it saves it, with programs of the environment.
    let programs = python.parent().context("the programs of an environment")?.to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([programs].into_iter().chain(env::split_paths(&path)))?;
    let list = root.join(PACKAGE).join("tests/theirs/requirements.txt");
    let download =
        ["download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"];
    let mut command = Command::new(python);
    command.args(["-m", "pip"]).args(download).arg("-d").arg(&folder).arg("-r").arg(list).env("PATH", path);
    pip(&mut command)?;
    // Each is unpacked atomically.
    let part = folder.join("part");
    for (source, _) in PUBLISHED_TESTS {
        let archive = folder.join(format!("{source}.tar.gz"));
        let output = Command::new(python).args(["-m", "tarfile", "-e"]).arg(archive).arg(&part).output()?;
        ensure!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        let unpacked = folder.join(source);
        if unpacked.exists() {
            fs::remove_dir_all(&unpacked).with_context(|| unpacked.display().to_string())?;
        }
        fs::rename(part.join(source), &unpacked).with_context(|| unpacked.display().to_string())?;
    }
    Ok(())
}

fn pip(command: &mut Command) -> anyhow::Result<()> {
    let output = command.args(["--quiet", "--disable-pip-version-check"]).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    match download_error(&stderr) {
        _ if output.status.success() => Ok(()),
        Some(reason) => Err(DownloadFailed(reason.to_owned()).into()),
        None => anyhow::bail!("pip: {}", stderr.trim()),
    }
}

/// The error of a failed download, if pip reports one. A missing version or another digest is another error, even after retries.
fn download_error(stderr: &str) -> Option<&str> {
    let versions = |line: &str| line.contains("(from versions: ") && !line.contains("(from versions: none)");
    if stderr.contains("DO NOT MATCH THE HASHES") || stderr.lines().any(versions) {
        return None;
    }
    stderr.lines().map(str::trim).find(|line| line.contains("after connection broken by"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_connection_is_a_reason_to_skip() {
        let unreachable = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()': /simple/x/\n\
                      ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\n";
        assert!(download_error(unreachable).is_some_and(|reason| reason.contains("NewConnectionError")));
        for stderr in [
            "ERROR: No matching distribution found for x==99\n",
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
            "ERROR: Could not find a version that satisfies the requirement x==99 (from versions: 1.0, 1.1)\n",
            "",
        ] {
            assert_eq!(download_error(stderr), None, "{stderr}");
        }
        let retry = unreachable.lines().next().expect("a line");
        for stderr in [
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
            "ERROR: Could not find a version that satisfies the requirement x==99 (from versions: 1.0, 1.1)\n",
        ] {
            assert_eq!(download_error(&format!("{retry}\n{stderr}")), None, "{stderr}");
        }
    }

    #[test]
    fn environments_are_created_atomically() {
        let root = env::temp_dir().join(format!("xtask-python-{}", std::process::id()));
        let folder = root.join("venv");
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let interrupted = r#"mkdir -p "$0/bin" && touch "$0/bin/python" && echo "no ensurepip" && exit 1"#;
        let error = create_environment(&mut shell(interrupted), &folder).expect_err("an end in the middle");
        assert!(error.to_string().contains("no ensurepip"), "{error}");
        assert!(!folder.exists(), "an incomplete environment would be used");
        create_environment(&mut shell(r#"touch "$0/bin/pip""#), &folder).expect("an environment");
        assert!(folder.join("bin/pip").exists());
        fs::remove_dir_all(&root).expect("the folder of this test");
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_no_reason_to_skip() {
        let file = env::current_exe().expect("a program");
        assert_eq!(missing(&file).filter(|reason| reason.contains("registry")), None);
        assert!(run(&file, &[]).is_err());
    }
}
