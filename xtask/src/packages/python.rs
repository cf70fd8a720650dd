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

/// Foreign tests: the folder of their source, and the excluded ones.
const THEIRS: [(&str, &[&str]); 2] = [
    ("blake3-1.0.11", &[]),
    (
        "argon2_cffi-25.1.0",
        &[
            // They ask for the metadata of another package.
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

/// Creates the environment. Returns a reason only if Python or a needed registry is missing; any other error is one of [`run`].
pub(crate) fn missing(root: &Path) -> Option<String> {
    if !Command::new("python3").args(["-c", NEW_ENOUGH]).output().is_ok_and(|output| output.status.success())
    {
        return Some(
            "needs `python3` from version 3.11 on, with venv (Debian package python3-venv)".to_owned(),
        );
    }
    let error = environment(root).and_then(|python| theirs(root, &python)).err()?;
    let DownloadFailed(words) = error.downcast_ref()?;
    Some(format!("needs a registry of Python's packages: {words}"))
}

/// Optimising the document crate takes a third of the wheel's build time, and these tests do not need it.
const QUICKLY: &str = "profile.dev.package.hashmill-doc.opt-level=0";

/// Commands that build and test the wheel, in the profile of all tests.
pub(crate) fn run(root: &Path, filter: &[String]) -> anyhow::Result<Vec<Cmd>> {
    let python = environment(root)?;
    theirs(root, &python)?;
    let wheels = root.join(FOLDER).join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    }
    let (python, wheels) = (python.to_string_lossy(), wheels.to_string_lossy());
    let manifest = format!("{PACKAGE}/Cargo.toml");
    // With devices: tests of engines use software Vulkan where it is installed.
    let profile = ["--profile", "dev", "--config", QUICKLY, "--locked", "--features", "gpu"];
    let build = [&["build"], &profile[..], &["--manifest-path", &manifest, "--out", &wheels]].concat();
    let install = ["install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", "--find-links"];
    let mut test = vec!["-m", "pytest", PACKAGE];
    let filter = filter.join(" or ");
    if !filter.is_empty() {
        test.extend(["-k", &filter]);
    }
    // One of our tests runs them, or reports why not.
    let automerge = root.join(FOLDER).join("theirs/automerge-py");
    let (variable, value) = match checkout::tests(&automerge, AUTOMERGE, AUTOMERGE_COMMIT, "tests") {
        Ok(tests) => ("AUTOMERGE_PY_TESTS", tests),
        Err(words) => ("AUTOMERGE_PY_MISSING", words),
    };
    let mut commands = vec![
        Cmd::new(&python, &[&["-m", "maturin"], &build[..]].concat()),
        Cmd::new(&python, &[&["-m", "pip"], &install[..], &[&wheels, "hashmill"]].concat()),
        Cmd::new(&python, &test).with(variable, &value),
    ];
    // Our modules under their names, and output in the form that this program counts.
    let tests = root.join(PACKAGE).join("tests");
    let names = env::join_paths([tests.join("theirs"), tests])?;
    for (source, left_out) in THEIRS.iter().filter(|_| filter.is_empty()) {
        let tests = format!("{FOLDER}/theirs/{source}/tests");
        let mut args = vec!["-m", "pytest", "-p", "conftest", &tests];
        left_out.iter().for_each(|test| args.extend(["--deselect", test]));
        commands.push(Cmd::new(&python, &args).with("PYTHONPATH", &names.to_string_lossy()));
    }
    Ok(commands)
}

/// A Python without the lock for all threads.
pub(crate) const FREE: &str = "python3.14t";

/// Build folder for it.
const FREE_FOLDER: &str = "target/python/free";

/// Tests that need more packages than pytest: files, and tests of one file.
const NOT_FREE: [&str; 7] = [
    "--ignore=bindings/python/tests/hashes/test_blake3_arrow.py",
    "--ignore=bindings/python/tests/documents/test_documents_automerge.py",
    "--ignore=bindings/python/tests/documents/test_documents_model.py",
    "--ignore=bindings/python/tests/documents/test_documents_types.py",
    "--deselect=tests/test_package.py::test_mypy_accepts_the_types",
    "--deselect=tests/test_package.py::test_examples_run",
    "--deselect=tests/test_package.py::test_every_public_name_has_a_docstring",
];

/// The same for [`FREE`], for which few packages exist: only our own modules are tested, for thread safety.
pub(crate) fn run_free(root: &Path, filter: &[String]) -> anyhow::Result<Vec<Cmd>> {
    let folder = root.join(FREE_FOLDER);
    let python = folder.join("venv/bin/python");
    if !python.exists() {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        make(Command::new(FREE).args(["-m", "venv", "--clear"]), &folder.join("venv"))?;
    }
    let list = root.join(PACKAGE).join("free.txt");
    pip(Command::new(&python).args(["-m", "pip", "install", "--require-hashes", "-r"]).arg(list))?;
    let wheels = folder.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    }
    let (python, wheels) = (python.to_string_lossy(), wheels.to_string_lossy());
    let manifest = format!("{PACKAGE}/Cargo.toml");
    let profile = ["-m", "maturin", "build", "--profile", "dev", "--config", QUICKLY, "--locked"];
    let build = ["--manifest-path", &manifest, "--interpreter", &python, "--out", &wheels];
    let install =
        ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", "--find-links"];
    let mut test = [&["-m", "pytest", PACKAGE], &NOT_FREE[..]].concat();
    let filter = filter.join(" or ");
    if !filter.is_empty() {
        test.extend(["-k", &filter]);
    }
    let theirs = root.join(PACKAGE).join("tests/theirs");
    // Its own folder, as compilation depends on the interpreter.
    let target = root.join(FREE_FOLDER).join("target");
    Ok(vec![
        Cmd::new(&python, &[&profile[..], &build].concat())
            .with("CARGO_TARGET_DIR", &target.to_string_lossy()),
        Cmd::new(&python, &[&install[..], &[&wheels, "hashmill"]].concat()),
        Cmd::new(&python, &test).with("PYTHONPATH", &theirs.to_string_lossy()).with("PYTHON_GIL", "0"),
    ])
}

/// The interpreter of the environment, which is created and updated to the list if necessary.
fn environment(root: &Path) -> anyhow::Result<PathBuf> {
    let folder = root.join(FOLDER).join("venv");
    let python = folder.join("bin/python");
    if !python.exists() {
        make(Command::new("python3").args(["-m", "venv", "--clear"]), &folder)?;
    }
    let list = root.join(PACKAGE).join("requirements.txt");
    pip(Command::new(&python).args(["-m", "pip", "install", "--require-hashes", "-r"]).arg(list))?;
    Ok(python)
}

/// Creates `folder` with `command` atomically: an unfinished one is created anew.
fn make(command: &mut Command, folder: &Path) -> anyhow::Result<()> {
    let part = folder.with_extension("part");
    let output = command.arg(&part).output()?;
    // `venv` reports missing parts on one stream and errors on the other.
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "python3 -m venv: {}", String::from_utf8_lossy(&said).trim());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::rename(&part, folder).with_context(|| folder.display().to_string())
}

