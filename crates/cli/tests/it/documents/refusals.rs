//! `hashmill doc sync` with servers whose changes are refused, or that refuse ours: the reports, however the run ends.

use super::server::{ID, by_shared_actor, field, read_frame, refusal, say, socket, welcome, with};
use crate::world::{Done, World, hashmill};
use hashmill_doc::sync::{Message as SyncMessage, MessageFlags, State, SyncDoc as _};
use hashmill_doc::{ChangeHash, Document};
use std::net::TcpStream;
use std::sync::mpsc::{Sender, channel};
use tungstenite::{Message, WebSocket};

/// A change that no server sends.
const WITHHELD: ChangeHash = ChangeHash([7; 32]);

/// A sync message with the changes of these documents.
fn with_changes(heads: &[ChangeHash], docs: &[Document]) -> Vec<u8> {
    let mut message = SyncMessage::default();
    message.heads = heads.to_vec().into();
    message.flags = Some(MessageFlags::SUPPORTS_SYNC_RESET);
    message.changes =
        docs.iter().flat_map(|doc| doc.get_changes(&[])).map(|change| change.raw_bytes()).collect();
    message.encode()
}

/// What a server does after its message with refused changes. Gets the id of the client.
type Ending = fn(&mut WebSocket<TcpStream>, &str);

/// A server that sends these changes, and names another one that it never sends.
fn sending(docs: Vec<Document>, ending: Ending) -> String {
    socket(move |socket| {
        let client = welcome(socket);
        read_frame(socket).expect("a message");
        let mut heads: Vec<ChangeHash> = docs.iter().flat_map(Document::get_heads).collect();
        heads.push(WITHHELD);
        say(socket, &client, ID, &with_changes(&heads, &docs));
        ending(socket, &client);
    })
}

impl World {
    /// Syncs a document of the shared actor with a server.
    fn sync(&self, url: &str, flags: &[&str]) -> Done {
        self.write("mine.amrg", by_shared_actor("one").save());
        let args = ["doc", "sync", "mine.amrg", url, "--id", ID];
        self.run(&hashmill(), args.iter().chain(flags), b"")
    }

    /// As above. The speed of this machine under load is unknown, so the timeout is doubled until `is_late` is false.
    fn sync_in_time(
        &self,
        url: impl Fn() -> String,
        flags: &[&str],
        is_late: impl Fn(&Done) -> bool,
    ) -> Done {
        (0..7)
            .map(|power| self.sync(&url(), &[flags, &["--timeout", &(1 << power).to_string()]].concat()))
            .find(|done| !is_late(done))
            .expect("a server that answers within a minute")
    }
}

fn listen(socket: &mut WebSocket<TcpStream>) {
    while socket.read().is_ok() {}
}

#[test]
fn each_refusal_is_reported_once_however_a_sync_ends() {
    let world = World::new();
    let (two, good) = (by_shared_actor("two"), with("theirs"));
    let refusal_text = refusal(&two);
    let endings: [(&str, Ending); 7] = [
        ("closed the connection", |_, _| {}),
        ("sends text, which is not automerge-repo's protocol", |socket, _| {
            socket.send(Message::text("hi")).expect("a client");
        }),
        ("sends data that is not a message", |socket, _| {
            socket.send(Message::binary(&b"\xa1"[..])).expect("a client");
        }),
        ("sends an invalid sync message", |socket, client| say(socket, client, ID, b"no message")),
        ("closed the connection", |socket, client| {
            // The same change again, three times.
            for _ in 0..3 {
                let heads = by_shared_actor("two").get_heads();
                say(socket, client, ID, &with_changes(&[heads[0], WITHHELD], &[by_shared_actor("two")]));
            }
        }),
        ("did not answer for", |socket, _| listen(socket)),
        ("but does not send it", |socket, client| {
            let heads = by_shared_actor("two").get_heads();
            while read_frame(socket).is_some() {
                say(socket, client, ID, &with_changes(&[heads[0], WITHHELD], &[]));
            }
        }),
    ];
    for (end, ending) in endings {
        for flags in [&[][..], &["--json"]] {
            let server = || sending(vec![two.clone(), good.clone()], ending);
            let done = world.sync_in_time(server, flags, |done| {
                !done.err.contains(end)
                    || done.err.contains("did not answer") && !done.err.contains(&refusal_text)
            });
            let lines: Vec<&str> = done.err.lines().collect();
            assert_eq!((done.code(), lines.len(), &*done.text()), (1, 2, ""), "{done:?}");
            assert!(lines[0].ends_with(&refusal_text) && lines[1].contains(end), "{done:?}");
        }
    }
}

