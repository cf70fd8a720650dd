//! samod, a repository of documents in Rust, with its own dialer, documents and idea of what a peer has.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use automerge::transaction::Transactable as _;
use automerge::{Automerge, ROOT, ReadDoc as _};
use futures::future::BoxFuture;
use futures::{FutureExt as _, SinkExt as _, StreamExt as _, TryStreamExt as _};
use hashmill_testkit::wait;
use samod::{BackoffConfig, DialError, Dialer, DialerHandle, DocHandle, DocumentId, PeerId, Repo, Transport};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};
use url::Url;

use super::Server;

/// Opens WebSockets to a server.
struct WebSocketDialer(Url);

impl Dialer for WebSocketDialer {
    type Error = Infallible;

    fn url(&self) -> Url {
        self.0.clone()
    }

    fn connect(&self) -> BoxFuture<'static, Result<Transport, DialError<Infallible>>> {
        let url = self.0.clone();
        async move {
            let port = url.port().expect("a port");
            let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(DialError::transient)?;
            let (socket, _) =
                tokio_tungstenite::client_async(url.as_str(), stream).await.map_err(DialError::transient)?;
            let (sink, stream) = socket.split();
            let frames = stream.try_filter_map(|message| async {
                Ok(if let Message::Binary(frame) = message { Some(frame.to_vec()) } else { None })
            });
            let sink = sink.with(async |frame: Vec<u8>| Ok::<_, Error>(Message::Binary(frame.into())));
            Ok(Transport::new(frames.boxed(), Box::pin(sink)))
        }
        .boxed()
    }
}

/// A repository with a connection to a server, which it makes again when it is lost.
struct Client {
    repo: Repo,
    dialer: DialerHandle<Infallible>,
}

impl Client {
    async fn connect(name: &str, server: &Server) -> Client {
        let repo = Repo::build_tokio().with_peer_id(PeerId::from(name)).load().await;
        let url = Url::parse(&format!("ws://{}", server.address())).expect("a URL");
        let backoff = BackoffConfig { max_delay: Duration::from_millis(500), ..BackoffConfig::default() };
        let dialer = repo.dial(backoff, Arc::new(WebSocketDialer(url))).expect("a running repository");
        dialer.established().await.expect("a greeting");
        Client { repo, dialer }
    }

    async fn create(&self) -> DocHandle {
        self.repo.create(Automerge::new()).await.expect("a running repository")
    }

