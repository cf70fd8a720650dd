//! `hashmill doc sync` with servers: working and faulty ones.

use crate::world::{Done, World, finish, hashmill};
use hashmill_doc::sync::{Message as SyncMessage, State, SyncDoc as _};
use hashmill_doc::{Document, ROOT, Transactable as _};
use minicbor::{Decoder, Encoder};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use tungstenite::{Message, WebSocket};

pub(crate) const ID: &str = "4NMNnkMhL8jXrdJ9jamS58PAVdXu";

/// Starts a server for one connection and returns its URL.
pub(crate) fn server(serve: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || serve(listener.accept().expect("a client").0));
    url
}

/// A server with WebSocket.
pub(super) fn socket(serve: impl FnOnce(&mut WebSocket<TcpStream>) + Send + 'static) -> String {
    server(|stream| {
        let mut socket = tungstenite::accept(stream).expect("a WebSocket");
        serve(&mut socket);
        // Close the connection if the client is still there.
        drop(socket.close(None));
        while socket.read().is_ok() {}
    })
}

/// A message with text fields and data.
fn message(fields: &[(&str, &str)], data: Option<&[u8]>) -> Message {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out);
    encoder.map((fields.len() + usize::from(data.is_some())) as u64).expect("room");
    for (name, value) in fields {
        encoder.str(name).and_then(|encoder| encoder.str(value)).expect("room");
    }
    if let Some(data) = data {
        encoder.str("data").and_then(|encoder| encoder.bytes(data)).expect("room");
    }
    Message::Binary(out.into())
}

/// The text fields of a frame.
pub(super) type Texts = Vec<(String, String)>;

/// The next frame, and its data if it has any.
pub(super) fn read_frame<S: Read + Write>(socket: &mut WebSocket<S>) -> Option<(Texts, Vec<u8>)> {
    let frame = loop {
        match socket.read().ok()? {
            Message::Binary(frame) => break frame,
            Message::Close(_) => return None,
            _ => {}
        }
    };
    let mut decoder = Decoder::new(&frame);
    let (mut texts, mut data) = (Vec::new(), Vec::new());
    for _ in 0..decoder.map().expect("a map").expect("a length") {
        let name = decoder.str().expect("a name").to_owned();
        match name.as_str() {
            "data" => data = decoder.bytes().expect("bytes").to_vec(),
            "peerMetadata" | "supportedProtocolVersions" => decoder.skip().expect("a value"),
            _ => texts.push((name, decoder.str().expect("a text").to_owned())),
        }
    }
    Some((texts, data))
}

pub(super) fn field(texts: &[(String, String)], name: &str) -> String {
    texts.iter().find(|(there, _)| there == name).expect("a field").1.clone()
}

/// Answers the client's greeting as the server `srv`. Returns the id of the client.
pub(super) fn welcome<S: Read + Write>(socket: &mut WebSocket<S>) -> String {
    let (join, _) = read_frame(socket).expect("a message");
    assert_eq!(field(&join, "type"), "join");
    let client = field(&join, "senderId");
    let peer =
        [("type", "peer"), ("senderId", "srv"), ("targetId", &client), ("selectedProtocolVersion", "1")];
    socket.send(message(&peer, None)).expect("a client");
    client
}

/// A frame for the client with this id.
type First = fn(&str) -> Message;

/// A server that has a document.
pub(crate) fn serving(doc: Document) -> String {
    socket(move |socket| serve(socket, &Mutex::new(doc)))
}

/// Serves one client of a document.
pub(crate) fn serve<S: Read + Write>(socket: &mut WebSocket<S>, doc: &Mutex<Document>) {
    let client = welcome(socket);
    let mut state = State::new();
    while let Some((texts, data)) = read_frame(socket) {
        let kind = field(&texts, "type");
        assert!(["request", "sync"].contains(&&*kind), "{kind}");
        let from = [field(&texts, "senderId"), field(&texts, "targetId")];
        assert_eq!(from, [client.clone(), "srv".to_owned()]);
        let id = field(&texts, "documentId");
        let mut doc = doc.lock().expect("no panic");
        doc.receive_sync_message(&mut state, SyncMessage::decode(&data).expect("sound")).expect("sound");
        while let Some(answer) = doc.generate_sync_message(&mut state) {
            say(socket, &client, &id, &answer.encode());
        }
    }
}

