//! Digests in base64, as `rclone hashsum --base64` and `cksum --base64` write them.

use super::super::Algorithm;

/// The bytes of a digest that is as long as that of a function known here. Digests of these lengths end with `=`, so that nothing
/// of it can be taken for hexadecimal digits.
pub(super) fn digest(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    let letters = &text[..text.len() - padding];
    if padding == 0 || padding > 2 || !text.len().is_multiple_of(4) {
        return None;
    }
    // Either alphabet, but not both at once.
    let has = |set: &[u8]| letters.iter().any(|letter| set.contains(letter));
    if has(b"+/") && has(b"-_") {
        return None;
    }
    let mut digest = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for &letter in letters {
        bits = bits << 6 | value(letter)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            digest.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // Bits that are left over say nothing, and another text with the same bytes is no digest that anybody writes.
    let is_known = bits == 0 && Algorithm::by_digest_len(digest.len()).next().is_some();
    is_known.then_some(digest)
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}