    /// A document, which may arrive at the server later.
    async fn find(&self, id: &DocumentId) -> DocHandle {
        loop {
            if let Some(handle) = self.repo.find(id.clone()).await.expect("a running repository") {
                return handle;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the server has confirmed all changes of a document.
    async fn wait_until_confirmed(&self, handle: &DocHandle) {
        let connection = self.dialer.connection_id().expect("a connection");
        handle.they_have_our_changes(connection).await;
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let _limit = wait::limit("clients of samod");
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("threads").block_on(test)
}

fn put(handle: &DocHandle, key: &str, value: i64) {
    handle.with_document(|doc| {
        doc.transact(|tx| tx.put(ROOT, key, value)).expect("a valid edit");
    });
}

fn get(handle: &DocHandle, key: &str) -> Option<i64> {
    handle.with_document(|doc| doc.get(ROOT, key).expect("a map")?.0.as_i64())
}

/// Waits until a document has a key.
async fn wait_for_key(handle: &DocHandle, key: &str) -> i64 {
    let mut changes = pin!(handle.changes());
    loop {
        match get(handle, key) {
            Some(value) => return value,
            None => drop(changes.next().await.expect("an open document")),
        }
    }
}

fn heads(handle: &DocHandle) -> Vec<automerge::ChangeHash> {
    handle.with_document(|doc| doc.get_heads())
}

#[test]
fn clients_of_samod_share_a_document() {
    let server = Server::start();
    run(async {
        let (ann, bob) = (Client::connect("ann", &server).await, Client::connect("bob", &server).await);
        let first = ann.create().await;
        put(&first, "ann", 1);
        let second = bob.find(first.document_id()).await;
        assert_eq!(wait_for_key(&second, "ann").await, 1);
        // Both write at once.
        for number in 0..50 {
            put(&first, &format!("ann {number}"), number);
            put(&second, &format!("bob {number}"), number);
        }
        wait_for_key(&first, "bob 49").await;
        wait_for_key(&second, "ann 49").await;
        assert_eq!(heads(&first), heads(&second));
        // A client that comes later gets all of it.
        let late = Client::connect("late", &server).await.find(first.document_id()).await;
        assert_eq!((get(&late, "ann 0"), get(&late, "bob 49")), (Some(0), Some(49)));
    });
}

#[test]
fn samod_gets_a_document_that_was_absent_at_first() {
    let server = Server::start();
    run(async {
        let offline = Repo::build_tokio().with_peer_id(PeerId::from("offline")).load().await;
        let made = offline.create(Automerge::new()).await.expect("a running repository");
        put(&made, "made", 7);
        let asking = Client::connect("asking", &server).await;
        let id = made.document_id().clone();
        assert!(asking.repo.find(id.clone()).await.expect("a running repository").is_none());
        // It is not asked for again: the server sends it when it comes.
        let (_, states) = asking.repo.search(id).expect("a running repository");
        let url = Url::parse(&format!("ws://{}", server.address())).expect("a URL");
        let dialer = offline.dial(BackoffConfig::default(), Arc::new(WebSocketDialer(url)));
        dialer.expect("a running repository").established().await.expect("a greeting");
        let found = states.filter_map(async |state| match state {
            samod::SearchState::Found(handle) => Some(handle),
            _ => None,
        });
        let handle = pin!(found).next().await.expect("the document");
        assert_eq!(wait_for_key(&handle, "made").await, 7);
    });
}

#[test]
fn samod_hears_other_users_of_a_document() {
    let server = Server::start();
    run(async {
        let (ann, bob) = (Client::connect("ann", &server).await, Client::connect("bob", &server).await);
        let first = ann.create().await;
        let second = bob.find(first.document_id()).await;
        bob.wait_until_confirmed(&second).await;
        let (mut to_ann, mut to_bob) = (pin!(first.ephemera()), pin!(second.ephemera()));
        // Arrays of numbers in CBOR.
        for number in 0..10 {
            first.broadcast(vec![0x82, 1, number]);
            assert_eq!(to_bob.next().await, Some(vec![0x82, 1, number]));
            second.broadcast(vec![0x82, 2, number]);
            assert_eq!(to_ann.next().await, Some(vec![0x82, 2, number]));
        }
    });
}

#[test]
fn samod_finds_all_that_was_confirmed_before_kills() {
    let mut server = Server::start();
    run(async {
        let typing = Client::connect("typing", &server).await;
        let handle = typing.create().await;
        for round in 0..3 {
            put(&handle, &format!("confirmed {round}"), round);
            typing.wait_until_confirmed(&handle).await;
            // Some of these may be on their way when it dies.
            for number in 0..20 {
                put(&handle, "last", number);
            }
            let mut events = typing.dialer.events();
            server.kill_and_restart();
            // A reader that starts with nothing.
            let reading = Client::connect(&format!("reading {round}"), &server).await;
            let read = reading.find(handle.document_id()).await;
            for number in 0..=round {
                assert_eq!(get(&read, &format!("confirmed {number}")), Some(number), "round {round}");
            }
            // The typist connects again, and both agree.
            while !typing.dialer.is_connected() {
                events.next().await;
            }
            put(&handle, &format!("after {round}"), round);
            wait_for_key(&read, &format!("after {round}")).await;
            assert_eq!(heads(&read), heads(&handle));
        }
    });
}
