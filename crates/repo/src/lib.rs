//! The protocol of automerge-repo: messages, sync with a server, presence. Without sockets, files and clocks.
//!
//! | I have | I use |
//! |---|---|
//! | a frame to read or write | [`Message`], [`message::Envelope`] |
//! | a connection to a sync server | [`Client`]: many documents, frames in, frames and [`Event`]s out |
//! | one document and one peer, in any role | [`Conversation`] |
//! | cursors and names of users to show | [`Presence`], also in a [`Client`] |
//! | ephemeral messages to pass on | [`EphemeralFilter`] |
//! | ids and URLs of documents | [`DocumentId`], [`DocumentUrl`] |
//!
//! Nothing here opens a connection, reads a clock or makes random numbers: the caller passes frames, times and random bytes.
//! The same calls therefore have the same results, and a test can lose, delay and repeat what it likes.
//!
//! Frames of peers may be hostile: decoding takes memory in proportion to the frame, which the caller bounds by
//! [`message::MAX_FRAME_BYTES`] or less. Of other users' messages, a [`Presence`] remembers at most 16 MiB and an
//! [`EphemeralFilter`] at most 1 MiB, whatever the lengths of their ids, channels and values. A [`Client`] has one filter, and a
//! presence for each document in which the program starts one.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::disallowed_types)]
#![forbid(unsafe_code)]

mod client;
mod conversation;
mod id;
pub mod message;
mod presence;

pub use client::{Client, ClientError, Event, IgnoreReason, Receipt};
pub use conversation::{
    Conversation, MAX_IDLE_MESSAGES, OutgoingMessage, ReceivedMessage, SyncError, SyncStatus,
};
pub use id::{DocumentId, DocumentUrl, ParseIdError, ParseUrlError, PeerId, StorageId};
pub use message::Message;
pub use presence::{
    CborItem, EphemeralFilter, PeerPresence, Presence, PresenceError, PresenceEvent, PresenceTimes,
    ReceivedPresence,
};

/// Compiles and runs the examples of the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
