//! Keys of token issuers at a URL: missing, fetched, replaced, and a URL that fails.

use super::service::Service;
use super::start;
use crate::serve::{Server, Socket};
use crate::world::World;
use hashmill_testkit::wait;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Instant;

const TOKENS: &str = include_str!("../../../../../server/tests/tokens/tokens.txt");
const KEYS: &str = include_str!("../../../../../server/tests/tokens/keys.json");

/// What the issuer answers now.
type Answer = Arc<Mutex<(u16, String)>>;

fn issuer(status: u16, body: String) -> (Service, Answer) {
    let answer: Answer = Arc::new(Mutex::new((status, body)));
    let current = Arc::clone(&answer);
    let service = Service::start(move |_| Some(current.lock().expect("no panic").clone()));
    (service, answer)
}

fn set(answer: &Answer, status: u16, body: String) {
    *answer.lock().expect("no panic") = (status, body);
}

/// The keys with these names.
fn keys(names: &[&str]) -> Value {
    let all: Value = serde_json::from_str(KEYS).expect("JSON");
    let is_named = |key: &&Value| names.contains(&key["kid"].as_str().expect("a name"));
    let keys: Vec<&Value> = all["keys"].as_array().expect("a list").iter().filter(is_named).collect();
    json!({ "keys": keys })
}

fn settings(service: &Service) -> String {
    format!("jwt-keys = \"{}\"\njwt-audience = \"sync.example.org\"\n", service.url("/keys?x=1"))
}

fn open(server: &Server, token: &str) -> Result<Socket, (u16, String)> {
    Socket::try_open(&server.address, "/", &[("authorization", &format!("Bearer {token}"))])
}

/// The token of the key `e` or `p`.
fn token(name: &str) -> &'static str {
    TOKENS.lines().nth(usize::from(name == "p")).expect("three tokens")
}

#[test]
fn a_server_starts_without_keys_and_takes_tokens_when_they_are_there() {
    let world = World::new();
    let (service, answer) = issuer(500, String::new());
    let server = start(&world, &settings(&service));
    assert_eq!(server.status("/readyz"), 503);
    assert_eq!(server.status("/healthz"), 200);
    let (status, text) = open(&server, token("e")).err().expect("no keys");
    assert_eq!(
        (status, text.as_str()),
        (503, "the server does not have the keys of the token's issuer yet: try again soon\n")
    );
    service.wait_for_requests(2);
    set(&answer, 200, keys(&["e", "p"]).to_string());
    wait::until("keys", || server.status("/readyz") == 200);
    drop(open(&server, token("e")).expect("a sound token"));
    drop(open(&server, token("p")).expect("a sound token"));
    let foreign = TOKENS.lines().nth(2).expect("three tokens");
    assert_eq!(open(&server, foreign).err().expect("another issuer").0, 401);
    assert!(service.requests()[0].line.starts_with("GET /keys?x=1 "));
    #[cfg(unix)]
    {
        let err = server.stop().err;
        let url = service.url("/keys");
        let issuer = format!("hashmill: the keys of the token issuer (jwt-keys) at {url}");
        let line = format!(
            "{issuer} could not be fetched: it answers with status 500 Internal Server Error; clients"
        );
        assert_eq!(err.matches(&line).count(), 1, "{err}");
        assert_eq!(err.matches(&format!("{issuer} were fetched again\n")).count(), 1, "{err}");
    }
}

#[test]
fn new_and_withdrawn_keys_act_and_a_url_that_fails_changes_nothing() {
    let world = World::new();
    let (service, answer) = issuer(200, keys(&["e"]).to_string());
    let started = Instant::now();
    let server = start(&world, &settings(&service));
    wait::until("keys", || server.status("/readyz") == 200);
    let socket = open(&server, token("e")).expect("a sound token");
    let (status, text) = open(&server, token("p")).err().expect("no such key");
    assert!(
        status == 401 && text.contains("its key is “p”, which is none of the server's jwt-keys"),
        "{text}"
    );
    // A token with an unknown key lets the server ask again, at a bounded rate.
    set(&answer, 200, keys(&["p"]).to_string());
    wait::until("the new key", || open(&server, token("p")).is_ok());
    // The key of this one is gone.
    socket.wait_for_close();
    assert_eq!(open(&server, token("e")).err().expect("withdrawn").0, 401);
    for broken in ["nonsense", "{\"keys\": []}", &"x".repeat(2 << 20)] {
        set(&answer, 200, broken.to_owned());
        for _ in 0..20 {
            assert!(open(&server, token("e")).is_err());
            assert!(open(&server, token("p")).is_ok());
        }
    }
    let most = started.elapsed().as_secs() / 10 + 2;
    let requests = service.requests().len() as u64;
    assert!(requests <= most, "{requests} requests");
}

#[test]
#[cfg(unix)]
fn answers_that_are_no_keys_are_reported() {
    let world = World::new();
    let secret = json!({ "keys": [{ "kty": "oct", "k": "A".repeat(64) }] });
    for (status, body, expected) in [
        (302, String::new(), "it answers with status 302 Found; clients with its tokens are refused"),
        (200, "x".repeat((1 << 20) + 1), "the answer is longer than 1048576 bytes; "),
        (200, "nonsense".to_owned(), "neither PEM (BEGIN PUBLIC KEY), nor a JWK, nor a JWKS; "),
        (200, secret.to_string(), "a secret (HS256), which all can read: publish public keys alone; "),
    ] {
        let (service, _) = issuer(status, body);
        let server = start(&world, &settings(&service));
        service.wait_for_requests(2);
        let err = server.stop().err;
        assert!(err.contains(expected), "{expected}: {err}");
    }
}