/// More changes are refused than are named: those that are not named are counted, once.
#[test]
fn refusals_are_bounded_and_counted() {
    let world = World::new();
    let docs: Vec<Document> = (0..70).map(|number| by_shared_actor(&format!("key {number}"))).collect();
    let assert_bounded = |done: &Done| {
        let named: Vec<&Document> = docs.iter().filter(|doc| done.err.contains(&refusal(doc))).collect();
        let lines = |text: &str| done.err.lines().filter(|line| line.contains(text)).count();
        assert_eq!((named.len(), lines("was refused: "), lines("were refused")), (64, 64, 1), "{done:?}");
        assert_eq!((lines(": 6 more changes were refused"), done.code()), (1, 1), "{done:?}");
    };
    assert_bounded(&world.sync(&sending(docs.clone(), |_, _| {}), &[]));
    // A server that has sent all it names.
    let all = docs.clone();
    let url = socket(move |socket| {
        let client = welcome(socket);
        read_frame(socket).expect("a message");
        let heads: Vec<ChangeHash> = all.iter().flat_map(Document::get_heads).collect();
        say(socket, &client, ID, &with_changes(&heads, &all));
        listen(socket);
    });
    let done = world.sync(&url, &["--json"]);
    assert_bounded(&done);
    let report: serde_json::Value = serde_json::from_str(&done.text()).expect("JSON");
    let refused = report["refused"].as_array().expect("a list");
    assert_eq!((refused.len(), &report["refused_total"]), (64, &70.into()));
    for change in refused {
        let [hash, reason] = ["hash", "reason"].map(|name| change[name].as_str().expect("text"));
        assert!(done.err.contains(&format!("its change {hash} was refused: {reason}\n")), "{change}");
    }
}

#[test]
fn reports_without_refusals_say_so() {
    let world = World::new();
    world.write("a.amrg", with("a").save()).write("b.amrg", with("b").save());
    for other in ["b.amrg".to_owned(), super::server::serving(with("c"))] {
        let flags: &[&str] = if other.starts_with("ws") { &["--id", ID] } else { &[] };
        let args = ["doc", "sync", "a.amrg", &other, "--json"];
        let line = world.run(&hashmill(), args.iter().chain(flags), b"").quiet_success();
        let report: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let counts = ["refused_total", "unaccepted"].map(|name| report[name].as_u64());
        assert_eq!((&report["refused"], counts), (&serde_json::json!([]), [Some(0); 2]), "{line}");
    }
}

/// The missing changes of a server are in the order of their hashes: the refused one may come first or last.
#[test]
fn servers_are_not_blamed_for_refused_changes() {
    let world = World::new();
    let refused = by_shared_actor("two").get_heads()[0];
    for withheld in [ChangeHash([0; 32]), ChangeHash([0xff; 32])] {
        let server = || {
            socket(move |socket| {
                let client = welcome(socket);
                let mut changes = vec![by_shared_actor("two")];
                while read_frame(socket).is_some() {
                    say(socket, &client, ID, &with_changes(&[refused, withheld], &changes));
                    changes.clear();
                }
            })
        };
        let done = world.sync_in_time(server, &[], |done| done.err.contains("did not answer"));
        let reason = format!(": names the change {withheld}, but does not send it\n");
        assert!(done.code() == 1 && done.err.ends_with(&reason), "{done:?}");
    }
}

/// Receives a message and drops its changes, which it reports.
fn drop_changes(heads: &[ChangeHash], doc: &mut Document, data: &[u8], dropped: &Sender<usize>) -> Vec<u8> {
    let mut message = SyncMessage::decode(data).expect("sound");
    let _ = dropped.send(message.changes.len());
    message.changes.clear();
    let mut state = State::new();
    doc.receive_sync_message(&mut state, message).expect("sound");
    let mut answer = doc.generate_sync_message(&mut state).expect("an answer");
    assert_eq!(answer.heads[..], *heads);
    // What the file lacks is sent each time.
    answer.changes = doc.get_changes(&[]).iter().map(|change| change.raw_bytes()).collect();
    answer.encode()
}

