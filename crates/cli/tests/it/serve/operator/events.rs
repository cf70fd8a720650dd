//! Streams of events.

use super::super::{Server, put, wait_for};
use super::{Operator, id, writer};
use crate::world::World;
use hashmill_repo::SyncStatus;
use hashmill_testkit::wait;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Lines, Read as _};
use std::net::TcpStream;

/// Number of streams that a server has.
const MAX_STREAMS: usize = 32;

/// An open stream.
struct Stream(Lines<BufReader<TcpStream>>);

impl Stream {
    fn open(operator: &Operator, query: &str) -> Stream {
        let stream = operator.start("GET", &format!("/admin/events{query}"), "", "");
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next().expect("a line").expect("a server");
        assert!(status.contains(" 200 "), "{status}");
        Stream(lines)
    }

    /// The next event with this name.
    fn next(&mut self, wanted: &str) -> Value {
        let _limit = wait::limit(format!("an event {wanted}"));
        loop {
            let line = self.0.next().expect("an open stream").expect("a server");
            if line.strip_prefix("event: ") == Some(wanted) {
                let data = self.0.next().expect("an open stream").expect("a server");
                return serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
            }
        }
    }
}

#[test]
fn facts_and_changes_of_a_document_arrive_as_they_happen() {
    let world = World::new();
    let server = Server::start(&world);
    let operator = Operator::new(&world);
    let (mut ann, mut socket) = writer(&server, "ann", &id(1), vec![1]);
    let mut stream = Stream::open(&operator, &format!("?document={}", id(1)));
    let first = stream.next("document");
    assert_eq!((&first["changes"], &first["clients"]), (&json!(1), &json!(1)));
    put(&mut ann, &id(1), vec![2]);
    wait_for(&mut socket, &mut ann, &id(1), SyncStatus::InSync);
    let second = stream.next("document");
    assert_eq!((&second["changes"], &second["history"][0]["seq"]), (&json!(2), &json!(2)));
    ann.broadcast(&id(1), vec![0x40]);
    socket.exchange(&mut ann).expect("an open socket");
    assert_eq!(stream.next("document")["participants"][0]["presence_messages"], 1);
    assert_eq!(operator.post(&format!("/admin/documents/{}/delete", id(1))).0, 200);
    let fact = stream.next("fact");
    assert_eq!((&fact["event"], &fact["document"]), (&json!("deleted"), &json!(id(1).to_string())));
    assert_eq!(stream.next("document")["state"], "deleted");
    // A later stream begins with the latest facts.
    assert_eq!(Stream::open(&operator, "").next("fact"), fact);
    let sample = stream.next("sample");
    assert_eq!(sample["connections"], 1, "{sample}");
    assert!(operator.value("/admin/rates")["samples"].as_array().is_some_and(|samples| !samples.is_empty()));
    let absent = Stream::open(&operator, &format!("?document={}", id(9))).next("document-error");
    assert_eq!(absent["code"], "absent");
    server.kill();
}

/// A thousand clients that read nothing cost the others nothing, and a bounded number has a stream.
#[test]
fn streams_are_bounded_and_end_with_their_clients() {
    let world = World::new();
    let server = Server::start(&world);
    let operator = Operator::new(&world);
    let mut streams: Vec<Stream> = (0..MAX_STREAMS).map(|_| Stream::open(&operator, "")).collect();
    let mut refused = Vec::new();
    for _ in 0..1000 {
        refused.push(operator.start("GET", "/admin/events", "", ""));
        if refused.len() == 50 {
            for mut stream in refused.drain(..) {
                let mut answer = String::new();
                stream.read_to_string(&mut answer).expect("an answer");
                assert!(answer.contains(" 503 ") && answer.contains("too-many-streams"), "{answer}");
            }
        }
    }
    assert_eq!(operator.get("/admin/server").0, 200);
    // Many facts for streams that are not read.
    for _ in 0..300 {
        assert!(server.get("/?token=wrong").starts_with("HTTP/1.1 200"));
        let refusal = super::Socket::try_open(&server.address, "/?token=wrong", &[]).err();
        assert!(refusal.is_some_and(|(status, _)| status == 401));
    }
    assert_eq!(streams[0].next("fact")["event"], "client-refused");
    streams.clear();
    wait::until("room for a stream", || {
        let mut stream = operator.start("GET", "/admin/events", "", "");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        head.ends_with(b"200")
    });
    server.kill();
}