pub(super) fn say<S: Read + Write>(socket: &mut WebSocket<S>, client: &str, id: &str, data: &[u8]) {
    let fields = [("type", "sync"), ("senderId", "srv"), ("targetId", client), ("documentId", id)];
    socket.send(message(&fields, Some(data))).expect("a client");
}

/// A document with one key.
pub(crate) fn with(key: &str) -> Document {
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, key, 1)).expect("a sound edit");
    doc
}

/// A document with one change, whose actor and sequence number are those of every other such document.
pub(super) fn by_shared_actor(key: &str) -> Document {
    let mut doc = Document::new().with_actor("ab".parse().expect("an actor"));
    doc.transact(|tx| tx.put(ROOT, key, 1)).expect("a sound edit");
    doc
}

/// The report that the only change of a document of [`by_shared_actor`] is refused.
pub(super) fn refusal(doc: &Document) -> String {
    let hash = doc.get_heads()[0];
    format!("its change {hash} was refused: change {hash} repeats sequence number 1 of actor ab")
}

impl World {
    /// Syncs with a server that cannot deliver; the file stays unchanged.
    #[track_caller]
    pub(crate) fn in_vain(&self, url: &str) -> String {
        // The result must not depend on the speed of the machine.
        self.in_vain_within(url, 100)
    }

    /// As above with this timeout.
    #[track_caller]
    fn in_vain_within(&self, url: &str, seconds: u32) -> String {
        self.write("mine.amrg", with("mine").save());
        self.in_vain_with(url, &["--timeout", &seconds.to_string()])
    }

    /// As above with a server that stops responding at some point.
    #[track_caller]
    pub(crate) fn in_silence(&self, url: &str, flags: &[&str]) {
        let before = with("mine").save();
        self.write("mine.amrg", &before);
        let reason = self.in_vain_with(url, &[&["--timeout", "1"], flags].concat());
        assert_eq!(reason, "did not answer for 1 s (see --timeout)");
    }

    /// As above with further flags.
    #[track_caller]
    pub(crate) fn in_vain_with(&self, url: &str, flags: &[&str]) -> String {
        let before = fs::read(self.path("mine.amrg")).expect("a file");
        let args = ["doc", "sync", "mine.amrg", url, "--id", ID];
        let done = self.run(&hashmill(), args.iter().chain(flags), b"");
        assert_eq!((done.code(), done.err.lines().count(), &*done.text()), (1, 1, ""), "{done:?}");
        assert_eq!(fs::read(self.path("mine.amrg")).expect("a file"), before);
        let reason = done.err.strip_prefix(&format!("hashmill: {url}/: ")).expect("the server");
        reason.trim_end().to_owned()
    }

    fn files(&self) -> usize {
        fs::read_dir(self.path("")).expect("a directory").count()
    }
}

#[test]
fn syncs_with_a_server() {
    let world = World::new();
    world.write("mine.amrg", with("mine").save());
    let url = serving(with("theirs"));
    let output = world.in_doc(["sync", "mine.amrg", &url, "--id", ID]).quiet_success();
    assert_eq!(output, format!("mine.amrg: 1 change received, 1 sent, as automerge:{ID}\n"));
    assert_eq!(world.in_doc(["export", "mine.amrg"]).quiet_success(), "{\"mine\":1,\"theirs\":1}\n");
}

#[test]
fn fetches_missing_files() {
    let world = World::new();
    let (url, id) = (serving(with("theirs")), format!("automerge:{ID}"));
    let line = world.in_doc(["sync", "new.amrg", &url, "--id", &id, "--json"]).quiet_success();
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&line["received"], &line["sent"], &line["document"]), (&1.into(), &0.into(), &id.into()));
    assert_eq!(line["with"], format!("{url}/"));
    assert_eq!(world.in_doc(["export", "new.amrg"]).quiet_success(), "{\"theirs\":1}\n");
}

