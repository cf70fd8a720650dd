//! Events that the core receives, and actions that it asks for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;

use crate::access::Access;
use crate::document::{DocumentDetails, DocumentJob, WorkOutput};
use crate::fact::Fact;
use crate::identity::Identity;
use crate::ids::{BatchId, CommandId, RequestId, SocketId, WorkId};
use crate::storage::{ChunkKey, Command, CommandOutcome, Owner, StoredChunk, StoredDocument};

/// An event.
#[derive(Debug)]
pub enum Event {
    /// A client has connected.
    SocketOpened(SocketId, Arc<Identity>),
    /// A client sent a binary message.
    FrameReceived(SocketId, Vec<u8>),
    /// This number of bytes of sent frames left the queue of a socket.
    SocketDrained(SocketId, usize),
    /// A socket is closed, by the client or after [`Action::Close`].
    SocketClosed(SocketId),
    /// The rights of a client changed.
    RightsChanged(SocketId, Arc<Identity>),
    /// Outcome of [`Action::AskRights`], or the reason why there is none. Late and additional ones are harmless.
    RightsAnswered(RequestId, Result<RightsAnswer, String>),
    /// The rights of a client ended, such as by the expiry of its token.
    RightsEnded(SocketId),
    /// Outcome of [`Action::Append`]. A success says that the chunks survive a power cut.
    Appended(BatchId, Result<(), IoFailure>),
    /// Outcome of [`Action::LoadOwner`].
    OwnerLoaded(Owner),
    /// Bytes of all documents of each of these identities, after a write that changed them.
    BytesCounted(Vec<Owner>),
    /// Outcome of [`Action::Load`]: all that is stored of a document.
    Loaded(RequestId, Result<StoredDocument, IoFailure>),
    /// Outcome of [`Action::PutSnapshot`] or [`Action::Delete`].
    Completed(RequestId, Result<(), IoFailure>),
    /// The operator's command about a document. [`Action::Answer`] has its outcome.
    CommandReceived(CommandId, DocumentId, Command),
    /// An intervention of the operator. [`Action::Answer`] has its outcome.
    InterventionReceived(CommandId, Intervention),
    /// The operator asks for details of a document, with up to this number of changes. [`Action::Inspected`] has them.
    InspectionReceived(CommandId, DocumentId, usize),
    /// Outcome of [`Action::Execute`].
    Executed(RequestId, Result<CommandOutcome, IoFailure>),
    /// Outcome of [`Action::RunWork`].
    WorkDone(WorkId, WorkOutput),
    /// Other nodes stored these chunks.
    ChunksStored(Vec<StoredChunk>),
    /// Other nodes changed what is stored of a document: if it is in memory, it is to be read again.
    DocumentOutdated(DocumentId),
    /// Other nodes changed what is stored of any documents.
    AllOutdated,
    /// A message between users from another node: the bytes of [`Action::Relay`].
    Relayed(Vec<u8>),
    /// The time of the last request for a wake-up has come. Late and additional calls are harmless.
    TimerFired,
    /// The server shall end: store what was received, and close all sockets.
    DrainRequested,
}

/// The rights of a client on a document, by another service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RightsAnswer {
    /// The access.
    pub access: Access,
    /// After this time it is asked for again.
    pub valid_for: Duration,
}

/// An intervention of the operator. It leaves the contents of documents as they are.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Intervention {
    /// Lets a document take changes again.
    EndQuarantine(DocumentId),
    /// Closes a socket.
    CloseSocket(SocketId),
    /// Stores a snapshot in place of a document's chunks.
    Compact(DocumentId),
    /// Removes a document without clients from memory.
    Evict(DocumentId),
}

/// A failure of the storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IoFailure {
    /// Nothing was done.
    NotDone(String),
    /// The operation may have been done, or may be done later.
    Unknown(String),
}

impl IoFailure {
    /// The reason, for the operator.
    pub fn reason(&self) -> &str {
        match self {
            Self::NotDone(reason) | Self::Unknown(reason) => reason,
        }
    }
}

/// Reason why the core closes a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CloseReason {
    /// A frame is not a message.
    Malformed,
    /// The client speaks another version of the protocol. The server sent it an error.
    Version,
    /// No join in time.
    NoJoin,
    /// Another socket joined with the same id.
    Replaced,
    /// The client does not read what it asks for.
    Slow,
    /// More messages or documents than the limits allow.
    TooMuch,
    /// More sockets of one identity than the limits allow.
    TooManySockets,
    /// Many messages without progress. A new connection starts the exchange again.
    NoProgress,
    /// The rights of the client ended.
    Unauthorized,
    /// The operator closed the socket.
    Operator,
    /// The server ends.
    Draining,
}

/// An action.
#[derive(Debug)]
pub enum Action {
    /// Sends a binary message. Messages to one socket keep their order.
    Send(SocketId, Vec<u8>),
    /// Closes a socket after all that was sent before. [`Event::SocketClosed`] follows or not; both are fine.
    Close(SocketId, CloseReason),
    /// Stops reading a socket, which sends too fast. Messages that were read already are passed on.
    PauseReads(SocketId),
    /// Reads a socket again.
    ResumeReads(SocketId),
    /// Stores chunks, all or none. There is one append at a time. Chunks that are stored already are no error.
    Append {
        /// This attempt.
        batch: BatchId,
        /// The chunks.
        chunks: Vec<StoredChunk>,
        /// Names of the owners of new documents. A document that has an owner keeps it.
        owners: BTreeMap<DocumentId, String>,
    },
    /// Reads how many bytes the documents of an identity have. If that fails, the next socket of the identity asks again.
    LoadOwner(String),
    /// Reads all that is stored of a document.
    Load(RequestId, DocumentId),
    /// Stores a snapshot.
    PutSnapshot {
        /// The request.
        request: RequestId,
        /// The snapshot.
        chunk: StoredChunk,
    },
    /// Deletes chunks. Missing ones are no error.
    Delete(RequestId, Vec<ChunkKey>),
    /// Carries out a command durably, by [`Command::decide`].
    Execute(RequestId, DocumentId, Command),
    /// Answers a command or an intervention. The effect of a command is durable.
    Answer(CommandId, CommandOutcome),
    /// Asks another service for the rights of a client on a document. No message about it is processed before the answer.
    AskRights {
        /// The question.
        request: RequestId,
        /// The client.
        socket: SocketId,
        /// The document.
        document: DocumentId,
    },
    /// Details of a document. `None`: it is not in memory.
    Inspected(CommandId, Option<DocumentDetails>),
    /// Runs a job on another thread. Jobs of one document never overlap.
    RunWork(WorkId, DocumentJob),
    /// Asks for [`Event::TimerFired`] at this time at the latest. Replaces earlier requests.
    WakeAt(Duration),
    /// A message between users for the clients of other nodes. Only with [`crate::Config::has_other_nodes`].
    Relay(DocumentId, Vec<u8>),
    /// Tells the operator.
    Report(Fact),
}
