//! Decoder for strings of every supported kind, which also names unsupported kinds.
//!
//! ```text
//! bcrypt         $2a$CC$SALT22TAG31, also $2b$ and $2y$
//! bcrypt-sha256  $bcrypt-sha256$v=2,t=2b,r=CC$SALT$TAG, $bcrypt-sha256$2b,CC$SALT$TAG       passlib
//! scrypt         $scrypt$ln=N,r=N,p=N$SALT$TAG                                             passlib, RustCrypto
//!                $7$NRRRRRPPPPPSALT$TAG                                                    libxcrypt
//! pbkdf2         $pbkdf2-sha256$ITERATIONS$SALT$TAG, also -sha512, and without for SHA-1   passlib
//!                $pbkdf2-sha256$i=N,l=N$SALT$TAG                                           RustCrypto
//! Django         argon2$argon2id$…, bcrypt$$2b$…, bcrypt_sha256$$2b$…,
//!                pbkdf2_sha256$ITERATIONS$SALT$TAG, pbkdf2_sha1$…, scrypt$N$SALT$R$P$TAG
//! Werkzeug       pbkdf2:sha256:ITERATIONS$SALT$TAG, scrypt:N:R:P$SALT$TAG
//! LDAP           {ARGON2}$argon2id$…, {CRYPT}$2b$…, {BCRYPT}$2b$…, {PBKDF2-SHA256}ITERATIONS$SALT$TAG
//! Spring         {argon2}$argon2id$…, {bcrypt}$2a$…
//! Dovecot        {ARGON2ID}$argon2id$…, {ARGON2I}$argon2i$…, {BLF-CRYPT}$2y$…
//! ```

use super::{Digest, ForeignHash, Hash, HashPrefix, Prehash, Scheme, StoredError, StoredHash};
use crate::password::{Limits, OverLimit, PasswordHash, Quantity, Syntax};
use base64ct::{Base64Unpadded, Encoding};
use core::str;
use zeroize::Zeroizing;

type Result<T> = core::result::Result<T, StoredError>;

/// Bytes of the salt and of the tag of bcrypt; the tag's last byte is not stored.
const BCRYPT_SALT: usize = 16;
const BCRYPT_TAG: usize = 23;

/// Unsupported kinds, by their prefixes.
const NOT_VERIFIED: [(&str, &str); 26] = [
    ("$1$", "MD5-crypt"),
    ("$apr1$", "Apache's MD5-crypt"),
    ("$5$", "SHA256-crypt"),
    ("$6$", "SHA512-crypt"),
    ("$y$", "yescrypt"),
    ("$gy$", "GOST-yescrypt"),
    ("$sha1$", "SHA1-crypt"),
    ("$md5", "Sun's MD5-crypt"),
    ("$3$", "an NT hash"),
    ("$P$", "phpass"),
    ("$H$", "phpass"),
    ("$2$", "the first version of bcrypt"),
    ("$2x$", "a faulty bcrypt"),
    ("$scram$", "SCRAM"),
    ("md5$", "Django's MD5"),
    ("sha1$", "Django's SHA-1"),
    ("unsalted_", "an unsalted digest"),
    ("sha256:", "a salted SHA-256"),
    ("{MD5}", "an MD5 digest"),
    ("{SMD5}", "a salted MD5 digest"),
    ("{SHA}", "a SHA-1 digest"),
    ("{SSHA", "a salted digest of SHA"),
    ("{SHA", "a digest of SHA"),
    ("{SASL}", "a password that is kept elsewhere"),
    ("{noop}", "a password in plain text"),
    ("{CLEARTEXT}", "a password in plain text"),
];

pub(super) fn stored(text: &[u8], syntax: Syntax, limits: &Limits) -> Result<StoredHash> {
    let (prefix, rest) = split_prefix(text);
    let argon2 = |text: &[u8]| -> Result<_> { Ok(Hash::Argon2(PasswordHash::decode(text, syntax, limits)?)) };
    // All of these are ASCII; a Django salt could be other text.
    let hash = match str::from_utf8(rest) {
        Ok(rest) if rest.starts_with("$argon2") || rest.starts_with("$Argon2") => argon2(rest.as_bytes())?,
        Ok(rest) => Hash::Foreign(foreign(rest, prefix, limits)?),
        Err(_) => return Err(StoredError::Unknown),
    };
    Ok(StoredHash { prefix, hash })
}

