//! Encoder and decoder for exactly the strings of the reference implementation: `hashmill_hash::password` accepts fewer, and
//! needs limits.

use super::code::Code;
use base64ct::{Base64Unpadded, Encoding};
use hashmill_hash::argon2::{Variant, Version};
use zeroize::Zeroizing;

/// The contents of a string.
pub(super) struct Decoded {
    pub(super) version: u32,
    pub(super) m_cost: u32,
    pub(super) t_cost: u32,
    pub(super) lanes: u32,
    pub(super) salt: Vec<u8>,
    pub(super) tag: Zeroizing<Vec<u8>>,
    /// Whether bytes follow.
    pub(super) has_rest: bool,
}

/// Decodes a string as far as its grammar goes.
pub(super) fn decode(text: &[u8], variant: Variant) -> Result<Decoded, Code> {
    let mut reader = Reader(text);
    reader.expect("$")?;
    reader.expect(variant.name())?;
    // One name is a prefix of another; the next character decides.
    let version = if reader.expect("$v=").is_ok() { reader.number()? } else { Version::V10.number() };
    reader.expect("$m=")?;
    let m_cost = reader.number()?;
    reader.expect(",t=")?;
    let t_cost = reader.number()?;
    reader.expect(",p=")?;
    let lanes = reader.number()?;
    reader.expect("$")?;
    let salt = reader.base64()?;
    reader.expect("$")?;
    let tag = Zeroizing::new(reader.base64()?);
    Ok(Decoded { version, m_cost, t_cost, lanes, salt, tag, has_rest: !reader.0.is_empty() })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn expect(&mut self, what: &str) -> Result<(), Code> {
        self.0 = self.0.strip_prefix(what.as_bytes()).ok_or(Code::DecodingFail)?;
        Ok(())
    }

    fn while_(&mut self, is: impl Fn(u8) -> bool) -> &'a [u8] {
        let len = self.0.iter().position(|&byte| !is(byte)).unwrap_or(self.0.len());
        let (head, rest) = self.0.split_at(len);
        self.0 = rest;
        head
    }

    /// A decimal number without leading zeroes.
    fn number(&mut self) -> Result<u32, Code> {
        let digits = self.while_(|byte| byte.is_ascii_digit());
        if digits.len() > 1 && digits[0] == b'0' {
            return Err(Code::DecodingFail);
        }
        let number = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.ok_or(Code::DecodingFail)
    }

    /// Base64 without padding, up to the first other byte. Bytes from 0x80 on are other bytes here; the reference implementation
    /// reads them as a slash if `char` is signed.
    fn base64(&mut self) -> Result<Vec<u8>, Code> {
        let text = self.while_(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
        let mut bytes = Vec::new();
        // Slightly more than needed.
        let room = text.len() / 4 * 3 + 3;
        bytes.try_reserve_exact(room).map_err(|_| Code::MemoryAllocationError)?;
        bytes.resize(room, 0);
        let len = Base64Unpadded::decode(text, &mut bytes).map_err(|_| Code::DecodingFail)?.len();
        bytes.truncate(len);
        Ok(bytes)
    }
}

/// The encoded costs.
#[derive(Clone, Copy)]
pub(super) struct Costs {
    pub(super) version: u32,
    pub(super) m_cost: u32,
    pub(super) t_cost: u32,
    pub(super) lanes: u32,
}

/// Writes a string and the zero at its end; or nothing, if the buffer is too small.
pub(super) fn encode(variant: Variant, costs: Costs, salt: &[u8], tag: &[u8], into: &mut [u8]) -> Option<()> {
    let Costs { version, m_cost, t_cost, lanes } = costs;
    let head = format!("${}$v={version}$m={m_cost},t={t_cost},p={lanes}$", variant.name());
    let lens = [head.len(), base64_len(salt.len()), 1, base64_len(tag.len()), 1];
    let len = lens.iter().try_fold(0usize, |sum, len| sum.checked_add(*len))?;
    let rest = into.get_mut(..len)?;
    let (part, rest) = rest.split_at_mut(lens[0]);
    part.copy_from_slice(head.as_bytes());
    let (part, rest) = rest.split_at_mut(lens[1]);
    Base64Unpadded::encode(salt, part).ok()?;
    let (part, rest) = rest.split_at_mut(1);
    part[0] = b'$';
    let (part, rest) = rest.split_at_mut(lens[3]);
    Base64Unpadded::encode(tag, part).ok()?;
    rest[0] = 0;
    Some(())
}

/// The length of a string, including the zero at its end. `name` is the name of the variant.
pub(super) fn len(name: &str, costs: [u32; 3], salt_len: u32, tag_len: u32) -> usize {
    let digits = |number: u32| number.checked_ilog10().unwrap_or(0) as usize + 1;
    let costs: usize = costs.map(digits).iter().sum();
    "$$v=$m=,t=,p=$$".len()
        + name.len()
        + costs
        + base64_len(salt_len as usize)
        + base64_len(tag_len as usize)
        + digits(Version::V13.number())
        + 1
}

const fn base64_len(bytes: usize) -> usize {
    bytes / 3 * 4 + [0, 2, 3][bytes % 3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_strings_decode() {
        let costs = Costs { version: 99, m_cost: u32::MAX, t_cost: 1, lanes: 20 };
        for (salt_len, tag_len) in [(8, 4), (9, 5), (10, 6), (100, 255)] {
            let (salt, tag) = (vec![7; salt_len], vec![250; tag_len]);
            let len = len("argon2i", [u32::MAX, 1, 20], salt_len as u32, tag_len as u32);
            let mut text = vec![1; len];
            assert!(encode(Variant::I, costs, &salt, &tag, &mut text[..len - 1]).is_none());
            assert_eq!(text, vec![1; len], "nothing was written");
            encode(Variant::I, costs, &salt, &tag, &mut text).unwrap();
            assert_eq!(text.iter().position(|&byte| byte == 0), Some(len - 1));
            let read = decode(&text[..len - 1], Variant::I).ok().unwrap();
            assert_eq!((read.version, read.m_cost, read.t_cost, read.lanes), (99, u32::MAX, 1, 20));
            assert_eq!((read.salt, read.tag.to_vec(), read.has_rest), (salt, tag, false));
            for other in [Variant::D, Variant::Id] {
                assert_eq!(decode(&text[..len - 1], other).err(), Some(Code::DecodingFail));
            }
        }
    }
}
