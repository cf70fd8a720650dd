//! Rights that another service knows.

use super::service::{Request, Service};
use super::start;
use crate::serve::{Server, Socket, client, put, wait_for};
use crate::world::World;
use hashmill_doc::Document;
use hashmill_repo::{Client, DocumentId, SyncStatus};
use hashmill_testkit::wait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const TOKEN: &str = "token of ann";

fn ids() -> [DocumentId; 2] {
    [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]))
}

/// Answers of the service by document, or by `null` for the client. What is not there is never answered.
#[derive(Clone, Default)]
struct Rights(Arc<Mutex<BTreeMap<String, (u16, Value)>>>);

impl Rights {
    fn set(&self, about: &str, status: u16, answer: Value) {
        self.0.lock().expect("no panic").insert(about.to_owned(), (status, answer));
    }

    fn allow(&self, document: &DocumentId, access: &str) {
        self.set(&document.to_string(), 200, json!({ "access": access, "ttl": 1 }));
    }

    fn answer(&self, request: &Request) -> Option<(u16, String)> {
        let question: Value = serde_json::from_str(&request.body).expect("JSON");
        let about = question["document"].as_str().unwrap_or("null");
        let (status, answer) = self.0.lock().expect("no panic").get(about).cloned()?;
        Some((status, answer.to_string()))
    }
}

/// A service that knows the token, and no rights.
fn service() -> (Service, Rights) {
    let rights = Rights::default();
    rights.set("null", 200, json!({ "identity": "ann" }));
    let answers = rights.clone();
    (Service::start(move |request| answers.answer(request)), rights)
}

fn settings(service: &Service) -> String {
    format!("auth-url = \"{}\"\nauth-cache-seconds = 1\n", service.url("/rights?key=secret"))
}

fn open(server: &Server, token: &str) -> Result<Socket, (u16, String)> {
    Socket::try_open(&server.address, "/", &[("authorization", &format!("Bearer {token}"))])
}

fn is_unavailable(client: &Client, id: &DocumentId) -> bool {
    client.conversation(id).expect("it was added").is_unavailable()
}

fn wait_until(socket: &mut Socket, client: &mut Client, is_done: impl Fn(&Client) -> bool) {
    wait::until("a state", || {
        socket.exchange(client).expect("an open socket");
        is_done(client)
    });
}

#[test]
fn rights_are_those_of_the_service_and_change_on_open_connections() {
    let world = World::new();
    let (service, rights) = service();
    let [first, second] = ids();
    rights.allow(&first, "write");
    let server = start(&world, &settings(&service));
    let mut ann = client("ann", &first);
    ann.add(second, Document::new());
    put(&mut ann, &first, vec![1]);
    let mut socket = open(&server, TOKEN).expect("a known token");
    // The question about the second document is never answered: the first goes on.
    wait_for(&mut socket, &mut ann, &first, SyncStatus::InSync);
    let questions = service.requests();
    assert!(questions[0].line.starts_with("POST /rights?key=secret "), "{questions:?}");
    let question: Value = serde_json::from_str(&questions[0].body).expect("JSON");
    let expected = json!({ "token": TOKEN, "identity": null, "document": null, "address": "127.0.0.1" });
    assert_eq!(question, expected);
    let is_about_first = |request: &&Request| request.body.contains(&first.to_string());
    let question = questions.iter().find(is_about_first).expect("a question");
    let question: Value = serde_json::from_str(&question.body).expect("JSON");
    assert_eq!((&question["identity"], &question["token"]), (&json!("ann"), &json!(TOKEN)));
    rights.allow(&first, "none");
    wait_until(&mut socket, &mut ann, |client| is_unavailable(client, &first));
    rights.allow(&first, "read");
    wait_for(&mut socket, &mut ann, &first, SyncStatus::InSync);
    put(&mut ann, &first, vec![2]);
    wait_for(&mut socket, &mut ann, &first, SyncStatus::ReadOnlyPeer);
    rights.allow(&first, "write");
    wait_for(&mut socket, &mut ann, &first, SyncStatus::InSync);
    // The token is withdrawn.
    rights.set("null", 401, Value::Null);
    socket.wait_for_close();
    let (status, text) = open(&server, TOKEN).err().expect("withdrawn");
    assert_eq!(
        (status, text.as_str()),
        (401, "the token is unknown: it was withdrawn, or is for another server\n")
    );
}

#[test]
#[cfg(unix)]
fn a_failing_service_denies_and_is_reported() {
    let world = World::new();
    let (service, rights) = service();
    let [first, second] = ids();
    let server = start(&world, &settings(&service));
    rights.set(&first.to_string(), 500, Value::Null);
    rights.set(&second.to_string(), 200, json!({ "access": "all" }));
    let mut ann = client("ann", &first);
    ann.add(second.clone(), Document::new());
    put(&mut ann, &first, vec![1]);
    let mut socket = open(&server, TOKEN).expect("a known token");
    for id in [&first, &second] {
        wait_until(&mut socket, &mut ann, |client| is_unavailable(client, id));
    }
    // The server asks again, and the client sends what was refused.
    rights.allow(&first, "write");
    wait_for(&mut socket, &mut ann, &first, SyncStatus::InSync);
    rights.set("null", 503, Value::Null);
    let (status, text) = open(&server, "another token").err().expect("not known");
    assert_eq!((status, text.as_str()), (503, "the server cannot check the token now: try again soon\n"));
    rights.set("null", 403, Value::Null);
    assert_eq!(open(&server, "another token").err().expect("unknown").0, 401);
    drop(socket);
    let err = server.stop().err;
    let denied = "a client is denied, because its rights (auth-url) are unknown: ";
    for expected in [
        &format!("{first}: {denied}it answers with status 500 Internal Server Error\n"),
        &format!("{second}: {denied}its answer has the access “all”: use none, read or write\n"),
        "a client is refused, because its rights (auth-url) are unknown: it answers with status 503",
    ] {
        assert!(err.contains(expected), "{expected}: {err}");
    }
    assert!(!err.contains(TOKEN) && !err.contains("another token"), "{err}");
}

#[test]
fn static_tokens_and_clients_without_one_cause_no_requests() {
    let world = World::new();
    let (service, _) = service();
    let [first, _] = ids();
    world.write(
        "tokens.toml",
        "[[identity]]\nname = \"ben\"\ntoken = \"a token of a test\"\ndocuments = { \"*\" = \"write\" }\n",
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(world.path("tokens.toml"), mode).expect("its own file");
    }
    let settings = format!("{}tokens = \"tokens.toml\"\nanonymous = \"read\"\n", settings(&service));
    let server = start(&world, &settings);
    let mut ben = client("ben", &first);
    put(&mut ben, &first, vec![1]);
    let mut socket = open(&server, "a token of a test").expect("a known token");
    wait_for(&mut socket, &mut ben, &first, SyncStatus::InSync);
    let mut guest = client("guest", &first);
    wait_for(&mut server.connect(), &mut guest, &first, SyncStatus::InSync);
    assert!(service.requests().is_empty());
}
