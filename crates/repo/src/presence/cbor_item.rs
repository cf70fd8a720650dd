//! One value of CBOR, as users of presence exchange it.

use std::convert::Infallible;

use minicbor::data::Type;
use minicbor::encode::Error;
use minicbor::{Decoder, Encoder};

use crate::message::{DecodeError, check_value};

/// One value of CBOR, which is passed on as it is. Plain texts, numbers and truth values have conversions; for others use
/// a CBOR library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CborItem(Vec<u8>);

impl CborItem {
    /// Takes the bytes of one whole value, at most 64 levels deep.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<CborItem, DecodeError> {
        check_value(&bytes)?;
        Ok(CborItem(bytes))
    }

    /// The encoded value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, if the value is one of known length.
    pub fn as_text(&self) -> Option<&str> {
        Decoder::new(&self.0).str().ok()
    }

    /// The number, if the value is an integer of at most 53 bits or a float.
    pub fn as_number(&self) -> Option<f64> {
        let mut decoder = Decoder::new(&self.0);
        match decoder.datatype().ok()? {
            Type::F32 | Type::F64 => decoder.f64().ok(),
            _ => decoder
                .i64()
                .ok()
                .filter(|number| number.unsigned_abs() < 1 << 53)
                .map(|number| number as f64),
        }
    }

    /// The truth value, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        Decoder::new(&self.0).bool().ok()
    }

    fn encoded(write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Result<(), Error<Infallible>>) -> CborItem {
        let mut bytes = Vec::new();
        write(&mut Encoder::new(&mut bytes)).expect("writing to a vector cannot fail");
        CborItem(bytes)
    }
}

impl From<&str> for CborItem {
    fn from(text: &str) -> CborItem {
        CborItem::encoded(|out| out.str(text)?.ok())
    }
}

impl From<f64> for CborItem {
    fn from(number: f64) -> CborItem {
        CborItem::encoded(|out| out.f64(number)?.ok())
    }
}

impl From<i32> for CborItem {
    fn from(number: i32) -> CborItem {
        CborItem::encoded(|out| out.i32(number)?.ok())
    }
}

impl From<bool> for CborItem {
    fn from(truth: bool) -> CborItem {
        CborItem::encoded(|out| out.bool(truth)?.ok())
    }
}