/// The kind of prefix, and the hash without it.
fn split_prefix(text: &[u8]) -> (HashPrefix, &[u8]) {
    const DJANGO: [&[u8]; 5] =
        [b"bcrypt_sha256$", b"pbkdf2_sha256$", b"pbkdf2_sha1$", b"scrypt$", b"bcrypt$"];
    if let Some(rest) = text.strip_prefix(b"argon2").filter(|rest| rest.starts_with(b"$argon2")) {
        return (HashPrefix::Django, rest);
    }
    if DJANGO.iter().any(|name| text.starts_with(name)) {
        return (HashPrefix::Django, text);
    }
    // Spring's are those in small letters; elsewhere case does not matter.
    for (text_of_prefix, prefix) in [
        ("{argon2}", HashPrefix::Spring),
        ("{bcrypt}", HashPrefix::Spring),
        ("{ARGON2}", HashPrefix::Ldap),
        ("{CRYPT}", HashPrefix::Ldap),
        ("{BCRYPT}", HashPrefix::Ldap),
        ("{ARGON2ID}", HashPrefix::Dovecot),
        ("{ARGON2I}", HashPrefix::Dovecot),
        ("{BLF-CRYPT}", HashPrefix::Dovecot),
    ] {
        let fits = |start: &[u8]| match prefix {
            HashPrefix::Spring => start == text_of_prefix.as_bytes(),
            _ => start.eq_ignore_ascii_case(text_of_prefix.as_bytes()),
        };
        if let Some((_, rest)) = text.split_at_checked(text_of_prefix.len()).filter(|(start, _)| fits(start))
        {
            return (prefix, rest);
        }
    }
    if text.starts_with(b"{PBKDF2") { (HashPrefix::Ldap, text) } else { (HashPrefix::Plain, text) }
}

fn foreign(text: &str, prefix: HashPrefix, limits: &Limits) -> Result<ForeignHash> {
    if let Some(rest) = ["$2a$", "$2b$", "$2y$"].iter().find_map(|start| text.strip_prefix(start)) {
        return bcrypt(rest, None, limits);
    }
    let after = |start: &str| text.strip_prefix(start);
    if let Some(rest) = after("bcrypt$$2").or(after("bcrypt_sha256$$2")) {
        let prehash = text.starts_with("bcrypt_sha256").then_some(Prehash::Hex);
        let rest = rest.strip_prefix(['a', 'b', 'y']).and_then(|rest| rest.strip_prefix('$'));
        return bcrypt(rest.ok_or(malformed("bcrypt", "$2a$, $2b$ or $2y$"))?, prehash, limits);
    }
    if let Some(rest) = after("$bcrypt-sha256$") {
        return passlib_bcrypt_sha256(rest, limits);
    }
    if let Some(rest) = after("$scrypt$") {
        return scrypt_phc(rest, limits);
    }
    if let Some(rest) = after("$7$") {
        return scrypt_crypt(rest, limits);
    }
    if let Some(rest) = after("scrypt$") {
        return scrypt_django(rest, limits);
    }
    if let Some(rest) = after("scrypt:") {
        return scrypt_werkzeug(rest, limits);
    }
    for (name, digest) in [("sha1", Digest::Sha1), ("sha256", Digest::Sha256), ("sha512", Digest::Sha512)] {
        if let Some(rest) = after("pbkdf2:").and_then(|rest| rest.strip_prefix(name)?.strip_prefix(':')) {
            return pbkdf2(rest, digest, Pbkdf2Format::Werkzeug, limits);
        }
        if let Some(rest) = after("pbkdf2_").and_then(|rest| rest.strip_prefix(name)?.strip_prefix('$')) {
            return pbkdf2(rest, digest, Pbkdf2Format::Django, limits);
        }
        if let Some(rest) = after("$pbkdf2-").and_then(|rest| rest.strip_prefix(name)?.strip_prefix('$')) {
            return pbkdf2(rest, digest, Pbkdf2Format::Phc, limits);
        }
        let capitals = name.to_ascii_uppercase();
        if let Some(rest) =
            after("{PBKDF2-").and_then(|rest| rest.strip_prefix(&*capitals)?.strip_prefix('}'))
        {
            return pbkdf2(rest, digest, Pbkdf2Format::Phc, limits);
        }
    }
    if let Some(rest) = after("$pbkdf2$").or(after("{PBKDF2}")) {
        return pbkdf2(rest, Digest::Sha1, Pbkdf2Format::Phc, limits);
    }
    Err(unverified(text, prefix))
}

