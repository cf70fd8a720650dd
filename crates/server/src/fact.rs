//! Facts for the operator.

use std::fmt;
use std::net::IpAddr;

use hashmill_doc::{ApplyError, ChangeHash};
use hashmill_repo::DocumentId;

use crate::storage::{BlobHash, ChunkKey};

/// Something that the operator should know. The text is one line.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Fact {
    /// A chunk could not be read. It stays in the storage; the others were read.
    ChunkUnreadable {
        /// The chunk.
        key: ChunkKey,
        /// The reason.
        reason: String,
    },
    /// A change of a client breaks a rule or a limit.
    ChangeRefused {
        /// The document.
        document: DocumentId,
        /// The change.
        change: ChangeHash,
        /// The reason.
        reason: ApplyError,
    },
    /// A sync message of a client could not be read.
    MessageRefused {
        /// The document.
        document: DocumentId,
        /// The reason.
        reason: String,
    },
    /// The storage did not take a batch, which is tried again.
    AppendFailed {
        /// The reason.
        reason: String,
    },
    /// A record of the journal cannot be read. The journal is kept from there on.
    RecordUnreadable {
        /// The shard.
        shard: u16,
        /// The position.
        sequence: u64,
        /// The reason.
        reason: String,
    },
    /// The storage has failed for long: changes of clients are refused until it works again.
    Degraded,
    /// The storage works again: changes are taken.
    Recovered,
    /// A document could not be loaded, which is tried again.
    LoadFailed {
        /// The document.
        document: DocumentId,
        /// The reason.
        reason: String,
    },
    /// A document could not be compacted, which is tried again.
    CompactionFailed {
        /// The document.
        document: DocumentId,
        /// The reason.
        reason: String,
    },
    /// A document takes no changes for a while, because changes of clients break a limit or a rule. It can be read.
    Quarantined {
        /// The document.
        document: DocumentId,
        /// The reason.
        reason: String,
    },
    /// A document was deleted. Its chunks stay stored until it is purged.
    Deleted {
        /// The document.
        document: DocumentId,
    },
    /// A deleted document was brought back.
    Undeleted {
        /// The document.
        document: DocumentId,
    },
    /// The chunks of a deleted document were removed.
    Purged {
        /// The document.
        document: DocumentId,
    },
    /// The storage did not carry out a command about a document, which is tried again.
    CommandFailed {
        /// The document.
        document: DocumentId,
        /// The reason.
        reason: String,
    },
    /// The bytes of a blob on the disk are not those that its name says. Putting it again repairs it.
    BlobDamaged {
        /// The blob.
        blob: BlobHash,
        /// The reason.
        reason: String,
    },
    /// A blob could not be stored, read or removed.
    BlobFailed {
        /// The reason.
        reason: String,
    },
    /// Unused documents were not deleted, or the contents of deleted ones not removed, or the time was not recorded. It is tried again.
    CleanupFailed {
        /// The reason.
        reason: String,
    },
    /// A backup could not be read from the storage, or its client did not read it in time. The client gets an incomplete one.
    BackupFailed {
        /// The reason.
        reason: String,
    },
    /// The clock of the machine is behind the time when the storage was used last.
    ClockBehind {
        /// By how much.
        seconds: u64,
    },
    /// The stored bytes of an identity are counted as less than 0.
    CountWrong {
        /// The name of the identity.
        owner: String,
    },
    /// A client was not let in.
    ClientRefused {
        /// The address of the client.
        address: IpAddr,
        /// The reason.
        reason: String,
    },
    /// The headers of a trusted proxy cannot be read.
    ProxyUnclear {
        /// The address of the proxy, which counts as the client's.
        proxy: IpAddr,
        /// The reason.
        reason: String,
    },
    /// Another service did not tell the rights of a client, which has none until it does.
    RightsUnknown {
        /// The document. `None`: the client itself is not known.
        document: Option<DocumentId>,
        /// The reason.
        reason: String,
    },
    /// The keys of token issuers could not be fetched, which is tried again.
    KeysUnreachable {
        /// Where they are.
        url: String,
        /// The reason.
        reason: String,
        /// Earlier ones are there, and stay.
        has_keys: bool,
    },
    /// The keys of token issuers were fetched, after failures.
    KeysFetched {
        /// Where they are.
        url: String,
    },
    /// The certificate of the server ends soon, or has ended.
    CertificateEnds {
        /// The time until then; 0 if it has ended.
        seconds_left: u64,
    },
    /// A client refused the certificate of the server.
    CertificateRefused {
        /// The address of the client.
        address: IpAddr,
        /// The reason that it gave.
        reason: String,
    },
    /// All sockets are closed and all received changes are stored, as was asked for.
    Drained,
}

