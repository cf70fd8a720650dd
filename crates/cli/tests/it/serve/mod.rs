//! Tests of `hashmill serve`: the program as its users run it, with real sockets, files and signals.

mod blobs;
mod deletion;
mod faults;
mod limits;
mod operation;
mod operator;
mod rights;
mod starts;
#[cfg(target_os = "linux")]
mod storms;
mod sync;
mod transport;

use crate::world::{Done, World, finish, hashmill};
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, PeerId, SyncStatus};
use hashmill_testkit::wait::{self, Running};
use std::io::{BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdout, Command};
use std::time::{Duration, Instant};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{ClientRequestBuilder, Error, HandshakeError, Message, WebSocket};

/// A running server on a free port, with its storage in the world's folder `store`.
struct Server {
    child: Running,
    /// `HOST:PORT`.
    address: String,
    storage_id: String,
    /// Kept open: a server whose output is closed could fail to write.
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    fn start(world: &World) -> Server {
        Server::start_with(world, Command::new(hashmill()).arg("serve"), &[])
    }

    /// Starts a command with further arguments.
    fn start_with(world: &World, command: &mut Command, args: &[&str]) -> Server {
        Server::start_at(world, command, "127.0.0.1:0", args)
    }

    fn start_at(world: &World, command: &mut Command, address: &str, args: &[&str]) -> Server {
        if !args.contains(&"--data") {
            command.args(["--data", "store"]);
        }
        command.args(["--listen", address]).args(args);
        command.env_remove("PORT").env_remove("DATA_DIR");
        let mut child = world.start(command);
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        if line.is_empty() {
            panic!("{:?}", finish(child));
        }
        let (address, storage_id) = line
            .trim_end()
            .strip_prefix("listening on ")
            .and_then(|line| line.strip_prefix("ws://").or_else(|| line.strip_prefix("wss://")))
            .and_then(|line| line.split_once(", storage "))
            .unwrap_or_else(|| panic!("{line}"));
        let (address, storage_id) = (address.to_owned(), storage_id.to_owned());
        Server { child, address, storage_id, _stdout: stdout }
    }

    fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Ends it at once.
    fn kill(self) {
        self.end();
    }

    /// Ends it at once. Returns its messages.
    fn end(mut self) -> String {
        self.child.kill().expect("it runs");
        finish(self.child).err
    }

    /// Ends it at once, and returns the id of its storage.
    fn kill_for_id(self) -> String {
        let storage_id = self.storage_id.clone();
        self.kill();
        storage_id
    }

    /// Asks it to stop, and waits for its end.
    #[cfg(unix)]
    fn stop(self) -> Done {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        finish(self.child)
    }

    /// The status code of a request.
    fn status(&self, path: &str) -> u16 {
        let answer = self.get(path);
        answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    }

    /// The answer to a request.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a server");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("a server");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn connect(&self) -> Socket {
        Socket::open(&self.address)
    }
}

/// Status and text of a refused WebSocket.
type Refusal = (u16, String);

/// A socket of a test.
struct Socket<S = TcpStream>(WebSocket<S>);

impl Socket {
    fn open(address: &str) -> Socket {
        Socket::try_open(address, "/", &[]).expect("a WebSocket")
    }

    /// Opens a socket with a path, a query and headers.
    fn try_open(address: &str, path: &str, headers: &[(&str, &str)]) -> Result<Socket, Refusal> {
        let stream = TcpStream::connect(address).expect("a server");
        stream.set_nodelay(true).expect("a socket");
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let url = format!("ws://{address}{path}").parse().expect("a URL");
        let request = headers.iter().fold(ClientRequestBuilder::new(url), |request, (name, value)| {
            request.with_header(*name, *value)
        });
        match tungstenite::client::client_with_config(request, stream, Some(config)) {
            Ok((socket, _)) => {
                // Only now: the handshake waits for a busy server.
                let timeout = Some(Duration::from_millis(10));
                socket.get_ref().set_read_timeout(timeout).expect("a socket");
                Ok(Socket(socket))
            }
            Err(HandshakeError::Failure(Error::Http(response))) => {
                let text = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
                Err((response.status().as_u16(), text.into_owned()))
            }
            Err(error) => panic!("{error}"),
        }
    }
}

impl<S: Read + Write> Socket<S> {
    fn send(&mut self, frame: Vec<u8>) -> Result<(), Error> {
        self.0.send(Message::Binary(frame.into()))
    }

    /// The next frame, if one comes soon. `Err`: the socket is closed.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match self.0.read() {
            Ok(Message::Binary(frame)) => Ok(Some(frame.into())),
            Ok(_) => Ok(None),
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the server closes the socket.
    fn wait_for_close(mut self) {
        wait::until("a closed socket", || self.next().is_err());
    }

    /// Sends what a client has, and passes on to it what came. `Err`: the socket is closed.
    fn exchange(&mut self, client: &mut Client) -> Result<(), Error> {
        let now = Instant::now().elapsed();
        while let Some(frame) = client.to_send(now) {
            self.send(frame)?;
        }
        while let Some(frame) = self.next()? {
            client.received(&frame, now).expect("no violation");
            while client.next_event().is_some() {}
            while let Some(frame) = client.to_send(now) {
                self.send(frame)?;
            }
        }
        Ok(())
    }
}

/// A client with an empty document.
fn client(name: &str, id: &DocumentId) -> Client {
    let mut client = Client::new(PeerId::from(name), "session");
    client.add(id.clone(), Document::new());
    client.connect();
    client
}

/// Edits a document.
fn put(client: &mut Client, id: &DocumentId, value: Vec<u8>) {
    let doc = client.document_mut(id).expect("it was added");
    doc.transact(|tx| tx.put(ROOT, "a", value)).expect("there is room");
}

/// Exchanges messages until the document has a status.
fn wait_for<S: Read + Write>(
    socket: &mut Socket<S>,
    client: &mut Client,
    id: &DocumentId,
    status: SyncStatus,
) {
    wait::until("a status", || {
        socket.exchange(client).expect("an open socket");
        client.status(id) == Some(status)
    });
}
