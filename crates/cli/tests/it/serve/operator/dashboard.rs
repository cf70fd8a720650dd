//! The dashboard in a browser.

use super::super::{put, wait_for};
use super::{Operator, id, start, writer};
use crate::world::World;
use hashmill_repo::SyncStatus;
use hashmill_testkit::{Rng, browser, wait};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const TEST: &str = "serve: the dashboard in a browser";

#[test]
fn the_dashboard_shows_and_does_what_the_operator_may() {
    let Some(chromium) = browser::find(TEST) else { return };
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).status();
    if !node.is_ok_and(|status| status.success()) {
        return hashmill_testkit::skip(TEST, "no node here; Debian: apt-get install nodejs");
    }
    let world = World::new();
    let server = start(&world, "max-document-mib = 1\n");
    let operator = Operator::new(&world);
    // Names of clients are texts of others.
    let (mut ann, mut to_ann) = writer(&server, "<img src=x onerror=alert(1)>", &id(1), vec![1]);
    let (mut ben, mut to_ben) = writer(&server, "ben", &id(2), vec![2]);
    put(&mut ben, &id(2), Rng::new(1).bytes(2 << 20));
    wait_for(&mut to_ben, &mut ben, &id(2), SyncStatus::ReadOnlyPeer);

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/serve/operator/dashboard.mjs");
    let mut command = Command::new("node");
    command.arg(script).arg(chromium).arg(&operator.address).arg(&operator.token);
    command.args([id(1).to_string(), id(2).to_string()]);
    // Screenshots for people.
    if let Some(folder) = std::env::var_os("HASHMILL_SCREENSHOTS") {
        command.env("SCREENSHOTS", folder);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = wait::start(&mut command).expect("node");
    let mut stdin = child.stdin.take().expect("a pipe");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut results = Value::Null;
    for line in lines {
        let line = line.expect("a line");
        // The script asks for an edit, and shows that it arrives.
        if line == "edit" {
            put(&mut ann, &id(1), vec![3]);
            wait_for(&mut to_ann, &mut ann, &id(1), SyncStatus::InSync);
            ann.broadcast(&id(1), vec![0x40]);
            to_ann.exchange(&mut ann).expect("an open socket");
            writeln!(stdin, "done").expect("a pipe");
        } else {
            results = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
    }
    assert!(child.wait().expect("node").success(), "{results}");
    assert_eq!(results["complaints"], json!([]), "{results:#}");
    assert_eq!(
        results["wrong token"],
        "The token is wrong. Each start of the server without admin-token-file has a new one."
    );
    let mut ids = [id(1).to_string(), id(2).to_string()];
    ids.sort();
    assert_eq!(results["rows"], json!(ids));
    assert_eq!(
        results["quarantine"].as_str().map(|text| text.starts_with("In quarantine: it would become larger")),
        Some(true),
        "{results:#}"
    );
    assert_eq!(results["live changes"], "2");
    assert_eq!(results["presence"], "1");
    assert_eq!(results["overflows"], json!([]), "wider than the window");
    assert_eq!(results["unreachable"], json!([]), "not usable by keyboard");
    assert_eq!(results["deleted"], "deleted");
    // The actions reached the server.
    assert_eq!(operator.value(&format!("/admin/documents/{}", id(1)))["state"], "deleted");
    assert_eq!(operator.value("/admin/server")["usage"]["documents_quarantined"], 0);
    server.kill();
}
