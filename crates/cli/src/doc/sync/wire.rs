//! The messages of automerge-repo: each is one CBOR map in one binary frame.

use minicbor::data::{Tag, Type};
use minicbor::{Decoder, Encoder, decode};
use std::borrow::Cow;

/// The version of the protocol, the only one there is.
pub(super) const VERSION: &str = "1";
/// Values within each other.
const MOST_DEPTH: usize = 64;
/// Fields of a message.
const MOST_FIELDS: usize = 64;
/// In front of bytes that JavaScript programs mean as an array of bytes.
const BYTE_ARRAY: Tag = Tag::new(64);

/// What a server says, as far as it concerns a copy of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'b> {
    /// The answer to [`join`].
    Peer { between: Between<'b>, version: Cow<'b, str> },
    /// A message of the sync protocol.
    Sync { between: Between<'b>, document: Cow<'b, str>, data: Cow<'b, [u8]> },
    /// Nobody there has the document, or not for us.
    Unavailable { between: Between<'b>, document: Cow<'b, str> },
    /// Something is wrong, and the server goes.
    Error { message: Cow<'b, str> },
    /// The rest: cursors of others, news of storages, what later versions may say.
    Other,
}

/// Who speaks, and to whom.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Between<'b> {
    pub(super) sender: Cow<'b, str>,
    pub(super) target: Cow<'b, str>,
}

