//! Range of a request (RFC 9110, section 14): one range of bytes.

use std::ops::Range;

/// What a request wants of a blob.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// All of it. Also for several ranges and other units, which a server may ignore.
    Whole,
    /// This part.
    Part(Range<u64>),
    /// A part that begins behind the end.
    Outside,
}

/// Reads a header `Range` for a blob of this length.
pub(super) fn parse_range(header: &str, len: u64) -> Wanted {
    let Some((first, last)) = header.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-'))
    else {
        return Wanted::Whole;
    };
    let (first, last) = (parse_number(first), parse_number(last));
    let range = match (first, last) {
        (Number::Value(first), Number::Value(last)) if first <= last => {
            first..last.saturating_add(1).min(len)
        }
        (Number::Value(first), Number::None) => first..len,
        (Number::None, Number::Value(count)) => len.saturating_sub(count)..len,
        _ => return Wanted::Whole,
    };
    if range.is_empty() { Wanted::Outside } else { Wanted::Part(range) }
}

enum Number {
    None,
    Value(u64),
    Wrong,
}

fn parse_number(text: &str) -> Number {
    match text.trim() {
        "" => Number::None,
        text if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            // A number that is too large is behind any end.
            Number::Value(text.parse().unwrap_or(u64::MAX))
        }
        _ => Number::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_bytes_is_read() {
        let part = |start, end| Wanted::Part(start..end);
        for (header, expected) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=0-9", part(0, 10)),
            ("bytes=3-99", part(3, 10)),
            ("bytes=3-", part(3, 10)),
            (" bytes=3-4 ", part(3, 5)),
            ("bytes=-4", part(6, 10)),
            ("bytes=-99", part(0, 10)),
            ("bytes=3-18446744073709551615", part(3, 10)),
            ("bytes=3-99999999999999999999999", part(3, 10)),
            ("bytes=10-", Wanted::Outside),
            ("bytes=99999999999999999999999-", Wanted::Outside),
            ("bytes=-0", Wanted::Outside),
            ("bytes=4-3", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=a-4", Wanted::Whole),
            ("bytes=+1-4", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("", Wanted::Whole),
        ] {
            assert_eq!(parse_range(header, 10), expected, "{header}");
        }
        assert_eq!(parse_range("bytes=0-", 0), Wanted::Outside);
        assert_eq!(parse_range("bytes=-1", 0), Wanted::Outside);
    }
}
