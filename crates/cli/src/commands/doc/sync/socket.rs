//! WebSocket connection to a server, with a timeout for each step.

use super::socket_error::{SocketError, is_closed, is_timeout};
use super::tls::{Secure, Trust};
use hashmill_repo::message::MAX_FRAME_BYTES;
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

/// Timeout of a single read, after which the caller can do other work.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// Timeout of the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// An open connection.
pub(super) struct Socket {
    inner: WebSocket<CountingStream>,
    timeout: Duration,
    /// Bytes of frames that are not useful: keep-alives and messages about other documents.
    ignored: u64,
}

/// The address of a server.
#[derive(Clone, Debug)]
pub(super) struct Address {
    uri: Uri,
    host: String,
    port: u16,
}

impl Address {
    /// Parses a URL, or says what is wrong with it.
    pub(super) fn parse(url: &str) -> Result<Address, String> {
        let uri: Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
        let wrong = |reason: &str| Err(format!("{url}: {reason}"));
        match uri.scheme_str() {
            Some("ws" | "wss") => {}
            _ => return wrong("the URL of a server starts with ws:// or wss://"),
        }
        let default_port = if uri.scheme_str() == Some("wss") { 443 } else { 80 };
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return wrong("it has no host");
        }
        // The parser returns no port if it is not a number.
        let has_port = uri
            .authority()
            .is_some_and(|authority| !authority.as_str().ends_with(uri.host().unwrap_or_default()));
        let port = match uri.port_u16() {
            None if has_port => return wrong("its port is invalid"),
            port => port.unwrap_or(default_port),
        };
        Ok(Address { uri, host, port })
    }

    /// Whether the connection uses TLS.
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
    /// Connects, with `timeout` for each step. With `trust` it uses TLS.
    pub(super) fn open(
        to: &Address,
        trust: Option<&Trust>,
        timeout: Duration,
    ) -> Result<Socket, SocketError> {
        let stream = connect(to, timeout)
            .map_err(|error| SocketError::ConnectionLost(format!("cannot be reached: {error}")))?;
        let stream = match trust {
            Some(trust) => Stream::Secure(Box::new(trust.handshake(stream, &to.host, timeout)?)),
            None => Stream::Plain(stream),
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME_BYTES))
            .max_frame_size(Some(MAX_FRAME_BYTES));
        let request = to.uri.clone().into_client_request().map_err(|error| socket_error(error, timeout))?;
        let end = Instant::now() + timeout;
        let mut step = client_with_config(request, CountingStream { stream, received: 0 }, Some(config));
        loop {
            step = match step {
                Ok((inner, _)) => return Ok(Socket { inner, timeout, ignored: 0 }),
                Err(HandshakeError::Failure(error)) => return Err(socket_error(error, timeout)),
                Err(HandshakeError::Interrupted(_)) if Instant::now() > end => {
                    return Err(SocketError::silent(timeout));
                }
                Err(HandshakeError::Interrupted(waiting)) => waiting.handshake(),
            };
        }
    }

    /// Sends a frame.
    pub(super) fn send(&mut self, frame: Vec<u8>) -> Result<(), SocketError> {
        self.send_message(Message::Binary(frame.into()))
    }

    /// Sends a ping.
    pub(super) fn ping(&mut self) -> Result<(), SocketError> {
        self.send_message(Message::Ping(Bytes::new()))
    }

    fn send_message(&mut self, message: Message) -> Result<(), SocketError> {
        self.inner.send(message).map_err(|error| match error {
            Error::Io(error) if is_timeout(&error) => SocketError::ConnectionLost(format!(
                "took nothing for {} s (see --timeout)",
                self.timeout.as_secs()
            )),
            error => socket_error(error, self.timeout),
        })
    }

    /// The next frame, if one comes within the read timeout.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, SocketError> {
        match self.inner.read() {
            Ok(Message::Binary(frame)) => Ok(Some(frame)),
            Ok(Message::Text(_)) => {
                Err(SocketError::Unsuitable("sends text, which is not automerge-repo's protocol".to_owned()))
            }
            Ok(Message::Close(Some(frame))) if !frame.reason.is_empty() => {
                let reason: String = frame.reason.chars().take(200).collect();
                Err(SocketError::ConnectionLost(format!("closed the connection: {reason:?}")))
            }
            Ok(Message::Close(_)) => Err(SocketError::closed()),
            Ok(Message::Ping(payload) | Message::Pong(payload)) => {
                self.ignored += 2 + payload.len() as u64;
                Ok(None)
            }
            Ok(Message::Frame(_)) => Ok(None),
            Err(Error::Io(error)) if is_timeout(&error) => Ok(None),
            Err(error) => Err(socket_error(error, self.timeout)),
        }
    }

    /// All received bytes.
    pub(super) fn received(&self) -> u64 {
        self.inner.get_ref().received
    }

    /// Received bytes that may belong to the document.
    pub(super) fn useful_bytes(&self) -> u64 {
        self.received().saturating_sub(self.ignored)
    }

    /// Counts a frame as not useful.
    pub(super) fn discount(&mut self, len: usize) {
        let header = match len {
            0..126 => 2,
            126..65_536 => 4,
            _ => 10,
        };
        self.ignored += header + len as u64;
    }

    /// Performs the closing handshake. Without it the last sent data can be lost.
    pub(super) fn close(mut self) {
        let end = Instant::now() + CLOSE_TIMEOUT;
        // All work is done, so failures here are ignored.
        let mut answer = self.inner.close(None);
        while answer.is_ok() && Instant::now() < end {
            answer = match self.inner.read() {
                Err(Error::Io(error)) if is_timeout(&error) => Ok(()),
                other => other.map(drop),
            };
        }
    }
}

/// Connects to any of the addresses of a host.
fn connect(to: &Address, timeout: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "its name has no address");
    for address in (to.host.as_str(), to.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(READ_TIMEOUT))?;
                stream.set_write_timeout(Some(timeout))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn socket_error(error: Error, timeout: Duration) -> SocketError {
    match error {
        Error::Io(error) if is_timeout(&error) => SocketError::silent(timeout),
        // How a close shows depends on which side was sending.
        Error::Io(error) if is_closed(&error) => SocketError::closed(),
        Error::Io(error) => SocketError::ConnectionLost(format!("the connection broke: {error}")),
        Error::ConnectionClosed | Error::AlreadyClosed => SocketError::closed(),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete) => {
            SocketError::closed()
        }
        Error::Http(response) => {
            let to = response.headers().get("location").and_then(|to| to.to_str().ok());
            let to =
                to.map(|to| format!(" (it redirects to {:?})", to.chars().take(200).collect::<String>()));
            let to = to.unwrap_or_default();
            SocketError::Unsuitable(format!(
                "answers with HTTP status {}: not a WebSocket{to}",
                response.status()
            ))
        }
        Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
            SocketError::Unsuitable(format!("sends a message of {size} bytes; the maximum is {max_size}"))
        }
        error => SocketError::Unsuitable(format!("not a WebSocket, or a faulty one: {error}")),
    }
}

/// A plain or TLS stream.
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

/// A stream that counts received bytes.
struct CountingStream {
    stream: Stream,
    received: u64,
}

impl Read for CountingStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.stream.read(buffer) {
            // A signal came: let the caller check for signals.
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(ErrorKind::WouldBlock.into()),
            done => done,
        }?;
        self.received += count as u64;
        Ok(count)
    }
}

impl Write for CountingStream {
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
