//! Quoting of names: for a shell as GNU's programs do, and for terminals.

/// The name, quoted for a shell if needed. Without a UTF-8 locale, non-ASCII characters are escaped.
pub(crate) fn for_a_shell(name: &[u8], utf8: bool) -> String {
    let pieces: Vec<Piece> = name
        .utf8_chunks()
        .flat_map(|chunk| {
            let valid = chunk.valid().chars().map(move |c| match c {
                c if is_unprintable(c) || (!utf8 && !c.is_ascii()) => {
                    Piece::Unprintable(c.to_string().into_bytes())
                }
                c => Piece::Printable(c),
            });
            valid.chain([Piece::Unprintable(chunk.invalid().to_vec())])
        })
        .filter(|piece| !matches!(piece, Piece::Unprintable(bytes) if bytes.is_empty()))
        .collect();
    let plain = pieces.iter().enumerate().all(|(n, piece)| match piece {
        Piece::Printable(c) => !needs_quotes(*c, n == 0, pieces.len() == 1),
        Piece::Unprintable(_) => false,
    });
    if plain && !pieces.is_empty() {
        return String::from_utf8_lossy(name).into_owned();
    }
    // A name with an apostrophe goes into double quotes if it has no character that is special there.
    let in_double = |(n, piece): (usize, &Piece)| match piece {
        Piece::Printable('\'' | ' ') => true,
        Piece::Printable('#' | '~') => n == 0,
        Piece::Printable(c) => !needs_quotes(*c, n == 0, false) && !matches!(c, '{' | '}') || *c == ':',
        Piece::Unprintable(_) => false,
    };
    if pieces.iter().any(|piece| matches!(piece, Piece::Printable('\'')))
        && pieces.iter().enumerate().all(in_double)
    {
        return format!("\"{}\"", String::from_utf8_lossy(name));
    }
    let mut out = "'".to_owned();
    let mut escaping = false;
    for piece in &pieces {
        match piece {
            Piece::Printable('\'') => {
                out.push_str("'\\''");
                escaping = false;
            }
            Piece::Printable(c) => {
                out.push_str(if escaping { "''" } else { "" });
                out.push(*c);
                escaping = false;
            }
            Piece::Unprintable(bytes) => {
                out.push_str(if escaping { "" } else { "'$'" });
                bytes.iter().for_each(|byte| out.push_str(&escape(*byte)));
                escaping = true;
            }
        }
    }
    out.push('\'');
    out
}

/// Whether a terminal does something else with a character than show it in place: control characters, and characters of
/// Unicode that end lines, are invisible, or change the text direction.
pub(crate) fn is_terminal_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Escapes a name, or a part of a line with a name, for a terminal: control characters by number, and invalid UTF-8 by its
/// bytes. `None` if nothing needs escaping.
pub(crate) fn escape_controls(text: &[u8]) -> Option<String> {
    let mut escaped = String::new();
    let mut is_plain = true;
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_terminal_control(c) {
                is_plain = false;
                escaped.extend(c.escape_unicode());
            } else {
                escaped.push(c);
            }
        }
        is_plain &= chunk.invalid().is_empty();
        escaped.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    (!is_plain).then_some(escaped)
}

/// Control characters, and the line and paragraph separators of Unicode.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

enum Piece {
    Printable(char),
    Unprintable(Vec<u8>),
}

fn escape(byte: u8) -> String {
    let letter = match byte {
        0x07 => 'a',
        0x08 => 'b',
        0x09 => 't',
        0x0a => 'n',
        0x0b => 'v',
        0x0c => 'f',
        0x0d => 'r',
        _ => return format!("\\{byte:03o}"),
    };
    format!("\\{letter}")
}

/// Whether a character is special to a shell, or to a reader of messages with colons.
fn needs_quotes(c: char, first: bool, alone: bool) -> bool {
    match c {
        '#' | '~' => first,
        '{' | '}' => alone,
        _ => " !\"$&'()*:;<=>?[\\^`|".contains(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected output recorded from GNU coreutils 9.1.
    #[test]
    fn quotes_names_as_gnu_programs_do() {
        for (name, written) in [
            (&b"plain"[..], "plain"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"a\nb", "'a'$'\\n''b'"),
            (b"\n", "''$'\\n'"),
            (b"a'b", "\"a'b\""),
            (b"'", "\"'\""),
            (b"xa'\nb", "'xa'\\'''$'\\n''b'"),
            (b"xit's \x01 9", "'xit'\\''s '$'\\001'' 9'"),
            (b"a\\b", "'a\\b'"),
            (b"x\xff\xfe", "'x'$'\\377\\376'"),
            ("h\u{e9}".as_bytes(), "h\u{e9}"),
            ("a\u{2028}b\u{200b}".as_bytes(), "'a'$'\\342\\200\\250''b\u{200b}'"),
            (b"x{a}", "x{a}"),
            (b"xa~", "xa~"),
        ] {
            assert_eq!(for_a_shell(name, true), written, "{name:?}");
        }
        assert_eq!(for_a_shell("h\u{e9}".as_bytes(), false), "'h'$'\\303\\251'");
    }
}
