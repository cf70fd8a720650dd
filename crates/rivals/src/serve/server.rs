//! Servers to measure: `hashmill serve` and Automerge's, which are built, installed, started and killed here, or a running one.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};

use super::bots::wait_for_greeting;
use crate::builds;

/// Automerge's server, the newest on npm, and the libraries that replace the older ones that it names.
const OFFICIAL: (&str, &str) = ("@automerge/automerge-repo-sync-server", "0.2.8");
const OVERRIDES: [(&str, &str); 4] = [
    ("@automerge/automerge", "3.5.0"),
    ("@automerge/automerge-repo", "2.5.6"),
    ("@automerge/automerge-repo-network-websocket", "2.5.6"),
    ("@automerge/automerge-repo-storage-nodefs", "2.5.6"),
];

/// Time in which a server must listen and greet. Large storages are opened in it.
const START_LIMIT: Duration = Duration::from_secs(300);
/// Attempts to start a server on a free port, which another process may take in between.
const PORT_ATTEMPTS: usize = 20;
/// More connections than a measurement opens.
const SETTINGS: &str = "max-connections = 1000000\n";

/// A server as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerName {
    Official,
    /// A given program, or a build of this source.
    Hashmill(Option<PathBuf>),
    /// A server that runs, and its process.
    Running(SocketAddr, u32),
}

impl FromStr for ServerName {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerName, String> {
        if let Some(rest) = text.strip_prefix("ws://") {
            let (address, pid) = rest.split_once('=').unwrap_or((rest, ""));
            let address = address.trim_end_matches('/').parse::<SocketAddr>();
            return match (address, pid.parse()) {
                (Ok(address), Ok(pid)) if address.ip().is_loopback() => Ok(ServerName::Running(address, pid)),
                _ => Err("a running server is ws://127.0.0.1:PORT=PID, on this machine".to_owned()),
            };
        }
        match text.split_once('=') {
            None if text == "official" => Ok(ServerName::Official),
            None if text == "hashmill" => Ok(ServerName::Hashmill(None)),
            Some(("hashmill", program)) => Ok(ServerName::Hashmill(Some(program.into()))),
            _ => Err("servers are: official, hashmill, hashmill=PROGRAM, ws://127.0.0.1:PORT=PID".to_owned()),
        }
    }
}

/// A server that can be started.
#[derive(Debug)]
pub(super) struct Side {
    /// Its name in tables.
    pub(super) name: String,
    program: Program,
}

#[derive(Debug)]
enum Program {
    Official(PathBuf),
    Hashmill(PathBuf),
    Running(SocketAddr, u32),
}

impl Side {
    /// Builds or installs a server.
    pub(super) fn prepare(name: &ServerName) -> anyhow::Result<Side> {
        Ok(match name {
            ServerName::Official => {
                let (_, version) = OVERRIDES[1];
                Side { name: format!("automerge-repo {version}"), program: Program::Official(install()?) }
            }
            ServerName::Hashmill(None) => {
                let built = builds::product("hashmill", &["--release", "--features", "serve"])?;
                // Another build must not replace it while it runs.
                let copy = builds::target().join("rivals").join("hashmill-serve");
                fs::create_dir_all(copy.parent().unwrap_or(Path::new(".")))?;
                hashmill_atomic_file::copy(&built, &copy)?;
                Side { name: "hashmill".to_owned(), program: Program::Hashmill(copy) }
            }
            ServerName::Hashmill(Some(program)) => {
                let program = fs::canonicalize(program).with_context(|| program.display().to_string())?;
                Side { name: program.display().to_string(), program: Program::Hashmill(program) }
            }
            ServerName::Running(address, pid) => {
                Side { name: address.to_string(), program: Program::Running(*address, *pid) }
            }
        })
    }

    /// Makes a storage of this server from a directory in the format of automerge-repo, which it may be itself.
    pub(super) fn import(&self, nodefs: &Path, data: &Path) -> anyhow::Result<PathBuf> {
        match &self.program {
            Program::Official(_) => Ok(nodefs.to_owned()),
            Program::Hashmill(program) => {
                let mut command = Command::new(program);
                command.args(["serve", "import", "--data"]).arg(data).arg(nodefs);
                let output = command.output().with_context(|| program.display().to_string())?;
                let error = String::from_utf8_lossy(&output.stderr);
                ensure!(output.status.success(), "importing {}: {error}", nodefs.display());
                Ok(data.to_owned())
            }
            Program::Running(..) => bail!("this row starts its server: name `official` or `hashmill`"),
        }
    }

    /// Can it be killed and started again?
    pub(super) fn can_restart(&self) -> bool {
        !matches!(self.program, Program::Running(..))
    }

