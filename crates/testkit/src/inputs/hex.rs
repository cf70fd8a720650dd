//! Hexadecimal digits, by other code than that of the shipped crates.

/// Lowercase digits of bytes.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of digits of either case. White space is ignored.
///
/// # Panics
/// When the text is not an even number of hexadecimal digits: test data must be right.
pub fn decode(text: &str) -> Vec<u8> {
    let digit =
        |c: char| c.to_digit(16).unwrap_or_else(|| panic!("no hexadecimal digit: {c:?} in {text:?}")) as u8;
    let digits: Vec<u8> = text.chars().filter(|c| !c.is_whitespace()).map(digit).collect();
    let (pairs, odd) = digits.as_chunks::<2>();
    assert!(odd.is_empty(), "half a byte in {text:?}");
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), bytes);
        assert_eq!((encode(&[0, 0x9a, 0xff]), decode("0A fF\n")), ("009aff".to_owned(), vec![10, 255]));
    }

    #[test]
    #[should_panic(expected = "half a byte")]
    fn half_a_byte_is_refused() {
        decode("abc");
    }
}
