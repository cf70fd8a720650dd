//! Several servers with one journal and one directory of snapshots, which are killed at any moment, as is the journal.

use crate::serve::operator::Operator;
use crate::serve::{Server, Socket, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_doc::{ChangeHash, Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, PeerId, SyncStatus};
use hashmill_testkit::wait::{self, Running};
use hashmill_testkit::{Rng, size};
use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread;

const NODES: usize = 3;
const DOCUMENTS: u8 = 2;
/// One JetStream stream for each.
const SHARDS: u8 = 2;

/// The program `nats-server`, unless there is none.
fn nats_server() -> Option<PathBuf> {
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/nats-server");
    [PathBuf::from("nats-server"), tools].into_iter().find(|program| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    })
}

/// `nats-server` with JetStream in the world's folder `jetstream`, at a port that stays the same.
struct Journal {
    program: PathBuf,
    port: u16,
    child: Option<Running>,
}

impl Journal {
    /// `None`: the test is left out, and says so.
    fn new(world: &World, is_synced: bool) -> Option<Journal> {
        let Some(program) = nats_server() else {
            hashmill_testkit::skip("servers with one journal", "no nats-server here; .ci/install tools");
            return None;
        };
        let port = free_port();
        let interval = if is_synced { "always" } else { "2m" };
        let config = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\", sync_interval: {interval} }}\n",
            world.path("jetstream").display()
        );
        world.write("nats.conf", config);
        let mut journal = Journal { program, port, child: None };
        journal.start(world);
        Some(journal)
    }

    fn start(&mut self, world: &World) {
        let mut command = Command::new(&self.program);
        self.child =
            Some(world.start(command.arg("-c").arg(world.path("nats.conf")).arg("-l").arg("nats.log")));
        let port = self.port;
        wait::until("nats-server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it runs");
        child.wait().expect("its end");
    }

    /// Writes the settings file of all servers.
    fn write_settings(&self, world: &World, more: &str) {
        let folder = world.path("snapshots");
        let text = format!(
            "journal = \"nats://127.0.0.1:{}\"\nsnapshots = \"file://{}\"\njournal-shards = {SHARDS}\n{more}\n",
            self.port,
            folder.display()
        );
        world.write("settings.toml", text);
    }
}

