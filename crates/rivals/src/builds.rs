//! Builds programs, and runs workers.
//!
//! A worker is the same source built differently: with the rival held to an instruction set, or with its functions in
//! another order. Each difference is a cargo feature of this crate, so cargo keeps the builds apart and fresh.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// One build of a worker.
#[derive(Clone, Debug)]
pub struct Worker {
    /// File name of the built binary.
    pub name: String,
    /// The program.
    pub path: PathBuf,
}

/// The root of the workspace that this tool was built from.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is crates/rivals")
}

/// The cargo that started this, or the one on the path.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Cargo's target folder: this program lies in a profile's folder below it, a test one folder deeper.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let profile = program.ancestors().find(|path| path.ends_with("release") || path.ends_with("debug"));
    profile.and_then(Path::parent).map_or_else(|| workspace().join("target"), Path::to_owned)
}

/// Builds binary `name` of the command-line crate with `flags`, and returns its path.
pub fn product(name: &str, flags: &[&str]) -> anyhow::Result<PathBuf> {
    compile(&[&["--package", "hashmill-cli", "--bin", name], flags].concat(), name)
}

/// Builds binary `bin` of this crate with `features`, and puts it beside the other workers as `name`.
pub fn build(bin: &str, name: &str, features: &[&str]) -> anyhow::Result<Worker> {
    let features = features.join(",");
    let built = compile(
        &["--release", "--package", env!("CARGO_PKG_NAME"), "--bin", bin, "--features", &features],
        bin,
    )?;
    let folder = target().join("rivals");
    let path = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    std::fs::create_dir_all(&folder)
        .and_then(|()| {
            // Never write into a file that may be running: a rename replaces the name, not the program.
            let fresh = path.with_extension("new");
            std::fs::copy(&built, &fresh)?;
            std::fs::rename(&fresh, &path)
        })
        .with_context(|| format!("keeping {}", path.display()))?;
    Ok(Worker { name: name.to_owned(), path })
}

fn compile(args: &[&str], bin: &str) -> anyhow::Result<PathBuf> {
    let output = Command::new(cargo())
        .current_dir(workspace())
        .args(["build", "--quiet", "--message-format", "json-render-diagnostics"])
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo")?;
    ensure!(output.status.success(), "cargo could not build {bin}: {}", output.status);
    executable(&output.stdout, bin).with_context(|| format!("cargo named no binary for {bin}"))
}

/// The path of the binary in cargo's messages.
fn executable(messages: &[u8], bin: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
        target: Option<Target>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let lines = messages.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice::<Message>(line).ok()).find_map(|message| {
        message.target.is_some_and(|target| target.name == bin).then_some(message.executable).flatten()
    })
}

impl Worker {
    /// Runs the worker on one request; `padding` bytes of environment move its stack, as another user's shell would.
    pub fn run<Reply: DeserializeOwned>(
        &self,
        request: &impl serde::Serialize,
        padding: usize,
    ) -> anyhow::Result<Vec<Reply>> {
        let mut child = Command::new(&self.path)
            .env("RIVALS_STACK_PADDING", "-".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", self.path.display()))?;
        let mut stdin = child.stdin.take().context("the worker's standard input")?;
        // A worker that dies early closes the pipe; its exit status below tells more than this error would.
        let sent = stdin.write_all(&serde_json::to_vec(request)?);
        drop(stdin);
        let output = child.wait_with_output().with_context(|| format!("waiting for {}", self.name))?;
        if !output.status.success() {
            bail!("worker {} failed: {}", self.name, output.status);
        }
        sent.with_context(|| format!("asking {}", self.name))?;
        serde_json::Deserializer::from_slice(&output.stdout)
            .into_iter()
            .collect::<Result<_, _>>()
            .with_context(|| format!("reading the samples of {}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_among_cargo_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/other"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"worker"},"executable":"/t/worker"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
            "\n",
        );
        assert_eq!(executable(messages.as_bytes(), "worker"), Some(PathBuf::from("/t/worker")));
        assert_eq!(executable(messages.as_bytes(), "none"), None);
    }

    #[test]
    fn a_worker_that_cannot_start_is_an_error_with_its_path() {
        let worker = Worker { name: "none".into(), path: "/no/such/worker".into() };
        let error = worker.run::<()>(&"request", 10).expect_err("there is no such program");
        assert!(error.to_string().contains("starting /no/such/worker"), "{error}");
    }
}
