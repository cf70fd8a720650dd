//! One value of CBOR, as users of presence exchange it.

use std::convert::Infallible;

use hashmill_doc::Literal;
use minicbor::data::Type;
use minicbor::encode::Error;
use minicbor::{Decoder, Encoder};

use crate::message::{DecodeError, decode_float};
use crate::presence::{PresenceError, cbor_literal};

/// One value of CBOR that documents can hold, too. It is passed on as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CborItem(Vec<u8>);

impl CborItem {
    /// Takes the bytes of one whole value, at most 62 levels deep. Keys of maps are texts or integers; simple values other than
    /// truth values, null and undefined are refused.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<CborItem, DecodeError> {
        cbor_literal::check(&bytes)?;
        Ok(CborItem(bytes))
    }

    /// Encodes a value of documents, at most 62 levels deep, where a time counts two. A counter is its number, and a text a
    /// string.
    ///
    /// Values of unknown types, and times that JavaScript cannot show to the millisecond, are errors.
    pub fn from_literal(value: &Literal) -> Result<CborItem, PresenceError> {
        cbor_literal::encode(value).map(CborItem)
    }

    /// The value as documents hold it. Undefined is null, and whole numbers that JavaScript shows exactly are integers. Tags
    /// other than that of times are dropped. Integer keys are texts; the last entry of a key counts.
    pub fn to_literal(&self) -> Literal {
        cbor_literal::decode(&self.0)
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
            Type::F16 | Type::F32 | Type::F64 => decode_float(&mut decoder).ok(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8]) -> Option<f64> {
        CborItem::from_bytes(bytes.to_vec()).expect("a value").as_number()
    }

    /// Every half float, beside its bits moved to where a float of 32 bits has them. A factor corrects the bias of the exponent.
    #[test]
    fn half_floats_are_numbers() {
        for bits in 0..=u16::MAX {
            let [high, low] = bits.to_be_bytes();
            let found = number(&[0xf9, high, low]).expect("a number");
            let magnitude = bits & 0x7fff;
            let expected = match magnitude {
                0x7c00.. => f32::from_bits(0x7f80_0000 | u32::from(magnitude & 0x3ff)),
                _ => f32::from_bits(u32::from(magnitude) << 13) * f32::from_bits((127 + 112) << 23),
            };
            let expected = f64::from(if bits == magnitude { expected } else { -expected });
            let is_equal = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(is_equal, "{bits:#06x}: {found} instead of {expected}");
        }
    }

    #[test]
    fn numbers_have_one_meaning_in_every_width() {
        for (bytes, expected) in [
            (&[0xf9, 0x3e, 0x00][..], Some(1.5)),
            (&[0xfa, 0x3f, 0xc0, 0, 0], Some(1.5)),
            (&[0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0], Some(1.5)),
            (&[0x03], Some(3.0)),
            (&[0x22], Some(-3.0)),
            (&[0x1b, 0, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Some(9_007_199_254_740_991.0)),
            (&[0x1b, 0, 0x20, 0, 0, 0, 0, 0, 0], None),
            (&[0x1b, 0xff, 0, 0, 0, 0, 0, 0, 0], None),
            (&[0xf5], None),
            (&[0x61, b'1'], None),
        ] {
            assert_eq!(number(bytes), expected, "{bytes:02x?}");
        }
        assert!(CborItem::from_bytes(vec![0xf9, 0x3e]).is_err());
    }
}
