//! Cursors: positions in lists and texts that stay valid during edits, and their encodings.

mod resolve;

use std::fmt;
use std::str::FromStr;

use crate::codec::bytes::leb;
use crate::codec::bytes::reader::Reader;
use crate::types::error::Rule;
use crate::types::{ActorId, Cursor, MoveCursor, ParseHexError};

/// Text or bytes that are not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCursorError {
    /// Text without the form of a cursor.
    #[error("a cursor is written as s, e, <counter>@<actor> or -<counter>@<actor>")]
    Form,
    /// The counter before the `@` is not a number, or exceeds 64 bits.
    #[error("the counter of the cursor, at character {at}, is not a 64-bit number")]
    Counter {
        /// Byte offset of the counter.
        at: usize,
    },
    /// The actor after the `@` is not hexadecimal.
    #[error("the actor of the cursor: {0}")]
    Actor(ParseHexError),
    /// The first byte is not a version of the encoding.
    #[error("cursor version {0} is unknown")]
    Version(u8),
    /// The second byte is not a kind of cursor.
    #[error("cursor kind {0} is unknown")]
    Kind(u8),
    /// The last byte is not a direction.
    #[error("cursor direction {0} is unknown")]
    Move(u8),
    /// Truncated bytes, bytes after the end, or a malformed number.
    #[error("byte {offset} of the cursor: {rule}")]
    Bytes {
        /// Byte offset.
        offset: usize,
        /// The broken rule.
        rule: Rule,
    },
}

/// Bytes of the encoding.
mod tag {
    /// Cursors without kind and direction: an element, moving after.
    pub(super) const OLD: u8 = 0;
    pub(super) const VERSION: u8 = 1;
    pub(super) const START: u8 = 1;
    pub(super) const END: u8 = 2;
    pub(super) const OP: u8 = 3;
    pub(super) const BEFORE: u8 = 1;
    pub(super) const AFTER: u8 = 2;
}

impl Cursor {
    /// The binary encoding.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (counter, actor, moving) = match self {
            Self::Start => return vec![tag::VERSION, tag::START],
            Self::End => return vec![tag::VERSION, tag::END],
            Self::Op { counter, actor, moving } => (*counter, actor.as_bytes(), moving),
        };
        let mut bytes = vec![tag::VERSION, tag::OP];
        leb::put_u64(&mut bytes, actor.len() as u64);
        bytes.extend_from_slice(actor);
        leb::put_u64(&mut bytes, counter);
        bytes.push(if *moving == MoveCursor::Before { tag::BEFORE } else { tag::AFTER });
        bytes
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseCursorError> {
        match get(reader, byte)? {
            tag::OLD => return Self::read_op(reader, false),
            tag::VERSION => {}
            version => return Err(ParseCursorError::Version(version)),
        }
        match get(reader, byte)? {
            tag::START => Ok(Self::Start),
            tag::END => Ok(Self::End),
            tag::OP => Self::read_op(reader, true),
            kind => Err(ParseCursorError::Kind(kind)),
        }
    }

    fn read_op(reader: &mut Reader<'_>, moves: bool) -> Result<Self, ParseCursorError> {
        let actor = ActorId::from(get(reader, Reader::prefixed)?);
        let counter = get(reader, Reader::u64)?;
        let moving = match if moves { get(reader, byte)? } else { tag::AFTER } {
            tag::BEFORE => MoveCursor::Before,
            tag::AFTER => MoveCursor::After,
            other => return Err(ParseCursorError::Move(other)),
        };
        Ok(Self::Op { counter, actor, moving })
    }
}

/// The result of `read`, or an error with its position.
fn get<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Rule>,
) -> Result<T, ParseCursorError> {
    read(reader).map_err(|rule| ParseCursorError::Bytes { offset: reader.offset(), rule })
}

fn byte(reader: &mut Reader<'_>) -> Result<u8, Rule> {
    reader.array().map(|[byte]| byte)
}

impl TryFrom<&[u8]> for Cursor {
    type Error = ParseCursorError;