    /// Starts the server on a storage, and waits until it answers.
    pub(super) fn start(&self, data: &Path) -> anyhow::Result<Server> {
        let start = Instant::now();
        let mut server = match &self.program {
            Program::Running(address, pid) => {
                Server { address: *address, pid: *pid, child: None, start_time: Duration::ZERO }
            }
            Program::Hashmill(program) => {
                let settings = data.with_extension("toml");
                fs::write(&settings, SETTINGS).with_context(|| settings.display().to_string())?;
                let mut command = Command::new(program);
                command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
                command.arg("--settings").arg(settings).env_remove("PORT").env_remove("DATA_DIR");
                spawn(&mut command)?
            }
            Program::Official(script) => {
                let start = || {
                    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
                    let mut command = Command::new("node");
                    spawn(command.arg(script).env("PORT", free.port().to_string()).env("DATA_DIR", data))
                };
                let mut attempt = start();
                for _ in 1..PORT_ATTEMPTS {
                    if attempt.is_ok() {
                        break;
                    }
                    attempt = start();
                }
                attempt?
            }
        };
        wait_for_greeting(server.address, START_LIMIT).with_context(|| self.name.clone())?;
        server.start_time = start.elapsed();
        Ok(server)
    }
}

/// A server that answers. It is killed with this value, unless it ran before.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) pid: u32,
    /// Time from the start of the process to the answer to the first client.
    pub(super) start_time: Duration,
    child: Option<Child>,
}

impl Server {
    /// Kills it without warning.
    pub(super) fn kill(mut self) -> anyhow::Result<()> {
        self.end()
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill().and_then(|()| child.wait()).context("killing the server")?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its measurement has failed before.
        let _ = self.end();
    }
}

/// Starts a server, and waits until it prints its port.
fn spawn(command: &mut Command) -> anyhow::Result<Server> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("starting {name}"))?;
    let lines = BufReader::new(child.stdout.take().context("a pipe")?).lines();
    let (sender, ports) = channel();
    // The output is read to its end: a full pipe would block the server.
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some(port) = parse_port(&line) {
                // The starter may have given up.
                let _ = sender.send(port);
            }
        }
    });
    let pid = child.id();
    let mut server = Server {
        address: (Ipv4Addr::LOCALHOST, 0).into(),
        pid,
        child: Some(child),
        start_time: Duration::ZERO,
    };
    let port = wait_for_port(&ports).with_context(|| format!("{name} did not start to listen"))?;
    server.address.set_port(port);
    Ok(server)
}

fn wait_for_port(ports: &Receiver<u16>) -> anyhow::Result<u16> {
    ports.recv_timeout(START_LIMIT).map_err(|error| anyhow!("{error}"))
}

fn parse_port(line: &str) -> Option<u16> {
    let hashmill = || line.strip_prefix("listening on ws://127.0.0.1:")?.split(',').next();
    line.strip_prefix("Listening on port ").or_else(hashmill)?.trim().parse().ok()
}

/// Installs Automerge's server below the target folder, unless it is there. Returns its script.
fn install() -> anyhow::Result<PathBuf> {
    let folder = builds::target().join("rivals").join("sync-server");
    let (name, version) = OFFICIAL;
    let modules = folder.join("node_modules");
    let is_installed = || {
        let mut wanted = OVERRIDES.iter().chain([&OFFICIAL]);
        wanted.all(|(name, version)| installed_version(&modules.join(name)).as_deref() == Some(*version))
    };
    if !is_installed() {
        let overrides: serde_json::Map<_, _> =
            OVERRIDES.iter().map(|(name, version)| ((*name).to_owned(), (*version).into())).collect();
        let package = serde_json::json!({
            "private": true,
            "dependencies": { name: version },
            "overrides": overrides,
        });
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        fs::write(folder.join("package.json"), package.to_string())?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&folder);
        let output = npm.output().context("npm, which installs Automerge's server")?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "npm install in {}: {error}", folder.display());
        ensure!(is_installed(), "npm installed other versions in {}", folder.display());
    }
    Ok(modules.join(name).join("src/index.js"))
}

fn installed_version(package: &Path) -> Option<String> {
    let text = fs::read(package.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_slice(&text).ok()?;
    Some(package["version"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_names() {
        assert_eq!("official".parse(), Ok(ServerName::Official));
        assert_eq!("hashmill".parse(), Ok(ServerName::Hashmill(None)));
        assert_eq!("hashmill=a/b".parse(), Ok(ServerName::Hashmill(Some("a/b".into()))));
        let running = ServerName::Running(([127, 0, 0, 1], 3030).into(), 7);
        assert_eq!("ws://127.0.0.1:3030/=7".parse(), Ok(running));
        for wrong in ["", "samod", "official=1", "ws://127.0.0.1:3030", "ws://10.0.0.1:3030=7", "ws://x:1=1"]
        {
            assert!(wrong.parse::<ServerName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ports_are_in_lines_of_both_programs() {
        assert_eq!(parse_port("Listening on port 3030"), Some(3030));
        assert_eq!(parse_port("listening on ws://127.0.0.1:4567, storage 56"), Some(4567));
        assert_eq!(parse_port("listening on port x"), None);
    }

    #[test]
    fn a_program_that_ends_is_an_error() {
        let error = spawn(&mut Command::new("true")).err().expect("it does not listen");
        assert!(format!("{error:#}").starts_with("true did not start to listen"), "{error:#}");
    }
}