#[test]
fn new_server_document_needs_a_flag() {
    let world = World::new();
    world.write("mine.amrg", with("mine").save());
    let before = fs::read(world.path("mine.amrg")).expect("a file");
    // No server is contacted.
    let done = world.in_doc(["sync", "mine.amrg", "ws://localhost:1"]);
    assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{done:?}");
    assert!(done.err.contains("--id ID") && done.err.contains("--new"), "{done:?}");
    // A server that disconnects after it has received the document.
    let url = socket(|socket| {
        welcome(socket);
        read_frame(socket).expect("a message");
    });
    let done = world.in_doc(["sync", "mine.amrg", &url, "--new"]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
    assert!(
        done.err.contains(
            "closed the connection; part of the new document may be on the server: continue with --id automerge:"
        ),
        "{done:?}"
    );
    let output = world.in_doc(["sync", "mine.amrg", &serving(Document::new()), "--new"]).quiet_success();
    assert!(output.starts_with("mine.amrg: 0 changes received, 1 sent, as automerge:"), "{output}");
    assert_eq!(fs::read(world.path("mine.amrg")).expect("a file"), before);
}

/// Ten users move their cursors during the sync.
#[test]
fn presence_messages_do_not_end_a_sync() {
    let world = World::new();
    world.write("mine.amrg", with("mine").save());
    let url = socket(|socket| {
        let client = welcome(socket);
        let (mut doc, mut state) = (with("theirs"), State::new());
        let cursor = message(&[("type", "ephemeral"), ("senderId", "somebody"), ("documentId", ID)], None);
        while let Some((_, data)) = read_frame(socket) {
            (0..3000).for_each(|_| socket.send(cursor.clone()).expect("a client"));
            doc.receive_sync_message(&mut state, SyncMessage::decode(&data).expect("sound")).expect("sound");
            while let Some(answer) = doc.generate_sync_message(&mut state) {
                say(socket, &client, ID, &answer.encode());
            }
        }
    });
    let output = world.in_doc(["sync", "mine.amrg", &url, "--id", ID]).quiet_success();
    assert_eq!(output, format!("mine.amrg: 1 change received, 1 sent, as automerge:{ID}\n"));
}

#[test]
fn reports_missing_server_documents() {
    let world = World::new();
    let without = || {
        socket(|socket| {
            let client = welcome(socket);
            let (request, _) = read_frame(socket).expect("a message");
            let id = field(&request, "documentId");
            let fields = [
                ("type", "doc-unavailable"),
                ("senderId", "srv"),
                ("targetId", &client),
                ("documentId", &id),
            ];
            socket.send(message(&fields, None)).expect("a client");
        })
    };
    let missing = "has no such document, or denies access to it";
    assert_eq!(world.in_vain(&without()), missing);
    let url = without();
    let done = world.in_doc(["sync", "new.amrg", &url, "--id", ID]);
    done.failure(1, &[&format!("{url}/: {missing}")]);
    assert!(!world.path("new.amrg").exists());
}

#[test]
fn unusable_servers_leave_the_file() {
    let world = World::new();
    // The port of a client socket: no other process can use it, and nothing listens there.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a listener");
    let port = client.local_addr().expect("an address");
    assert!(world.in_vain(&format!("ws://{port}")).starts_with("cannot be reached: "));
    assert_eq!(world.in_vain(&server(drop)), "closed the connection");
    let silence = |mut stream: TcpStream| drop(stream.read_to_end(&mut Vec::new()));
    world.in_silence(&server(silence), &[]);
    let web = move |mut stream: TcpStream| {
        drop(stream.read(&mut [0; 4096]));
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHi"));
        silence(stream);
    };
    assert_eq!(world.in_vain(&server(web)), "answers with HTTP status 200 OK: not a WebSocket");
    // A redirect is not followed, but reported.
    for (status, expected) in [
        ("404 Not Found", "404 Not Found: not a WebSocket"),
        (
            "302 Found\r\nLocation: https://else.example/",
            "302 Found: not a WebSocket (it redirects to \"https://else.example/\")",
        ),
        ("101 Switching Protocols", ""),
    ] {
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        let web = move |mut stream: TcpStream| {
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(answer.as_bytes()));
            silence(stream);
        };
        let reason = world.in_vain(&server(web));
        if expected.is_empty() {
            assert!(reason.starts_with("not a WebSocket, or a faulty one: "), "{reason}");
        } else {
            assert_eq!(reason, format!("answers with HTTP status {expected}"));
        }
    }
    let mail = move |mut stream: TcpStream| {
        drop(stream.write_all(b"220 mail.example ESMTP\r\n\r\n"));
        silence(stream);
    };
    let reason = world.in_vain(&server(mail));
    assert!(reason.starts_with("not a WebSocket, or a faulty one: "), "{reason}");
    assert_eq!(world.files(), 1);
}

