//! PHC strings of Argon2 by cutting at the separators: from the grammar in the reference implementation's `encoding.c`
//! and a list of what other implementations take beyond it.

/// The parts of a string. Whether a hash can have them is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phc {
    /// `argon2d`, `argon2i` or `argon2id`.
    pub variant: String,
    /// The number after `v=`; 16 if there is none.
    pub version: u32,
    /// Whether there was a version.
    pub has_version: bool,
    /// Memory, passes, lanes.
    pub costs: [u32; 3],
    /// `keyid=`, lenient only.
    pub key_id: Vec<u8>,
    /// `data=`, lenient only.
    pub data: Vec<u8>,
    /// The salt.
    pub salt: Vec<u8>,
    /// The tag.
    pub tag: Vec<u8>,
}

/// The parts of a string, if it follows the grammar.
pub fn read(text: &[u8], lenient: bool) -> Option<Phc> {
    let text = std::str::from_utf8(text).ok()?;
    let parts: Vec<&str> = text.split('$').collect();
    let (name, version, costs, salt, tag) = match parts[..] {
        ["", name, version, costs, salt, tag] => {
            (name, Some(number(version.strip_prefix("v=")?, lenient)?), costs, salt, tag)
        }
        ["", name, costs, salt, tag] => (name, None, costs, salt, tag),
        _ => return None,
    };
    let name = match name {
        "Argon2d" | "Argon2i" | "Argon2id" if lenient => name.to_lowercase(),
        "argon2d" | "argon2i" | "argon2id" => name.to_owned(),
        _ => return None,
    };
    let mut phc = Phc {
        variant: name,
        version: version.unwrap_or(16),
        has_version: version.is_some(),
        costs: [0; 3],
        key_id: Vec::new(),
        data: Vec::new(),
        salt: base64(salt, lenient)?,
        tag: base64(tag, lenient)?,
    };
    let pairs: Vec<(&str, &str)> =
        costs.split(',').map(|pair| pair.split_once('=')).collect::<Option<_>>()?;
    let mut names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
    if !lenient && names != ["m", "t", "p"] {
        return None;
    }
    for (name, value) in pairs {
        match name {
            "m" => phc.costs[0] = number(value, lenient)?,
            "t" => phc.costs[1] = number(value, lenient)?,
            "p" => phc.costs[2] = number(value, lenient)?,
            "keyid" => phc.key_id = base64(value, lenient).filter(|bytes| bytes.len() <= 8)?,
            "data" => phc.data = base64(value, lenient).filter(|bytes| bytes.len() <= 32)?,
            _ => return None,
        }
    }
    names.sort_unstable();
    let all_once = names.windows(2).all(|two| two[0] != two[1]);
    (all_once && ["m", "t", "p"].iter().all(|name| names.contains(name))).then_some(phc)
}

fn number(text: &str, lenient: bool) -> Option<u32> {
    let digits = if lenient { text.strip_prefix('+').unwrap_or(text) } else { text };
    let only_digits = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    let value: u32 = if only_digits { digits.parse().ok()? } else { return None };
    (lenient || value.to_string() == digits).then_some(value)
}

/// Bits in a row, eight of them a byte; what is left over is less than a character and zero.
fn base64(text: &str, lenient: bool) -> Option<Vec<u8>> {
    let value = |c: char| match c {
        'A'..='Z' => Some(c as u32 - 'A' as u32),
        'a'..='z' => Some(c as u32 - 'a' as u32 + 26),
        '0'..='9' => Some(c as u32 - '0' as u32 + 52),
        '+' => Some(62),
        '/' => Some(63),
        _ => None,
    };
    let mut bits: Vec<bool> = Vec::new();
    for c in text.chars() {
        let value = value(c)?;
        bits.extend((0..6).rev().map(|bit| value >> bit & 1 == 1));
    }
    let bytes = bits.chunks_exact(8);
    let rest = bytes.remainder();
    if rest.len() >= 6 || (!lenient && rest.contains(&true)) {
        return None;
    }
    Some(bytes.map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_rfc() {
        // RFC 4648, section 10, without padding.
        for (text, bytes) in [("", ""), ("Zg", "f"), ("Zm8", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")] {
            assert_eq!(base64(text, false).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(base64("Zh", false), None);
        assert_eq!(base64("Zh", true).as_deref(), Some(&b"f"[..]));
        assert_eq!(base64("Zm9vY", true), None);
        assert_eq!(base64("Zg==", true), None);
    }

    #[test]
    fn a_string_of_the_reference_implementation() {
        // src/test.c of phc-winner-argon2.
        let text = "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ";
        let phc = read(text.as_bytes(), false).expect("a good string");
        assert_eq!((&*phc.variant, phc.version, phc.costs), ("argon2i", 16, [65536, 2, 1]));
        assert_eq!((&phc.salt[..], phc.tag.len()), (&b"somesalt"[..], 32));
        assert_eq!(read(b"$argon2i$t=2,m=65536,p=1$c29tZXNhbHQ$AAAA", false), None);
        assert!(read(b"$argon2i$t=2,m=65536,p=1$c29tZXNhbHQ$AAAA", true).is_some());
    }
}
