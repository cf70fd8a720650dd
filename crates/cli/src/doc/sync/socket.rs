//! A WebSocket to a server, on which nothing takes longer than it may.

use super::tls::{Secure, Trust};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use tungstenite::client::{IntoClientRequest as _, client_with_config};
use tungstenite::error::{CapacityError, ProtocolError};
use tungstenite::handshake::HandshakeError;
use tungstenite::http::Uri;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Bytes, Error, Message, WebSocket};

/// The longest message that is taken.
const MOST_BYTES: usize = 256 << 20;
/// How long a read waits before somebody may look after other things.
const TICK: Duration = Duration::from_millis(50);
/// How long a server may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// An open connection.
pub(super) struct Socket {
    inner: WebSocket<Counted>,
    timeout: Duration,
    /// Bytes of frames that only keep a connection open.
    noise: u64,
}

/// Why a connection is of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// It may work another time.
    #[error("{0}")]
    Gone(String),
    /// What is there is no server for us.
    #[error("{0}")]
    Foreign(String),
}

impl Broken {
    /// A server says nothing.
    pub(super) fn silent(timeout: Duration) -> Broken {
        Broken::Gone(format!("did not answer for {} s (see --timeout)", timeout.as_secs()))
    }

    /// A server says that it gives nothing more.
    pub(super) fn withdrawn() -> Broken {
        Broken::Gone("no longer has the document, or not for everybody".to_owned())
    }

    pub(super) fn closed() -> Broken {
        Broken::Gone("closed the connection".to_owned())
    }
}

/// Where a server is.
#[derive(Clone, Debug)]
pub(super) struct Address {
    uri: Uri,
    host: String,
    port: u16,
}

impl Address {
    /// Reads a URL; says what is wrong with it.
    pub(super) fn read(url: &str) -> Result<Address, String> {
        let uri: Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
        let wrong = |why: &str| Err(format!("{url}: {why}"));
        match uri.scheme_str() {
            Some("ws" | "wss") => {}
            _ => return wrong("the URL of a server begins with ws:// or wss://"),
        }
        let usual = if uri.scheme_str() == Some("wss") { 443 } else { 80 };
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return wrong("it names no host");
        }
        // A port that is no number is none for the parser.
        let named = uri
            .authority()
            .is_some_and(|authority| !authority.as_str().ends_with(uri.host().unwrap_or_default()));
        let port = match uri.port_u16() {
            None if named => return wrong("its port is none"),
            port => port.unwrap_or(usual),
        };
        Ok(Address { uri, host, port })
    }

    /// Whether others on the way are not to read it.
    pub(super) fn is_secure(&self) -> bool {
        self.uri.scheme_str() == Some("wss")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uri.fmt(f)
    }
}

impl Socket {
    /// Connects, in no more than `timeout` for each step; with TLS to whom `trust` lets through.
    pub(super) fn open(to: &Address, trust: Option<&Trust>, timeout: Duration) -> Result<Socket, Broken> {
        let stream =
            reach(to, timeout).map_err(|error| Broken::Gone(format!("cannot be reached: {error}")))?;
        let stream = match trust {
            Some(trust) => Stream::Secure(Box::new(trust.agree(stream, &to.host, timeout)?)),
            None => Stream::Plain(stream),
        };
        let config =
            WebSocketConfig::default().max_message_size(Some(MOST_BYTES)).max_frame_size(Some(MOST_BYTES));
        let request = to.uri.clone().into_client_request().map_err(|error| broken(error, timeout))?;
        let end = Instant::now() + timeout;
        let mut step = client_with_config(request, Counted { stream, received: 0 }, Some(config));
        loop {
            step = match step {
                Ok((inner, _)) => return Ok(Socket { inner, timeout, noise: 0 }),
                Err(HandshakeError::Failure(error)) => return Err(broken(error, timeout)),
                Err(HandshakeError::Interrupted(_)) if Instant::now() > end => {
                    return Err(Broken::silent(timeout));
                }
                Err(HandshakeError::Interrupted(waiting)) => waiting.handshake(),
            };
        }
    }

    /// Sends a frame.
    pub(super) fn send(&mut self, frame: Vec<u8>) -> Result<(), Broken> {
        self.put(Message::Binary(frame.into()))
    }

