//! Clients of a server: `hashmill doc sync`, clients that break the protocol, and clients that do not read.

use super::{Server, Socket};
use crate::world::{World, hashmill};
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::message::{PeerMetadata, SyncBody};
use hashmill_repo::{Client, DocumentId, Message, PeerId, SyncStatus};
use hashmill_testkit::{Rng, wait};
use std::process::Command;
use tungstenite::Message as WebSocketMessage;

fn client(name: &str, id: &DocumentId) -> Client {
    let mut client = Client::new(PeerId::from(name), "session");
    client.add(id.clone(), Document::new());
    client.connect();
    client
}

fn settle(socket: &mut Socket, client: &mut Client, id: &DocumentId) {
    wait::until("a sync", || {
        socket.exchange(client).expect("an open socket");
        client.status(id) == Some(SyncStatus::InSync)
    });
}

#[test]
fn doc_sync_stores_and_fetches_documents() {
    let world = World::new();
    let server = Server::start(&world);
    world.in_doc(["new", "mine.amrg"]).quiet_success();
    world.in_doc(["put", "mine.amrg", "/title", "\"Hi\""]).quiet_success();
    let output = world.in_doc(["sync", "mine.amrg", &server.url(), "--new"]).quiet_success();
    let id = output.trim_end().rsplit_once("automerge:").expect("an id").1.to_owned();
    world.in_doc(["sync", "theirs.amrg", &server.url(), "--id", &id]).quiet_success();
    world.in_doc(["put", "theirs.amrg", "/seen", "true"]).quiet_success();
    world.in_doc(["sync", "theirs.amrg", &server.url(), "--id", &id]).quiet_success();
    // Also by another process, which reads what the first has stored.
    server.kill();
    let server = Server::start(&world);
    world.in_doc(["sync", "mine.amrg", &server.url(), "--id", &id]).quiet_success();
    let exported = world.in_doc(["export", "mine.amrg"]).quiet_success();
    assert_eq!(exported, "{\"seen\":true,\"title\":\"Hi\"}\n");
    // An unknown document.
    let unknown = DocumentId::from_random_bytes([9; 16]).to_string();
    let done = world.in_doc(["sync", "new.amrg", &server.url(), "--id", &unknown]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
}

#[test]
fn a_read_only_server_takes_nothing() {
    let world = World::new();
    let server = Server::start_with(&world, Command::new(hashmill()).arg("serve"), &["--read-only"]);
    world.in_doc(["new", "mine.amrg"]).quiet_success();
    world.in_doc(["put", "mine.amrg", "/title", "\"Hi\""]).quiet_success();
    let done = world.in_doc(["sync", "mine.amrg", &server.url(), "--new"]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.err.contains("accepts no changes"), "{done:?}");
}

#[test]
fn nonsense_costs_its_own_socket_alone() {
    let world = World::new();
    let server = Server::start(&world);
    let id = DocumentId::from_random_bytes([1; 16]);
    let mut good = client("good", &id);
    let doc = good.document_mut(&id).expect("it was added");
    doc.transact(|tx| tx.put(ROOT, "a", 1)).expect("there is room");
    let mut socket = server.connect();
    settle(&mut socket, &mut good, &id);
    let join = || {
        let (metadata, versions) = (PeerMetadata::default(), Some(vec!["1".into()]));
        Message::Join { sender: "bad".into(), metadata, versions }.encode()
    };
    for joins in [false, true] {
        for frame in [&[0xf6][..], &[0xf7], &[0x01], &[], &[0xff, 0xff], b"\xa1\x64type\x64join"] {
            let mut bad = server.connect();
            if joins {
                bad.send(join()).expect("an open socket");
            }
            bad.send(frame.to_vec()).expect("an open socket");
            bad.wait_for_close();
        }
        let mut bad = server.connect();
        bad.0.send(WebSocketMessage::Text("hello".into())).expect("an open socket");
        bad.wait_for_close();
    }
    // The server lives, and the other client goes on.
    let doc = good.document_mut(&id).expect("it was added");
    doc.transact(|tx| tx.put(ROOT, "a", 2)).expect("there is room");
    settle(&mut socket, &mut good, &id);
    assert_eq!(server.status("/readyz"), 200);
}

/// A client asks for documents again and again and reads nothing, while another one writes. The other is served, and the first gets
/// everything when it reads.
#[test]
fn a_client_that_does_not_read_stops_no_other() {
    let world = World::new();
    let server = Server::start(&world);
    let id = DocumentId::from_random_bytes([1; 16]);
    let (mut writer, mut sleeper) = (client("writer", &id), client("sleeper", &id));
    let (mut to_writer, mut to_sleeper) = (server.connect(), server.connect());
    let mut rng = Rng::new(1);
    let mut write = |writer: &mut Client| {
        let value = rng.bytes(100_000);
        let doc = writer.document_mut(&id).expect("it was added");
        doc.transact(|tx| tx.put(ROOT, "a", value)).expect("there is room");
    };
    write(&mut writer);
    settle(&mut to_writer, &mut writer, &id);
    settle(&mut to_sleeper, &mut sleeper, &id);
    // More than the buffers of sockets and the queue of the server hold.
    for _ in 0..200 {
        write(&mut writer);
        settle(&mut to_writer, &mut writer, &id);
    }
    let heads = |client: &Client| client.document(&id).expect("it was added").get_heads();
    wait::until("all changes", || {
        to_sleeper.exchange(&mut sleeper).expect("an open socket");
        heads(&sleeper) == heads(&writer)
    });
    // Answers that are never read: the socket is closed. Each has the client's id, so few of them are many bytes.
    let mut greedy = server.connect();
    let sender = format!("greedy {}", "x".repeat(60_000));
    let (metadata, versions) = (PeerMetadata::default(), Some(vec!["1".into()]));
    let join = Message::Join { sender: sender.as_str().into(), metadata, versions };
    greedy.send(join.encode()).expect("an open socket");
    let mut number: u32 = 0;
    wait::until("a closed socket", || {
        number += 1;
        let mut bytes = [7; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        let body = SyncBody {
            sender: sender.as_str().into(),
            target: "srv".into(),
            document: DocumentId::from_random_bytes(bytes).to_string().into(),
            data: [0x42, 0, 0, 0, 0][..].into(),
        };
        greedy.send(Message::Request(body).encode()).is_err()
    });
    assert_eq!(server.status("/readyz"), 200);
}