/// Bytes that are no message.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error("its CBOR cannot be read")]
    Cbor(#[from] decode::Error),
    #[error("it lacks the field {0}")]
    Missing(&'static str),
    #[error("it has the field {0:?} twice")]
    Twice(String),
    #[error("it has more than {1} {0}")]
    Limit(&'static str, usize),
    #[error("{0} bytes follow it")]
    Rest(usize),
}

/// Reads a message. It takes no more memory than it has bytes.
pub(super) fn read(bytes: &[u8]) -> Result<Said<'_>, WireError> {
    let fields = Fields::read(bytes)?;
    let kind = fields.text("type")?;
    Ok(match &*kind {
        "peer" => Said::Peer { between: fields.between()?, version: fields.text("selectedProtocolVersion")? },
        // A peer asks for a document as it offers one.
        "sync" | "request" => Said::Sync {
            between: fields.between()?,
            document: fields.text("documentId")?,
            data: fields.bytes("data")?,
        },
        "doc-unavailable" => {
            Said::Unavailable { between: fields.between()?, document: fields.text("documentId")? }
        }
        "error" => Said::Error { message: fields.text("message")? },
        _ => Said::Other,
    })
}

/// The fields of a message, and the bytes of their values.
struct Fields<'b>(Vec<(Cow<'b, str>, &'b [u8])>);

impl<'b> Fields<'b> {
    fn read(bytes: &'b [u8]) -> Result<Self, WireError> {
        let mut decoder = Decoder::new(bytes);
        let mut left = decoder.map()?;
        let mut fields: Vec<(Cow<'b, str>, &'b [u8])> = Vec::new();
        while more(&mut decoder, &mut left)? {
            if fields.len() == MOST_FIELDS {
                return Err(WireError::Limit("fields", MOST_FIELDS));
            }
            let name = text(&mut decoder)?;
            let start = decoder.position();
            pass(&mut decoder, MOST_DEPTH)?;
            if fields.iter().any(|(there, _)| *there == name) {
                return Err(WireError::Twice(name.chars().take(40).collect()));
            }
            fields.push((name, &bytes[start..decoder.position()]));
        }
        match bytes.len() - decoder.position() {
            0 => Ok(Self(fields)),
            rest => Err(WireError::Rest(rest)),
        }
    }

    /// The value of a field. JavaScript programs write what is not there as null or undefined, too.
    fn value(&self, name: &'static str) -> Result<Decoder<'b>, WireError> {
        let found = self.0.iter().find(|(there, _)| there == name).map(|(_, value)| Decoder::new(value));
        let found = found.ok_or(WireError::Missing(name))?;
        match found.datatype()? {
            Type::Null | Type::Undefined => Err(WireError::Missing(name)),
            _ => Ok(found),
        }
    }

    fn text(&self, name: &'static str) -> Result<Cow<'b, str>, WireError> {
        text(&mut self.value(name)?)
    }

    fn bytes(&self, name: &'static str) -> Result<Cow<'b, [u8]>, WireError> {
        let mut value = self.value(name)?;
        if value.datatype()? == Type::Tag && value.clone().tag()? == BYTE_ARRAY {
            value.tag()?;
        }
        if value.datatype()? != Type::BytesIndef {
            return Ok(Cow::Borrowed(value.bytes()?));
        }
        let mut bytes = Vec::new();
        for part in value.bytes_iter()? {
            bytes.extend_from_slice(part?);
        }
        Ok(Cow::Owned(bytes))
    }

    fn between(&self) -> Result<Between<'b>, WireError> {
        Ok(Between { sender: self.text("senderId")?, target: self.text("targetId")? })
    }
}

fn text<'b>(decoder: &mut Decoder<'b>) -> Result<Cow<'b, str>, WireError> {
    if decoder.datatype()? != Type::StringIndef {
        return Ok(Cow::Borrowed(decoder.str()?));
    }
    let mut text = String::new();
    for part in decoder.str_iter()? {
        text.push_str(part?);
    }
    Ok(Cow::Owned(text))
}

/// Whether a map or an array goes on: one of known length counts down, another ends with a mark.
fn more(decoder: &mut Decoder<'_>, left: &mut Option<u64>) -> Result<bool, WireError> {
    match left {
        Some(0) => Ok(false),
        Some(left) => {
            *left -= 1;
            Ok(true)
        }
        None if decoder.datatype()? == Type::Break => {
            decoder.skip()?;
            Ok(false)
        }
        None => Ok(true),
    }
}

/// Goes past a value. The decoder's own way takes memory where many values begin within each other.
fn pass(decoder: &mut Decoder<'_>, depth: usize) -> Result<(), WireError> {
    let deeper = depth.checked_sub(1).ok_or(WireError::Limit("values within each other", MOST_DEPTH))?;
    match decoder.datatype()? {
        Type::Array | Type::ArrayIndef => {
            let mut left = decoder.array()?;
            while more(decoder, &mut left)? {
                pass(decoder, deeper)?;
            }
        }
        Type::Map | Type::MapIndef => {
            let mut left = decoder.map()?;
            while more(decoder, &mut left)? {
                pass(decoder, deeper)?;
                pass(decoder, deeper)?;
            }
        }
        Type::Tag => {
            decoder.tag()?;
            pass(decoder, deeper)?;
        }
        Type::Break => return Err(decode::Error::message("an end where nothing began").into()),
        _ => decoder.skip()?,
    }
    Ok(())
}

/// The first message: who we are. We keep nothing of what we know of a server.
pub(super) fn join(us: &str) -> Vec<u8> {
    written(|out| {
        out.map(4)?.str("type")?.str("join")?.str("senderId")?.str(us)?;
        out.str("peerMetadata")?.map(1)?.str("isEphemeral")?.bool(true)?;
        out.str("supportedProtocolVersions")?.array(1)?.str(VERSION)?.ok()
    })
}

/// A message of the sync protocol; a request is the first of somebody who has nothing yet.
pub(super) fn sync(request: bool, between: &Between<'_>, document: &str, data: &[u8]) -> Vec<u8> {
    let kind = if request { "request" } else { "sync" };
    written(|out| {
        out.map(5)?.str("type")?.str(kind)?;
        out.str("senderId")?.str(&between.sender)?.str("targetId")?.str(&between.target)?;
        out.str("documentId")?.str(document)?.str("data")?.bytes(data)?.ok()
    })
}

type Written = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

fn written(write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Written) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Encoder::new(&mut out)).expect("a vector takes everything");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    fn between<'b>(sender: &'b str, target: &'b str) -> Between<'b> {
        Between { sender: sender.into(), target: target.into() }
    }

    const DOCUMENT: &str = "4NMNnkMhL8jXrdJ9jamS58PAVdXu";

    /// Frames of the reference implementation.
    const PEER: &str = "b90005647479706564706565726873656e6465724964637372766c706565724d65746164617461b900026973746f726167654964782433393030316561632d343335352d343739662d613666362d6636366564326537653235306b6973457068656d6572616cf47773656c656374656450726f746f636f6c56657273696f6e613168746172676574496465636c692d61";
    const REQUEST: &str = "b9000564747970656772657175657374687461726765744964637372766a646f63756d656e744964781c344e4d4e6e6b4d684c386a5872644a396a616d53353850415664587564646174614a420000010000000202846873656e646572496465636c692d62";
    const UNAVAILABLE: &str = "b9000464747970656f646f632d756e617661696c61626c656a646f63756d656e744964781c344e4d4e6e6b4d684c386a5872644a396a616d53353850415664587568746172676574496465636c692d626873656e646572496463737276";
    const ERROR: &str = "b900046474797065656572726f726873656e646572496463737276676d657373616765781c756e737570706f727465642070726f746f636f6c2076657273696f6e68746172676574496463626164";
    const EPHEMERAL: &str = "b90007647479706569657068656d6572616c687461726765744964637372766a646f63756d656e744964781c345a4d5538506f386131565a776a32613738675148477a5a4b6f356364646174614bb9000166637572736f720365636f756e74016973657373696f6e49646b316e6c6a35657a6f756e656873656e646572496465636c692d61";

    #[test]
    fn frames_of_the_reference_implementation_are_read() {
        let cases = [
            (PEER, Said::Peer { between: between("srv", "cli-a"), version: "1".into() }),
            (
                REQUEST,
                Said::Sync {
                    between: between("cli-b", "srv"),
                    document: DOCUMENT.into(),
                    data: bytes("42000001000000020284").into(),
                },
            ),
            (UNAVAILABLE, Said::Unavailable { between: between("srv", "cli-b"), document: DOCUMENT.into() }),
            (ERROR, Said::Error { message: "unsupported protocol version".into() }),
            (EPHEMERAL, Said::Other),
        ];
        for (frame, said) in cases {
            assert_eq!(read(&bytes(frame)).expect("sound"), said);
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let between = between("us", "them");
        for request in [false, true] {
            let frame = sync(request, &between, DOCUMENT, b"data");
            let Said::Sync { data, document, .. } = read(&frame).expect("sound") else { panic!("{frame:?}") };
            assert_eq!((&*data, &*document), (&b"data"[..], DOCUMENT));
            assert_eq!(
                Fields::read(&frame).and_then(|fields| Ok(fields.text("type")? == "request")).ok(),
                Some(request)
            );
        }
        assert_eq!(read(&join("us")).expect("sound"), Said::Other);
    }

    #[test]
    fn every_form_of_cbor_is_read() {
        // A map and texts without a length, bytes in parts behind a tag, a name that was not needed, numbers of every size.
        let mut frame = bytes("bf6474797065");
        frame.extend(bytes(
            "7f627379626e63ff6873656e6465724964617368746172676574496461746a646f63756d656e744964616464646174",
        ));
        frame.extend(bytes("61d8405f41014102ff6178f961006179c082fb3ff000000000000083f6f7e0ff"));
        let said = Said::Sync { between: between("s", "t"), document: "d".into(), data: vec![1, 2].into() };
        assert_eq!(read(&frame).expect("sound"), said);
    }

    #[test]
    fn no_frame_that_is_cut_is_a_message() {
        for frame in [PEER, REQUEST, UNAVAILABLE, ERROR, EPHEMERAL].map(bytes) {
            for end in 0..frame.len() {
                assert!(read(&frame[..end]).is_err(), "{end}");
            }
            let longer = [&frame[..], &[0]].concat();
            assert!(matches!(read(&longer), Err(WireError::Rest(1))));
        }
    }

    #[test]
    fn what_lacks_a_field_or_has_too_much_is_refused() {
        let why = |frame: &[u8]| read(frame).expect_err("not sound").to_string();
        assert_eq!(why(&bytes("a0")), "it lacks the field type");
        assert_eq!(why(&bytes("a16474797065f7")), "it lacks the field type");
        assert_eq!(why(&bytes("a164747970656473796e63")), "it lacks the field senderId");
        assert_eq!(why(&bytes("a2647479706561786474797065617a")), "it has the field \"type\" twice");
        let field = |value: &[u8]| [&bytes("a16178")[..], value].concat();
        let deep = "it has more than 64 values within each other";
        assert_eq!(why(&field(&[0x9f; 1000])), deep);
        assert_eq!(why(&field(&[0xc1; 1000])), deep);
        let many: Vec<u8> = (0..100).flat_map(|number| [0x61, number, 0]).collect();
        assert_eq!(why(&[&[0xbf][..], &many].concat()), "it has more than 64 fields");
        for frame in [
            "",
            "00",
            "80",
            "ff",
            "a1",
            "a101",
            "bf",
            "a16178ff",
            "bb00ffffffffffffff",
            "a161789bffffffffffffffff",
        ] {
            assert!(read(&bytes(frame)).is_err(), "{frame}");
        }
        assert!(read(&field(&bytes("5bffffffffffffffff00"))).is_err());
    }
}