/// A server that answers every message and takes no change.
#[test]
fn changes_that_a_server_does_not_take_are_reported() {
    let world = World::new();
    for edits in [1, 3] {
        let mut doc_before = by_shared_actor("one");
        let first = doc_before.get_heads()[0];
        for number in 1..edits {
            use hashmill_doc::{ROOT, Transactable as _};
            doc_before.transact(|tx| tx.put(ROOT, "one", number)).expect("a sound edit");
        }
        world.write("mine.amrg", doc_before.save());
        let (dropped, dropped_counts) = channel();
        let url = socket(move |socket| {
            let client = welcome(socket);
            let mut doc = with("theirs");
            let heads = doc.get_heads();
            while let Some((texts, data)) = read_frame(socket) {
                assert_eq!(field(&texts, "documentId"), ID);
                say(socket, &client, ID, &drop_changes(&heads, &mut doc, &data, &dropped));
            }
        });
        let done = world.in_doc(["sync", "mine.amrg", &url, "--id", ID, "--timeout", "100", "--json"]);
        let reason = match edits {
            1 => format!("{url}/: has not taken our change {first}; it answered 10 times without it"),
            _ => format!(
                "{url}/: has not taken our change {first} and 2 more; it answered 10 times without them"
            ),
        };
        let report: serde_json::Value = serde_json::from_str(&done.failure(1, &[&reason])).expect("JSON");
        let counts = ["received", "sent", "unaccepted"].map(|name| report[name].as_u64());
        assert_eq!(counts, [Some(1), Some(0), Some(edits)], "{report}");
        assert_eq!(world.in_doc(["get", "mine.amrg", "/theirs"]).quiet_success(), "1\n");
        assert!(dropped_counts.iter().any(|count| count > 0), "no change was sent");
    }
}

/// A server that drops our change and then stops responding.
#[test]
fn timeouts_tell_what_a_server_has_not_taken() {
    let world = World::new();
    let hash = by_shared_actor("one").get_heads()[0];
    let reason = format!(" and has not taken our change {hash}");
    for (answers, more) in
        [(1, ""), (2, "; it answered once without it"), (4, "; it answered 3 times without it")]
    {
        let server = || {
            socket(move |socket| {
                let client = welcome(socket);
                let mut doc = with("theirs");
                let heads = doc.get_heads();
                for _ in 0..answers {
                    let Some((_, data)) = read_frame(socket) else { return };
                    say(socket, &client, ID, &drop_changes(&heads, &mut doc, &data, &channel().0));
                }
                listen(socket);
            })
        };
        let end = format!(" s (see --timeout){reason}{more}\n");
        let done = world.sync_in_time(server, &[], |done| !done.err.ends_with(&end));
        assert_eq!((done.code(), done.err.lines().count(), &*done.text()), (1, 1, ""), "{done:?}");
    }
}

/// Signals and lost connections during `--watch`.
#[cfg(unix)]
#[test]
fn each_refusal_is_reported_once_however_a_watch_ends() {
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;
    use std::process::Command;
    hashmill_testkit::signal::heed();
    // The number of connections before the signal. Each sends the same refused change, and the last stays open if `is_open`.
    for (connections, is_open) in [(1, true), (1, false), (2, true)] {
        let world = World::new();
        world.write("mine.amrg", by_shared_actor("one").save());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("ws://{}", listener.local_addr().expect("an address"));
        let (processed, was_processed) = channel();
        std::thread::spawn(move || {
            for number in 1..=connections {
                let stream = listener.accept().expect("a client").0;
                let mut socket = tungstenite::accept(stream).expect("a WebSocket");
                let client = welcome(&mut socket);
                read_frame(&mut socket).expect("a message");
                let two = by_shared_actor("two");
                let heads = [two.get_heads()[0], WITHHELD];
                say(&mut socket, &client, ID, &with_changes(&heads, &[two]));
                // The client requests the other change when it has processed the message.
                read_frame(&mut socket).expect("a message");
                let _ = processed.send(number);
                if number == connections && is_open {
                    listen(&mut socket);
                }
            }
            // The port stays in use, without answers.
            while listener.accept().is_ok() {}
        });
        let mut command = Command::new(hashmill());
        command.args(["doc", "sync", "mine.amrg", &url, "--id", ID, "--watch", "--timeout", "100"]);
        let mut child = world.start(&mut command);
        let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
        let (mut lines, refusal_text) = (Vec::new(), refusal(&by_shared_actor("two")));
        let mut read_line = |lines: &mut Vec<String>| {
            let mut line = String::new();
            let len = err.read_line(&mut line).expect("text");
            lines.push(line);
            len > 0
        };
        assert!(was_processed.iter().any(|number| number == connections));
        let expected = connections + usize::from(!is_open);
        while lines.len() < expected && read_line(&mut lines) {}
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a process");
        let done = crate::world::finish(child);
        while read_line(&mut lines) {}
        let refusals = lines.iter().filter(|line| line.contains(&refusal_text)).count();
        let losses = lines.iter().filter(|line| line.contains("closed the connection")).count();
        let expected = (1, connections - usize::from(is_open));
        assert_eq!((refusals, losses), expected, "{lines:?}");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(2), "{done:?}");
    }
}
