//! Patterns of `.gitignore`: parser and matcher.
//!
//! A pattern consists of segments, which slashes separate. A segment matches one name of a path, and `**` any number of names. The
//! matcher remembers only the last star, so its time is at most the product of both lengths.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Patterns relative to one directory. The last one that matches decides.
#[derive(Clone, Debug)]
pub(crate) struct PatternList {
    root: PathBuf,
    patterns: Vec<Pattern>,
    /// Indices of patterns that are a name, such as `target`, by that name. Most lines of ignore files are one of these two kinds, and
    /// a list may have thousands of lines.
    by_name: HashMap<Box<[u8]>, Vec<usize>>,
    /// Indices of patterns such as `*.o`, by the extension.
    by_extension: HashMap<Box<[u8]>, Vec<usize>>,
    /// Indices of the other patterns, which are tried one by one.
    others: Vec<usize>,
    /// Size of all patterns that were expanded from alternatives, against [`ALTERNATIVES_LIMIT`].
    alternatives_size: usize,
}

/// Decision of a list about a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    Skip,
    /// The pattern begins with `!`.
    Keep,
}

#[derive(Clone, Debug)]
struct Pattern {
    decision: Decision,
    only_directories: bool,
    /// It matches paths from the root on, not names at any depth.
    anchored: bool,
    /// Text that a path starts with, before what the segments match. Empty for most patterns, see [`split_prefix`].
    prefix: Box<[u8]>,
    segments: Box<[Segment]>,
}

/// Part of a pattern that matches one name.
#[derive(Clone, Debug)]
enum Segment {
    Literal(Box<[u8]>),
    /// A star, and what a name ends with.
    Suffix(Box<[u8]>),
    Tokens(Box<[Token]>),
    /// `**`: any number of names.
    AnyDepth,
}

#[derive(Clone, Debug)]
enum Token {
    Byte(u8),
    AnyByte,
    /// Any number of bytes.
    Star,
    Class(Box<ByteSet>),
}

/// Maximum size of the patterns that the alternatives of one list stand for, also while they are expanded.
const ALTERNATIVES_LIMIT: usize = 1 << 20;
/// Size of a pattern beside its text. Many short patterns take more memory than a long one.
const ALTERNATIVE_OVERHEAD: usize = 24;
const TOO_MANY_ALTERNATIVES: &str = "the combinations of alternatives take more than 1 MiB";
/// Maximum depth of alternatives in alternatives.
const NESTING_LIMIT: usize = 16;

impl PatternList {
    pub(crate) fn new(root: &Path) -> PatternList {
        PatternList {
            root: root.to_owned(),
            patterns: Vec::new(),
            by_name: HashMap::new(),
            by_extension: HashMap::new(),
            others: Vec::new(),
            alternatives_size: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Adds a line of an ignore file, unless it is empty or a comment. Braces are ordinary characters.
    ///
    /// # Errors
    /// The reason why the line is no pattern.
    pub(crate) fn add_line(&mut self, line: &str) -> Result<(), &'static str> {
        self.add(line, |text| Ok(vec![text.to_owned()]))
    }

    /// Adds a pattern in which `{a,b}` stands for alternatives.
    ///
    /// # Errors
    /// The reason why the text is no pattern, or that the list becomes too large.
    pub(crate) fn add_alternatives(&mut self, text: &str) -> Result<(), &'static str> {
        let mut total = self.alternatives_size;
        self.add(text, |text| {
            let texts = expand_braces(text)?;
            if texts.len() > 1 {
                total += size(&texts);
            }
            if total > ALTERNATIVES_LIMIT { Err(TOO_MANY_ALTERNATIVES) } else { Ok(texts) }
        })?;
        self.alternatives_size = total;
        Ok(())
    }

