//! Inputs whose every byte is known from its position alone.

/// The painted input of the official BLAKE3 vectors: byte `i` is `i mod 251`.
///
/// 251 is prime, so no block, chunk or lane boundary repeats the pattern at the same phase: swapping two blocks, or
/// hashing one of them twice, changes the digest.
pub fn paint(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    paint_into(&mut bytes, 0);
    bytes
}

/// Paints `bytes` as if they started at `position` of the endless painted input.
pub fn paint_into(bytes: &mut [u8], position: u64) {
    let mut next = (position % 251) as u8;
    for byte in bytes {
        *byte = next;
        next = if next == 250 { 0 } else { next + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_their_position() {
        let whole = paint(2000);
        assert_eq!(whole[0], 0);
        assert_eq!(whole[250], 250);
        assert_eq!(whole[251], 0);
        for (i, &byte) in whole.iter().enumerate() {
            assert_eq!(usize::from(byte), i % 251);
        }
    }

    #[test]
    fn a_part_equals_the_same_part_of_the_whole() {
        let whole = paint(2000);
        for start in [0, 1, 250, 251, 252, 1000] {
            let mut part = vec![0; 500];
            paint_into(&mut part, start as u64);
            assert_eq!(part, whole[start..start + 500]);
        }
    }
}