#[test]
fn reports_protocol_violations() {
    let world = World::new();
    let silence = |socket: &mut WebSocket<TcpStream>| while socket.read().is_ok() {};
    world.in_silence(&socket(silence), &[]);
    assert_eq!(world.in_vain(&socket(|_| {})), "closed the connection");
    let quiet = move |socket: &mut WebSocket<TcpStream>| {
        welcome(socket);
        silence(socket);
    };
    world.in_silence(&socket(quiet), &[]);
    let gone = |socket: &mut WebSocket<TcpStream>| drop(welcome(socket));
    assert_eq!(world.in_vain(&socket(gone)), "closed the connection");
    let first = |frame: First| {
        socket(move |socket| {
            let client = field(&read_frame(socket).expect("a message").0, "senderId");
            socket.send(frame(&client)).expect("a client");
        })
    };
    let cases: [(First, &str); 7] = [
        (|_| Message::text("hi"), "sends text, which is not automerge-repo's protocol"),
        (
            |_| Message::binary(&b"\xa1"[..]),
            "sends data that is not a message of automerge-repo: its CBOR cannot be read: end of input bytes",
        ),
        (
            |us| message(&[("type", "peer"), ("senderId", "srv"), ("targetId", us)], None),
            "sends data that is not a message of automerge-repo: it lacks the field selectedProtocolVersion",
        ),
        (
            |us| {
                let version = ("selectedProtocolVersion", "2");
                message(&[("type", "peer"), ("senderId", "srv"), ("targetId", us), version], None)
            },
            "speaks version \"2\" of automerge-repo's protocol; this program speaks version 1",
        ),
        (
            |_| {
                let version = ("selectedProtocolVersion", "1");
                message(&[("type", "peer"), ("senderId", "srv"), ("targetId", "me?"), version], None)
            },
            "sends a message with a wrong sender or receiver",
        ),
        (|_| message(&[("type", "error"), ("message", "go\naway")], None), "reports an error: \"go\\naway\""),
        (
            |us| {
                let fields = [("type", "sync"), ("senderId", "srv"), ("targetId", us), ("documentId", ID)];
                message(&fields, Some(b"x"))
            },
            "sends messages before its greeting",
        ),
    ];
    for (frame, reason) in cases {
        assert_eq!(world.in_vain(&first(frame)), reason);
    }
    assert_eq!(world.files(), 1);
}