impl Fact {
    /// The name of the kind, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ChunkUnreadable { .. } => "chunk-unreadable",
            Self::ChangeRefused { .. } => "change-refused",
            Self::MessageRefused { .. } => "message-refused",
            Self::AppendFailed { .. } => "append-failed",
            Self::RecordUnreadable { .. } => "record-unreadable",
            Self::Degraded => "degraded",
            Self::Recovered => "recovered",
            Self::LoadFailed { .. } => "load-failed",
            Self::CompactionFailed { .. } => "compaction-failed",
            Self::Quarantined { .. } => "quarantined",
            Self::Deleted { .. } => "deleted",
            Self::Undeleted { .. } => "undeleted",
            Self::Purged { .. } => "purged",
            Self::CommandFailed { .. } => "command-failed",
            Self::BlobDamaged { .. } => "blob-damaged",
            Self::BlobFailed { .. } => "blob-failed",
            Self::CleanupFailed { .. } => "cleanup-failed",
            Self::BackupFailed { .. } => "backup-failed",
            Self::ClockBehind { .. } => "clock-behind",
            Self::CountWrong { .. } => "count-wrong",
            Self::ClientRefused { .. } => "client-refused",
            Self::ProxyUnclear { .. } => "proxy-unclear",
            Self::RightsUnknown { .. } => "rights-unknown",
            Self::KeysUnreachable { .. } => "keys-unreachable",
            Self::KeysFetched { .. } => "keys-fetched",
            Self::CertificateEnds { .. } => "certificate-ends",
            Self::CertificateRefused { .. } => "certificate-refused",
            Self::Drained => "drained",
        }
    }

    /// The document that it is about.
    pub fn document(&self) -> Option<&DocumentId> {
        match self {
            Self::ChunkUnreadable { key, .. } => Some(&key.document),
            Self::ChangeRefused { document, .. }
            | Self::MessageRefused { document, .. }
            | Self::LoadFailed { document, .. }
            | Self::CompactionFailed { document, .. }
            | Self::Quarantined { document, .. }
            | Self::Deleted { document }
            | Self::Undeleted { document }
            | Self::Purged { document }
            | Self::CommandFailed { document, .. } => Some(document),
            Self::RightsUnknown { document, .. } => document.as_ref(),
            Self::AppendFailed { .. }
            | Self::RecordUnreadable { .. }
            | Self::Degraded
            | Self::Recovered
            | Self::BlobDamaged { .. }
            | Self::BlobFailed { .. }
            | Self::CleanupFailed { .. }
            | Self::BackupFailed { .. }
            | Self::ClockBehind { .. }
            | Self::CountWrong { .. }
            | Self::ClientRefused { .. }
            | Self::ProxyUnclear { .. }
            | Self::KeysUnreachable { .. }
            | Self::KeysFetched { .. }
            | Self::CertificateEnds { .. }
            | Self::CertificateRefused { .. }
            | Self::Drained => None,
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChunkUnreadable { key, reason } => write!(f, "chunk {key} cannot be read: {reason}"),
            Self::ChangeRefused { document, change, reason } => {
                write!(f, "{document}: change {change} was refused: {reason}")
            }
            Self::MessageRefused { document, reason } => {
                write!(f, "{document}: a sync message was refused: the client {reason}")
            }
            Self::AppendFailed { reason } => write!(f, "changes could not be stored: {reason}"),
            Self::RecordUnreadable { shard, sequence, reason } => write!(
                f,
                "record {sequence} of shard {shard} of the journal cannot be read, and the journal is kept from there on: {reason}"
            ),
            Self::Degraded => f.write_str("the storage fails: changes of clients are refused until it works"),
            Self::Recovered => f.write_str("the storage works again: changes of clients are taken"),
            Self::LoadFailed { document, reason } => write!(f, "{document} could not be loaded: {reason}"),
            Self::CompactionFailed { document, reason } => {
                write!(f, "{document} could not be compacted: {reason}")
            }
            Self::Quarantined { document, reason } => {
                write!(f, "{document} takes no changes for a while, and can be read: {reason}")
            }
            Self::Deleted { document } => write!(f, "{document} was deleted"),
            Self::Undeleted { document } => write!(f, "{document} was brought back"),
            Self::Purged { document } => {
                write!(f, "{document}: the contents of the deleted document were removed")
            }
            Self::CommandFailed { document, reason } => {
                write!(f, "{document}: a command could not be carried out, and is tried again: {reason}")
            }
            Self::BlobDamaged { blob, reason } => {
                write!(f, "blob {blob} is damaged on the disk until it is put again: {reason}")
            }
            Self::BlobFailed { reason } => write!(f, "a request for a blob failed: {reason}"),
            Self::CleanupFailed { reason } => {
                write!(
                    f,
                    "deleted and unused documents could not be looked at, which is tried again: {reason}"
                )
            }
            Self::BackupFailed { reason } => write!(f, "a backup could not be completed: {reason}"),
            Self::ClockBehind { seconds } => {
                write!(
                    f,
                    "the clock of this machine is {seconds} seconds behind the last use of the storage: set it, since tokens expire by it"
                )
            }
            Self::CountWrong { owner } => {
                write!(
                    f,
                    "the stored bytes of {owner:?} are counted wrong: correct them by `hashmill serve check`"
                )
            }
            Self::ClientRefused { address, reason } => {
                write!(f, "the client at {address} was refused: {reason}")
            }
            Self::ProxyUnclear { proxy, reason } => {
                write!(f, "the proxy at {proxy} does not name its client, and counts as one: {reason}")
            }
            Self::RightsUnknown { document: Some(document), reason } => {
                write!(
                    f,
                    "{document}: a client is denied, because its rights (auth-url) are unknown: {reason}"
                )
            }
            Self::RightsUnknown { document: None, reason } => {
                write!(f, "a client is refused, because its rights (auth-url) are unknown: {reason}")
            }
            Self::KeysUnreachable { url, reason, has_keys } => {
                let effect = if *has_keys {
                    "the earlier ones stay"
                } else {
                    "clients with its tokens are refused until they are there"
                };
                write!(
                    f,
                    "the keys of the token issuer (jwt-keys) at {url} could not be fetched: {reason}; {effect}"
                )
            }
            Self::KeysFetched { url } => {
                write!(f, "the keys of the token issuer (jwt-keys) at {url} were fetched again")
            }
            Self::CertificateEnds { seconds_left: 0 } => {
                f.write_str("the certificate (tls-cert) has ended: clients refuse it; replace the files")
            }
            Self::CertificateEnds { seconds_left } => {
                let (count, unit) = match seconds_left {
                    0..=7200 => (seconds_left / 60, "minutes"),
                    7201..=172_800 => (seconds_left / 3600, "hours"),
                    _ => (seconds_left / 86_400, "days"),
                };
                write!(f, "the certificate (tls-cert) ends in {count} {unit}: replace the files before that")
            }
            Self::CertificateRefused { address, reason } => {
                write!(f, "the client at {address} refuses the server's certificate: {reason}")
            }
            Self::Drained => f.write_str("all received changes are stored"),
        }
    }
}
