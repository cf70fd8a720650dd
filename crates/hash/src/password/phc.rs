//! PHC string decoder: the exact grammar of the reference implementation, and an optional lenient mode.
//!
//! ```text
//! string  = "$" variant [ "$v=" number ] "$m=" number ",t=" number ",p=" number "$" base64 "$" base64
//! variant = "argon2d" | "argon2i" | "argon2id"
//! number  = "0" | (1..9) { 0..9 }                 at most 2^32 - 1
//! base64  = standard alphabet, no padding, unused bits zero
//! ```
//! A string without a version has version 1.0 (16), whichever program wrote it.

use super::limits::{Limits, OverLimit};
use super::stored::PasswordHash;
use crate::argon2::{Params, ParamsError, Variant, Version};
use base64ct::{Base64Unpadded, Encoding};
use core::fmt;
use zeroize::Zeroizing;

/// Strictness of decoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Syntax {
    /// Exact: strings that the reference implementation accepts, with existing versions.
    #[default]
    Strict,
    /// Also strings that some other implementation accepts, where their meaning is unambiguous:
    /// - `m`, `t` and `p` in any order (RustCrypto, npm argon2),
    /// - `keyid=` and `data=` of early drafts beside them (RustCrypto, which writes them),
    /// - numbers with a plus sign or leading zeroes (rust-argon2),
    /// - the names `Argon2d`, `Argon2i`, `Argon2id` (rust-argon2),
    /// - unused bits of base64 that are not zero (npm argon2).
    ///
    /// Missing or repeated parameters, unknown parameters, padding and white space are still errors:
    /// implementations that accept them guess, and not all guess the same.
    Lenient,
}

/// Violation of the grammar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Malformed {
    /// The first character is not `$`, or no name of a variant follows.
    Variant,
    /// Something else is expected at this position.
    Expected(&'static str),
    /// Not a number, or not in its canonical form.
    Number,
    /// A number above 2^32 - 1.
    NumberTooLarge,
    /// An unknown parameter.
    UnknownParameter,
    /// A repeated parameter.
    Repeated,
    /// A character outside the base64 alphabet, such as padding or white space.
    Base64Character,
    /// Base64 that ends in the middle of a byte.
    Base64Cut,
    /// Base64 whose last character has bits that belong to no byte.
    Base64Tail,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Variant => "expected $argon2d$, $argon2i$ or $argon2id$",
            Malformed::Expected(what) => return write!(f, "expected {what}"),
            Malformed::Number => "expected a decimal number without sign and leading zeroes",
            Malformed::NumberTooLarge => "a number above 4294967295",
            Malformed::UnknownParameter => "a parameter other than m, t, p, keyid and data",
            Malformed::Repeated => "a parameter for the second time",
            Malformed::Base64Character => "a character that base64 without padding does not have",
            Malformed::Base64Cut => "base64 that ends in the middle of a byte",
            Malformed::Base64Tail => "base64 whose last character has bits that belong to no byte",
        })
    }
}

/// Error of decoding a password hash. Offsets are in bytes from the start of the string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PhcError {
    /// Not a PHC string of Argon2.
    Malformed {
        /// The offset of the error.
        offset: usize,
        /// The reason.
        reason: Malformed,
    },
    /// It has parameters that no hash can have.
    Params {
        /// The offset of the parameters.
        offset: usize,
        /// The invalid parameter.
        error: ParamsError,
    },
    /// Over a limit. Nothing was computed.
    OverLimit {
        /// The offset of the part that exceeds the limit.
        offset: usize,
        /// The violated limit.
        error: OverLimit,
    },
}

impl PhcError {
    /// The offset of the error in the string, in bytes.
    pub fn offset(&self) -> usize {
        match *self {
            PhcError::Malformed { offset, .. }
            | PhcError::Params { offset, .. }
            | PhcError::OverLimit { offset, .. } => offset,
        }
    }
}

impl fmt::Display for PhcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "password hash, byte {}: ", self.offset())?;
        match self {
            PhcError::Malformed { reason, .. } => reason.fmt(f),
            PhcError::Params { error, .. } => error.fmt(f),
            PhcError::OverLimit { error, .. } => error.fmt(f),
        }
    }
}

impl core::error::Error for PhcError {}

impl PasswordHash {
    /// Decodes a PHC string.
    ///
    /// # Errors
    /// A syntax error, with its offset; invalid parameters; anything over `limits`.
    pub fn decode(text: impl AsRef<[u8]>, syntax: Syntax, limits: &Limits) -> Result<PasswordHash, PhcError> {
        Reader { text: text.as_ref(), at: 0, syntax }.string(limits)
    }
}

