//! Answer with a backup of the storage, which is made while it is sent.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::event::IoFailure;
use crate::fact::Fact;
use crate::shell::driver::Handle as CoreHandle;
use crate::shell::store::{Store, VisitError};
use crate::shell::transfer::{BackupKey, write_snapshot};

/// Size of the pieces of a backup, and number of those that wait to be sent.
const PIECE_BYTES: usize = 128 << 10;
const WAITING_PIECES: usize = 4;
/// A client that reads nothing for this time ends the backup, since the file of the storage grows while a snapshot is read.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a backup of all that is durable now, and returns its pieces.
pub(super) async fn start(
    store: Arc<Store>,
    key: BackupKey,
    created_at: u64,
    core: CoreHandle,
) -> Result<Receiver<Bytes>, IoFailure> {
    let (sender, pieces) = channel(WAITING_PIECES);
    let taken = tokio::task::spawn_blocking(move || store.snapshot()).await;
    let snapshot = taken.unwrap_or_else(|error| Err(IoFailure::NotDone(error.to_string())))?;
    let runtime = Handle::current();
    // It ends with the connection, whose end it notices with the next piece. The reader of an incomplete backup notices that by its end.
    tokio::task::spawn_blocking(move || {
        let mut writer = PieceWriter { piece: Vec::with_capacity(PIECE_BYTES), sender, runtime };
        let written = write_snapshot(&snapshot, key, created_at, &mut writer);
        if let Some(reason) = written.err().and_then(failure_reason) {
            core.report(Fact::BackupFailed { reason });
        }
    });
    Ok(pieces)
}

/// The reason that the operator gets. `None`: the client closed the connection.
fn failure_reason(error: VisitError<io::Error>) -> Option<String> {
    match error {
        VisitError::Storage(failure) => Some(failure.reason().to_owned()),
        VisitError::Visitor(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
        VisitError::Visitor(error) => Some(format!("its client does not read it: {error}")),
    }
}

/// Writes pieces to the connection.
struct PieceWriter {
    piece: Vec<u8>,
    sender: Sender<Bytes>,
    runtime: Handle,
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..count]);
        if self.piece.len() == PIECE_BYTES {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        let sent = self.runtime.block_on(timeout(STALL_TIMEOUT, self.sender.send(piece.into())));
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_reported_unless_the_client_has_gone() {
        let failure = IoFailure::NotDone("no sector".to_owned());
        assert_eq!(failure_reason(VisitError::Storage(failure)).as_deref(), Some("no sector"));
        assert_eq!(failure_reason(VisitError::Visitor(io::ErrorKind::BrokenPipe.into())), None);
        assert!(failure_reason(VisitError::Visitor(io::ErrorKind::TimedOut.into())).is_some());
    }
}
