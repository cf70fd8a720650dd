//! `cargo rivals serve`: bots beside `hashmill serve`, a server of the newest library, and servers that fail.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;

use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::Message;
use hashmill_testkit::wait;
use serde_json::Value;

use crate::node::{Server, program_path};

/// Runs a measurement. Returns its exit code, and the rounds of its sides.
fn load(row: &[&str], servers: &[String]) -> (Option<i32>, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hashmill-rivals"));
    command.arg("serve").args(row).arg("--json");
    for server in servers {
        command.args(["--server", server]);
    }
    let output = wait::output(&mut command).expect("the load program");
    let error = String::from_utf8_lossy(&output.stderr);
    let rounds = serde_json::from_slice::<Value>(&output.stdout);
    let rounds = rounds.unwrap_or_else(|_| panic!("{:?}: {error}", output.status))["rounds"].take();
    let rounds: Vec<Vec<Value>> = serde_json::from_value(rounds).expect("rounds of sides");
    (output.status.code(), rounds.into_iter().flatten().collect())
}

fn hashmill() -> String {
    format!("hashmill={}", program_path().display())
}

#[test]
fn typists_reach_each_other_through_servers_of_both() {
    let official = Server::newest();
    let official = format!("{}={}", official.url(), official.pid());
    let row = ["typists", "--typists", "3", "--documents", "2", "--rate", "5", "--warm-up", "0.2"];
    // A busy machine delays bots.
    let row = [&row[..], &["--seconds", "1", "--max-delay", "300", "--rounds", "2"]].concat();
    let (code, samples) = load(&row, &[official, hashmill()]);
    assert_eq!((code, samples.len()), (Some(0), 4), "{samples:?}");
    for sample in samples {
        let number = |name: &str| sample[name].as_f64().unwrap_or_else(|| panic!("{name} in {sample}"));
        // The phases of typists decide about an edit at either end.
        assert!((24.0..=36.0).contains(&number("measured edits")), "{sample}");
        assert!(number("latency to others p50, ms") > 0.0 && number("server memory, MiB") > 1.0);
        assert!(number("latency to others p50, ms") <= number("latency to others p99, ms"));
        assert!(number("seconds until the last edit arrived") > 0.0);
    }
}

#[test]
fn sockets_are_greeted_and_counted() {
    let (code, samples) = load(&["sockets", "--count", "60", "--seconds", "0.1"], &[hashmill()]);
    assert_eq!((code, samples.len()), (Some(0), 1), "{samples:?}");
    assert!(samples[0]["joins per second"].as_f64().is_some_and(|joins| joins > 0.0));
}

#[test]
fn stored_documents_are_opened() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("document");
    let mut doc = Document::new();
    for number in 0..300 {
        doc.transact(|tx| tx.put(ROOT, "number", number)).expect("there is room");
    }
    fs::write(&file, doc.save()).expect("a file");
    let file = file.to_str().expect("a path of Unicode");
    let (code, samples) = load(&["open", file, "--idle", "0"], &[hashmill()]);
    assert_eq!(code, Some(0), "{samples:?}");
    assert_eq!(samples[0]["changes of the document"], 300.0);
    let (code, samples) = load(&["stored", "--documents", "40", "--opens", "20"], &[hashmill()]);
    assert_eq!(code, Some(0), "{samples:?}");
    assert_eq!(samples[0]["opens"], 20.0);
}

#[test]
fn growth_of_the_memory_fails_a_soak() {
    let row =
        ["soak", "--seconds", "6", "--shift", "0.7", "--typists", "8", "--rate", "20", "--visits", "50"];
    let (code, samples) = load(&[&row[..], &["--max-growth", "16"]].concat(), &[hashmill()]);
    assert_eq!(code, Some(0), "{samples:?}");
    let number = |name: &str| samples[0][name].as_f64().unwrap_or_else(|| panic!("{name} in {samples:?}"));
    assert!(number("edits") > 8.0 && number("documents") >= 2.0 && number("visits") >= 1.0, "{samples:?}");
    // No memory shrinks by this much.
    let (code, samples) = load(&[&row[..], &["--max-growth=-100000"]].concat(), &[hashmill()]);
    assert_eq!(code, Some(1), "{samples:?}");
    let reason = samples[0]["failed"].as_str().expect("a reason");
    assert!(reason.starts_with("the memory grows from "), "{reason}");
}

/// The program, but each start deletes the storage.
fn write_forgetful_program(path: &Path) {
    let program = program_path();
    let script = format!(
        "#!/bin/sh\nfor last; do case \"$before\" in --data) rm -rf \"$last\";; esac; before=$last; done\n\
         exec '{}' \"$@\"\n",
        program.display()
    );
    fs::write(path, script).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file");
}

#[test]
fn lost_edits_are_found_after_kills() {
    let row = ["kills", "--kills", "2", "--typists", "3", "--documents", "2", "--within", "0.3"];
    let (code, samples) = load(&row, &[hashmill()]);
    assert_eq!(code, Some(0), "{samples:?}");
    assert_eq!(
        (&samples[0]["confirmed edits lost"], &samples[0]["kills with a loss"]),
        (&0.0.into(), &0.0.into())
    );
    let confirmed = samples[0]["confirmed edits"].as_f64().expect("a number");
    assert!(confirmed >= 2.0, "{samples:?}");

    let folder = tempfile::tempdir().expect("a directory");
    let forgetful = folder.path().join("forgetful");
    write_forgetful_program(&forgetful);
    let (code, samples) = load(&row, &[format!("hashmill={}", forgetful.display())]);
    assert_eq!(code, Some(0), "{samples:?}");
    assert_eq!(samples[0]["kills with a loss"], 2.0, "{samples:?}");
    assert_eq!(samples[0]["confirmed edits lost"], samples[0]["confirmed edits"]);
}

/// A server that greets, and closes the socket at the first sync message.
fn serve_greetings_alone(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut socket = tungstenite::accept(stream.expect("a client")).expect("a WebSocket");
        while let Ok(frame) = socket.read() {
            let answer = match Message::decode(&frame.into_data()) {
                Ok(Message::Join { sender, .. }) => {
                    let (target, version) = (sender.into_owned().into(), "1".into());
                    Message::Peer { sender: "server".into(), target, metadata: Default::default(), version }
                        .encode()
                }
                _ => break,
            };
            // The client may be gone.
            let _ = socket.send(tungstenite::Message::Binary(answer.into()));
        }
    }
}

#[test]
fn a_server_that_closes_sockets_fails_the_round() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a port").port();
    thread::spawn(move || serve_greetings_alone(&listener));
    let server = format!("ws://127.0.0.1:{port}={}", std::process::id());
    let (code, samples) = load(&["typists", "--typists", "2"], &[server]);
    assert_eq!(code, Some(1), "{samples:?}");
    let reason = samples[0]["failed"].as_str().expect("a reason");
    assert!(reason.starts_with("bot 0"), "{reason}");
}
