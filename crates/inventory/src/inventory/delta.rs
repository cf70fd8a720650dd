//! Lengths in delta encodings, to bound the memory of the values.

use parquet::basic::Encoding;

/// Decoded bytes of all values of `data`, from the lengths that the encoding stores apart. Values with shared prefixes may be longer
/// than the page. `None` if there are more than `values` values, or the data is damaged.
pub(super) fn decoded_len(encoding: Encoding, data: &[u8], values: u64) -> Option<u64> {
    match encoding {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => {
            let lengths = numbers(data, values)?;
            lengths.numbers.iter().try_fold(0_u64, |sum, len| Some(sum + u64::try_from(*len).ok()?))
        }
        Encoding::DELTA_BYTE_ARRAY => {
            let prefixes = numbers(data, values)?;
            let suffixes = numbers(data.get(prefixes.end..)?, values)?;
            let (mut sum, mut before) = (0_u64, 0_u64);
            for (prefix, suffix) in prefixes.numbers.iter().zip(&suffixes.numbers) {
                let prefix = u64::try_from(*prefix).ok().filter(|prefix| *prefix <= before)?;
                before = prefix + u64::try_from(*suffix).ok()?;
                sum = sum.saturating_add(before);
            }
            Some(sum)
        }
        _ => Some(data.len() as u64),
    }
}

struct Packed {
    numbers: Vec<i32>,
    /// Offset of their end.
    end: usize,
}

/// Numbers in `DELTA_BINARY_PACKED`, at most `most` of them.
fn numbers(data: &[u8], most: u64) -> Option<Packed> {
    let mut at = 0;
    let block_size = varint(data, &mut at)?;
    let miniblocks = usize::try_from(varint(data, &mut at)?).ok()?;
    let count = Some(varint(data, &mut at)?).filter(|count| *count <= most)?;
    let count = usize::try_from(count).ok()?;
    let first = zigzag(data, &mut at)?;
    let per_miniblock = usize::try_from(block_size).ok()?.checked_div(miniblocks)?;
    if per_miniblock == 0 || !per_miniblock.is_multiple_of(32) {
        return None;
    }
    let mut numbers = Vec::with_capacity(count);
    let mut last = first as i32;
    numbers.extend((count > 0).then_some(last));
    while numbers.len() < count {
        let least = zigzag(data, &mut at)? as i32;
        let widths = data.get(at..at.checked_add(miniblocks)?)?;
        at += miniblocks;
        for width in widths {
            // The widths of absent miniblocks may be anything.
            let left = count - numbers.len();
            if left == 0 {
                break;
            }
            let width = usize::from(*width);
            let len = width.checked_mul(per_miniblock)? / 8;
            let bits = data.get(at..at.checked_add(len)?).filter(|_| width <= 32)?;
            at += len;
            for index in 0..left.min(per_miniblock) {
                last = last.wrapping_add(least).wrapping_add(unpack(bits, index * width, width) as i32);
                numbers.push(last);
            }
        }
    }
    Some(Packed { numbers, end: at })
}

/// A number of `width` bits, at most 32, the least significant bit first.
fn unpack(bytes: &[u8], first_bit: usize, width: usize) -> u32 {
    let mut window = [0; 8];
    let bytes = &bytes[first_bit / 8..];
    let len = bytes.len().min(8);
    window[..len].copy_from_slice(&bytes[..len]);
    let mask = (1_u64 << width) - 1;
    ((u64::from_le_bytes(window) >> (first_bit % 8)) & mask) as u32
}

fn varint(data: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *data.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn zigzag(data: &[u8], at: &mut usize) -> Option<i64> {
    let value = varint(data, at)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 128 values in a block of 4 miniblocks: 3, and then deltas of width 0.
    const THREES: [u8; 11] = [0x80, 0x01, 0x04, 0x80, 0x01, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00];

    #[test]
    fn numbers_are_those_of_the_specification() {
        // Its two examples: 1 to 5, and 7, 5, 3, 1, 2, 3, 4, 5 with deltas of two bits.
        let one = [0x80, 0x01, 0x04, 0x05, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00];
        assert_eq!(numbers(&one, 5).expect("numbers").numbers, [1, 2, 3, 4, 5]);
        let two = [0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 0x02, 0x00, 0x00, 0x00, 0xc0, 0x3f, 0, 0, 0, 0, 0, 0];
        let Packed { numbers, end } = numbers(&two, 8).expect("numbers");
        assert_eq!((numbers, end), (vec![7, 5, 3, 1, 2, 3, 4, 5], two.len()));
    }

    #[test]
    fn lengths_are_summed_with_what_values_share() {
        let lengths = [&THREES[..], &[b'x'; 384]].concat();
        assert_eq!(decoded_len(Encoding::DELTA_LENGTH_BYTE_ARRAY, &lengths, 128), Some(384));
        assert_eq!(decoded_len(Encoding::DELTA_LENGTH_BYTE_ARRAY, &lengths, 127), None);
        // The first value has no value before it to share three bytes with.
        let both = [THREES, THREES].concat();
        assert_eq!(decoded_len(Encoding::DELTA_BYTE_ARRAY, &both, 128), None);
        // Prefixes of 0, 3 and 6, and suffixes of 3: values of 3, 6 and 9 bytes.
        let prefixes = [0x80, 0x01, 0x04, 0x03, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00];
        let suffixes = [0x80, 0x01, 0x04, 0x03, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00];
        let shared = [prefixes, suffixes].concat();
        assert_eq!(decoded_len(Encoding::DELTA_BYTE_ARRAY, &shared, 3), Some(18));
        assert_eq!(decoded_len(Encoding::DELTA_BYTE_ARRAY, &THREES, 128), None, "no suffixes");
    }

    #[test]
    fn a_count_without_its_numbers_is_refused() {
        // 2^31 values, and no block of them.
        let data = [0x80, 0x01, 0x04, 0x80, 0x80, 0x80, 0x80, 0x08, 0x00];
        assert_eq!(decoded_len(Encoding::DELTA_LENGTH_BYTE_ARRAY, &data, 1 << 30), None);
        for len in 0..THREES.len() {
            assert_eq!(decoded_len(Encoding::DELTA_LENGTH_BYTE_ARRAY, &THREES[..len], 1 << 30), None);
        }
    }
}