impl core::str::FromStr for PasswordHash {
    type Err = PhcError;

    /// [`decode`](PasswordHash::decode) in strict mode, within the recommended limits.
    fn from_str(text: &str) -> Result<PasswordHash, PhcError> {
        PasswordHash::decode(text, Syntax::Strict, &Limits::RECOMMENDED)
    }
}

/// A piece of the string, with its offset.
#[derive(Clone, Copy)]
struct Piece<'a> {
    at: usize,
    text: &'a [u8],
}

impl Piece<'_> {
    fn malformed(&self, index: usize, reason: Malformed) -> PhcError {
        PhcError::Malformed { offset: self.at + index, reason }
    }
}

/// The costs and extra parts between the version and the salt.
struct Costs<'a> {
    at: usize,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    key_id: Option<Piece<'a>>,
    data: Option<Piece<'a>>,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    syntax: Syntax,
}

impl<'a> Reader<'a> {
    fn string(mut self, limits: &Limits) -> Result<PasswordHash, PhcError> {
        let variant = self.variant()?;
        let version = self.version()?;
        let costs = match self.syntax {
            Syntax::Strict => self.costs()?,
            Syntax::Lenient => self.costs_in_any_order()?,
        };
        let params = Params::new(costs.memory_kib, costs.passes, costs.lanes)
            .map_err(|error| PhcError::Params { offset: costs.at, error })?;
        let params = params.with_variant(variant).with_version(version);
        limits.check(params).map_err(|error| PhcError::OverLimit { offset: costs.at, error })?;

        self.expect("$")?;
        let salt = self.until(b"$");
        self.expect("$")?;
        let tag = Piece { at: self.at, text: &self.text[self.at..] };
        // Lengths first, so that long parts cost neither time nor memory.
        let over = |at| move |error| PhcError::OverLimit { offset: at, error };
        limits.check_salt(decoded_len(salt.text)).map_err(over(salt.at))?;
        limits.check_tag(decoded_len(tag.text)).map_err(over(tag.at))?;
        let hash = PasswordHash::new(params, self.base64(salt)?, self.base64(tag)?);
        let draft = |piece: Option<Piece<'_>>| piece.map_or(Ok(Vec::new()), |piece| self.base64(piece));
        Ok(hash.with_draft_parts(draft(costs.key_id)?, draft(costs.data)?))
    }

    fn variant(&mut self) -> Result<Variant, PhcError> {
        let no_variant = PhcError::Malformed { offset: 0, reason: Malformed::Variant };
        self.expect("$").map_err(|_| no_variant)?;
        let name = core::str::from_utf8(self.until(b"$").text).map_err(|_| no_variant)?;
        let rest = match self.syntax {
            Syntax::Lenient => name.strip_prefix('A'),
            Syntax::Strict => None,
        };
        let known = Variant::ALL
            .into_iter()
            .find(|variant| name == variant.name() || rest.is_some_and(|rest| rest == &variant.name()[1..]));
        known.ok_or(no_variant)
    }

    fn version(&mut self) -> Result<Version, PhcError> {
        self.expect("$")?;
        if !self.text[self.at..].starts_with(b"v=") {
            return Ok(Version::V10);
        }
        self.at += 2;
        let offset = self.at;
        let number = self.number(b"$")?;
        let version = Version::from_number(number).map_err(|error| PhcError::Params { offset, error })?;
        self.expect("$")?;
        Ok(version)
    }

