//! Parser of Parquet page headers: structs in Thrift's compact protocol.
//!
//! The sizes in a header are checked before memory is allocated for them. The crate `parquet` has no way to do so.

use parquet::basic::Encoding;

/// Fields of a page header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageHeader {
    pub(super) uncompressed_len: usize,
    pub(super) compressed_len: usize,
    pub(super) kind: PageKind,
}

/// The part of a header that depends on the type of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Data {
        values: u32,
        encoding: Encoding,
        definition_levels: Encoding,
        repetition_levels: Encoding,
    },
    DataV2 {
        values: u32,
        nulls: u32,
        rows: u32,
        encoding: Encoding,
        definition_levels_len: u32,
        repetition_levels_len: u32,
        is_compressed: bool,
    },
    Dictionary {
        values: u32,
        encoding: Encoding,
        is_sorted: bool,
    },
    /// A page that readers skip.
    Index,
}

/// Error of parsing a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// The header continues after the bytes.
    Truncated,
    Malformed,
}

/// Parses the header at the start of `bytes`; also returns its length.
pub(super) fn parse(bytes: &[u8]) -> Result<(PageHeader, usize), HeaderError> {
    let mut thrift = Thrift { bytes, at: 0 };
    let (mut kind, mut uncompressed_len, mut compressed_len) = (None, None, None);
    let (mut data, mut dictionary, mut data_v2) = (Fields::default(), Fields::default(), Fields::default());
    thrift.fields(0, &mut |thrift, id, wire| {
        match id {
            1 => kind = Some(thrift.int(wire)?),
            2 => uncompressed_len = Some(thrift.int(wire)?),
            3 => compressed_len = Some(thrift.int(wire)?),
            5 => data = thrift.numbers(wire)?,
            7 => dictionary = thrift.numbers(wire)?,
            8 => data_v2 = thrift.numbers(wire)?,
            _ => thrift.skip(wire, 0)?,
        }
        Ok(())
    })?;
    let len = |value: Option<i64>| {
        value.and_then(|value| i32::try_from(value).ok()?.try_into().ok()).ok_or(HeaderError::Malformed)
    };
    let kind = match kind {
        Some(0) => PageKind::Data {
            values: data.count(1)?,
            encoding: data.encoding(2)?,
            definition_levels: data.encoding(3)?,
            repetition_levels: data.encoding(4)?,
        },
        Some(1) => PageKind::Index,
        Some(2) => PageKind::Dictionary {
            values: dictionary.count(1)?,
            encoding: dictionary.encoding(2)?,
            is_sorted: dictionary.get(3) == Some(1),
        },
        Some(3) => PageKind::DataV2 {
            values: data_v2.count(1)?,
            nulls: data_v2.count(2)?,
            rows: data_v2.count(3)?,
            encoding: data_v2.encoding(4)?,
            definition_levels_len: data_v2.count(5)?,
            repetition_levels_len: data_v2.count(6)?,
            // Absent means true.
            is_compressed: data_v2.get(7) != Some(0),
        },
        _ => return Err(HeaderError::Malformed),
    };
    let header =
        PageHeader { uncompressed_len: len(uncompressed_len)?, compressed_len: len(compressed_len)?, kind };
    Ok((header, thrift.at))
}

/// Numbers and booleans of a struct, by field identifier.
#[derive(Clone, Copy, Default)]
struct Fields([Option<i64>; 8]);

impl Fields {
    fn get(&self, id: usize) -> Option<i64> {
        self.0[id]
    }

    fn count(&self, id: usize) -> Result<u32, HeaderError> {
        let count = self.get(id).and_then(|value| i32::try_from(value).ok()?.try_into().ok());
        count.ok_or(HeaderError::Malformed)
    }

    fn encoding(&self, id: usize) -> Result<Encoding, HeaderError> {
        #[expect(deprecated, reason = "old writers name it for levels that are not there")]
        let bit_packed = Encoding::BIT_PACKED;
        Ok(match self.get(id) {
            Some(0) => Encoding::PLAIN,
            Some(2) => Encoding::PLAIN_DICTIONARY,
            Some(3) => Encoding::RLE,
            Some(4) => bit_packed,
            Some(5) => Encoding::DELTA_BINARY_PACKED,
            Some(6) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            Some(7) => Encoding::DELTA_BYTE_ARRAY,
            Some(8) => Encoding::RLE_DICTIONARY,
            Some(9) => Encoding::BYTE_STREAM_SPLIT,
            _ => return Err(HeaderError::Malformed),
        })
    }
}

/// Types of the compact protocol.
mod wire {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const I8: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
}

/// Maximum nesting. Page statistics are two structs deep.
const DEPTH: u32 = 8;

struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

type OnField<'f, 'a> = &'f mut dyn FnMut(&mut Thrift<'a>, i64, u8) -> Result<(), HeaderError>;

