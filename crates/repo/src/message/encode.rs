//! Encoding of messages: maps of known length and the shortest headers, which every peer reads.

use std::borrow::Cow;
use std::convert::Infallible;

use minicbor::Encoder;
use minicbor::encode::Error;

use super::{Message, PeerMetadata, SyncBody};
use crate::id::head_text;

type Out<'o> = Encoder<&'o mut Vec<u8>>;
type Done = Result<(), Error<Infallible>>;

/// Room for the names and ids of a message.
const TYPICAL_BYTES: usize = 192;

impl Message<'_> {
    /// Encodes the message as a frame.
    pub fn encode(&self) -> Vec<u8> {
        let data_len = match self {
            Message::Request(body) | Message::Sync(body) => body.data.len(),
            Message::Ephemeral(body) => body.data.len(),
            _ => 0,
        };
        let mut frame = Vec::with_capacity(TYPICAL_BYTES + data_len);
        self.write(&mut Encoder::new(&mut frame)).expect("writing to a vector cannot fail");
        frame
    }

    fn write(&self, out: &mut Out<'_>) -> Done {
        match self {
            Message::Join { sender, metadata, versions } => {
                out.map(3 + u64::from(versions.is_some()))?.str("type")?.str("join")?;
                out.str("senderId")?.str(sender)?;
                write_metadata(out, metadata)?;
                match versions {
                    Some(versions) => write_texts(out, "supportedProtocolVersions", versions),
                    None => Ok(()),
                }
            }
            Message::Peer { sender, target, metadata, version } => {
                out.map(5)?.str("type")?.str("peer")?;
                write_endpoints(out, sender, target)?;
                write_metadata(out, metadata)?;
                out.str("selectedProtocolVersion")?.str(version)?.ok()
            }
            Message::Leave { sender } => {
                out.map(2)?.str("type")?.str("leave")?.str("senderId")?.str(sender)?.ok()
            }
            Message::Error { sender, target, message } => {
                let named = u64::from(sender.is_some()) + u64::from(target.is_some());
                out.map(2 + named)?.str("type")?.str("error")?;
                for (name, id) in [("senderId", sender), ("targetId", target)] {
                    if let Some(id) = id {
                        out.str(name)?.str(id)?;
                    }
                }
                out.str("message")?.str(message)?.ok()
            }
            Message::Request(body) => write_sync(out, "request", body),
            Message::Sync(body) => write_sync(out, "sync", body),
            Message::DocUnavailable { sender, target, document } => {
                out.map(4)?.str("type")?.str("doc-unavailable")?;
                write_endpoints(out, sender, target)?;
                out.str("documentId")?.str(document)?.ok()
            }
            Message::Ephemeral(body) => {
                out.map(7)?.str("type")?.str("ephemeral")?;
                write_endpoints(out, &body.sender, &body.target)?;
                out.str("documentId")?.str(&body.document)?.str("sessionId")?.str(&body.session)?;
                write_number(out.str("count")?, body.count)?;
                out.str("data")?.bytes(&body.data)?.ok()
            }
            // Both lists are always present: some peers require one of them, and an empty one changes nothing.
            Message::RemoteSubscriptionChange { sender, target, add, remove } => {
                out.map(5)?.str("type")?.str("remote-subscription-change")?;
                write_endpoints(out, sender, target)?;
                write_texts(out, "add", add)?;
                write_texts(out, "remove", remove)
            }
            Message::RemoteHeadsChanged { sender, target, document, heads } => {
                out.map(5)?.str("type")?.str("remote-heads-changed")?;
                write_endpoints(out, sender, target)?;
                out.str("documentId")?.str(document)?.str("newHeads")?.map(heads.len() as u64)?;
                for there in heads {
                    let texts: Vec<_> = there.heads.iter().map(|head| head_text(head).into()).collect();
                    out.str(&there.storage)?.map(2)?;
                    write_texts(out, "heads", &texts)?;
                    write_number(out.str("timestamp")?, there.timestamp_ms)?;
                }
                Ok(())
            }
            Message::Unknown { kind } => out.map(1)?.str("type")?.str(kind)?.ok(),
        }
    }
}

fn write_endpoints(out: &mut Out<'_>, sender: &str, target: &str) -> Done {
    out.str("senderId")?.str(sender)?.str("targetId")?.str(target)?.ok()
}

fn write_sync(out: &mut Out<'_>, kind: &str, body: &SyncBody<'_>) -> Done {
    out.map(5)?.str("type")?.str(kind)?;
    write_endpoints(out, &body.sender, &body.target)?;
    out.str("documentId")?.str(&body.document)?.str("data")?.bytes(&body.data)?.ok()
}

/// Absent fields are left out: peers in Rust do not take null.
fn write_metadata(out: &mut Out<'_>, metadata: &PeerMetadata<'_>) -> Done {
    let PeerMetadata { storage_id, is_ephemeral } = metadata;
    let fields = u64::from(storage_id.is_some()) + u64::from(is_ephemeral.is_some());
    out.str("peerMetadata")?.map(fields)?;
    if let Some(id) = storage_id {
        out.str("storageId")?.str(id)?;
    }
    if let Some(is_ephemeral) = is_ephemeral {
        out.str("isEphemeral")?.bool(*is_ephemeral)?;
    }
    Ok(())
}

fn write_texts(out: &mut Out<'_>, name: &str, texts: &[Cow<'_, str>]) -> Done {
    out.str(name)?.array(texts.len() as u64)?;
    texts.iter().try_for_each(|text| out.str(text)?.ok())
}

/// Writes a number as JavaScript programs do: they read longer integers as another type.
fn write_number(out: &mut Out<'_>, number: u64) -> Done {
    match u32::try_from(number) {
        Ok(small) => out.u32(small)?.ok(),
        Err(_) => out.f64(number as f64)?.ok(),
    }
}
