//! `hashmill doc sync` with Automerge's servers and clients, and those clients with `hashmill serve`.

use crate::node::Generation::{Newest, Next, Older};
use crate::node::{Generation, Server, Typist, hashmill, said, well};
use crate::say::say;
use hashmill_doc::Document;
use hashmill_testkit::wait;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A directory with documents.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn word(&self, name: &str) -> String {
        self.path(name).to_str().expect("a path of Unicode").to_owned()
    }

    /// Syncs a file with a document on a server; says what came and went.
    #[track_caller]
    fn sync(&self, name: &str, server: &Server, url: &str) -> (Value, Value) {
        let line = well(["sync", &self.word(name), &server.url(), "--id", url, "--json"]);
        let line: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line["document"], url);
        (line["received"].clone(), line["sent"].clone())
    }
}

fn url(said: &Value) -> &str {
    said["url"].as_str().expect("a URL")
}

/// Whether two said the same of a document, wherever it is.
#[track_caller]
fn assert_same(ours: &Value, theirs: &Value) {
    for what in ["heads", "value", "marks", "spans", "title"] {
        assert_eq!(ours[what], theirs[what]);
    }
}

/// Documents go both ways, between a server, its clients of two generations and us.
fn converse(server: &Server, [first, second]: [Generation; 2]) {
    let desk = Desk::new();
    let made = first.said("peers/peer.mjs", [&server.url(), "create"]);
    // The older generation makes an empty document first.
    let changes = if first == Older { 2 } else { 1 };
    assert_eq!(desk.sync("fetched", server, url(&made)), (json!(changes), json!(0)));
    assert_same(&say(&desk.path("fetched")), &made);

    well(["put", &desk.word("fetched"), "/here", "[1, {\"__type\": \"timestamp\", \"value\": 5}]"]);
    assert_eq!(desk.sync("fetched", server, url(&made)), (json!(0), json!(1)));
    assert_same(
        &say(&desk.path("fetched")),
        &first.said("peers/peer.mjs", [&server.url(), "read", url(&made)]),
    );

    let changed = second.said("peers/peer.mjs", [&server.url(), "put", url(&made), "there", "a text"]);
    well(["put", &desk.word("fetched"), "/count", "{\"__type\": \"counter\", \"value\": 5}"]);
    assert_eq!(desk.sync("fetched", server, url(&made)), (json!(1), json!(1)));
    let ours = say(&desk.path("fetched"));
    assert_same(&ours, &first.said("peers/peer.mjs", [&server.url(), "read", url(&made)]));
    assert_eq!(ours["value"]["there"], changed["value"]["there"]);
    assert_eq!(desk.sync("fetched", server, url(&made)), (json!(0), json!(0)));

    // Another document, with marks, blocks and conflicts, which has no name yet.
    said("document.mjs", ["make", &desk.word("rich")]);
    let before = fs::read(desk.path("rich")).expect("a file");
    let line = well(["sync", &desk.word("rich"), &server.url(), "--new", "--json"]);
    let line: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&line["received"], &line["sent"]), (&json!(0), &json!(4)));
    let name = line["document"].as_str().expect("a URL");
    assert_ne!(name, url(&made));
    assert_eq!(fs::read(desk.path("rich")).expect("a file"), before);
    assert_same(&say(&desk.path("rich")), &second.said("peers/peer.mjs", [&server.url(), "read", name]));
    assert_eq!(desk.sync("again", server, name), (json!(4), json!(0)));
    assert_same(&say(&desk.path("again")), &say(&desk.path("rich")));
    assert_eq!(say(&desk.path("fetched")), ours, "nothing of it came into the first");

    let missing = ["sync", &desk.word("missing"), &server.url(), "--id", "4NMNnkMhL8jXrdJ9jamS58PAVdXu"];
    let output = wait::output(hashmill().args(missing)).expect("our program");
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{why}");
    assert!(why.ends_with(": has no such document, or denies access to it\n"), "{why}");
    assert!(!desk.path("missing").exists());
}

#[test]
fn documents_go_both_ways_through_the_reference_server() {
    let desk = Desk::new();
    converse(&Server::reference(&desk.path("data"), None), [Newest, Newest]);
}

#[test]
fn documents_go_both_ways_through_a_server_of_the_newest_library() {
    converse(&Server::newest(), [Newest, Newest]);
}

#[test]
fn documents_go_both_ways_through_our_server() {
    let desk = Desk::new();
    let server = Server::ours(&desk.path("data"), None);
    converse(&server, [Older, Newest]);
    converse(&server, [Newest, Next]);
    converse(&server, [Next, Older]);
}