#[test]
fn reports_late_server_failures() {
    let world = World::new();
    let later = |serve: fn(&mut WebSocket<TcpStream>, &str)| {
        socket(move |socket| {
            let client = welcome(socket);
            serve(socket, &client);
        })
    };
    let no_message = later(|socket, us| say(socket, us, ID, b"no message"));
    assert_eq!(
        world.in_vain(&no_message),
        "sends an invalid sync message: not a sync message: it starts with 0x6e, not with 0x42 or 0x43"
    );
    let stranger = later(|socket, us| {
        let fields = [("type", "sync"), ("senderId", "who?"), ("targetId", us), ("documentId", ID)];
        socket.send(message(&fields, Some(b"x"))).expect("a client");
    });
    assert_eq!(world.in_vain(&stranger), "sends a message with a wrong sender or receiver");
    let flood = later(|socket, _| {
        let news = message(&[("type", "ephemeral")], None);
        while socket.send(news.clone()).is_ok() {}
    });
    world.in_silence(&flood, &[]);
    // A document that the server withdraws.
    let withdrawn = || {
        later(|socket, us| {
            let (request, _) = read_frame(socket).expect("a message");
            let empty = with("theirs").generate_sync_message(&mut State::new()).expect("a message").encode();
            say(socket, us, ID, &empty);
            let id = field(&request, "documentId");
            let fields =
                [("type", "doc-unavailable"), ("senderId", "srv"), ("targetId", us), ("documentId", &id)];
            socket.send(message(&fields, None)).expect("a client");
            while socket.read().is_ok() {}
        })
    };
    // Reported at the timeout: a short one, or a longer one on a slow machine.
    let reasons = (0..7).map(|power| world.in_vain_within(&withdrawn(), 1 << power));
    let reason = reasons.into_iter().find(|reason| !reason.starts_with("did not answer"));
    assert_eq!(reason.as_deref(), Some("no longer has the document, or denies access to it"));
    // Valid messages about a document that never comes.
    let news = later(|socket, us| {
        let mut state = State::new();
        let empty = with("theirs").generate_sync_message(&mut state).expect("a message").encode();
        let fields = [("type", "sync"), ("senderId", "srv"), ("targetId", us), ("documentId", ID)];
        let news = message(&fields, Some(&empty));
        thread::scope(|scope| {
            // A client that did not read would block on its own writes.
            let stream = socket.get_ref().try_clone().expect("a stream");
            scope.spawn(move || drop(std::io::copy(&mut &stream, &mut std::io::sink())));
            while socket.send(news.clone()).is_ok() {}
        });
    });
    assert_eq!(world.in_vain(&news), "sent 1000 messages without progress");
    // Keep-alives are no progress.
    let pings = later(|socket, _| while socket.send(Message::Ping(vec![7; 100].into())).is_ok() {});
    let reason = world.in_vain_within(&pings, 1);
    assert!(
        reason.starts_with("did not answer for 1 s") || reason.starts_with("took nothing for 1 s"),
        "{reason}"
    );
    let corrupt = later(|socket, us| {
        let (_, data) = read_frame(socket).expect("a message");
        // For one change in a hundred the Bloom filter has a false positive, so it is not sent.
        let (mut answer, at) = (0..20)
            .find_map(|_| {
                let (mut doc, mut state) = (with("theirs"), State::new());
                let request = SyncMessage::decode(&data).expect("sound");
                doc.receive_sync_message(&mut state, request).expect("sound");
                let answer = doc.generate_sync_message(&mut state).expect("an answer").encode();
                let at = answer.windows(4).position(|four| four == [0x85, 0x6f, 0x4a, 0x83])?;
                Some((answer, at))
            })
            .expect("a chunk");
        // A bit of the changes is flipped; the framing is valid.
        answer[at + 20] ^= 1;
        say(socket, us, ID, &answer);
    });
    let reason = world.in_vain(&corrupt);
    assert!(reason.starts_with("sends changes that cannot be read: "), "{reason}");
    // Only the header of a frame arrives.
    let long = later(|socket, _| {
        let head = [&[0x82, 127][..], &(1_u64 << 40).to_be_bytes()].concat();
        socket.get_mut().write_all(&head).expect("a client");
    });
    assert_eq!(world.in_vain(&long), "sends a message of 1099511627776 bytes; the maximum is 268435456");
    let large = later(|socket, _| {
        let head = [&[0x82, 127][..], &1_000_000_000_u64.to_be_bytes()].concat();
        socket.get_mut().write_all(&head).expect("a client");
        while socket.read().is_ok() {}
    });
    assert_eq!(world.in_vain(&large), "sends a message of 1000000000 bytes; the maximum is 268435456");
    // A message within the limit whose end does not arrive.
    let unfinished = later(|socket, _| {
        let head = [&[0x82, 127][..], &1_000_000_u64.to_be_bytes(), &[0; 1000]].concat();
        socket.get_mut().write_all(&head).expect("a client");
        while socket.read().is_ok() {}
    });
    world.in_silence(&unfinished, &[]);
    // A change arrives, and the server disconnects before both sides are equal.
    let half = later(|socket, us| {
        let (mut doc, mut state) = (with("theirs"), State::new());
        let (_, data) = read_frame(socket).expect("a message");
        doc.receive_sync_message(&mut state, SyncMessage::decode(&data).expect("sound")).expect("sound");
        let answer = doc.generate_sync_message(&mut state).expect("an answer");
        say(socket, us, ID, &answer.encode());
    });
    assert_eq!(world.in_vain(&half), "closed the connection");
    assert_eq!(world.files(), 1);
}