/// The kind of a string that cannot be verified.
fn unverified(text: &str, prefix: HashPrefix) -> StoredError {
    let named = NOT_VERIFIED.iter().find(|(start, _)| text.starts_with(start));
    let letters = |text: &str| text.bytes().all(|byte| BCRYPT_LETTERS.contains(&byte));
    match named {
        Some((_, kind)) => StoredError::NotVerified(kind),
        // Only after a prefix: any word of 13 such letters looks like it.
        None if prefix == HashPrefix::Ldap && text.len() == 13 && letters(text) => {
            StoredError::NotVerified("DES-crypt")
        }
        None if text.starts_with('{') && text.contains('}') => StoredError::NotVerified("a scheme in braces"),
        None => StoredError::Unknown,
    }
}

fn malformed(kind: &'static str, expected: &'static str) -> StoredError {
    StoredError::Malformed { kind, expected }
}

/// Constructs a hash with permitted costs. They are checked before salt and tag are decoded.
struct HashBuilder<'a> {
    kind: &'static str,
    limits: &'a Limits,
}

impl HashBuilder<'_> {
    fn over(&self, error: OverLimit) -> StoredError {
        StoredError::OverLimit { kind: self.kind, error }
    }

    fn build(
        &self,
        scheme: Scheme,
        (salt_len, tag_len): (usize, usize),
        salt: impl FnOnce() -> Result<Vec<u8>>,
        tag: impl FnOnce() -> Result<Zeroizing<Vec<u8>>>,
    ) -> Result<ForeignHash> {
        scheme.check(tag_len, self.limits).map_err(|error| self.over(error))?;
        // A short salt was the other program's choice, and no reason to refuse the password.
        if salt_len > self.limits.max_salt {
            let (given, bound) = (salt_len as u64, self.limits.max_salt as u64);
            return Err(self.over(OverLimit { what: Quantity::Salt, given, bound, is_least: false }));
        }
        self.limits.check_tag(tag_len).map_err(|error| self.over(error))?;
        Ok(ForeignHash { scheme, salt: salt()?, tag: tag()? })
    }

    fn number(&self, text: &str, expected: &'static str) -> Result<u32> {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = plain.then(|| text.parse().ok()).flatten();
        number.ok_or(malformed(self.kind, expected))
    }
}

fn bcrypt(rest: &str, prehash: Option<Prehash>, limits: &Limits) -> Result<ForeignHash> {
    let kind = if prehash.is_some() { "bcrypt-sha256" } else { "bcrypt" };
    let parts = rest.split_once('$').filter(|(cost, _)| cost.len() == 2);
    let (cost, rest) = parts.ok_or(malformed(kind, "a cost of two digits and a $"))?;
    let (salt, tag) = rest.split_at_checked(22).unwrap_or((rest, ""));
    bcrypt_of(cost, prehash, salt, tag, &HashBuilder { kind, limits })
}

fn bcrypt_of(
    cost: &str,
    prehash: Option<Prehash>,
    salt: &str,
    tag: &str,
    builder: &HashBuilder<'_>,
) -> Result<ForeignHash> {
    let wrong = malformed(builder.kind, "22 characters of salt and 31 of tag");
    let cost = builder.number(cost, "a cost of two digits")?;
    if !(4..=31).contains(&cost) {
        return Err(malformed(builder.kind, "a cost from 04 to 31"));
    }
    let scheme = match prehash {
        None => Scheme::Bcrypt { cost },
        Some(digest) => Scheme::BcryptSha256 { cost, digest },
    };
    if salt.len() != 22 || tag.len() != 31 {
        return Err(wrong);
    }
    let bytes = |text| read64(text, BCRYPT_LETTERS, Order::High).ok_or(wrong);
    builder.build(scheme, (BCRYPT_SALT, BCRYPT_TAG), || bytes(salt), || Ok(Zeroizing::new(bytes(tag)?)))
}

