//! WebSocket of a bot that never blocks after its handshake.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Bytes, Error, Message, WebSocket};

/// Limit of connecting and of the handshake.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Each socket has such a buffer, and there are ten thousand sockets.
const READ_BUFFER_BYTES: usize = 8 << 10;

pub(super) struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Opens a socket, and registers it under a token for all that can happen to it.
    pub(super) fn open(address: SocketAddr, registry: &Registry, token: Token) -> anyhow::Result<Socket> {
        let opening = || format!("opening a socket to {address}");
        let stream = std::net::TcpStream::connect_timeout(&address, TIMEOUT).with_context(opening)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .max_message_size(None)
            .max_frame_size(None);
        let request = format!("ws://{address}/").into_client_request()?;
        let shaken = tungstenite::client::client_with_config(request, stream, Some(config));
        let (socket, _) = shaken.map_err(|error| anyhow!("{error}")).with_context(opening)?;
        // A server of the protocol is silent until the client has joined, so no byte was read ahead.
        let stream = socket.into_inner();
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Socket(WebSocket::from_raw_socket(stream, Role::Client, Some(config))))
    }

    /// Queues a frame for the next [`flush`](Self::flush).
    pub(super) fn queue(&mut self, frame: Vec<u8>) -> anyhow::Result<()> {
        unless_blocked(self.0.write(Message::Binary(frame.into()))).map(drop)
    }

    /// Sends what is queued. What the system does not take now is sent by a later call.
    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        unless_blocked(self.0.flush()).map(drop)
    }

    /// The next frame, if one has arrived. Pings are answered.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        loop {
            match unless_blocked(self.0.read())? {
                None => return Ok(None),
                Some(Message::Binary(frame)) => return Ok(Some(frame)),
                Some(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Some(Message::Close(frame)) => {
                    let reason = frame.map(|frame| frame.to_string()).unwrap_or_default();
                    return Err(anyhow!("the server closed the socket: {reason:?}"));
                }
                Some(Message::Text(_)) => return Err(anyhow!("the server sends text")),
            }
        }
    }
}

fn unless_blocked<T>(result: Result<T, Error>) -> anyhow::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(anyhow!(error)),
    }
}