#[test]
fn concurrently_changed_file_is_not_replaced() {
    let world = World::new();
    world.write("mine.amrg", with("mine").save());
    let path = world.path("mine.amrg");
    let other = with("else").save();
    let written = other.clone();
    let url = socket(move |socket| {
        let client = welcome(socket);
        fs::write(&path, &written).expect("a file");
        let (mut doc, mut state) = (with("theirs"), State::new());
        while let Some((_, data)) = read_frame(socket) {
            doc.receive_sync_message(&mut state, SyncMessage::decode(&data).expect("sound")).expect("sound");
            while let Some(answer) = doc.generate_sync_message(&mut state) {
                say(socket, &client, ID, &answer.encode());
            }
        }
    });
    let done = world.in_doc(["sync", "mine.amrg", &url, "--id", ID]);
    assert_eq!(done.code(), 1);
    assert!(done.err.ends_with("another program changed it meanwhile; nothing was written\n"), "{done:?}");
    assert_eq!(fs::read(world.path("mine.amrg")).expect("a file"), other);
}

#[test]
fn refused_change_does_not_stop_others() {
    let world = World::new();
    // Two changes with the same actor and sequence number: the second is refused. The third change is unrelated.
    let mut server_doc = with("theirs");
    let two = by_shared_actor("two");
    server_doc.merge(&two).expect("different actors");
    world.write("mine.amrg", by_shared_actor("one").save());
    let url = serving(server_doc);
    let done = world.in_doc(["sync", "mine.amrg", &url, "--id", ID]);
    done.failure(1, &[&format!("{url}/: {}", refusal(&two))]);
    assert_eq!(world.in_doc(["export", "mine.amrg"]).quiet_success(), "{\"one\":1,\"theirs\":1}\n");
}

#[test]
fn rejects_ambiguous_arguments() {
    let world = World::new();
    world.write("mine.amrg", with("mine").save()).write("empty.amrg", Document::new().save());
    let wrong = |args: &[&str], code: i32| {
        let args = ["doc", "sync"].iter().chain(args);
        let done: Done = world.run(&hashmill(), args, b"");
        assert_eq!((done.code(), done.err.lines().count()), (code, 1), "{done:?}");
        done.err
    };
    assert!(wrong(&["mine.amrg", "http://localhost"], 2).contains("starts with ws:// or wss://"));
    assert!(wrong(&["mine.amrg", "ws://localhost", "--ca", "ca.pem"], 2).contains("--ca is for wss://"));
    assert!(wrong(&["mine.amrg", "empty.amrg", "--ca", "ca.pem"], 2).contains("--ca"));
    wrong(&["mine.amrg", "ws://"], 2);
    wrong(&["mine.amrg", "ws://h:99999"], 2);
    wrong(&[".", "ws://localhost"], 2);
    wrong(&["-", "ws://localhost"], 2);
    wrong(&["mine.amrg", "empty.amrg", "--watch"], 2);
    wrong(&["mine.amrg", "empty.amrg", "--id", ID], 2);
    wrong(&["mine.amrg", "empty.amrg", "--new"], 2);
    assert!(wrong(&["empty.amrg", "ws://localhost", "--new"], 1).contains("--id"));
    assert!(wrong(&["mine.amrg", "ws://h", "--id", &ID.replace('u', "v")], 2).contains("checksum"));
    wrong(&["mine.amrg", "ws://h", "--timeout", "0"], 2);
    assert!(wrong(&["empty.amrg", "ws://localhost"], 1).contains("--id"));
    assert!(wrong(&["none.amrg", "ws://localhost"], 1).contains("--id"));
}

/// A server for several clients of one document.
#[test]
fn two_clients_exchange_changes() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("an address"));
    let doc = Arc::new(Mutex::new(with("theirs")));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (doc, stream) = (Arc::clone(&doc), stream.expect("a client"));
            thread::spawn(move || serve(&mut tungstenite::accept(stream).expect("a WebSocket"), &doc));
        }
    });
    world.write("one.amrg", with("one").save()).write("two.amrg", with("two").save());
    let start = |file: &str| {
        let mut command = Command::new(hashmill());
        world.start(command.args(["doc", "sync", file, &url, "--id", ID]))
    };
    let both = [start("one.amrg"), start("two.amrg")];
    for child in both {
        finish(child).quiet_success();
    }
    // The first client does not have everything yet.
    for file in ["one.amrg", "two.amrg"] {
        world.in_doc(["sync", file, &url, "--id", ID]).quiet_success();
        let all = "{\"one\":1,\"theirs\":1,\"two\":1}\n";
        assert_eq!(world.in_doc(["export", file]).quiet_success(), all);
    }
}

