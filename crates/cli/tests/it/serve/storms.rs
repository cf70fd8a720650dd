//! Clients that connect and leave by the thousand, most of them without a word: the server keeps nothing of them.

use super::{Server, Socket};
use crate::world::World;
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, PeerId, SyncStatus};
use hashmill_testkit::{Rng, size, wait};
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::thread;

/// Number of clients at a time.
const CLIENTS: u64 = 8;
/// Growth that is no leak: of the allocator's pools and of the database's pages. A connection that keeps the least that a socket
/// takes would exceed it at full size.
const MAX_GROWTH_KIB: u64 = 4 << 10;

fn id(number: u8) -> DocumentId {
    DocumentId::from_random_bytes([number; 16])
}

/// Connects once in one of several ways.
fn visit(address: &str, rng: &mut Rng, name: &str) {
    let kind = rng.below(6);
    if kind == 0 {
        return drop(TcpStream::connect(address).expect("a server"));
    }
    if kind == 1 {
        let mut stream = TcpStream::connect(address).expect("a server");
        // The server may be the first to close.
        return drop(stream.write_all(b"GET / HTTP/1.1\r\nhost:"));
    }
    let mut socket = Socket::open(address);
    if kind == 2 {
        return;
    }
    if kind == 3 {
        return drop(socket.send(vec![0xf6]));
    }
    let document = id(rng.below(4) as u8);
    let mut client = Client::new(PeerId::from(name), "session");
    client.add(document.clone(), Document::new());
    client.connect();
    if kind == 4 {
        // Asks, and does not wait for the answer.
        return drop(socket.exchange(&mut client));
    }
    wait::until("a sync", || {
        socket.exchange(&mut client).expect("an open socket");
        client.status(&document) == Some(SyncStatus::InSync)
    });
}

fn storm(server: &Server, visits: u64) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut rng = Rng::new(client);
                for visit_number in 0..visits.div_ceil(CLIENTS) {
                    visit(&server.address, &mut rng, &format!("visitor-{client}-{visit_number}"));
                }
            });
        }
    });
}

/// Memory of the server in KiB, and its number of open files.
fn usage(server: &Server) -> (u64, usize) {
    let folder = format!("/proc/{}", server.child.id());
    let status = fs::read_to_string(format!("{folder}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kib = line.trim().trim_end_matches(" kB").parse().expect("a number");
    (kib, fs::read_dir(format!("{folder}/fd")).expect("it runs").count())
}

#[test]
#[expect(clippy::print_stdout, reason = "a record has the numbers")]
fn storms_of_connections_leave_nothing_behind() {
    let world = World::new();
    let server = Server::start(&world);
    let mut writer = Client::new(PeerId::from("writer"), "session");
    for number in 0..4 {
        let mut doc = Document::new();
        doc.transact(|tx| tx.put(ROOT, "a", vec![number; 100])).expect("there is room");
        writer.add(id(number), doc);
    }
    writer.connect();
    let mut socket = server.connect();
    wait::until("a sync", || {
        socket.exchange(&mut writer).expect("an open socket");
        (0..4).all(|number| writer.status(&id(number)) == Some(SyncStatus::InSync))
    });
    let (_, files) = usage(&server);
    let visits = size::of(200, 10_000);
    // Fills the pools of the allocator.
    storm(&server, visits / 5);
    wait::until("closed sockets", || usage(&server).1 <= files);
    let (before, _) = usage(&server);
    storm(&server, visits);
    wait::until("closed sockets", || usage(&server).1 <= files);
    let (after, _) = usage(&server);
    println!("{visits} visits: {before} KiB before, {after} KiB after");
    assert!(after <= before + MAX_GROWTH_KIB, "{before} KiB before, {after} KiB after");
    // The client that was there is served.
    let doc = writer.document_mut(&id(0)).expect("it was added");
    doc.transact(|tx| tx.put(ROOT, "a", 1)).expect("there is room");
    wait::until("a sync", || {
        socket.exchange(&mut writer).expect("an open socket");
        writer.status(&id(0)) == Some(SyncStatus::InSync)
    });
}