    fn add(
        &mut self,
        line: &str,
        expand: impl FnOnce(&str) -> Result<Vec<String>, &'static str>,
    ) -> Result<(), &'static str> {
        let line = trim_trailing_spaces(line);
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (decision, text) = match line.strip_prefix('!') {
            Some(text) => (Decision::Keep, text),
            None => (Decision::Skip, line),
        };
        let (only_directories, text) = match text.strip_suffix('/') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let anchored = text.contains('/');
        let text = text.strip_prefix('/').unwrap_or(text);
        for text in expand(text)? {
            let (prefix, text) =
                if anchored { split_prefix(text.as_bytes()) } else { (&[][..], text.as_bytes()) };
            let segments = parse_segments(text, anchored)?;
            self.push(Pattern { decision, only_directories, anchored, prefix: prefix.into(), segments });
        }
        Ok(())
    }

    fn push(&mut self, pattern: Pattern) {
        let indices = match &*pattern.segments {
            [Segment::Literal(name)] if !pattern.anchored => self.by_name.entry(name.clone()).or_default(),
            [Segment::Suffix(suffix)] if !pattern.anchored && is_extension(suffix) => {
                self.by_extension.entry(suffix[1..].into()).or_default()
            }
            _ => &mut self.others,
        };
        indices.push(self.patterns.len());
        self.patterns.push(pattern);
    }

    /// The decision about a path below the root, if a pattern matches it.
    pub(crate) fn decide(&self, path: &Path, is_dir: bool) -> Option<Decision> {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        let names: Vec<&[u8]> = path.iter().map(OsStr::as_encoded_bytes).collect();
        let name = *names.last()?;
        let extension = name.rsplit(|byte| *byte == b'.').next().filter(|after| after.len() < name.len());
        let named = self.by_name.get(name);
        let found = [named, extension.and_then(|extension| self.by_extension.get(extension))];
        let applies = |index: &&usize| is_dir || !self.patterns[**index].only_directories;
        let last = found.into_iter().flatten().filter_map(|indices| indices.iter().rev().find(applies)).max();
        let later = self.others.iter().rev().take_while(|index| last.is_none_or(|last| *index > last));
        let other = later.filter(applies).find(|index| self.patterns[**index].matches(&names));
        other.or(last).map(|index| self.patterns[*index].decision)
    }

    /// The decision about a file, or else about the nearest directory above it that a pattern matches.
    pub(crate) fn decide_with_parents(&self, file: &Path) -> Option<Decision> {
        self.decide(file, false)
            .or_else(|| file.ancestors().skip(1).find_map(|directory| self.decide(directory, true)))
    }
}

impl Pattern {
    fn matches(&self, names: &[&[u8]]) -> bool {
        let Some(last) = names.len().checked_sub(1) else { return false };
        let names = if self.anchored { names } else { &names[last..] };
        let matches = |names: &[&[u8]]| {
            let is_star = |segment: &Segment| matches!(segment, Segment::AnyDepth);
            matches_all(&self.segments, names, is_star, |segment, name| segment.matches(name))
        };
        if self.prefix.is_empty() {
            return matches(names);
        }
        let path = names.join(&b'/');
        let rest = path.strip_prefix(&*self.prefix);
        rest.is_some_and(|rest| matches(&rest.split(|byte| *byte == b'/').collect::<Vec<_>>()))
    }
}

impl Segment {
    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Segment::Literal(literal) => **literal == *name,
            Segment::Suffix(suffix) => name.ends_with(suffix),
            Segment::Tokens(tokens) => {
                let is_star = |token: &Token| matches!(token, Token::Star);
                matches_all(tokens, name, is_star, |token, byte| token.matches(*byte))
            }
            Segment::AnyDepth => true,
        }
    }
}

impl Token {
    fn matches(&self, byte: u8) -> bool {
        match self {
            Token::Byte(expected) => byte == *expected,
            Token::AnyByte | Token::Star => true,
            Token::Class(set) => set.has(byte),
        }
    }
}

/// Does a pattern match all items? A star matches any number of them.
///
/// If the items after a star do not match, the star takes one more. Earlier stars need not: a later start of what follows them
/// leaves fewer items for the same rest.
fn matches_all<P, I>(
    pattern: &[P],
    items: &[I],
    is_star: impl Fn(&P) -> bool,
    matches: impl Fn(&P, &I) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    // What follows the last star, and the first item that the star has not taken.
    let mut last_star = None;
    while item < items.len() {
        if at < pattern.len() && is_star(&pattern[at]) {
            at += 1;
            last_star = Some((at, item));
        } else if at < pattern.len() && matches(&pattern[at], &items[item]) {
            at += 1;
            item += 1;
        } else if let Some((after, untaken)) = last_star {
            at = after;
            item = untaken + 1;
            last_star = Some((at, item));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(is_star)
}

/// Whether a suffix is what a name ends with exactly if the text after its last dot is the rest.
fn is_extension(suffix: &[u8]) -> bool {
    suffix.split_first().is_some_and(|(first, rest)| *first == b'.' && !rest.contains(&b'.'))
}

/// Removes spaces at the end of a line, but not one after a backslash.
fn trim_trailing_spaces(line: &str) -> &str {
    let mut end = 0;
    let mut chars = line.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            ' ' => {}
            '\\' => end = chars.next().map_or(line.len(), |(index, c)| index + c.len_utf8()),
            _ => end = index + c.len_utf8(),
        }
    }
    &line[..end]
}

