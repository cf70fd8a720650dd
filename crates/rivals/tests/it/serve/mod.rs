//! Clients of other implementations in Rust with `hashmill serve`, the program.

mod official;
mod samod;

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use hashmill_testkit::wait::{self, Running};
use tempfile::TempDir;

/// A running server with a storage of its own. It is killed with this value.
struct Server {
    child: Running,
    port: u16,
    folder: TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().expect("a directory");
        let (child, port) = spawn(folder.path(), 0);
        Server { child, port, folder }
    }

    /// Kills the server without warning, and starts it again at the same address.
    fn kill_and_restart(&mut self) {
        self.child.kill().and_then(|()| self.child.wait()).expect("it runs");
        (self.child, self.port) = spawn(self.folder.path(), self.port);
    }

    /// `HOST:PORT`.
    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// Starts a server, and waits until it listens.
fn spawn(folder: &Path, port: u16) -> (Running, u16) {
    let test = env::current_exe().expect("a path");
    let program = test.ancestors().nth(2).expect("a folder").join("hashmill");
    assert!(program.exists(), "`cargo xtask comparisons` builds {} first", program.display());
    let mut command = Command::new(program);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data"]).arg(folder.join("store"));
    command.env_remove("PORT").env_remove("DATA_DIR");
    let mut child = wait::start(command.stdout(Stdio::piped())).expect("our program");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let line = lines.next().expect("a line").expect("text");
    let port = line.strip_prefix("listening on ws://127.0.0.1:").and_then(|line| line.split(',').next());
    let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line}"));
    // Drains the output: a full pipe would block the server.
    thread::spawn(move || lines.for_each(drop));
    (child, port)
}
