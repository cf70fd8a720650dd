//! Search for leaked secrets in several encodings, and for public types that could hold one.

use std::collections::BTreeSet;
use std::path::Path;

/// Minimum length of a part of a secret, in bytes: shorter parts may match by chance.
const SHORT: usize = 6;

/// The form in which a part of `secret` appears in `text`, if any: verbatim, in hexadecimal, in base64, or as a list of bytes or
/// words, decimal or hexadecimal.
///
/// # Panics
/// If the secret is so short that it may match by chance.
pub fn leak(text: &str, secret: &[u8]) -> Option<String> {
    assert!(secret.len() >= 2 * SHORT, "a secret of {} bytes is too short", secret.len());
    let text = plain(text);
    shapes(secret).into_iter().find(|shape| text.contains(&plain(shape)))
}

/// Without case and white space: `{:#?}` breaks lists into lines.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

fn shapes(secret: &[u8]) -> Vec<String> {
    let mut shapes = Vec::new();
    for part in secret.windows(SHORT) {
        shapes.push(String::from_utf8_lossy(part).into_owned());
        shapes.push(part.escape_ascii().to_string());
        shapes.push(crate::hex::encode(part));
        shapes.push(list(part, |byte| byte.to_string()));
        shapes.push(list(part, |byte| format!("0x{byte:02x}")));
        shapes.push(list(part, |byte| format!("{byte:x}")));
        shapes.push(base64(part));
    }
    for word in secret.windows(8).map(|bytes| bytes.try_into().expect("eight bytes")) {
        for word in [u64::from_le_bytes(word), u64::from_be_bytes(word)] {
            shapes.extend([word.to_string(), format!("{word:x}")]);
        }
    }
    for word in secret.windows(4).map(|bytes| bytes.try_into().expect("four bytes")) {
        for word in [u32::from_le_bytes(word), u32::from_be_bytes(word)] {
            // Shorter numbers turn up by accident.
            shapes.extend(
                (word > 1 << 28).then(|| [word.to_string(), format!("{word:x}")]).into_iter().flatten(),
            );
        }
    }
    shapes
}

fn list(bytes: &[u8], show: impl Fn(&u8) -> String) -> String {
    bytes.iter().map(show).collect::<Vec<_>>().join(",")
}

/// The characters that `bytes` alone decide, if they begin where three bytes begin. Some of all windows do.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.as_chunks::<3>().0.iter();
    let numbers = groups.map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]));
    let digit = |number: u32, index: u32| char::from(DIGITS[(number >> (6 * index)) as usize % 64]);
    numbers.flat_map(|number| [3, 2, 1, 0].map(|index| digit(number, index))).collect()
}

/// All structs, enums and unions that Rust files under `folder` call `pub`, by the name of the file or folder in
/// `folder` and their own: `argon2::Job`.
///
/// # Panics
/// If the folder cannot be read.
pub fn public_types(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let rooms = entries.map(|entry| entry.expect("an entry").path());
    let named = rooms.flat_map(|path| {
        let room = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        types_in(&path).into_iter().map(move |name| format!("{room}::{name}"))
    });
    named.collect()
}

fn types_in(path: &Path) -> Vec<String> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a folder of sources");
        return entries.flat_map(|entry| types_in(&entry.expect("an entry").path())).collect();
    }
    if path.extension().is_none_or(|end| end != "rs") {
        return Vec::new();
    }
    std::fs::read_to_string(path).expect("a source").lines().filter_map(public_type).collect()
}

/// The name, if the line begins a public type.
fn public_type(line: &str) -> Option<String> {
    let line = line.trim_start().strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "union "].iter().find_map(|kind| line.strip_prefix(kind))?;
    Some(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8; 16] = b"\x9akey\x01to\xfe the*doo";

    #[test]
    fn every_shape_is_found_wherever_it_begins() {
        let bytes = &SECRET[3..];
        let words: Vec<u32> =
            SECRET.as_chunks::<4>().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let long: Vec<u64> =
            SECRET.as_chunks::<8>().0.iter().map(|&bytes| u64::from_be_bytes(bytes)).collect();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        for text in [
            format!("Key({:?})", bytes.escape_ascii().to_string()),
            format!("Key({})", String::from_utf8_lossy(&SECRET[8..])),
            format!("{bytes:?}"),
            format!("{bytes:#?}"),
            format!("{bytes:x?}"),
            format!("{bytes:#04x?}"),
            format!("{words:?}"),
            format!("{words:#x?}"),
            format!("{long:?}"),
            hex,
            base64(&[b"?", &SECRET[..]].concat()),
            base64(SECRET),
        ] {
            assert!(leak(&text, SECRET).is_some(), "{text}");
        }
        assert_eq!(leak("Hasher { count: 12345678, plan: Plan { kernel: avx2 }, .. }", SECRET), None);
    }

    #[test]
    fn public_types_are_found_by_their_first_line() {
        assert_eq!(public_type("pub struct Job<'a> {").as_deref(), Some("Job"));
        assert_eq!(public_type("    pub enum Order {").as_deref(), Some("Order"));
        assert_eq!(public_type("pub struct Unit;").as_deref(), Some("Unit"));
        for other in ["pub(crate) struct Key {", "/// pub struct Key", "pub fn job() {", "struct Own;"] {
            assert_eq!(public_type(other), None, "{other}");
        }
    }
}