/// Splits the text of an anchored pattern such as `d/a**/b` before the stars. Git removes the literal start of a pattern before
/// it looks at the rest, so these stars match any number of names although they are not a whole segment. Returns no prefix for
/// other patterns.
fn split_prefix(text: &[u8]) -> (&[u8], &[u8]) {
    let special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    let (prefix, rest) = text.split_at(text.iter().position(special).unwrap_or(text.len()));
    let stars = rest.iter().take_while(|byte| **byte == b'*').count();
    let is_segment = matches!(rest[stars..], [] | [b'/', ..] | [b'\\', b'/', ..]);
    if stars >= 2 && is_segment && !prefix.ends_with(b"/") { (prefix, rest) } else { (&[], text) }
}

/// Cuts the text of a pattern into segments. A slash in a character class separates nothing, one after a backslash does.
fn parse_segments(text: &[u8], anchored: bool) -> Result<Box<[Segment]>, &'static str> {
    let mut segments = Vec::new();
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'/' => segments.push(segment(std::mem::take(&mut tokens), anchored)),
            b'*' => tokens.push(Token::Star),
            b'?' => tokens.push(Token::AnyByte),
            b'[' => {
                let (set, after) = parse_class(rest)?;
                tokens.push(Token::Class(Box::new(set)));
                rest = after;
            }
            b'\\' => {
                let (&escaped, after) =
                    rest.split_first().ok_or("the backslash at its end escapes nothing")?;
                rest = after;
                if escaped != b'/' {
                    tokens.push(Token::Byte(escaped));
                    continue;
                }
                segments.push(segment(std::mem::take(&mut tokens), anchored));
                // Before such a slash, `**` matches one name at least.
                if matches!(segments.last(), Some(Segment::AnyDepth)) {
                    segments.push(Segment::Suffix(Box::default()));
                }
            }
            byte => tokens.push(Token::Byte(byte)),
        }
    }
    segments.push(segment(tokens, anchored));
    // At the end, `**` matches everything below a directory, not the directory.
    if matches!(segments.last(), Some(Segment::AnyDepth)) {
        segments.push(Segment::Suffix(Box::default()));
    }
    Ok(segments.into())
}

fn segment(tokens: Vec<Token>, anchored: bool) -> Segment {
    if anchored && tokens.len() >= 2 && tokens.iter().all(|token| matches!(token, Token::Star)) {
        return Segment::AnyDepth;
    }
    let literal = |tokens: &[Token]| {
        let byte = |token: &Token| if let Token::Byte(byte) = token { Some(*byte) } else { None };
        tokens.iter().map(byte).collect::<Option<Box<[u8]>>>()
    };
    if let Some(literal) = literal(&tokens) {
        return Segment::Literal(literal);
    }
    match tokens.split_first() {
        Some((Token::Star, rest)) => literal(rest).map(Segment::Suffix),
        _ => None,
    }
    .unwrap_or_else(|| Segment::Tokens(tokens.into()))
}

/// A set of bytes.
#[derive(Clone, Default, Debug)]
struct ByteSet([u64; 4]);

impl ByteSet {
    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn complement(self) -> ByteSet {
        ByteSet(self.0.map(|word| !word))
    }
}

const UNCLOSED_CLASS: &str = "a character class has no closing bracket";

/// Parses a character class after its opening bracket. Returns it and the text after it.
fn parse_class(text: &[u8]) -> Result<(ByteSet, &[u8]), &'static str> {
    let mut set = ByteSet::default();
    let (negated, mut rest) = match text {
        [b'!' | b'^', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    // A bracket in first position is one of the characters.
    let mut is_first = true;
    loop {
        let begin = match rest {
            [] => return Err(UNCLOSED_CLASS),
            [b']', after @ ..] if !is_first => {
                return Ok((if negated { set.complement() } else { set }, after));
            }
            [b'[', b':', ..] => match parse_named_class(rest)? {
                Some((contains, after)) => {
                    (0..=u8::MAX).filter(contains).for_each(|byte| set.insert(byte));
                    rest = after;
                    is_first = false;
                    continue;
                }
                None => class_byte(&mut rest)?,
            },
            _ => class_byte(&mut rest)?,
        };
        is_first = false;
        let end = match rest {
            [b'-', next, ..] if *next != b']' => {
                rest = &rest[1..];
                class_byte(&mut rest)?
            }
            _ => begin,
        };
        // A range that ends before it begins has its first byte, as for git.
        set.insert(begin);
        (begin..=end).for_each(|byte| set.insert(byte));
    }
}

/// Takes one byte of a character class, which a backslash may precede.
fn class_byte(rest: &mut &[u8]) -> Result<u8, &'static str> {
    let (byte, after) = match **rest {
        [b'\\', byte, ref after @ ..] => (byte, after),
        [b'\\'] | [] => return Err(UNCLOSED_CLASS),
        [byte, ref after @ ..] => (byte, after),
    };
    *rest = after;
    Ok(byte)
}

