//! Payloads of presence: what automerge-repo's `Presence` sends in ephemeral messages.

use std::borrow::Cow;

use minicbor::Encoder;

use crate::message::{DecodeError, Fields};

/// The only key of a payload that is presence.
const MARK: &str = "__presence";
/// Maximum number of channels of a peer.
pub(super) const MAX_CHANNELS: usize = 256;
/// Maximum number of fields of a payload and of the message in it.
const MAX_FIELDS: usize = 64;
/// CBOR's `undefined`: the value of a field that a JavaScript program left out.
const UNDEFINED: &[u8] = &[0xf7];

/// A message about the presence of its sender. Values are encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Payload<'b> {
    /// One channel has a new value.
    Update(Cow<'b, str>, &'b [u8]),
    /// All channels.
    Snapshot(Vec<(Cow<'b, str>, &'b [u8])>),
    /// The sender is still there.
    Heartbeat,
    /// The sender leaves.
    Goodbye,
}

impl<'b> Payload<'b> {
    /// Decodes a payload. `None` if it is no presence, or of a type that this version does not know.
    pub(super) fn decode(payload: &'b [u8]) -> Result<Option<Payload<'b>>, DecodeError> {
        // Other payloads are the business of the program.
        let Ok(fields) = Fields::decode(payload, MAX_FIELDS) else { return Ok(None) };
        let Some(message) = fields.value(MARK) else { return Ok(None) };
        let message = Fields::decode(message, MAX_FIELDS)?;
        Ok(Some(match &*message.text("type")? {
            "update" => {
                let value = message.nullable("value").unwrap_or(UNDEFINED);
                Payload::Update(message.text("channel")?, value)
            }
            "snapshot" => {
                let state = message.value("state").ok_or(DecodeError::Missing("state"))?;
                Payload::Snapshot(Fields::decode(state, MAX_CHANNELS)?.into_entries().collect())
            }
            "heartbeat" => Payload::Heartbeat,
            "goodbye" => Payload::Goodbye,
            _ => return Ok(None),
        }))
    }

    /// Encodes the payload.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Values are encoded, so the parts between them are written one after another.
        text(map(map(&mut bytes, 1, MARK), self.field_count(), "type"), self.kind());
        match self {
            Payload::Update(channel, value) => {
                text(key(&mut bytes, "channel"), channel);
                key(&mut bytes, "value").extend_from_slice(value);
            }
            Payload::Snapshot(state) => {
                key(&mut bytes, "state");
                Encoder::new(&mut bytes).map(state.len() as u64).expect(INFALLIBLE);
                for (channel, value) in state {
                    key(&mut bytes, channel).extend_from_slice(value);
                }
            }
            Payload::Heartbeat | Payload::Goodbye => {}
        }
        bytes
    }

    fn kind(&self) -> &'static str {
        match self {
            Payload::Update(..) => "update",
            Payload::Snapshot(_) => "snapshot",
            Payload::Heartbeat => "heartbeat",
            Payload::Goodbye => "goodbye",
        }
    }

    fn field_count(&self) -> u64 {
        match self {
            Payload::Update(..) => 3,
            Payload::Snapshot(_) => 2,
            Payload::Heartbeat | Payload::Goodbye => 1,
        }
    }
}

const INFALLIBLE: &str = "writing to a vector cannot fail";

/// Starts a map, and writes its first key.
fn map<'v>(bytes: &'v mut Vec<u8>, len: u64, first: &str) -> &'v mut Vec<u8> {
    Encoder::new(&mut *bytes).map(len).expect(INFALLIBLE);
    key(bytes, first)
}

fn key<'v>(bytes: &'v mut Vec<u8>, name: &str) -> &'v mut Vec<u8> {
    text(bytes, name);
    bytes
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    Encoder::new(bytes).str(text).expect(INFALLIBLE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_round_trip() {
        let state = vec![("cursor".into(), &[0x03][..]), ("name".into(), &[0x61, b'a'])];
        for payload in [
            Payload::Update("cursor".into(), &[0xf7]),
            Payload::Update("cursor".into(), &[0xf6]),
            Payload::Update("".into(), &[0x80]),
            Payload::Snapshot(state),
            Payload::Snapshot(vec![]),
            Payload::Heartbeat,
            Payload::Goodbye,
        ] {
            assert_eq!(Payload::decode(&payload.encode()), Ok(Some(payload)));
        }
    }

    #[test]
    fn reads_the_forms_of_javascript() {
        let bytes = hashmill_testkit::hex::decode;
        // {__presence: {userId: undefined, deviceId: undefined, type: "heartbeat"}}, with lengths of 16 bits.
        let heartbeat = bytes(
            "b900016a5f5f70726573656e6365b9000366757365724964f7686465766963654964f7647479706569686561727462656174",
        );
        assert_eq!(Payload::decode(&heartbeat), Ok(Some(Payload::Heartbeat)));
        // {__presence: {type: "update", channel: "x", value: undefined}}
        let update = bytes(
            "b900016a5f5f70726573656e6365b90003647479706566757064617465676368616e6e656c61786576616c7565f7",
        );
        assert_eq!(Payload::decode(&update), Ok(Some(Payload::Update("x".into(), &[0xf7]))));
    }

    #[test]
    fn other_payloads_are_no_presence() {
        for payload in [&b""[..], &[0x01], &[0xa0], &[0xa1, 0x61, b'x', 0x01], &[0xff], b"text"] {
            assert_eq!(Payload::decode(payload), Ok(None), "{payload:?}");
        }
        let presence = |message: &[u8]| [&[0xa1, 0x6a][..], MARK.as_bytes(), message].concat();
        assert_eq!(Payload::decode(&presence(b"\xa1\x64type\x63new")), Ok(None));
        assert_eq!(Payload::decode(&presence(b"\xa0")), Err(DecodeError::Missing("type")));
        assert_eq!(
            Payload::decode(&presence(b"\xa1\x64type\x68snapshot")),
            Err(DecodeError::Missing("state"))
        );
        assert!(matches!(Payload::decode(&presence(b"\x05")), Err(DecodeError::Cbor(_))));
    }
}
