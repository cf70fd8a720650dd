//! Networks that are cut: the server and its clients are in network namespaces, with a link each.

use crate::serve::{Server, Socket, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, SyncStatus};
use hashmill_testkit::skip;
use hashmill_testkit::wait::{self, Running};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::thread;

/// A network namespace, which lives as long as its process.
struct Namespace(Running);

impl Namespace {
    /// The reason if the system refuses it.
    fn new() -> Result<Namespace, String> {
        let mut command = Command::new("unshare");
        // It ends when its standard input is closed.
        command.args(["--net", "sh", "-c", "ip link set lo up && echo ready && exec cat"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = wait::start(&mut command).map_err(|error| format!("unshare: {error}"))?;
        let mut line = [0; 6];
        if child.stdout.as_mut().expect("a pipe").read_exact(&mut line).is_err() {
            let output = child.output().expect("pipes");
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        Ok(Namespace(child))
    }

    fn path(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    /// A command in this network.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.path())).arg(program);
        command
    }

    /// Runs `ip` in this network.
    fn ip(&self, args: &str) {
        let output = wait::output(self.command("ip").args(args.split(' '))).expect("ip");
        assert!(output.status.success(), "ip {args}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Opens a socket in this network.
    fn connect(&self, address: &str) -> Socket {
        let file = File::open(self.path()).expect("a running process");
        let open = || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("permission");
            Socket::open(address)
        };
        // The namespace is that of the thread alone. A socket stays in it.
        thread::scope(|scope| scope.spawn(open).join().expect("no panic"))
    }
}

/// The server's network, and one for each client.
struct Networks {
    server: Namespace,
    clients: [Namespace; 2],
}

impl Networks {
    fn new() -> Result<Networks, String> {
        let networks =
            Networks { server: Namespace::new()?, clients: [Namespace::new()?, Namespace::new()?] };
        for (number, client) in networks.clients.iter().enumerate() {
            let pid = client.0.id();
            networks.server.ip(&format!("link add to-{number} type veth peer name uplink netns {pid}"));
            networks.server.ip(&format!("addr add 10.77.{number}.1/24 dev to-{number}"));
            networks.server.ip(&format!("link set dev to-{number} up"));
            client.ip(&format!("addr add 10.77.{number}.2/24 dev uplink"));
            client.ip("link set dev uplink up");
        }
        Ok(networks)
    }

    fn cut(&self, client: usize) {
        self.server.ip(&format!("link set dev to-{client} down"));
    }

    fn mend(&self, client: usize) {
        self.server.ip(&format!("link set dev to-{client} up"));
    }

    fn start(&self, world: &World, port: u16) -> Server {
        let mut command = self.server.command(hashmill().to_str().expect("a path of Unicode"));
        Server::start_at(world, command.arg("serve"), &format!("0.0.0.0:{port}"), &["--open-to-all"])
    }

    fn connect(&self, client: usize, port: u16) -> Socket {
        self.clients[client].connect(&format!("10.77.{client}.1:{port}"))
    }
}

fn add(client: &mut Client, id: &DocumentId, key: &str) {
    let doc = client.document_mut(id).expect("it was added");
    doc.transact(|tx| tx.put(ROOT, key, 1)).expect("there is room");
}

/// Waits until both clients and the server have the same.
fn wait_until_equal(sockets: &mut [Socket; 2], clients: &mut [Client; 2], id: &DocumentId) {
    wait::until("equal documents", || {
        for (socket, client) in sockets.iter_mut().zip(clients.iter_mut()) {
            socket.exchange(client).expect("an open socket");
        }
        let heads = clients.each_ref().map(|client| client.document(id).map(Document::get_heads));
        heads[0] == heads[1] && clients.iter().all(|client| client.status(id) == Some(SyncStatus::InSync))
    });
}

#[test]
fn clients_on_both_sides_of_a_cut_network_converge() {
    let networks = match Networks::new() {
        Ok(networks) => networks,
        Err(reason) => return skip("networks that are cut", &reason),
    };
    let world = World::new();
    let server = networks.start(&world, 0);
    let (_, port) = server.address.rsplit_once(':').expect("a port");
    let port = port.parse().expect("a port");
    let id = DocumentId::from_random_bytes([1; 16]);
    let mut clients = ["ann", "bob"].map(|name| client(name, &id));
    let mut sockets = [0, 1].map(|number| networks.connect(number, port));
    add(&mut clients[0], &id, "start");
    wait_until_equal(&mut sockets, &mut clients, &id);

    // The link of one client is cut, and mended while its socket is open at both ends: what was sent arrives.
    networks.cut(0);
    for number in 0..10 {
        add(&mut clients[0], &id, &format!("cut {number}"));
        sockets[0].exchange(&mut clients[0]).expect("an open socket");
        add(&mut clients[1], &id, &format!("beside {number}"));
        wait_for(&mut sockets[1], &mut clients[1], &id, SyncStatus::InSync);
    }
    assert_eq!(clients[1].document(&id).expect("it was added").stats().changes, 11);
    networks.mend(0);
    wait_until_equal(&mut sockets, &mut clients, &id);
    assert_eq!(clients[1].document(&id).expect("it was added").stats().changes, 21);

    // The client connects again under its name while the server believes that the old socket is open.
    networks.cut(0);
    add(&mut clients[0], &id, "before");
    sockets[0].exchange(&mut clients[0]).expect("an open socket");
    add(&mut clients[1], &id, "meanwhile");
    wait_for(&mut sockets[1], &mut clients[1], &id, SyncStatus::InSync);
    networks.mend(0);
    clients[0].connect();
    let _half_open = std::mem::replace(&mut sockets[0], networks.connect(0, port));
    wait_until_equal(&mut sockets, &mut clients, &id);

    // The server dies while one client is cut off, and then the other is.
    networks.cut(1);
    add(&mut clients[0], &id, "confirmed");
    wait_for(&mut sockets[0], &mut clients[0], &id, SyncStatus::InSync);
    put(&mut clients[1], &id, vec![1]);
    server.kill();
    let _server = networks.start(&world, port);
    networks.cut(0);
    networks.mend(1);
    clients[1].connect();
    sockets[1] = networks.connect(1, port);
    wait_for(&mut sockets[1], &mut clients[1], &id, SyncStatus::InSync);
    let heads = clients[0].document(&id).expect("it was added").get_heads();
    let missing = clients[1].document(&id).expect("it was added").get_missing_deps(&heads);
    assert_eq!(missing, [], "confirmed before the server died");
    networks.mend(0);
    clients[0].connect();
    sockets[0] = networks.connect(0, port);
    wait_until_equal(&mut sockets, &mut clients, &id);
}
