//! Import paths of a Rust file, as modules of its crate.
//!
//! Only paths that begin with `crate`, `super` or, in a `use`, `self` count. A module that names its own child
//! (`use child::Name;`) is no import: a parent may use its children.

/// Paths that the file of `module` imports, from the crate's root. Modules for tests are left out.
pub(super) fn paths(text: &str, module: &[&str]) -> Vec<Vec<String>> {
    let tokens = tokens(text);
    let mut reader =
        Reader { tokens: &tokens, next: 0, module, inline: Vec::new(), depth: 0, paths: Vec::new() };
    reader.read();
    reader.paths
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// `::`
    Separator,
    Mark(u8),
}

/// Words and marks of Rust text, without comments, strings, characters and lifetimes.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        let rest = &text[position..];
        let is_raw = |prefix: &&str| {
            let quoted = rest.strip_prefix(prefix).map(|rest| rest.trim_start_matches('#'));
            quoted.is_some_and(|quoted| quoted.starts_with('"'))
        };
        if let Some(prefix) = ["r", "br", "cr"].iter().find(|prefix| is_raw(prefix)) {
            position += raw_string_len(rest, prefix.len());
        } else if rest.starts_with("//") {
            position += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            position += block_comment_len(rest);
        } else if byte == b'"' {
            position += quoted_len(rest, b'"');
        } else if byte == b'\'' {
            position += character_len(rest);
        } else if is_word(byte) {
            let len = rest.bytes().take_while(|&byte| is_word(byte)).count();
            tokens.push(Token::Word(&rest[..len]));
            position += len;
        } else if rest.starts_with("::") {
            tokens.push(Token::Separator);
            position += 2;
        } else {
            if !byte.is_ascii_whitespace() {
                tokens.push(Token::Mark(byte));
            }
            position += 1;
        }
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Length of `r##"…"##`, whose letters before the hashes are `prefix` bytes.
fn raw_string_len(text: &str, prefix: usize) -> usize {
    let hashes = text[prefix..].bytes().take_while(|&byte| byte == b'#').count();
    let start = prefix + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    text[start..].find(&end).map_or(text.len(), |len| start + len + end.len())
}

fn block_comment_len(text: &str) -> usize {
    let (mut depth, mut position) = (0, 0);
    while position < text.len() {
        match &text.as_bytes()[position..] {
            [b'/', b'*', ..] => (depth, position) = (depth + 1, position + 2),
            [b'*', b'/', ..] => (depth, position) = (depth - 1, position + 2),
            _ => position += 1,
        }
        if depth == 0 {
            break;
        }
    }
    position
}

fn quoted_len(text: &str, quote: u8) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((position, byte)) = bytes.next() {
        if byte == b'\\' {
            bytes.next();
        } else if byte == quote {
            return position + 1;
        }
    }
    text.len()
}