/// Both passlib versions of bcrypt-sha256.
fn passlib_bcrypt_sha256(rest: &str, limits: &Limits) -> Result<ForeignHash> {
    let builder = HashBuilder { kind: "bcrypt-sha256", limits };
    let wrong = malformed(builder.kind, "v=2,t=2b,r=COST$SALT$TAG or 2b,COST$SALT$TAG");
    let mut parts = rest.split('$');
    let (Some(costs), Some(salt), Some(tag), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong);
    };
    let second =
        ["v=2,t=2b,r=", "v=2,t=2y,r=", "v=2,t=2a,r="].iter().find_map(|start| costs.strip_prefix(start));
    let first = || ["2a,", "2b,", "2y,"].iter().find_map(|start| costs.strip_prefix(start));
    match (second, first()) {
        (Some(cost), _) => bcrypt_of(cost, Some(Prehash::Hmac), salt, tag, &builder),
        (None, Some(cost)) => bcrypt_of(cost, Some(Prehash::Base64), salt, tag, &builder),
        (None, None) => Err(wrong),
    }
}

/// `ln=N,r=N,p=N$SALT$TAG`.
fn scrypt_phc(rest: &str, limits: &Limits) -> Result<ForeignHash> {
    let wrong = malformed("scrypt", "ln=N,r=N,p=N$SALT$TAG");
    let mut parts = rest.split('$');
    let (Some(costs), Some(salt), Some(tag), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong);
    };
    let mut costs = costs.split(',');
    let mut cost = |name: &str| costs.next().and_then(|cost| cost.strip_prefix(name)).ok_or(wrong);
    let costs = [cost("ln=")?, cost("r=")?, cost("p=")?];
    let builder = HashBuilder { kind: "scrypt", limits };
    let [log_n, r, p] = costs.map(|cost| builder.number(cost, "a decimal number after ln=, r= and p="));
    let lens = (unpadded_len(salt), unpadded_len(tag));
    let base64 = |text| base64(text).ok_or(malformed("scrypt", "base64 without padding"));
    let salt = || Ok(base64(salt)?.to_vec());
    builder.build(scrypt(log_n?, r?, p?)?, lens, salt, || base64(tag))
}

/// `NRRRRRPPPPPSALT$TAG`: numbers with six bits per letter, the lowest first.
fn scrypt_crypt(rest: &str, limits: &Limits) -> Result<ForeignHash> {
    let wrong = malformed("scrypt", "11 characters of costs, then SALT$TAG");
    let number = |text: &str| {
        let value = |value: u64, letter: u8| {
            Some(value << 6 | CRYPT_LETTERS.iter().position(|known| *known == letter)? as u64)
        };
        text.bytes().rev().try_fold(0, value).and_then(|value| u32::try_from(value).ok())
    };
    let (costs, rest) = rest.split_at_checked(11).ok_or(wrong)?;
    let [log_n, r, p] = [0..1, 1..6, 6..11].map(|range| costs.get(range).and_then(number).ok_or(wrong));
    let (salt, tag) = rest.rsplit_once('$').filter(|(_, tag)| tag.len() == 43).ok_or(wrong)?;
    let tag = || Ok(Zeroizing::new(read64(tag, CRYPT_LETTERS, Order::Low).ok_or(wrong)?));
    let builder = HashBuilder { kind: "scrypt", limits };
    builder.build(scrypt(log_n?, r?, p?)?, (salt.len(), 32), || Ok(salt.as_bytes().to_vec()), tag)
}

