//! Short forms of command lines and names, for tables and sentences.

/// Maximum length of a command line inside a sentence.
const BRIEF: usize = 160;

/// Shortens a command line for use in a sentence.
pub(crate) fn brief(line: &str) -> String {
    shortened(line, BRIEF)
}

/// Quotes a word for a POSIX shell, if needed.
pub(crate) fn pasted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+%@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Maximum length of a command's name in a table.
pub(crate) const LONGEST_LABEL: usize = 48;

/// Puts a text on one line and replaces its middle with an ellipsis if it is too long: commands mostly differ at
/// their ends.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let chars: Vec<char> = words.collect::<Vec<_>>().join(" ").chars().collect();
    if chars.len() <= longest {
        return chars.into_iter().collect();
    }
    let (head, tail) = (&chars[..longest / 2 - 1], &chars[chars.len() - longest / 2..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortens_text_to_one_line() {
        assert_eq!(brief("a\n b\u{1b}[1m  c"), "a b [1m c");
        assert_eq!(shortened("0123456789", 10), "0123456789");
        assert_eq!(shortened("0123456789ä", 10), "0123…6789ä");
        assert_eq!(brief(&"x".repeat(100_000)).chars().count(), BRIEF);
    }
}
