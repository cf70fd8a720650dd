//! Processes of the tests: Node scripts, sync servers, and Hashmill.

use hashmill_testkit::skip;
use hashmill_testkit::wait::{self, Running};
use serde_json::Value;
use std::env;
use std::io::{BufRead as _, BufReader, Lines};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::thread;

/// Where the packages are.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("js");
    assert!(folder.join("node_modules").exists(), "`cargo xtask javascript` installs the packages first");
    folder
}

/// `hashmill doc`.
pub(crate) fn hashmill() -> Command {
    let mut command = program();
    command.arg("doc");
    command
}

/// The program that users have.
fn program() -> Command {
    Command::new(program_path())
}

/// The program, beside the folder of the tests.
pub(crate) fn program_path() -> PathBuf {
    let test = env::current_exe().expect("a path");
    let folder = test.ancestors().nth(2).expect("a folder");
    let program = folder.join(format!("hashmill{}", env::consts::EXE_SUFFIX));
    assert!(program.exists(), "`cargo xtask javascript` builds {} first", program.display());
    program
}

fn node(script: &str) -> Command {
    let mut command = Command::new("node");
    // The collector of garbage is called by name where it is looked at.
    command.args(["--no-warnings", "--expose-gc"]).arg(folder().join(script)).stdin(Stdio::null());
    command
}

/// The folder with tests of another project. `None` if they could not be fetched: `what` is then reported as skipped.
pub(crate) fn checkout(project: &str, what: &str) -> Option<PathBuf> {
    let variable = |prefix: &str| env::var(format!("{prefix}_{project}_TESTS")).ok();
    if let Some(folder) = variable("HASHMILL") {
        return Some(folder.into());
    }
    skip(what, &variable("HASHMILL_NO").expect("`cargo xtask javascript` sets the reason"));
    None
}

/// What a script says.
#[track_caller]
pub(crate) fn said<const N: usize>(script: &str, args: [&str; N]) -> Value {
    says(node(script), script, args)
}

/// The same script, on our engine in the place of theirs.
#[track_caller]
pub(crate) fn said_on_ours<const N: usize>(script: &str, args: [&str; N]) -> Value {
    says(on_ours(script), script, args)
}

fn on_ours(script: &str) -> Command {
    let mut command = node(script);
    command.env("NODE_OPTIONS", format!("--import={}", folder().join("ours.mjs").display()));
    command
}

/// A generation of automerge-repo for JavaScript.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Generation {
    /// That of the reference server.
    Older,
    Newest,
    /// The one that is not released yet.
    Next,
}

impl Generation {
    /// What a script says with this generation.
    #[track_caller]
    pub(crate) fn said<const N: usize>(self, script: &str, args: [&str; N]) -> Value {
        says(self.node(script), script, args)
    }

    fn node(self, script: &str) -> Command {
        let mut command = node(script);
        let number = match self {
            Generation::Older => "1",
            Generation::Newest => "2",
            Generation::Next => "3",
        };
        command.env("AUTOMERGE_REPO_GENERATION", number);
        command
    }
}

/// A client that types numbers into a document without pause, with a storage of its own. It is killed with this value.
pub(crate) struct Typist {
    child: Running,
    lines: Lines<BufReader<ChildStdout>>,
    /// The document.
    pub(crate) url: String,
}

impl Typist {
    /// Starts one with its storage in a folder, and a new document or that with a URL.
    pub(crate) fn start(generation: Generation, server: &Server, folder: &Path, url: Option<&str>) -> Typist {
        let mut command = generation.node("peers/typist.mjs");
        command.arg(server.url()).arg(folder).args(url).stdout(Stdio::piped());
        let mut child = wait::start(&mut command).expect("Node");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let url = lines.next().expect("a URL").expect("text");
        Typist { child, lines, url }
    }

    /// Waits until the server has confirmed a number above `number`, and returns it.
    pub(crate) fn confirmed_above(&mut self, number: u64) -> u64 {
        self.confirmed().find(|confirmed| *confirmed > number).expect("a confirmation")
    }

    /// Ends it, and returns the last number that it said and that was not waited for.
    pub(crate) fn end(mut self) -> Option<u64> {
        self.child.kill().expect("it runs");
        self.confirmed().last()
    }

    fn confirmed(&mut self) -> impl Iterator<Item = u64> {
        // A line that was not written whole is at the end.
        self.lines.by_ref().map_while(|line| line.expect("text").parse().ok())
    }
}

#[track_caller]
fn says<const N: usize>(mut node: Command, script: &str, args: [&str; N]) -> Value {
    let output = wait::output(node.args(args).stderr(Stdio::inherit())).expect("Node");
    assert!(output.status.success(), "{script} {args:?}");
    // The library tells of other things before.
    let text = String::from_utf8(output.stdout).expect("text");
    serde_json::from_str(text.lines().last().expect("a line")).expect("JSON")
}

/// A sync server, which ends with this value.
pub(crate) struct Server {
    child: Running,
    pub(crate) port: u16,
}

impl Server {
    /// The reference server of its generation of the library, with documents in a folder.
    pub(crate) fn reference(data: &Path, port: Option<u16>) -> Server {
        let start = |port: u16| {
            let mut command = node("node_modules/@automerge/automerge-repo-sync-server/src/index.js");
            Server::start(command.env("PORT", port.to_string()).env("DATA_DIR", data))
        };
        // The server says the port that it was told, so it is not told to choose one. Another process may take the port before.
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let server = match port {
            Some(port) => start(port),
            None => (0..20).find_map(|_| start(free().expect("a port").port())),
        };
        server.expect("a server that listens")
    }

    /// A server of the newest library, with documents in memory.
    pub(crate) fn newest() -> Server {
        Server::start(&mut node("server.mjs")).expect("a server that listens")
    }

    /// The same server on our engine.
    pub(crate) fn newest_on_ours() -> Server {
        Server::start(&mut on_ours("server.mjs")).expect("a server that listens")
    }

    /// `hashmill serve`, with its storage in a folder.
    pub(crate) fn ours(data: &Path, port: Option<u16>) -> Server {
        let mut command = program();
        command.args(["serve", "--listen", &format!("127.0.0.1:{}", port.unwrap_or(0)), "--data"]).arg(data);
        command.env_remove("PORT").env_remove("DATA_DIR");
        Server::start(&mut command).expect("a server that listens")
    }

    /// Nothing if it ends before it listens.
    fn start(command: &mut Command) -> Option<Server> {
        let mut child = wait::start(command.stdout(Stdio::piped())).expect("Node");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let ours = || line.strip_prefix("listening on ws://127.0.0.1:")?.split(',').next();
            line.strip_prefix("Listening on port ").or_else(ours)?.parse().ok()
        });
        // Drain the output: a full pipe would block the server.
        thread::spawn(move || lines.for_each(drop));
        Some(Server { child, port: port? })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }
}

/// Runs our program; it must go well and complain about nothing.
#[track_caller]
pub(crate) fn well<const N: usize>(args: [&str; N]) -> String {
    let output = wait::output(hashmill().args(args)).expect("our program");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{args:?}: {error}");
    String::from_utf8(output.stdout).expect("text")
}
