//! Decoding of messages, in two steps: the fields, then their meaning.

use std::borrow::Cow;

use super::cbor::Fields;
use super::error::{DecodeError, MAX_SHOWN_CHARS, shorten};
use super::{EphemeralBody, Message, PeerMetadata, RemoteHeads, SyncBody};
use crate::id::{DocumentId, parse_head};

/// Maximum number of fields of a message.
const MAX_FIELDS: usize = 64;
/// Maximum number of items of a list in a message: versions, storages, heads.
const MAX_ITEMS: usize = 4096;

/// The fields of a message, with values that are not decoded yet. A receiver can drop a message by its type or sender before it
/// pays for the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<'b> {
    kind: Cow<'b, str>,
    fields: Fields<'b>,
}

impl<'b> Envelope<'b> {
    /// Finds the fields of a message. Takes no more memory than a small multiple of the frame.
    pub fn decode(frame: &'b [u8]) -> Result<Envelope<'b>, DecodeError> {
        let fields = Fields::decode(frame, MAX_FIELDS)?;
        Ok(Envelope { kind: fields.text("type")?, fields })
    }

    /// The type of the message.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The sender, if the message names one.
    pub fn sender(&self) -> Result<Option<Cow<'b, str>>, DecodeError> {
        self.fields.optional_text("senderId")
    }

    /// Decodes the whole message.
    pub fn message(self) -> Result<Message<'b>, DecodeError> {
        let Envelope { kind, fields } = self;
        let sender = || fields.text("senderId");
        let target = || fields.text("targetId");
        Ok(match &*kind {
            "join" => Message::Join {
                sender: sender()?,
                metadata: metadata(&fields)?,
                versions: fields.optional_texts("supportedProtocolVersions", MAX_ITEMS)?,
            },
            "peer" => Message::Peer {
                sender: sender()?,
                target: target()?,
                metadata: metadata(&fields)?,
                version: fields.text("selectedProtocolVersion")?,
            },
            "leave" => Message::Leave { sender: sender()? },
            "error" => Message::Error {
                sender: fields.optional_text("senderId")?,
                target: fields.optional_text("targetId")?,
                message: fields.text("message")?,
            },
            "request" => Message::Request(sync_body(&fields)?),
            "sync" => Message::Sync(sync_body(&fields)?),
            "doc-unavailable" => {
                Message::DocUnavailable { sender: sender()?, target: target()?, document: document(&fields)? }
            }
            "ephemeral" => Message::Ephemeral(EphemeralBody {
                sender: sender()?,
                target: target()?,
                document: document(&fields)?,
                session: fields.text("sessionId")?,
                count: fields.number("count")?,
                data: fields.bytes("data")?,
            }),
            "remote-subscription-change" => Message::RemoteSubscriptionChange {
                sender: sender()?,
                target: target()?,
                // An absent list changes nothing, as an empty one.
                add: fields.optional_texts("add", MAX_ITEMS)?.unwrap_or_default(),
                remove: fields.optional_texts("remove", MAX_ITEMS)?.unwrap_or_default(),
            },
            "remote-heads-changed" => Message::RemoteHeadsChanged {
                sender: sender()?,
                target: target()?,
                document: document(&fields)?,
                heads: remote_heads(&fields)?,
            },
            _ => Message::Unknown { kind },
        })
    }
}

fn sync_body<'b>(fields: &Fields<'b>) -> Result<SyncBody<'b>, DecodeError> {
    Ok(SyncBody {
        sender: fields.text("senderId")?,
        target: fields.text("targetId")?,
        document: document(fields)?,
        data: fields.bytes("data")?,
    })
}

/// The id of a document as text. Peers in Rust take the bytes of an id, too.
fn document<'b>(fields: &Fields<'b>) -> Result<Cow<'b, str>, DecodeError> {
    let as_text = fields.text("documentId");
    if let Err(DecodeError::Cbor(_)) = as_text
        && let Ok(bytes) = fields.bytes("documentId")
        && let Some(id) = DocumentId::from_bytes(&bytes)
    {
        return Ok(id.to_string().into());
    }
    as_text
}

/// The field has two names: `metadata` is that of the protocol's description.
fn metadata<'b>(fields: &Fields<'b>) -> Result<PeerMetadata<'b>, DecodeError> {
    let Some(value) = fields.value("peerMetadata").or_else(|| fields.value("metadata")) else {
        return Ok(PeerMetadata::default());
    };
    let fields = Fields::decode(value, MAX_FIELDS)?;
    Ok(PeerMetadata {
        storage_id: fields.optional_text("storageId")?,
        is_ephemeral: fields.optional_bool("isEphemeral")?,
    })
}

fn remote_heads<'b>(fields: &Fields<'b>) -> Result<Vec<RemoteHeads<'b>>, DecodeError> {
    let value = fields.value("newHeads").ok_or(DecodeError::Missing("newHeads"))?;
    let mut all = Vec::new();
    let mut left = MAX_ITEMS;
    for (storage, value) in Fields::decode(value, MAX_FIELDS)?.into_entries() {
        let fields = Fields::decode(value, MAX_FIELDS)?;
        let texts = fields.optional_texts("heads", left)?.ok_or(DecodeError::Missing("heads"))?;
        left -= texts.len();
        let heads: Option<Vec<_>> = texts.iter().map(|text| parse_head(text)).collect();
        let heads = heads.ok_or_else(|| DecodeError::Head(shorten(&storage, MAX_SHOWN_CHARS)))?;
        all.push(RemoteHeads { storage, heads, timestamp_ms: fields.number("timestamp")? });
    }
    Ok(all)
}
