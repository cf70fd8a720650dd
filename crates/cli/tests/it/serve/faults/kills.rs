//! A server that is killed at any moment: all that it confirmed is there afterwards.
//!
//! The clients type as fast as they get confirmations, so the kill hits appends under way. More than ten seconds at full size.

use crate::serve::{Server, Socket};
use crate::world::World;
use hashmill_doc::{ChangeHash, Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, PeerId, SyncStatus};
use hashmill_testkit::{Rng, size, wait};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Number of documents. All clients write into all of them.
const DOCUMENTS: u8 = 2;

/// Heads that the server named, by document.
type ConfirmedHeads = Mutex<BTreeSet<(DocumentId, ChangeHash)>>;

fn ids() -> impl Iterator<Item = DocumentId> {
    (1..=DOCUMENTS).map(|number| DocumentId::from_random_bytes([number; 16]))
}

/// Types until the server is gone: an edit as soon as the one before is confirmed.
fn type_until_killed(
    address: &str,
    client: &mut Client,
    confirmed_heads: &ConfirmedHeads,
    is_killed: &AtomicBool,
) {
    let mut socket = Socket::open(address);
    client.connect();
    let mut edits: i64 = 0;
    loop {
        for id in ids() {
            let is_first = client.document(&id).expect("it was added").get_heads().is_empty();
            if !is_first && client.status(&id) != Some(SyncStatus::InSync) {
                continue;
            }
            edits += 1;
            let doc = client.document_mut(&id).expect("it was added");
            doc.transact(|tx| tx.put(ROOT, format!("key {}", edits % 7), edits)).expect("there is room");
        }
        let result = socket.exchange(client);
        for id in ids() {
            let heads = client.conversation(&id).expect("it was added").their_heads().unwrap_or_default();
            confirmed_heads.lock().expect("no panic").extend(heads.iter().map(|head| (id.clone(), *head)));
        }
        match result {
            Ok(()) => {}
            Err(_) if is_killed.load(Ordering::SeqCst) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "a record has the numbers")]
fn no_confirmed_change_is_lost_by_kills() {
    let world = World::new();
    let mut rng = Rng::new(1);
    let mut clients: Vec<Client> = (0..size::of(4, 8))
        .map(|number| {
            let mut client = Client::new(PeerId::from(format!("typist-{number}").as_str()), "session");
            ids().for_each(|id| drop(client.add(id, Document::new())));
            client
        })
        .collect();
    let confirmed_heads = ConfirmedHeads::default();
    let (mut confirmed, rounds) = (0, size::of(5, 100));
    for round in 0..rounds {
        let server = Server::start(&world);
        let is_killed = AtomicBool::new(false);
        // A number of confirmations, not a time: each round has some whatever the speed of the machine.
        let target = confirmed + 1 + rng.below(60);
        let address = server.address.clone();
        thread::scope(|scope| {
            for client in &mut clients {
                let (address, confirmed_heads, is_killed) = (&address, &confirmed_heads, &is_killed);
                scope.spawn(move || type_until_killed(address, client, confirmed_heads, is_killed));
            }
            wait::until("confirmations", || confirmed_heads.lock().expect("no panic").len() >= target);
            is_killed.store(true, Ordering::SeqCst);
            server.kill();
        });
        confirmed = confirmed_heads.lock().expect("no panic").len();
        let server = Server::start(&world);
        let mut reader = Client::new(PeerId::from("reader"), "session");
        ids().for_each(|id| drop(reader.add(id, Document::new())));
        reader.connect();
        let mut socket = server.connect();
        // A reader that is in step has all that the server has.
        wait::until("a sync", || {
            socket.exchange(&mut reader).expect("an open socket");
            ids().all(|id| {
                let document = reader.document(&id).expect("it was added");
                let conversation = reader.conversation(&id).expect("it was added");
                let heads = conversation.their_heads().unwrap_or_default();
                (!heads.is_empty() || conversation.is_unavailable()) && document.get_heads() == heads
            })
        });
        let lost: usize = ids()
            .map(|id| {
                let confirmed_heads = confirmed_heads.lock().expect("no panic");
                let heads: Vec<ChangeHash> = confirmed_heads
                    .iter()
                    .filter(|(document, _)| *document == id)
                    .map(|(_, head)| *head)
                    .collect();
                reader.document(&id).expect("it was added").get_missing_deps(&heads).len()
            })
            .sum();
        assert_eq!(lost, 0, "round {round}: of {confirmed} confirmed heads");
        server.kill();
    }
    println!("{rounds} kills, {confirmed} confirmed heads, 0 lost");
}
