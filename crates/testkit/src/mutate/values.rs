//! Random replacement values: numbers at edges, texts, values that match their metadata or nearly, damage.

use crate::Rng;
use crate::format::numbers::{put_signed, put_unsigned};

/// Numbers around changes of length and sign, and around limits.
const EDGES: [u64; 14] = [
    63,
    64,
    127,
    128,
    255,
    1 << 14,
    1 << 16,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    1 << 32,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// A number near another, a small one, or one at an edge.
pub fn number(near: u64, rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => 0,
        1 | 2 => near.wrapping_add(1),
        3 | 4 => near.wrapping_sub(1),
        5 => rng.below(4) as u64,
        6 => rng.below(16) as u64,
        7 => near ^ (1 << rng.below(8)),
        8 => near.wrapping_add(rng.below(32) as u64),
        _ => EDGES[rng.below(EDGES.len())],
    }
}

/// Something in the place of a cell: what another says, something near, or nothing.
pub fn other<T: Default + Clone>(
    cell: Option<T>,
    from: Option<T>,
    rng: &mut Rng,
    near: impl Fn(T, &mut Rng) -> T,
) -> Option<T> {
    match rng.below(8) {
        0 => None,
        1..=3 => from,
        _ => Some(near(cell.unwrap_or_default(), rng)),
    }
}

/// A short text, or bytes that are none.
pub fn text(rng: &mut Rng) -> Vec<u8> {
    const TEXTS: [&[u8]; 12] = [
        b"k",
        b"a",
        b"b",
        b"text",
        b"list",
        b"",
        b"bold",
        "é".as_bytes(),
        "😀".as_bytes(),
        b"ab",
        b"\xff",
        b"\xc3",
    ];
    // The last two are no texts: they are rarer.
    let count = if rng.below(8) == 0 { TEXTS.len() } else { TEXTS.len() - 2 };
    TEXTS[rng.below(count)].to_vec()
}

/// A value: its type and its bytes.
pub fn value(rng: &mut Rng) -> (u64, Vec<u8>) {
    let mut bytes = vec![];
    let code = rng.below(16) as u64;
    match code {
        0..=2 => {}
        3 => put_unsigned(&mut bytes, number(5, rng)),
        4 | 8 | 9 => put_signed(&mut bytes, number(5, rng) as i64),
        5 => bytes.extend(rng.bytes(8)),
        6 => bytes.extend(text(rng)),
        _ => {
            let len = rng.below(4);
            bytes.extend(rng.bytes(len));
        }
    }
    match rng.below(12) {
        // Type and bytes that do not belong together.
        0 => (rng.below(16) as u64, bytes),
        1 => {
            damage(&mut bytes, rng);
            (code, bytes)
        }
        _ => (code, bytes),
    }
}

/// A value that is what its type says.
pub fn good_value(rng: &mut Rng) -> (u64, Vec<u8>) {
    let mut bytes = vec![];
    let code = [0, 1, 2, 3, 4, 4, 5, 6, 6, 6, 7, 8, 8, 9, 12][rng.below(15)];
    match code {
        0..=2 => {}
        3 => put_unsigned(&mut bytes, rng.below(300) as u64),
        4 | 8 | 9 => put_signed(&mut bytes, rng.below(300) as i64 - 150),
        5 => bytes.extend((rng.below(9) as f64).to_le_bytes()),
        6 => bytes.extend(["a", "é", "", "two", "😀"][rng.below(5)].as_bytes()),
        _ => bytes.extend([1, 2]),
    }
    (code, bytes)
}

/// Damages bytes without knowing what they mean.
pub fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    if bytes.is_empty() {
        bytes.push(rng.next_u64() as u8);
        return;
    }
    let at = rng.below(bytes.len());
    match rng.below(8) {
        0 => drop(bytes.remove(at)),
        1 => bytes.insert(at, rng.next_u64() as u8),
        2 | 3 => bytes[at] ^= 1 << rng.below(8),
        4 => bytes[at] = [0, 1, 2, 0x7e, 0x7f, 0x80, 0xff][rng.below(7)],
        5 => bytes[at] = bytes[at].wrapping_add([1, 0xff][rng.below(2)]),
        // A length or a count of a run that stands for gigabytes, or for thousands.
        6 => {
            let long: [&[u8]; 4] =
                [&[0xff, 0xff, 0xff, 0xff, 0x7f], &[0x80, 0x20], &[0xe8, 0x07], &[0xff, 0x01]];
            drop(bytes.splice(at..at, long[rng.below(4)].iter().copied()));
        }
        _ => {
            // A piece of them again.
            let len = 1 + rng.below((bytes.len() - at).min(8));
            let (piece, to) = (bytes[at..at + len].to_vec(), rng.below(bytes.len() + 1));
            drop(bytes.splice(to..to, piece));
        }
    }
}