/// `N$SALT$R$P$TAG`, where N is not a logarithm.
fn scrypt_django(rest: &str, limits: &Limits) -> Result<ForeignHash> {
    let builder = HashBuilder { kind: "scrypt", limits };
    let parts: Vec<_> = rest.split('$').collect();
    let [n, salt, r, p, tag] = parts[..] else { return Err(malformed(builder.kind, "N$SALT$R$P$TAG")) };
    let [n, r, p] = [n, r, p].map(|cost| builder.number(cost, "decimal numbers for N, r and p"));
    let lens = (salt.len(), unpadded_len(tag.trim_end_matches('=')));
    let base64 = || base64_padded(tag).ok_or(malformed(builder.kind, "a tag in base64"));
    builder.build(scrypt(power(n?)?, r?, p?)?, lens, || Ok(salt.as_bytes().to_vec()), base64)
}

/// `N:R:P$SALT$TAG`, where N is not a logarithm and the tag is hexadecimal.
fn scrypt_werkzeug(rest: &str, limits: &Limits) -> Result<ForeignHash> {
    let builder = HashBuilder { kind: "scrypt", limits };
    let parts: Vec<_> = rest.split('$').collect();
    let costs: Vec<_> = parts[0].split(':').collect();
    let ([n, r, p], [_, salt, tag]) = (&costs[..], &parts[..]) else {
        return Err(malformed(builder.kind, "N:R:P$SALT$TAG"));
    };
    let [n, r, p] = [n, r, p].map(|cost| builder.number(cost, "decimal numbers for N, r and p"));
    let lens = (salt.len(), tag.len() / 2);
    let tag = || unhex(tag).ok_or(malformed(builder.kind, "a tag in hexadecimal digits"));
    builder.build(scrypt(power(n?)?, r?, p?)?, lens, || Ok(salt.as_bytes().to_vec()), tag)
}

/// Checks that such costs exist; limits are checked elsewhere.
fn scrypt(log_n: u32, r: u32, p: u32) -> Result<Scheme> {
    let fits = (1..=63).contains(&log_n) && r > 0 && p > 0 && u64::from(r) * u64::from(p) < 1 << 30;
    let scheme = Scheme::Scrypt { log_n, r, p };
    if fits {
        Ok(scheme)
    } else {
        Err(malformed("scrypt", "N from 2 to 2^63, and r times p from 1 to 2^30 - 1"))
    }
}

fn power(n: u32) -> Result<u32> {
    let wrong = malformed("scrypt", "N to be a power of two, at least 2");
    if n.is_power_of_two() { Ok(n.trailing_zeros()) } else { Err(wrong) }
}

/// Format of a PBKDF2 string: salts are text or base64, tags base64 or hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pbkdf2Format {
    Django,
    Werkzeug,
    /// passlib with a bare number and `.` for `+`, or RustCrypto with `i=N` and perhaps `l=N`.
    Phc,
}

fn pbkdf2(rest: &str, digest: Digest, format: Pbkdf2Format, limits: &Limits) -> Result<ForeignHash> {
    let kind = Scheme::Pbkdf2 { digest, iterations: 1 }.name();
    let builder = HashBuilder { kind, limits };
    let parts: Vec<_> = rest.split('$').collect();
    let [costs, salt, tag] = parts[..] else { return Err(malformed(kind, "ITERATIONS$SALT$TAG")) };
    let decimal = "a decimal number of iterations";
    let (iterations, stated_len) = match costs.strip_prefix("i=").filter(|_| format == Pbkdf2Format::Phc) {
        None => (builder.number(costs, decimal)?, None),
        Some(costs) => match costs.split_once(",l=") {
            None => (builder.number(costs, decimal)?, None),
            Some((iterations, len)) => (
                builder.number(iterations, decimal)?,
                Some(builder.number(len, "a decimal number after l=")?),
            ),
        },
    };
    if iterations == 0 {
        return Err(malformed(kind, "one iteration at least"));
    }
    let scheme = Scheme::Pbkdf2 { digest, iterations };
    let salt_text = || Ok(salt.as_bytes().to_vec());
    match format {
        Pbkdf2Format::Django => {
            let lens = (salt.len(), unpadded_len(tag.trim_end_matches('=')));
            let tag = || base64_padded(tag).ok_or(malformed(kind, "a tag in base64"));
            builder.build(scheme, lens, salt_text, tag)
        }
        Pbkdf2Format::Werkzeug => {
            let bytes = || unhex(tag).ok_or(malformed(kind, "a tag in hexadecimal digits"));
            builder.build(scheme, (salt.len(), tag.len() / 2), salt_text, bytes)
        }
        Pbkdf2Format::Phc => {
            let lens = (unpadded_len(salt), unpadded_len(tag));
            if stated_len.is_some_and(|stated| stated as usize != lens.1) {
                return Err(malformed(kind, "a tag as long as l= says"));
            }
            let base64 = |text| base64(text).ok_or(malformed(kind, "base64 without padding"));
            builder.build(scheme, lens, || Ok(base64(salt)?.to_vec()), || base64(tag))
        }
    }
}