/// A client types without pause while the server is killed again and again, and the client once. The last reader starts with
/// nothing.
fn type_beside_kills(typing: Generation, reading: Generation) {
    let desk = Desk::new();
    let (data, storage) = (desk.path("data"), desk.path("storage"));
    let server = Server::ours(&data, None);
    let port = server.port;
    let mut typist = Typist::start(typing, &server, &storage, None);
    let before = typist.confirmed_above(2);
    drop(server);
    let server = Server::ours(&data, Some(port));
    // The client connects again, and goes on.
    typist.confirmed_above(before);
    let url = typist.url.clone();
    let told = typist.end();
    // Another process goes on from the storage of the client, which has the state of its sync with the server.
    let mut typist = Typist::start(typing, &server, &storage, Some(&url));
    let told = typist.confirmed_above(told.unwrap_or(before));
    drop(server);
    // The server is gone before the client, which therefore has said all that it was told.
    let told = typist.end().unwrap_or(told);
    let server = Server::ours(&data, Some(port));
    let read = reading.said("peers/peer.mjs", [&server.url(), "read", &url]);
    let number = read["value"]["number"].as_u64();
    assert!(number.is_some_and(|number| number >= told), "{told} was confirmed: {read}");
}

#[test]
fn our_server_has_what_it_confirmed_to_clients_of_the_newest_library() {
    type_beside_kills(Newest, Older);
}

#[test]
fn our_server_has_what_it_confirmed_to_clients_of_the_older_library() {
    type_beside_kills(Older, Newest);
}

#[test]
fn our_server_has_what_it_confirmed_to_clients_of_the_next_library() {
    type_beside_kills(Next, Newest);
}

/// All that a server keeps of a document, one chunk behind the other.
fn kept(folder: &Path, bytes: &mut Vec<u8>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            kept(&path, bytes);
        } else if ["snapshot", "incremental"]
            .iter()
            .any(|kind| path.parent().is_some_and(|in_| in_.ends_with(kind)))
        {
            bytes.extend(fs::read(&path).unwrap_or_default());
        }
    }
}

#[test]
fn a_server_keeps_what_it_was_sent() {
    let desk = Desk::new();
    let data = desk.path("data");
    let server = Server::reference(&data, None);
    said("document.mjs", ["make", &desk.word("rich")]);
    let line = well(["sync", &desk.word("rich"), &server.url(), "--new", "--json"]);
    let line: Value = serde_json::from_str(&line).expect("JSON");
    let heads = line["heads"].clone();
    // It writes a little later.
    wait::until("the heads of what the server keeps", || {
        let mut bytes = Vec::new();
        kept(&data, &mut bytes);
        let heads_there = Document::load(&bytes)
            .ok()
            .map(|doc| json!(doc.get_heads().iter().map(ToString::to_string).collect::<Vec<_>>()));
        heads_there.as_ref() == Some(&heads)
    });
}

#[test]
fn watching_client_exchanges_changes() {
    let desk = Desk::new();
    let data = desk.path("data");
    let server = Server::reference(&data, None);
    let made = said("peers/peer.mjs", [&server.url(), "create"]);
    let word = desk.word("mine");
    let watch = ["sync", &word, &server.url(), "--id", url(&made), "--watch"];
    let mut command = hashmill();
    command.args(watch).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = wait::start(&mut command).expect("our program");
    let lines = |pipe| BufReader::new(pipe).lines().map(|line| line.expect("text"));
    let mut lines_out = lines(Box::new(child.stdout.take().expect("a pipe")) as Box<dyn std::io::Read>);
    let mut lines_err = lines(Box::new(child.stderr.take().expect("a pipe")) as Box<dyn std::io::Read>);
    let mut line = || lines_out.next().expect("a line");
    assert!(line().contains(": 1 change received, 0 sent, as automerge:"));
    let changed = said("peers/peer.mjs", [&server.url(), "put", url(&made), "there", "a text"]);
    assert!(line().contains(": 1 change received, 0 sent"));
    assert_same(&say(&desk.path("mine")), &changed);
    well(["put", &word, "/here", "1"]);
    let heard = said("peers/peer.mjs", [&server.url(), "await", url(&made), "here"]);
    assert!(line().contains(": 0 changes received, 1 sent"));
    assert_same(&say(&desk.path("mine")), &heard);

    // The server goes and comes again; what was done meanwhile is not lost.
    let port = server.port;
    drop(server);
    let why = lines_err.next().expect("a line");
    assert!(why.ends_with("closed the connection; retrying every 5 s"), "{why}");
    well(["put", &word, "/meanwhile", "2"]);
    let server = Server::reference(&data, Some(port));
    let heard = said("peers/peer.mjs", [&server.url(), "await", url(&made), "meanwhile"]);
    assert_same(&say(&desk.path("mine")), &heard);
}