    /// `m=…,t=…,p=…`.
    fn costs(&mut self) -> Result<Costs<'a>, PhcError> {
        let at = self.at;
        self.expect("m=")?;
        let memory_kib = self.number(b",$")?;
        self.expect(",t=")?;
        let passes = self.number(b",$")?;
        self.expect(",p=")?;
        let lanes = self.number(b",$")?;
        Ok(Costs { at, memory_kib, passes, lanes, key_id: None, data: None })
    }

    /// As [`costs`](Reader::costs), in any order, with the extra parts of early drafts.
    fn costs_in_any_order(&mut self) -> Result<Costs<'a>, PhcError> {
        let start = self.at;
        let (mut m, mut t, mut p, mut key_id, mut data) = (None, None, None, None, None);
        loop {
            let at = self.at;
            let name = self.until(b"=,$").text;
            let repeated = match name {
                b"m" => m.is_some(),
                b"t" => t.is_some(),
                b"p" => p.is_some(),
                b"keyid" => key_id.is_some(),
                b"data" => data.is_some(),
                _ => return Err(PhcError::Malformed { offset: at, reason: Malformed::UnknownParameter }),
            };
            if repeated {
                return Err(PhcError::Malformed { offset: at, reason: Malformed::Repeated });
            }
            self.expect("=")?;
            match name {
                b"m" => m = Some(self.number(b",$")?),
                b"t" => t = Some(self.number(b",$")?),
                b"p" => p = Some(self.number(b",$")?),
                b"keyid" => key_id = Some(self.short(8)?),
                _ => data = Some(self.short(32)?),
            }
            if self.text.get(self.at) != Some(&b',') {
                break;
            }
            self.at += 1;
        }
        let missing = |what| PhcError::Malformed { offset: self.at, reason: Malformed::Expected(what) };
        Ok(Costs {
            at: start,
            memory_kib: m.ok_or(missing(",m="))?,
            passes: t.ok_or(missing(",t="))?,
            lanes: p.ok_or(missing(",p="))?,
            key_id,
            data,
        })
    }

    /// Base64 of at most `most` bytes, decoded once everything else is known to be valid.
    fn short(&mut self, most: usize) -> Result<Piece<'a>, PhcError> {
        let piece = self.until(b",$");
        if decoded_len(piece.text) > most {
            let what = if most == 8 { "at most 8 bytes of keyid" } else { "at most 32 bytes of data" };
            return Err(piece.malformed(0, Malformed::Expected(what)));
        }
        Ok(piece)
    }

    /// Skips `what`.
    fn expect(&mut self, what: &'static str) -> Result<(), PhcError> {
        if self.text[self.at..].starts_with(what.as_bytes()) {
            self.at += what.len();
            return Ok(());
        }
        Err(PhcError::Malformed { offset: self.at, reason: Malformed::Expected(what) })
    }

    /// The text before the next of `ends`, or before the end of the string.
    fn until(&mut self, ends: &[u8]) -> Piece<'a> {
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|byte| ends.contains(byte)).unwrap_or(rest.len());
        let piece = Piece { at: self.at, text: &rest[..len] };
        self.at += len;
        piece
    }

    /// Parses a number that ends before one of `ends`.
    fn number(&mut self, ends: &[u8]) -> Result<u32, PhcError> {
        let piece = self.until(ends);
        let mut digits = piece.text;
        if self.syntax == Syntax::Lenient {
            digits = digits.strip_prefix(b"+").unwrap_or(digits);
        }
        let skipped = piece.text.len() - digits.len();
        if let Some(index) = digits.iter().position(|byte| !byte.is_ascii_digit()) {
            return Err(piece.malformed(skipped + index, Malformed::Number));
        }
        let leads_with_zero = digits.len() > 1 && digits[0] == b'0';
        if digits.is_empty() || (leads_with_zero && self.syntax == Syntax::Strict) {
            return Err(piece.malformed(skipped, Malformed::Number));
        }
        let add = |number: u32, digit: &u8| number.checked_mul(10)?.checked_add(u32::from(digit - b'0'));
        digits.iter().try_fold(0, add).ok_or(piece.malformed(0, Malformed::NumberTooLarge))
    }

    fn base64(&self, piece: Piece<'_>) -> Result<Vec<u8>, PhcError> {
        let Piece { text, .. } = piece;
        let foreign = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'+' && *byte != b'/';
        if let Some(index) = text.iter().position(foreign) {
            return Err(piece.malformed(index, Malformed::Base64Character));
        }
        if text.len() % 4 == 1 {
            return Err(piece.malformed(text.len(), Malformed::Base64Cut));
        }
        let mut bytes = vec![0; decoded_len(text)];
        let canonical = Base64Unpadded::decode(text, &mut bytes).is_ok();
        if canonical {
            return Ok(bytes);
        }
        let last = text.len().saturating_sub(1);
        let tail = piece.malformed(last, Malformed::Base64Tail);
        if self.syntax == Syntax::Strict {
            return Err(tail);
        }
        let mut text = Zeroizing::new(text.to_vec());
        text[last] = without_spare_bits(text[last], text.len());
        Base64Unpadded::decode(&text, &mut bytes).map_err(|_| tail)?;
        Ok(bytes)
    }
}

/// The number of bytes in this base64 text.
fn decoded_len(text: &[u8]) -> usize {
    text.len() / 4 * 3 + (text.len() % 4) * 3 / 4
}

/// The last of `len` base64 characters, with its unused bits cleared.
fn without_spare_bits(character: u8, len: usize) -> u8 {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let spare = if len % 4 == 2 { 15 } else { 3 };
    match ALPHABET.iter().position(|&other| other == character) {
        Some(value) => ALPHABET[value & !spare],
        None => character,
    }
}