/// Length of a character; of a lifetime, its quote alone.
fn character_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => quoted_len(text, b'\''),
        (Some(_), Some((position, '\''))) => position + 1,
        _ => 1,
    }
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    next: usize,
    module: &'a [&'a str],
    /// Inline modules around the next token, each with the depth of its braces.
    inline: Vec<(usize, &'a str)>,
    depth: usize,
    paths: Vec<Vec<String>>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) {
        while let Some(&token) = self.tokens.get(self.next) {
            match (token, &self.tokens[self.next + 1..]) {
                (Token::Mark(b'#'), [Token::Mark(b'['), Token::Word("cfg"), ..]) => self.skip_test_module(),
                (Token::Word("mod"), [Token::Word(name), Token::Mark(b'{'), ..]) => {
                    self.inline.push((self.depth, name));
                    self.next += 2;
                }
                (Token::Word("use"), [Token::Word(_), ..]) => {
                    self.next += 1;
                    self.read_use(&[]);
                }
                (Token::Word("crate" | "super"), [Token::Separator, ..]) if self.starts_path() => {
                    let path = self.read_path();
                    self.add(&path);
                }
                (Token::Mark(b'{'), _) => {
                    self.depth += 1;
                    self.next += 1;
                }
                (Token::Mark(b'}'), _) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.inline.pop_if(|(depth, _)| *depth == self.depth);
                    self.next += 1;
                }
                _ => self.next += 1,
            }
        }
    }

    /// Skips an attribute `#[cfg(…)]` and, if it selects tests, the inline module below it.
    fn skip_test_module(&mut self) {
        let start = self.next;
        self.next = self.end_of_group(start + 1);
        let attribute = &self.tokens[start..self.next];
        let has = |word| attribute.contains(&Token::Word(word));
        let is_module =
            matches!(self.tokens[self.next..], [Token::Word("mod"), Token::Word(_), Token::Mark(b'{'), ..]);
        if has("test") && !has("not") && is_module {
            self.next = self.end_of_group(self.next + 2);
        }
    }

    /// Index after the mark that closes the one at `open`.
    fn end_of_group(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            match token {
                Token::Mark(b'(' | b'[' | b'{') => depth += 1,
                Token::Mark(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return index + 1;
            }
        }
        self.tokens.len()
    }

    /// Whether the next token starts a path outside of `pub(in …)`, which is no import.
    fn starts_path(&self) -> bool {
        !matches!(
            self.tokens[..self.next],
            [.., Token::Separator] | [.., Token::Mark(b'('), Token::Word("in")]
        )
    }

    fn read_path(&mut self) -> Vec<&'a str> {
        let mut path = Vec::new();
        while let Some(Token::Word(word)) = self.tokens.get(self.next) {
            path.push(*word);
            self.next += 1;
            match self.tokens[self.next..] {
                [Token::Separator, Token::Word(_), ..] => self.next += 1,
                _ => break,
            }
        }
        path
    }

    /// Reads a tree of imports up to the `,`, `}` or `;` behind it.
    fn read_use(&mut self, prefix: &[&'a str]) {
        let own = self.read_path();
        let path = [prefix, &own].concat();
        if let [Token::Separator, Token::Mark(b'{'), ..] = self.tokens[self.next..] {
            self.next += 2;
            while let Some(&token) = self.tokens.get(self.next) {
                match token {
                    Token::Mark(b'}') => {
                        self.next += 1;
                        break;
                    }
                    Token::Mark(b',') => self.next += 1,
                    _ => self.read_use(&path),
                }
            }
        } else {
            self.add(&path);
        }
        let is_end = |token: &Token<'_>| matches!(token, Token::Mark(b',' | b'}' | b';'));
        while self.tokens.get(self.next).is_some_and(|token| !is_end(token)) {
            self.next += 1;
        }
    }

    fn add(&mut self, path: &[&str]) {
        let inline = self.inline.iter().map(|(_, name)| *name);
        let mut module: Vec<&str> = self.module.iter().copied().chain(inline).collect();
        let mut rest = path;
        match rest.first() {
            Some(&"crate") => module.clear(),
            Some(&"self") => {}
            Some(&"super") => {
                while let [_, "super", ..] = rest {
                    module.pop();
                    rest = &rest[1..];
                }
                module.pop();
            }
            _ => return,
        }
        let path = module.into_iter().chain(rest[1..].iter().copied());
        self.paths.push(path.map(str::to_owned).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        paths(text, &["a", "b"]).into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn trees_of_imports_are_split() {
        assert_eq!(read("use crate::x::{self, Y, z::{V as W, *}};"), ["x::self", "x::Y", "x::z::V", "x::z"]);
        assert_eq!(read("pub(crate) use super::c::D; use self::e::F;"), ["a::c::D", "a::b::e::F"]);
        assert_eq!(read("use super::super::G;"), ["G"]);
        assert!(read("use std::fmt; use child::Name; fn f() -> impl Sized + use<> {}").is_empty());
    }

    #[test]
    fn paths_in_code_count() {
        assert_eq!(read("fn f() { crate::x::g::<u8>(super::h) }"), ["x::g", "a::h"]);
        assert!(read("pub(in crate::x) struct S; pub(crate) fn g() {}").is_empty());
    }

    #[test]
    fn comments_and_literals_do_not_count() {
        let text = r###"
            // crate::a::B
            /* crate::a /* super::c */ crate::d */
            fn f<'a>() { ("crate::e \" crate::e", r#"crate::f " crate::f"#, '"', '\'', b'"', 'ä'); }
        "###;
        assert!(read(text).is_empty(), "{:?}", read(text));
    }

    #[test]
    fn modules_for_tests_do_not_count() {
        assert_eq!(read("#[cfg(test)] mod tests { use crate::x::Y; } use crate::z::V;"), ["z::V"]);
        assert_eq!(read("#[cfg(not(test))] mod m { use crate::x::Y; }"), ["x::Y"]);
    }

    #[test]
    fn super_in_an_inline_module_is_the_file() {
        assert_eq!(read("mod m { use super::X; } use super::Y;"), ["a::b::X", "a::Y"]);
    }
}
