//! The operator's interface of a running server: requests, their description, lists, and the dashboard.

mod access;
mod dashboard;
mod documents;
mod events;
mod openapi;

use super::{Server, Socket, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_repo::{Client, DocumentId, SyncStatus};
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

/// A status and a body.
pub(super) type Answer = (u16, Value);

/// The operator of a server.
pub(super) struct Operator {
    address: String,
    token: String,
}

impl Operator {
    /// With the token of this start.
    fn new(world: &World) -> Operator {
        Operator::of_folder(world, "store")
    }

    /// Of the server with a folder of the world.
    pub(super) fn of_folder(world: &World, folder: &str) -> Operator {
        let access = fs::read(world.path(folder).join("admin.json")).expect("a file");
        let access: Value = serde_json::from_slice(&access).expect("JSON");
        let text = |name: &str| access[name].as_str().expect("a text").to_owned();
        Operator { address: text("address"), token: text("token") }
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.request("GET", path)
    }

    pub(super) fn post(&self, path: &str) -> Answer {
        self.request("POST", path)
    }

    /// The body of a request that succeeds.
    #[track_caller]
    fn value(&self, path: &str) -> Value {
        let (status, value) = self.get(path);
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    fn request(&self, method: &str, path: &str) -> Answer {
        let (status, _, body) = self.send(method, path, "", "");
        let value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"));
        (status, value)
    }

    /// Status, head and body of the answer to a request with further headers and a body.
    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, String) {
        let mut stream = self.start(method, path, headers, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{path}: {answer}"));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    /// Sends a request.
    fn start(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("a server");
        let Operator { address, token } = self;
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{headers}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("a server");
        stream
    }
}

/// The answer to a request with a header `Host` and a token.
fn raw_get(address: &str, path: &str, host: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a server");
    let headers = format!("host: {host}\r\nauthorization: Bearer {token}\r\nconnection: close");
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n\r\n").expect("a server");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Starts a server with settings.
fn start(world: &World, settings: &str) -> Server {
    world.write("settings.toml", settings);
    Server::start_with(world, Command::new(hashmill()).arg("serve"), &["--settings", "settings.toml"])
}

fn id(number: u8) -> DocumentId {
    DocumentId::from_random_bytes([number; 16])
}

/// A client that has stored a document.
fn writer(server: &Server, name: &str, id: &DocumentId, value: Vec<u8>) -> (Client, Socket) {
    let (mut client, mut socket) = (client(name, id), server.connect());
    put(&mut client, id, value);
    wait_for(&mut socket, &mut client, id, SyncStatus::InSync);
    (client, socket)
}