/// A port that no test uses. It is none of those that the system gives to clients: a client that connects to one of them while nothing
/// listens there can get it as its own port, is then connected to itself, and keeps it from the journal.
fn free_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    loop {
        let next = u32::from(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + ((std::process::id() * 16 + next) % 10_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn start_node(world: &World, number: usize) -> Server {
    let data = format!("node-{number}");
    let args = ["--settings", "settings.toml", "--data", data.as_str()];
    Server::start_with(world, Command::new(hashmill()).arg("serve"), &args)
}

fn ids() -> impl Iterator<Item = DocumentId> {
    (1..=DOCUMENTS).map(|number| DocumentId::from_random_bytes([number; 16]))
}

/// Heads that any server named, by document.
type ConfirmedHeads = Mutex<BTreeSet<(DocumentId, ChangeHash)>>;

/// Types until the end: an edit as soon as the one before is confirmed. Connects to any of the servers, again and again.
fn type_until_end(
    seed: u64,
    client: &mut Client,
    addresses: &Mutex<Vec<String>>,
    confirmed_heads: &ConfirmedHeads,
    is_over: &AtomicBool,
) {
    let mut rng = Rng::new(seed);
    let mut edits: i64 = 0;
    while !is_over.load(Ordering::SeqCst) {
        let address = {
            let addresses = addresses.lock().expect("no panic");
            addresses[rng.below(addresses.len())].clone()
        };
        // A server that was just killed.
        if TcpStream::connect(&address).is_err() {
            thread::yield_now();
            continue;
        }
        let opened = std::panic::catch_unwind(|| Socket::open(&address));
        let Ok(mut socket) = opened else { continue };
        client.connect();
        while !is_over.load(Ordering::SeqCst) {
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
                let mut confirmed = confirmed_heads.lock().expect("no panic");
                confirmed.extend(heads.iter().map(|head| (id.clone(), *head)));
            }
            if result.is_err() {
                break;
            }
        }
        client.disconnect();
    }
}

fn new_client(name: &str) -> Client {
    let mut client = Client::new(PeerId::from(name), "session");
    ids().for_each(|id| drop(client.add(id, Document::new())));
    client
}

/// Waits until a client has all that a server has, and returns its heads.
fn sync_all(server: &Server, client: &mut Client) -> Vec<Vec<ChangeHash>> {
    let mut socket = server.connect();
    client.connect();
    wait::until("a sync", || {
        socket.exchange(client).expect("an open socket");
        ids().all(|id| client.status(&id) == Some(SyncStatus::InSync))
    });
    client.disconnect();
    ids().map(|id| client.document(&id).expect("it was added").get_heads()).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "a record has the numbers")]
fn no_confirmed_change_is_lost_by_kills_of_servers_and_of_the_journal() {
    let world = World::new();
    let Some(mut journal) = Journal::new(&world, true) else { return };
    journal.write_settings(&world, "journal-synced = true");
    let seed = 1;
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    let mut nodes: Vec<Server> = (0..NODES).map(|number| start_node(&world, number)).collect();
    let addresses = Mutex::new(nodes.iter().map(|node| node.address.clone()).collect::<Vec<_>>());
    let mut clients: Vec<Client> =
        (0..size::of(4, 12)).map(|number| new_client(&format!("typist-{number}"))).collect();
    let (confirmed_heads, is_over) = (ConfirmedHeads::default(), AtomicBool::new(false));
    let (rounds, mut kills_of_journal) = (size::of(6, 100), 0);
    thread::scope(|scope| {
        for (number, client) in clients.iter_mut().enumerate() {
            let (addresses, confirmed_heads, is_over) = (&addresses, &confirmed_heads, &is_over);
            scope.spawn(move || type_until_end(number as u64, client, addresses, confirmed_heads, is_over));
        }
        let confirmed = || confirmed_heads.lock().expect("no panic").len();
        for round in 0..rounds {
            // A number of confirmations, not a time: each round has some whatever the speed of the machine.
            let target = confirmed() + 1 + rng.below(100);
            wait::until("confirmations", || confirmed() >= target);
            if round % 3 == 2 {
                kills_of_journal += 1;
                journal.kill();
                journal.start(&world);
            } else {
                let number = rng.below(NODES);
                nodes.remove(number).kill();
                nodes.insert(number, start_node(&world, number));
                addresses.lock().expect("no panic")[number] = nodes[number].address.clone();
            }
        }
        let target = confirmed() + 20;
        wait::until("confirmations", || confirmed() >= target);
        is_over.store(true, Ordering::SeqCst);
    });
    // What clients have is told to servers, and then to all others.
    for client in &mut clients {
        sync_all(&nodes[0], client);
    }
    let heads = sync_all(&nodes[0], &mut clients[0]);
    for (number, client) in clients.iter_mut().enumerate() {
        wait::until("all changes at every server", || sync_all(&nodes[number % NODES], client) == heads);
    }
    // Servers that start after the end of all of them have it, too.
    nodes.drain(..).for_each(Server::kill);
    journal.kill();
    journal.start(&world);
    let node = start_node(&world, 0);
    let mut reader = new_client("reader");
    assert_eq!(sync_all(&node, &mut reader), heads);
    let confirmed_heads = confirmed_heads.lock().expect("no panic");
    let lost: usize = ids()
        .map(|id| {
            let heads = confirmed_heads.iter().filter(|(document, _)| *document == id);
            let heads: Vec<ChangeHash> = heads.map(|(_, head)| *head).collect();
            reader.document(&id).expect("it was added").get_missing_deps(&heads).len()
        })
        .sum();
    assert_eq!(lost, 0, "of {} confirmed heads", confirmed_heads.len());
    println!(
        "{rounds} kills, {kills_of_journal} of the journal, {} confirmed heads, 0 lost",
        confirmed_heads.len()
    );
    node.kill();
    journal.kill();
}

/// An edit at one server arrives at a client of another, in both directions, and ephemeral messages do.
#[test]
fn clients_of_several_servers_work_together() {
    let world = World::new();
    let Some(mut journal) = Journal::new(&world, true) else { return };
    journal.write_settings(&world, "journal-synced = true");
    let nodes: Vec<Server> = (0..2).map(|number| start_node(&world, number)).collect();
    assert_eq!(nodes[0].storage_id, nodes[1].storage_id);
    let id = ids().next().expect("a document");
    let mut clients: Vec<Client> = (0..2).map(|number| new_client(&format!("client-{number}"))).collect();
    let mut sockets: Vec<Socket> = nodes.iter().map(Server::connect).collect();
    clients.iter_mut().for_each(Client::connect);
    for author in [0, 1, 0] {
        put(&mut clients[author], &id, vec![author as u8]);
        wait::until("an edit", || {
            for (socket, client) in sockets.iter_mut().zip(&mut clients) {
                socket.exchange(client).expect("an open socket");
            }
            let heads: Vec<_> = clients
                .iter()
                .map(|client| client.document(&id).expect("it was added").get_heads())
                .collect();
            heads[0] == heads[1]
                && clients.iter().all(|client| client.status(&id) == Some(SyncStatus::InSync))
        });
    }
    // The journal ends: documents can be read, nothing is confirmed, and the state says so.
    journal.kill();
    wait::until("a failure that is told", || nodes.iter().all(|node| node.status("/readyz") == 503));
    assert!(nodes.iter().all(|node| node.status("/healthz") == 200));
    put(&mut clients[0], &id, vec![7]);
    journal.start(&world);
    wait::until("recovery", || nodes.iter().all(|node| node.status("/readyz") == 200));
    wait::until("the edit of the meantime", || {
        for (socket, client) in sockets.iter_mut().zip(&mut clients) {
            socket.exchange(client).expect("an open socket");
        }
        let heads: Vec<_> =
            clients.iter().map(|client| client.document(&id).expect("it was added").get_heads()).collect();
        heads[0] == heads[1]
    });
    nodes.into_iter().for_each(Server::kill);
    journal.kill();
}

/// Requests and commands for the storage of a single server are refused. The others act on all servers.
#[test]
fn requests_for_a_single_storage_are_refused() {
    let world = World::new();
    let Some(mut journal) = Journal::new(&world, true) else { return };
    journal.write_settings(&world, "journal-synced = true");
    let nodes: Vec<Server> = (0..2).map(|number| start_node(&world, number)).collect();
    let id = ids().next().expect("a document");
    let (mut ann, mut ben) = (client("ann", &id), client("ben", &id));
    let (mut to_ann, mut to_ben) = (nodes[0].connect(), nodes[1].connect());
    put(&mut ann, &id, vec![1]);
    wait_for(&mut to_ann, &mut ann, &id, SyncStatus::InSync);
    wait_for(&mut to_ben, &mut ben, &id, SyncStatus::InSync);
    let operator = Operator::of_folder(&world, "node-0");
    let absent = DocumentId::from_random_bytes([9; 16]);
    let refused = [
        ("GET", "/admin/backup".to_owned()),
        ("POST", "/admin/counts/correct".to_owned()),
        ("GET", "/admin/documents?state=stored".to_owned()),
        ("GET", "/admin/documents?state=stored&order=size".to_owned()),
        ("GET", "/admin/documents?state=deleted".to_owned()),
        ("GET", format!("/admin/documents/{absent}")),
    ];
    for (method, path) in refused {
        let (status, value) = if method == "GET" { operator.get(&path) } else { operator.post(&path) };
        assert_eq!((status, value["code"].as_str()), (501, Some("storage-shared")), "{path} {value}");
    }
    let (status, value) = operator.get("/admin/server");
    assert_eq!((status, value["state"].as_str()), (200, Some("ready")), "{value}");
    assert_eq!(nodes[0].status("/blobs/00"), 404, "there are no blobs");
    for args in [["list", "--data", "node-0"], ["list", "--data", "node-1"]] {
        let done = world.serve(&args);
        assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
        assert!(done.err.contains("only open documents can be listed and shown"), "{done:?}");
    }
    let folder = world.path("snapshots");
    let imported = world.serve(&["import", folder.to_str().expect("a name"), "--data", "other"]);
    assert!(imported.err.contains("servers share the storage of this directory"), "{imported:?}");
    let document = id.to_string();
    let delete = world.serve(&["delete", &document, "--data", "node-1"]);
    assert_eq!(delete.code(), 0, "{delete:?}");
    for (socket, client) in [(&mut to_ann, &mut ann), (&mut to_ben, &mut ben)] {
        wait::until("an absent document", || {
            socket.exchange(client).expect("an open socket");
            client.conversation(&id).expect("it was added").is_unavailable()
        });
    }
    let undelete = world.serve(&["undelete", &document, "--data", "node-0"]);
    assert_eq!(undelete.code(), 0, "{undelete:?}");
    let mut reader = client("reader", &id);
    wait_for(&mut nodes[1].connect(), &mut reader, &id, SyncStatus::InSync);
    assert_eq!(reader.document(&id).expect("it was added").stats().changes, 1, "it is back");
    nodes.into_iter().for_each(Server::kill);
    journal.kill();
}

/// Each refusal is one line with the remedy.
#[test]
fn journals_that_may_lose_changes_are_refused() {
    let world = World::new();
    let Some(mut journal) = Journal::new(&world, false) else { return };
    let refusal = |data: &str| {
        let done = world.run(
            &hashmill(),
            ["serve", "--listen", "127.0.0.1:0", "--settings", "settings.toml", "--data", data],
            b"",
        );
        assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
        done.err
    };
    journal.write_settings(&world, "");
    let text = refusal("node");
    assert!(text.contains("sync_interval: always") && text.contains("journal-synced = true"), "{text}");
    journal.write_settings(&world, "journal-synced = true\njournal-replicas = 3");
    let text = refusal("node");
    assert!(text.contains("journal-replicas"), "{text}");
    journal.write_settings(&world, "journal-synced = true");
    let text = world.path("settings.toml");
    let other = std::fs::read_to_string(&text).expect("settings").replace("snapshots\"", "others\"");
    let single = Server::start(&world);
    single.kill();
    let text = refusal("store");
    assert!(text.contains("the storage of a single server"), "{text}");
    start_node(&world, 0).kill();
    world.write("settings.toml", other);
    let text = refusal("node");
    assert!(text.contains("belongs to other snapshots"), "{text}");
    journal.kill();
    let text = refusal("node");
    assert!(text.contains("it cannot be reached"), "{text}");
}