/// The number of bytes in this base64 text without padding.
fn unpadded_len(text: &str) -> usize {
    text.len() / 4 * 3 + text.len() % 4 * 3 / 4
}

/// Decodes base64 without padding, with `.` for `+` as in passlib.
fn base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut text = Zeroizing::new(text.as_bytes().to_vec());
    text.iter_mut().filter(|byte| **byte == b'.').for_each(|byte| *byte = b'+');
    let mut bytes = Zeroizing::new(vec![0; text.len()]);
    let len = Base64Unpadded::decode(&*text, &mut bytes).ok()?.len();
    bytes.truncate(len);
    Some(bytes)
}

/// Decodes base64 with correct padding.
fn base64_padded(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let bare = text.trim_end_matches('=');
    let whole = text.len().is_multiple_of(4) && text.len() - bare.len() <= 2 && !text.contains('.');
    if whole { base64(bare) } else { None }
}

fn unhex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = Zeroizing::new(Vec::with_capacity(pairs.len()));
    for pair in pairs {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        bytes.push(u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?);
    }
    Some(bytes)
}

/// The alphabet of bcrypt, and that of crypt(3).
const BCRYPT_LETTERS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const CRYPT_LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Does the first of four letters hold the highest six bits of three bytes, or the lowest?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    High,
    Low,
}

/// Decodes six bits per letter. Unused bits of the last letter are ignored, as by the programs that write
/// such text.
fn read64(text: &str, letters: &[u8; 64], order: Order) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(unpadded_len(text));
    for four in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for (index, letter) in four.iter().enumerate() {
            let value = letters.iter().position(|known| known == letter)? as u32;
            bits |= value << if order == Order::High { 18 - 6 * index } else { 6 * index };
        }
        let three = match order {
            Order::High => [bits >> 16, bits >> 8, bits],
            Order::Low => [bits, bits >> 8, bits >> 16],
        };
        bytes.extend(three.iter().take(four.len() * 3 / 4).map(|bits| *bits as u8));
    }
    Some(bytes)
}

/// Encodes a bcrypt salt.
pub(super) fn write_bcrypt64(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 4 / 3 + 1);
    for three in bytes.chunks(3) {
        let bits = three
            .iter()
            .enumerate()
            .fold(0, |bits, (index, byte)| bits | u32::from(*byte) << (16 - 8 * index));
        let letters = (0..=three.len()).map(|index| BCRYPT_LETTERS[(bits >> (18 - 6 * index)) as usize % 64]);
        text.extend(letters);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_alphabets_round_trip() {
        let bytes: Vec<u8> = (0..16u8).map(|at| at.wrapping_mul(37)).collect();
        let text = String::from_utf8(write_bcrypt64(&bytes)).expect("letters");
        assert_eq!(text.len(), 22);
        assert_eq!(read64(&text, BCRYPT_LETTERS, Order::High), Some(bytes));
        assert_eq!(read64("/...", CRYPT_LETTERS, Order::Low), Some(vec![1, 0, 0]));
        assert_eq!(read64("a$bc", CRYPT_LETTERS, Order::Low), None);
    }

    #[test]
    fn unsupported_prefixes_do_not_shadow_each_other() {
        for (index, (start, _)) in NOT_VERIFIED.iter().enumerate() {
            let earlier = NOT_VERIFIED[..index].iter().find(|(earlier, _)| start.starts_with(earlier));
            assert!(earlier.is_none(), "{start}");
        }
    }
}