type NamedClass = fn(&u8) -> bool;

/// Parses a class such as `[:alpha:]` of a character class. Returns it and the text after it, or `None` if the bracket is an
/// ordinary character.
fn parse_named_class(text: &[u8]) -> Result<Option<(NamedClass, &[u8])>, &'static str> {
    let end = text.iter().position(|byte| *byte == b']').ok_or(UNCLOSED_CLASS)?;
    let Some(name) = text[..end].strip_prefix(b"[:").and_then(|name| name.strip_suffix(b":")) else {
        return Ok(None);
    };
    let class: NamedClass = match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t'..=b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return Err("a character class has an unknown name"),
    };
    Ok(Some((class, &text[end + 1..])))
}

/// The texts that a pattern with `{a,b}` stands for. Empty alternatives beside others are dropped.
fn expand_braces(text: &str) -> Result<Vec<String>, &'static str> {
    let mut rest = text;
    let texts = expand_sequence(&mut rest, 0)?;
    if rest.is_empty() { Ok(texts) } else { Err("a closing brace has no opening one") }
}

/// Expands a text up to its end, or to the comma or brace that ends an alternative.
fn expand_sequence(rest: &mut &str, depth: usize) -> Result<Vec<String>, &'static str> {
    let mut texts = vec![String::new()];
    while let Some(first) = rest.chars().next() {
        let endings: Vec<String> = match first {
            '}' => break,
            ',' if depth > 0 => break,
            '{' => expand_alternatives(rest, depth + 1)?,
            _ => {
                let length = ordinary_length(rest, first);
                let (ordinary, after) = rest.split_at(length);
                *rest = after;
                vec![ordinary.to_owned()]
            }
        };
        // A bound of the size of all combinations. One text is no longer than the pattern.
        if texts.len() * endings.len() > 1
            && texts.len() * size(&endings) + endings.len() * size(&texts) > ALTERNATIVES_LIMIT
        {
            return Err(TOO_MANY_ALTERNATIVES);
        }
        if let [ending] = endings.as_slice() {
            texts.iter_mut().for_each(|text| text.push_str(ending));
        } else {
            let with_endings =
                |text: &String| endings.iter().map(|ending| format!("{text}{ending}")).collect();
            texts = texts.iter().flat_map::<Vec<_>, _>(with_endings).collect();
        }
    }
    Ok(texts)
}

/// Size of texts as patterns.
fn size(texts: &[String]) -> usize {
    texts.iter().map(|text| text.len() + ALTERNATIVE_OVERHEAD).sum()
}

/// Expands alternatives from their opening brace to the closing one.
fn expand_alternatives(rest: &mut &str, depth: usize) -> Result<Vec<String>, &'static str> {
    if depth > NESTING_LIMIT {
        return Err("its alternatives are nested too deeply");
    }
    let (mut all, mut total) = (Vec::new(), 0);
    loop {
        // The opening brace or a comma.
        *rest = &rest[1..];
        let texts = expand_sequence(rest, depth)?;
        total += size(&texts);
        if total > ALTERNATIVES_LIMIT {
            return Err(TOO_MANY_ALTERNATIVES);
        }
        all.extend(texts.into_iter().filter(|text| !text.is_empty()));
        match rest.chars().next() {
            None => return Err("an opening brace has no closing one"),
            Some('}') => break,
            Some(_) => {}
        }
    }
    *rest = &rest[1..];
    if all.is_empty() {
        all.push(String::new());
    }
    Ok(all)
}

/// Bytes of the escaped character, the character class or the ordinary character at the start of a text.
fn ordinary_length(text: &str, first: char) -> usize {
    match first {
        '\\' => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
        // An unclosed class is refused later.
        '[' => parse_class(&text.as_bytes()[1..]).map_or(text.len(), |(_, after)| text.len() - after.len()),
        _ => first.len_utf8(),
    }
}

#[cfg(test)]
mod tests;