impl<'a> Thrift<'a> {
    fn byte(&mut self) -> Result<u8, HeaderError> {
        let byte = *self.bytes.get(self.at).ok_or(HeaderError::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, HeaderError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(HeaderError::Malformed)
    }

    fn zigzag(&mut self) -> Result<i64, HeaderError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn int(&mut self, of: u8) -> Result<i64, HeaderError> {
        match of {
            wire::I16..=wire::I64 => self.zigzag(),
            _ => Err(HeaderError::Malformed),
        }
    }

    fn advance(&mut self, len: u64) -> Result<(), HeaderError> {
        let left = (self.bytes.len() - self.at) as u64;
        if len > left {
            return Err(HeaderError::Truncated);
        }
        self.at += len as usize;
        Ok(())
    }

    /// Calls `field` with the identifier and the type of each field of a struct; it consumes the value.
    fn fields(&mut self, depth: u32, field: OnField<'_, 'a>) -> Result<(), HeaderError> {
        if depth > DEPTH {
            return Err(HeaderError::Malformed);
        }
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.zigzag()?,
                delta => id.saturating_add(i64::from(delta)),
            };
            field(self, id, head & 0x0f)?;
        }
    }

    fn numbers(&mut self, of: u8) -> Result<Fields, HeaderError> {
        if of != wire::STRUCT {
            return Err(HeaderError::Malformed);
        }
        let mut fields = Fields::default();
        self.fields(1, &mut |thrift, id, of| {
            let value = match of {
                wire::TRUE => 1,
                wire::FALSE => 0,
                wire::I16..=wire::I64 => thrift.zigzag()?,
                _ => return thrift.skip(of, 1),
            };
            if let Some(field) = usize::try_from(id).ok().and_then(|id| fields.0.get_mut(id)) {
                *field = Some(value);
            }
            Ok(())
        })?;
        Ok(fields)
    }

    fn skip(&mut self, of: u8, depth: u32) -> Result<(), HeaderError> {
        match of {
            wire::TRUE | wire::FALSE => Ok(()),
            wire::I8 => self.advance(1),
            wire::I16..=wire::I64 => self.varint().map(drop),
            wire::DOUBLE => self.advance(8),
            wire::BINARY => {
                let len = self.varint()?;
                self.advance(len)
            }
            wire::LIST | wire::SET => {
                let head = self.byte()?;
                let len = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                self.skip_elements(len, &[head & 0x0f], depth + 1)
            }
            wire::MAP => match self.varint()? {
                0 => Ok(()),
                len => {
                    let kinds = self.byte()?;
                    self.skip_elements(len, &[kinds >> 4, kinds & 0x0f], depth + 1)
                }
            },
            wire::STRUCT => self.fields(depth + 1, &mut |thrift, _, of| thrift.skip(of, depth + 1)),
            _ => Err(HeaderError::Malformed),
        }
    }

    /// Each element has at least one byte, booleans too, so a false length ends at the end of the bytes.
    fn skip_elements(&mut self, len: u64, kinds: &[u8], depth: u32) -> Result<(), HeaderError> {
        if depth > DEPTH {
            return Err(HeaderError::Malformed);
        }
        for _ in 0..len {
            for &of in kinds {
                match of {
                    wire::TRUE | wire::FALSE => self.advance(1)?,
                    of => self.skip(of, depth)?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A v1 data page header as parquet-mr writes it, with statistics, which are skipped.
    const DATA: &[u8] = &[
        0x15, 0x00, 0x15, 0x80, 0x02, 0x15, 0x40, 0x2c, 0x15, 0x0a, 0x15, 0x00, 0x15, 0x06, 0x15, 0x08, 0x1c,
        0x18, 0x02, b'z', b'z', 0x16, 0x00, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn a_data_page_header_is_parsed_with_its_length() {
        let (header, len) = parse(&[DATA, b"page"].concat()).expect("a header");
        assert_eq!((header.uncompressed_len, header.compressed_len, len), (128, 32, DATA.len()));
        let PageKind::Data { values: 5, encoding: Encoding::PLAIN, definition_levels: Encoding::RLE, .. } =
            header.kind
        else {
            panic!("{header:?}")
        };
    }

    #[test]
    fn every_prefix_of_a_header_is_truncated() {
        for len in 0..DATA.len() {
            assert_eq!(parse(&DATA[..len]), Err(HeaderError::Truncated), "{len}");
        }
    }

    #[test]
    fn false_lengths_end_with_the_bytes() {
        // A list, a map and a binary value of 2^62 elements or bytes.
        for start in [&[0x49, 0xf5][..], &[0x4b], &[0x48]] {
            let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f];
            assert!(parse(&[start, &huge[..], &[0x55; 20]].concat()).is_err());
        }
        assert_eq!(parse(&[0x4c; 1000]), Err(HeaderError::Malformed), "structs in structs");
        assert_eq!(
            parse(&[0x49, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19]),
            Err(HeaderError::Malformed)
        );
    }
}