/// A server that has answered and then does not respond to a ping.
#[cfg(unix)]
#[test]
fn watch_detects_a_silent_server() {
    hashmill_testkit::signal::heed();
    // The response time of this machine under load is unknown: each attempt doubles the timeout.
    let noticed = (1..8).any(|power| notices_silence(1 << power));
    assert!(
        noticed,
        "a server that is silent is not noticed, or this one needs more than a minute for its answers"
    );
}

/// Whether the server of this test answered in time. If so, the silence was detected.
#[cfg(unix)]
fn notices_silence(seconds: u32) -> bool {
    use std::io::{BufRead as _, BufReader};
    let world = World::new();
    world.write("mine.amrg", with("mine").save());
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let url = server(move |stream| {
        let Ok(mut socket) = tungstenite::accept(stream) else { return };
        let client = welcome(&mut socket);
        let (mut doc, mut state) = (with("theirs"), State::new());
        while doc.get_heads().len() < 2 {
            let Some((_, data)) = read_frame(&mut socket) else { return };
            doc.receive_sync_message(&mut state, SyncMessage::decode(&data).expect("sound")).expect("sound");
            while let Some(answer) = doc.generate_sync_message(&mut state) {
                say(&mut socket, &client, ID, &answer.encode());
            }
        }
        // From here on nothing is read, and the connection stays open.
        let _ = ended.recv();
    });
    let mut command = Command::new(hashmill());
    let timeout = seconds.to_string();
    command.args(["doc", "sync", "mine.amrg", &url, "--id", ID, "--watch", "--timeout", &timeout]);
    let mut child = world.start(&mut command);
    let mut words = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let line = words.next().expect("a line").expect("text");
    let late = format!("hashmill: {url}/: did not answer for {seconds} s (see --timeout)");
    assert!(line.starts_with(&late), "{line}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a process");
    let done = finish(child);
    drop(end);
    if !done.text().starts_with("mine.amrg: 1 change received, 1 sent") {
        return false;
    }
    assert_eq!(line, format!("{late}; retrying every 5 s"));
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(2), "{done:?}");
    assert_eq!(world.in_doc(["export", "mine.amrg"]).quiet_success(), "{\"mine\":1,\"theirs\":1}\n");
    true
}

/// `--watch` receives changes, sends changes of the file, reconnects, and ends by a signal.
#[cfg(unix)]
#[test]
fn watch_reconnects_and_ends_by_signal() {
    use std::io::{BufRead as _, BufReader};
    hashmill_testkit::signal::heed();
    let world = World::new();
    world.write("mine.amrg", with("mine").save());
    let (news, tell) = std::sync::mpsc::channel::<Document>();
    let url = socket(move |socket| {
        let client = welcome(socket);
        let (mut doc, mut state) = (Document::new(), State::new());
        while let Some((_, data)) = read_frame(socket) {
            doc.receive_sync_message(&mut state, SyncMessage::decode(&data).expect("sound")).expect("sound");
            if doc.get_heads().len() == 1
                && let Ok(more) = tell.try_recv()
            {
                doc.merge(&more).expect("different actors");
            }
            while let Some(answer) = doc.generate_sync_message(&mut state) {
                say(socket, &client, ID, &answer.encode());
            }
        }
    });
    news.send(with("theirs")).expect("a server");
    let mut command = Command::new(hashmill());
    command.args(["doc", "sync", "mine.amrg", &url, "--id", ID, "--watch"]);
    let mut child = world.start(&mut command);
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert!(line().starts_with("mine.amrg: 1 change received, 1 sent"));
    assert_eq!(world.in_doc(["get", "mine.amrg", "/theirs"]).quiet_success(), "1\n");
    world.in_doc(["put", "mine.amrg", "/later", "2"]).quiet_success();
    assert!(line().starts_with("mine.amrg: 0 changes received, 1 sent"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a process");
    let done = finish(child);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&done.status), Some(2), "{done:?}");
    assert_eq!(done.err, "");
    let all = "{\"later\":2,\"mine\":1,\"theirs\":1}\n";
    assert_eq!(world.in_doc(["export", "mine.amrg"]).quiet_success(), all);
    assert_eq!(world.files(), 1);
}
