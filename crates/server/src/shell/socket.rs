//! A WebSocket: frames between a client and the core.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use zeroize::Zeroizing;

use super::auth::{Admission, Gate};
use super::driver::{Handle, Origin, Outgoing};
use crate::event::CloseReason;
use crate::ids::SocketId;

/// Interval of pings. A client that does not move a byte for two of them is gone.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// Time for the client's answer to a close, and for reading all that was sent before.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of frames of a socket that the core has not processed.
const MAX_UNPROCESSED_FRAMES: usize = 8;
/// Buffer for reading: the default takes most of the memory of an idle socket.
const READ_BUFFER_BYTES: usize = 4 << 10;

type Socket<S> = WebSocketStream<Counting<S>>;

/// A client that was let in.
pub(super) struct Client<'g> {
    pub(super) admission: Admission,
    pub(super) token: Option<Zeroizing<String>>,
    pub(super) origin: Origin,
    pub(super) gate: &'g mut Gate,
}

/// Serves a client until it or the core closes the socket.
pub(super) async fn serve<S>(stream: S, core: &Handle, client: Client<'_>, max_frame_bytes: usize)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(max_frame_bytes))
        .max_frame_size(Some(max_frame_bytes));
    let moved_bytes = Arc::new(AtomicU64::new(0));
    let stream = Counting { stream, moved_bytes: Arc::clone(&moved_bytes) };
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let (sink, frames) = socket.split();
    let Client { admission, token, origin, gate } = client;
    let ask = gate.asker(&admission);
    let (id, Outgoing { frames: outgoing, close, open: _open }) =
        core.open(Arc::clone(&admission.identity), origin, ask);
    tokio::select! {
        () = read(frames, id, core) => {}
        () = write(sink, id, outgoing, close.clone(), core) => {}
        () = linger(close) => {}
        () = stall(&moved_bytes) => {}
        () = gate.watch(id, admission, token, core) => {}
    }
    core.closed(id);
}

/// Passes frames on to the core, until the client closes the socket or sends what is not a binary message.
async fn read<S>(mut frames: SplitStream<Socket<S>>, id: SocketId, core: &Handle)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let permits = Arc::new(Semaphore::new(MAX_UNPROCESSED_FRAMES));
    while let Some(Ok(message)) = frames.next().await {
        match message {
            Message::Binary(frame) => {
                let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
                core.receive(id, frame.into(), permit);
            }
            // The next call answers a close, and ends the stream.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) | Message::Close(_) => {}
            Message::Text(_) => return,
        }
    }
}

/// Sends frames of the core, and pings. When the core closes the socket, the frames before that are sent, too.
async fn write<S>(
    mut sink: SplitSink<Socket<S>, Message>,
    id: SocketId,
    mut outgoing: UnboundedReceiver<Vec<u8>>,
    close: watch::Receiver<Option<CloseReason>>,
    core: &Handle,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let (message, len) = tokio::select! {
            frame = outgoing.recv() => match frame {
                Some(frame) => {
                    let len = frame.len();
                    (Message::Binary(frame.into()), len)
                }
                None => break,
            },
            _ = pings.tick() => (Message::Ping(Bytes::new()), 0),
        };
        if sink.send(message).await.is_err() {
            return;
        }
        if len > 0 {
            core.drained(id, len);
        }
    }
    let reason = *close.borrow();
    if let Some(reason) = reason
        && sink.send(Message::Close(Some(close_frame(reason)))).await.is_ok()
    {
        // If the client answers, the other direction ends first.
        sleep(CLOSE_TIMEOUT).await;
    }
}

/// Returns some time after the core has closed the socket, which a client that does not read would keep open.
async fn linger(mut close: watch::Receiver<Option<CloseReason>>) {
    let reason = close.wait_for(Option::is_some).await.map(|reason| *reason);
    match reason {
        Ok(Some(CloseReason::Slow)) => {}
        Ok(_) => sleep(LINGER_TIMEOUT).await,
        // The core has ended, and with it the queue of frames.
        Err(_) => std::future::pending().await,
    }
}

fn close_frame(reason: CloseReason) -> CloseFrame {
    let (code, reason) = match reason {
        CloseReason::Malformed => (CloseCode::Unsupported, "a message that is not of automerge-repo"),
        CloseReason::Version => (CloseCode::Protocol, "unsupported protocol version"),
        CloseReason::NoJoin => (CloseCode::Policy, "no join"),
        CloseReason::Replaced => (CloseCode::Policy, "another connection has the same peer id"),
        CloseReason::Slow => (CloseCode::Policy, "messages are not read"),
        CloseReason::TooMuch => (CloseCode::Policy, "too many documents or messages"),
        CloseReason::TooManySockets => (CloseCode::Policy, "too many connections of one identity"),
        CloseReason::NoProgress => (CloseCode::Policy, "the sync makes no progress"),
        CloseReason::Unauthorized => (CloseCode::Policy, "the token has expired or was withdrawn"),
        CloseReason::Operator => (CloseCode::Policy, "the operator closed the connection"),
        CloseReason::Draining => (CloseCode::Away, "the server ends"),
    };
    CloseFrame { code, reason: reason.into() }
}

/// Returns when no byte has moved in either direction for two intervals.
async fn stall(moved_bytes: &AtomicU64) {
    loop {
        let before = moved_bytes.load(Ordering::Relaxed);
        sleep(2 * PING_INTERVAL).await;
        if moved_bytes.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

/// A stream that counts the bytes that arrive and leave.
struct Counting<S> {
    stream: S,
    moved_bytes: Arc<AtomicU64>,
}

impl<S> Counting<S> {
    fn count(&self, bytes: usize) {
        self.moved_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counting<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.count(buffer.filled().len() - before);
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counting<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = &result {
            self.count(*count);
        }
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