    /// Asks whether the server is still there.
    pub(super) fn ping(&mut self) -> Result<(), Broken> {
        self.put(Message::Ping(Bytes::new()))
    }

    fn put(&mut self, message: Message) -> Result<(), Broken> {
        self.inner.send(message).map_err(|error| match error {
            Error::Io(error) if is_late(&error) => {
                Broken::Gone(format!("took nothing for {} s (see --timeout)", self.timeout.as_secs()))
            }
            error => broken(error, self.timeout),
        })
    }

    /// The next frame, if one comes soon.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        match self.inner.read() {
            Ok(Message::Binary(frame)) => Ok(Some(frame)),
            Ok(Message::Text(_)) => {
                Err(Broken::Foreign("sends text: it does not speak automerge-repo's protocol".to_owned()))
            }
            Ok(Message::Close(Some(frame))) if !frame.reason.is_empty() => {
                let reason: String = frame.reason.chars().take(200).collect();
                Err(Broken::Gone(format!("closed the connection: {reason:?}")))
            }
            Ok(Message::Close(_)) => Err(Broken::closed()),
            Ok(Message::Ping(words) | Message::Pong(words)) => {
                self.noise += 2 + words.len() as u64;
                Ok(None)
            }
            Ok(Message::Frame(_)) => Ok(None),
            Err(Error::Io(error)) if is_late(&error) => Ok(None),
            Err(error) => Err(broken(error, self.timeout)),
        }
    }

    /// Bytes that came in all.
    pub(super) fn received(&self) -> u64 {
        self.inner.get_ref().received
    }

    /// Those of them that may belong to what was asked for.
    pub(super) fn news(&self) -> u64 {
        self.received().saturating_sub(self.noise)
    }

    /// Counts the bytes of a frame that was not asked for.
    pub(super) fn discount(&mut self, len: usize) {
        let header = match len {
            0..126 => 2,
            126..65_536 => 4,
            _ => 10,
        };
        self.noise += header + len as u64;
    }

    /// Says goodbye: a connection that just ends can lose what was sent last.
    pub(super) fn close(mut self) {
        let end = Instant::now() + GOODBYE;
        // It has served; how it ends matters to nobody.
        let mut answer = self.inner.close(None);
        while answer.is_ok() && Instant::now() < end {
            answer = match self.inner.read() {
                Err(Error::Io(error)) if is_late(&error) => Ok(()),
                other => other.map(drop),
            };
        }
    }
}

/// A connection to any of the addresses of a host.
fn reach(to: &Address, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "its name has no address");
    for address in (to.host.as_str(), to.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TICK))?;
                stream.set_write_timeout(Some(timeout))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether nothing happened in the time that was given.
pub(super) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

pub(super) fn is_end(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&error.kind())
}

fn broken(error: Error, timeout: Duration) -> Broken {
    match error {
        Error::Io(error) if is_late(&error) => Broken::silent(timeout),
        // How an end is noticed depends on who was about to say something.
        Error::Io(error) if is_end(&error) => Broken::closed(),
        Error::Io(error) => Broken::Gone(format!("the connection broke: {error}")),
        Error::ConnectionClosed | Error::AlreadyClosed => Broken::closed(),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete) => {
            Broken::closed()
        }
        Error::Http(response) => {
            let to = response.headers().get("location").and_then(|to| to.to_str().ok());
            let to = to.map(|to| format!(" (it names {:?})", to.chars().take(200).collect::<String>()));
            let to = to.unwrap_or_default();
            Broken::Foreign(format!("answers with HTTP status {}: it is no WebSocket{to}", response.status()))
        }
        Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
            Broken::Foreign(format!("sends a message of {size} bytes; more than {max_size} are not taken"))
        }
        error => Broken::Foreign(format!("is no WebSocket, or a broken one: {error}")),
    }
}

/// What the bytes go through.
enum Stream {
    Plain(TcpStream),
    Secure(Box<Secure>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(buffer),
            Stream::Secure(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(bytes),
            Stream::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            Stream::Secure(stream) => stream.flush(),
        }
    }
}

/// A stream that counts what comes.
struct Counted {
    stream: Stream,
    received: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.stream.read(buffer) {
            // A signal came: whoever waits may want to look at it.
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(ErrorKind::WouldBlock.into()),
            done => done,
        }?;
        self.received += count as u64;
        Ok(count)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
