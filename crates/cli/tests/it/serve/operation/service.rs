//! The server as a service: its end by a signal, and the files of its packages.

use crate::serve::{Server, Socket, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::{size, skip, wait};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tungstenite::Message;
use tungstenite::protocol::frame::coding::CloseCode;

fn package_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Reads all frames of a socket that the server closes. Returns the code of the close.
fn read_to_close(socket: &mut Socket, mut receive: impl FnMut(&[u8])) -> Option<CloseCode> {
    let mut code = None;
    wait::until("a closed socket", || match socket.0.read() {
        Ok(Message::Binary(frame)) => {
            receive(&frame);
            false
        }
        Ok(Message::Close(frame)) => {
            code = frame.map(|frame| frame.code);
            false
        }
        Ok(_) => false,
        Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => false,
        Err(_) => true,
    });
    code
}

/// A change that was confirmed before the signal is there afterwards. One that was sent just before it is either confirmed and there, or
/// the client sends it again. Clients are told to come back: the server goes away. One that sends in this moment may miss this, because the
/// system resets a connection with unread bytes.
#[test]
#[cfg(unix)]
fn an_end_by_a_signal_keeps_what_was_confirmed() {
    let world = World::new();
    let id = DocumentId::from_random_bytes([1; 16]);
    let mut ann = client("ann", &id);
    for round in 0..size::of(8, 200) {
        let server = Server::start(&world);
        let (mut socket, mut quiet) = (server.connect(), server.connect());
        ann.connect();
        put(&mut ann, &id, vec![round as u8, 1]);
        wait_for(&mut socket, &mut ann, &id, SyncStatus::InSync);
        let confirmed = ann.document(&id).expect("it was added").get_heads();
        // Without waiting for the answer.
        put(&mut ann, &id, vec![round as u8, 2]);
        let now = Instant::now().elapsed();
        while let Some(frame) = ann.to_send(now) {
            socket.send(frame).expect("an open socket");
        }
        let done = server.stop();
        assert_eq!(done.code(), 0, "{done:?}");
        let code = read_to_close(&mut socket, |frame| {
            ann.received(frame, now).expect("no violation");
        });
        assert!(code.is_none_or(|code| code == CloseCode::Away), "{round}: {code:?}");
        assert_eq!(read_to_close(&mut quiet, |_| {}), Some(CloseCode::Away), "{round}");
        let their_heads =
            ann.conversation(&id).expect("it was added").their_heads().unwrap_or_default().to_vec();
        let server = Server::start(&world);
        let mut reader = client("reader", &id);
        wait_for(&mut server.connect(), &mut reader, &id, SyncStatus::InSync);
        let stored = reader.document(&id).expect("it was added");
        assert!(stored.get_missing_deps(&confirmed).is_empty(), "{round}: before the signal");
        assert!(stored.get_missing_deps(&their_heads).is_empty(), "{round}: confirmed after it");
        ann.connect();
        wait_for(&mut server.connect(), &mut ann, &id, SyncStatus::InSync);
        server.kill();
    }
}

/// systemd knows all settings of the unit, and takes it for well protected.
#[test]
#[cfg(target_os = "linux")]
fn the_unit_is_sound() {
    let version = Command::new("systemd-analyze").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        skip("the unit of systemd", "systemd-analyze is not installed");
        return;
    }
    let world = World::new();
    let unit = fs::read_to_string(package_file("hashmill-serve.service")).expect("a unit");
    let program = hashmill().display().to_string();
    assert!(unit.contains("ExecStart=/usr/bin/hashmill serve "));
    // The program of the test is where it can be found.
    world.write("hashmill-serve.service", unit.replace("/usr/bin/hashmill", &program));
    let path = world.path("hashmill-serve.service");
    let verified =
        Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output().expect("a tool");
    let messages = String::from_utf8_lossy(&verified.stderr).into_owned();
    let about_unit: Vec<&str> = messages.lines().filter(|line| line.contains("hashmill-serve")).collect();
    assert!(about_unit.is_empty(), "{messages}");
    // At most 2.0 of 10, where more is worse: network access is what a server needs.
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=20", "--no-pager"])
        .arg(&path)
        .output()
        .expect("a tool");
    let text = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.status.success(), "{text}{}", String::from_utf8_lossy(&judged.stderr));
}

/// The arguments of the unit and of the image are those of this program.
#[test]
fn packages_start_the_program_with_known_arguments() {
    let world = World::new();
    world.write("serve.toml", "lisen = 1\n");
    let unit = fs::read_to_string(package_file("hashmill-serve.service")).expect("a unit");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/hashmill serve "));
    let image = fs::read_to_string(package_file("serve.Containerfile")).expect("a description of an image");
    let command = image.lines().find_map(|line| line.strip_prefix("CMD ")).expect("a command");
    let command: Vec<String> = serde_json::from_str(command).expect("a list");
    let arguments = start.expect("a command").split(' ').map(str::to_owned).collect();
    for arguments in [arguments, command] {
        let here = arguments.iter().map(|argument| match argument.as_str() {
            "/etc/hashmill/serve.toml" => "serve.toml",
            argument => argument,
        });
        // It reads the settings, and no argument is unknown.
        let done = world.serve(&here.collect::<Vec<_>>());
        assert_eq!(done.code(), 2, "{done:?}");
        assert!(done.err.contains("serve.toml: line 1: unknown field `lisen`"), "{done:?}");
    }
}

/// Builds the image and starts it, where Docker is at hand and reaches the images that it needs.
#[test]
#[cfg(target_os = "linux")]
fn the_image_starts() {
    let docker = |args: &[&str]| Command::new("docker").args(args).output();
    if !docker(&["info"]).is_ok_and(|output| output.status.success()) {
        skip("the image of the server", "no Docker service is running");
        return;
    }
    if !docker(&["pull", "docker.io/library/rust:1.95-alpine"]).is_ok_and(|output| output.status.success()) {
        skip("the image of the server", "Docker cannot get rust:1.95-alpine");
        return;
    }
    let file = package_file("serve.Containerfile").display().to_string();
    let source = package_file("..").display().to_string();
    let built = docker(&["build", "-q", "-t", "hashmill-serve-test", "-f", &file, &source]).expect("Docker");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    // Without tokens it does not listen to other machines, and says why.
    let run = docker(&["run", "--rm", "hashmill-serve-test", "--listen", "0.0.0.0:3030"]).expect("Docker");
    let message = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.code() == Some(2) && message.contains("--open-to-all"), "{message}");
}
