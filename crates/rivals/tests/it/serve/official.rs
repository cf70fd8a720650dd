//! Automerge's own crate over a plain WebSocket: its documents and its sync protocol, in frames of automerge-repo.

use std::net::TcpStream;
use std::time::Duration;

use automerge::sync::{Message as SyncMessage, State, SyncDoc as _};
use automerge::transaction::Transactable as _;
use automerge::{AutoCommit, ChangeHash, ObjType, ROOT, ReadDoc as _};
use hashmill_repo::DocumentId;
use hashmill_repo::message::{Message, PROTOCOL_VERSION, SyncBody};
use hashmill_testkit::wait;
use tungstenite::{Error, WebSocket};

use super::Server;

/// A document, and its exchange with a server.
struct Client {
    name: &'static str,
    id: String,
    doc: AutoCommit,
    state: State,
    server: String,
    socket: WebSocket<TcpStream>,
    is_unavailable: bool,
}

impl Client {
    fn connect(name: &'static str, id: &DocumentId, doc: AutoCommit, server: &Server) -> Client {
        Client::resume(name, id, doc, State::new(), server)
    }

    /// Connects with what an earlier connection agreed on.
    fn resume(name: &'static str, id: &DocumentId, doc: AutoCommit, state: State, server: &Server) -> Client {
        let stream = TcpStream::connect(server.address()).expect("a server");
        let url = format!("ws://{}/", server.address());
        let (mut socket, _) = tungstenite::client(url, stream).expect("a WebSocket");
        let join = Message::Join {
            sender: name.into(),
            metadata: Default::default(),
            versions: Some(vec![PROTOCOL_VERSION.into()]),
        };
        socket.send(tungstenite::Message::Binary(join.encode().into())).expect("a server");
        let answer = socket.read().expect("an answer").into_data();
        let Ok(Message::Peer { sender, .. }) = Message::decode(&answer) else { panic!("{answer:?}") };
        let server = sender.into_owned();
        socket.get_ref().set_read_timeout(Some(Duration::from_millis(10))).expect("a socket");
        Client { name, id: id.to_string(), doc, state, server, socket, is_unavailable: false }
    }

    /// Sends all that the engine has to send.
    fn send(&mut self) {
        loop {
            let message = self.doc.sync().generate_sync_message(&mut self.state);
            let Some(message) = message else { return };
            let is_request = self.doc.get_heads().is_empty() && self.state.their_heads.is_none();
            let body = SyncBody {
                sender: self.name.into(),
                target: self.server.as_str().into(),
                document: self.id.as_str().into(),
                data: message.encode().into(),
            };
            let message = if is_request { Message::Request(body) } else { Message::Sync(body) };
            self.socket.send(tungstenite::Message::Binary(message.encode().into())).expect("a server");
        }
    }

    /// Passes what arrived on to the engine.
    fn exchange(&mut self) {
        self.send();
        loop {
            let frame = match self.socket.read() {
                Ok(message) => message.into_data(),
                Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            };
            match Message::decode(&frame) {
                Ok(Message::Sync(body)) => {
                    assert_eq!((&*body.target, &*body.document), (self.name, &*self.id));
                    self.is_unavailable = false;
                    let message = SyncMessage::decode(&body.data).expect("a message of the official engine");
                    self.doc.sync().receive_sync_message(&mut self.state, message).expect("valid changes");
                }
                Ok(Message::DocUnavailable { .. }) => self.is_unavailable = true,
                other => panic!("{other:?}"),
            }
            self.send();
        }
    }

    /// Does the server confirm exactly the changes that the client has?
    fn is_in_step(&mut self) -> bool {
        let heads = self.doc.get_heads();
        !heads.is_empty() && self.state.their_heads.as_ref() == Some(&heads)
    }

    fn wait_until_in_step(&mut self) {
        wait::until("heads of the server", || {
            self.exchange();
            self.is_in_step()
        });
    }

    fn put(&mut self, key: &str, value: i64) {
        self.doc.put(ROOT, key, value).expect("a map");
        self.doc.commit();
    }
}

fn wait_until_all_agree(clients: &mut [Client]) {
    wait::until("equal documents", || {
        clients.iter_mut().for_each(Client::exchange);
        let heads: Vec<Vec<ChangeHash>> = clients.iter_mut().map(|client| client.doc.get_heads()).collect();
        heads.iter().all(|one| *one == heads[0]) && clients.iter_mut().all(Client::is_in_step)
    });
}

fn id(number: u8) -> DocumentId {
    DocumentId::from_random_bytes([number; 16])
}

#[test]
fn official_engines_converge_through_our_server() {
    let server = Server::start();
    let mut first = AutoCommit::new();
    let text = first.put_object(ROOT, "text", ObjType::Text).expect("a map");
    first.splice_text(&text, 0, 0, "Hello 😀").expect("a text");
    // Many changes: the filters of the protocol have false positives among them.
    for number in 0..2000 {
        first.put(ROOT, format!("key {}", number % 9), number).expect("a map");
        first.commit();
    }
    let second = first.fork();
    let mut clients =
        [("first", first), ("second", second)].map(|(name, doc)| Client::connect(name, &id(1), doc, &server));
    for (number, client) in clients.iter_mut().enumerate() {
        for edit in 0..500 {
            client.put(&format!("{number} {}", edit % 50), edit);
        }
    }
    let third = Client::connect("third", &id(1), AutoCommit::new(), &server);
    let [first, second] = clients;
    let mut clients = [first, second, third];
    wait_until_all_agree(&mut clients);
    // All edit at once.
    for round in 0..20 {
        for client in &mut clients {
            let at = client.doc.text(&text).expect("a text").chars().count() / 2;
            client.doc.splice_text(&text, at, 0, "ab").expect("a text");
            client.doc.commit();
            if round % 3 == 0 {
                client.exchange();
            }
        }
    }
    wait_until_all_agree(&mut clients);
    let texts = clients.each_ref().map(|client| client.doc.text(&text).expect("a text"));
    assert!(texts.iter().all(|one| *one == texts[0]), "{texts:?}");
    assert_eq!(texts[0].chars().count(), 7 + 3 * 20 * 2);
}

#[test]
fn official_engine_hears_of_a_document_that_was_absent() {
    let server = Server::start();
    let mut asking = Client::connect("asking", &id(1), AutoCommit::new(), &server);
    wait::until("an answer", || {
        asking.exchange();
        asking.is_unavailable
    });
    let mut making = Client::connect("making", &id(1), AutoCommit::new(), &server);
    making.put("a", 1);
    making.wait_until_in_step();
    asking.wait_until_in_step();
    assert_eq!(asking.doc.get_heads(), making.doc.get_heads());
}

#[test]
fn official_engine_goes_on_with_its_stored_state_after_kills() {
    let mut server = Server::start();
    let mut client = Client::connect("typing", &id(1), AutoCommit::new(), &server);
    for round in 0..5 {
        client.put("number", round);
        client.wait_until_in_step();
        let confirmed = client.doc.get_heads();
        // These are not confirmed, and may be on their way.
        client.put("later", round);
        client.send();
        server.kill_and_restart();
        let Client { doc, state, .. } = client;
        let stored = State::decode(&state.encode()).expect("a stored state");
        client = Client::resume("typing", &id(1), doc, stored, &server);
        // A reader that starts with nothing gets at least what was confirmed.
        let mut reader = Client::connect("reading", &id(1), AutoCommit::new(), &server);
        reader.wait_until_in_step();
        assert_eq!(reader.doc.get_missing_deps(&confirmed), [], "round {round}");
        client.wait_until_in_step();
    }
}