    /// Decodes the binary encoding of this version or the one before.
    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        let mut reader = Reader::new(bytes);
        let cursor = Self::read(&mut reader)?;
        get(&mut reader, |reader| reader.finish())?;
        Ok(cursor)
    }
}

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "s" => return Ok(Self::Start),
            "e" => return Ok(Self::End),
            _ => {}
        }
        let (counter, actor) = text.split_once('@').ok_or(ParseCursorError::Form)?;
        let (moving, digits) = match counter.strip_prefix('-') {
            Some(digits) => (MoveCursor::Before, digits),
            None => (MoveCursor::After, counter),
        };
        // The standard library also accepts a plus sign.
        let number = digits.parse().ok().filter(|_| !digits.starts_with('+'));
        let counter = number.ok_or(ParseCursorError::Counter { at: counter.len() - digits.len() })?;
        let actor = actor.parse().map_err(ParseCursorError::Actor)?;
        Ok(Self::Op { counter, actor, moving })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("s"),
            Self::End => f.write_str("e"),
            Self::Op { counter, actor, moving } => {
                let sign = if *moving == MoveCursor::Before { "-" } else { "" };
                write!(f, "{sign}{counter}@{actor}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(counter: u64, actor: &str, moving: MoveCursor) -> Cursor {
        Cursor::Op { counter, actor: actor.parse().unwrap(), moving }
    }

    fn hex(text: &str) -> Vec<u8> {
        crate::types::decode_hex(text).unwrap()
    }

    #[test]
    fn both_encodings_match_other_implementations() {
        let actor = "00112233445566778899aabbccddeeff";
        let after = op(4, actor, MoveCursor::After);
        let long = op(u64::MAX, "", MoveCursor::Before);
        let forms = [
            (Cursor::Start, "s".to_owned(), "0101".to_owned()),
            (Cursor::End, "e".to_owned(), "0102".to_owned()),
            (after.clone(), format!("4@{actor}"), format!("010310{actor}0402")),
            (op(300, "ab", MoveCursor::Before), "-300@ab".to_owned(), "010301abac0201".to_owned()),
            (long, format!("-{}@", u64::MAX), "010300ffffffffffffffffff0101".to_owned()),
        ];
        for (cursor, text, bytes) in forms {
            assert_eq!((cursor.to_string(), cursor.to_bytes()), (text.clone(), hex(&bytes)));
            assert_eq!(text.parse(), Ok(cursor.clone()));
            assert_eq!(Cursor::try_from(&hex(&bytes)[..]), Ok(cursor));
        }
        assert_eq!(Cursor::try_from(&hex(&format!("0010{actor}04"))[..]), Ok(after));
    }

    #[test]
    fn errors_of_texts_name_the_fault() {
        use ParseCursorError as E;
        for text in ["", "S", "-", "start", "4", "é", "-é", "4#ab", "\u{fffc}ab"] {
            assert_eq!(text.parse::<Cursor>(), Err(E::Form), "{text}");
        }
        for (text, at) in [("@ab", 0), ("-@ab", 1), ("+4@ab", 0), ("--4@ab", 1), ("4.0@ab", 0), ("é@ab", 0)]
        {
            assert_eq!(text.parse::<Cursor>(), Err(E::Counter { at }), "{text}");
        }
        assert_eq!("18446744073709551616@ab".parse::<Cursor>(), Err(E::Counter { at: 0 }));
        let digit = |at| E::Actor(ParseHexError::Digit { at });
        for (text, at) in [("4@abc", 2), ("4@xy", 0), ("4@ab@", 2)] {
            assert_eq!(text.parse::<Cursor>(), Err(digit(at)), "{text}");
        }
        let words = "4@abc".parse::<Cursor>().unwrap_err().to_string();
        assert_eq!(
            words,
            "the actor of the cursor: character 2 is not one of an even number of hexadecimal digits"
        );
    }

    #[test]
    fn errors_of_bytes_name_the_offset() {
        use ParseCursorError as E;
        let at = |offset, rule| E::Bytes { offset, rule };
        for (bytes, error) in [
            ("", at(0, Rule::Truncated)),
            ("02", E::Version(2)),
            ("01", at(1, Rule::Truncated)),
            ("0100", E::Kind(0)),
            ("0104", E::Kind(4)),
            ("010100", at(2, Rule::Leftover(1))),
            ("0103", at(2, Rule::Truncated)),
            // A length of almost 2^64.
            ("0103ffffffffffffffffff01ab", at(12, Rule::Truncated)),
            ("010301ab8000", at(4, Rule::LebOverlong)),
            ("010301abffffffffffffffffff02", at(4, Rule::LebRange)),
            ("010301ab04", at(5, Rule::Truncated)),
            ("010301ab0403", E::Move(3)),
            ("010301ab040200", at(6, Rule::Leftover(1))),
            ("0001ab0402", at(4, Rule::Leftover(1))),
        ] {
            assert_eq!(Cursor::try_from(&hex(bytes)[..]), Err(error), "{bytes}");
        }
    }
}