/// Unpacks the sources whose tests are run, if they are not there.
fn theirs(root: &Path, python: &Path) -> anyhow::Result<()> {
    let folder = root.join(FOLDER).join("theirs");
    if THEIRS.iter().all(|(source, _)| folder.join(source).join("tests").is_dir()) {
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
    for (source, _) in THEIRS {
        let archive = folder.join(format!("{source}.tar.gz"));
        let output = Command::new(python).args(["-m", "tarfile", "-e"]).arg(archive).arg(&part).output()?;
        ensure!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        let whole = folder.join(source);
        if whole.exists() {
            fs::remove_dir_all(&whole).with_context(|| whole.display().to_string())?;
        }
        fs::rename(part.join(source), &whole).with_context(|| whole.display().to_string())?;
    }
    Ok(())
}

fn pip(command: &mut Command) -> anyhow::Result<()> {
    let output = command.args(["--quiet", "--disable-pip-version-check"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    match no_network(&said) {
        _ if output.status.success() => Ok(()),
        Some(words) => Err(DownloadFailed(words.to_owned()).into()),
        None => anyhow::bail!("pip: {}", said.trim()),
    }
}

/// The error of a failed download, if pip reports one. A missing version or another digest is another error, even after retries.
fn no_network(said: &str) -> Option<&str> {
    let versions = |line: &str| line.contains("(from versions: ") && !line.contains("(from versions: none)");
    if said.contains("DO NOT MATCH THE HASHES") || said.lines().any(versions) {
        return None;
    }
    said.lines().map(str::trim).find(|line| line.contains("after connection broken by"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_that_fails_is_a_reason_to_skip() {
        let nobody = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()': /simple/x/\n\
                      ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\n";
        assert!(no_network(nobody).is_some_and(|words| words.contains("NewConnectionError")));
        for said in [
            "ERROR: No matching distribution found for x==99\n",
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
            "ERROR: Could not find a version that satisfies the requirement x==99 (from versions: 1.0, 1.1)\n",
            "",
        ] {
            assert_eq!(no_network(said), None, "{said}");
        }
        let retry = nobody.lines().next().expect("a line");
        for said in [
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n",
            "ERROR: Could not find a version that satisfies the requirement x==99 (from versions: 1.0, 1.1)\n",
        ] {
            assert_eq!(no_network(&format!("{retry}\n{said}")), None, "{said}");
        }
    }

    #[test]
    fn an_environment_is_there_as_a_whole_or_not_at_all() {
        let root = env::temp_dir().join(format!("xtask-python-{}", std::process::id()));
        let folder = root.join("venv");
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let begun = r#"mkdir -p "$0/bin" && touch "$0/bin/python" && echo "no ensurepip" && exit 1"#;
        let error = make(&mut shell(begun), &folder).expect_err("an end in the middle");
        assert!(error.to_string().contains("no ensurepip"), "{error}");
        assert!(!folder.exists(), "half an environment is taken for one");
        make(&mut shell(r#"touch "$0/bin/pip""#), &folder).expect("an environment");
        assert!(folder.join("bin/pip").exists());
        fs::remove_dir_all(&root).expect("the folder of this test");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_reason_to_skip() {
        let file = env::current_exe().expect("a program");
        assert_eq!(missing(&file).filter(|words| words.contains("registry")), None);
        assert!(run(&file, &[]).is_err());
    }
}
