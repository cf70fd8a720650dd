//! Update of a rich text to a given result: computes the necessary edits.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::{ExpandMark, Mark, Span};
use crate::edit::editor::Editor;
use crate::edit::update_text::{Elements, Step, diff, is_quick};
use crate::read::view::View;
use crate::store::state::PLACEHOLDER;
use crate::types::error::EditError;
use crate::types::literal::{Entries, Literal};
use crate::types::{ObjId, ScalarValue, TextEncoding};

/// Expansion of the marks that an update of a rich text creates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateSpansConfig {
    /// For names without an entry.
    pub default_expand: ExpandMark,
    /// For individual names.
    pub per_mark_expands: HashMap<String, ExpandMark>,
}

impl UpdateSpansConfig {
    /// Sets the expansion for names without an entry.
    #[must_use]
    pub fn with_default_expand(mut self, expand: ExpandMark) -> Self {
        self.default_expand = expand;
        self
    }

    /// Sets the expansion for marks of one name.
    #[must_use]
    pub fn with_mark_expand(mut self, name: impl Into<String>, expand: ExpandMark) -> Self {
        self.per_mark_expands.insert(name.into(), expand);
        self
    }

    fn expand(&self, name: &str) -> ExpandMark {
        self.per_mark_expands.get(name).copied().unwrap_or(self.default_expand)
    }
}

/// Unit of comparison, kept or deleted as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'t> {
    Text(&'t str),
    Block(&'t Entries),
}

impl Token<'_> {
    fn width(self, encoding: TextEncoding) -> usize {
        match self {
            Self::Text(text) => encoding.width(text),
            Self::Block(_) => encoding.width(PLACEHOLDER),
        }
    }
}

fn tokens<'t>(spans: &'t [Span<'_>], parts: fn(&'t str) -> Vec<&'t str>) -> Vec<Token<'t>> {
    let token = |span: &'t Span<'_>| match span {
        Span::Text { text, .. } => parts(text).into_iter().map(Token::Text).collect(),
        Span::Block(entries) => vec![Token::Block(entries)],
    };
    spans.iter().flat_map(token).collect()
}

/// One step of an edit script for a text.
#[derive(Debug, PartialEq)]
enum Edit<'n> {
    Keep(usize),
    Delete(usize),
    Type(String),
    Split(&'n Entries),
    /// Keeps a block and updates its contents.
    Become(&'n Entries),
}

/// Converts a comparison into edits. A block that replaces a deleted one becomes an update of that block.
fn edits<'n>(old: &[Token<'_>], new: &[Token<'n>], steps: &[Step], encoding: TextEncoding) -> Vec<Edit<'n>> {
    let mut edits = vec![];
    let width = |tokens: &[Token<'_>]| tokens.iter().map(|token| token.width(encoding)).sum();
    // Deleted and inserted tokens since the last kept one. They are adjacent, though reported in several steps.
    let (mut gone, mut come) = (0..0, 0..0);
    for step in steps {
        match *step {
            Step::Delete { old: from, len } => {
                gone = if gone.is_empty() { from } else { gone.start }..from + len;
            }
            Step::Insert { new: from, len } => {
                come = if come.is_empty() { from } else { come.start }..from + len;
            }
            Step::Keep { old: from, len } => {
                exchange(
                    &old[std::mem::take(&mut gone)],
                    &new[std::mem::take(&mut come)],
                    encoding,
                    &mut edits,
                );
                edits.push(Edit::Keep(width(&old[from..from + len])));
            }
        }
    }
    exchange(&old[gone], &new[come], encoding, &mut edits);
    edits
}

/// Replaces tokens by others.
fn exchange<'n>(
    mut gone: &[Token<'_>],
    mut come: &[Token<'n>],
    encoding: TextEncoding,
    edits: &mut Vec<Edit<'n>>,
) {
    let block = |token: &Token<'_>| matches!(token, Token::Block(_));
    loop {
        // Deletes and inserts up to the next block on both sides, then matches the blocks.
        let (before, after) = (gone.iter().position(block), come.iter().position(block));
        let both = before.zip(after);
        let (old, new) = both.map_or((gone, come), |(old, new)| (&gone[..old], &come[..new]));
        let units = old.iter().map(|token| token.width(encoding)).sum();
        edits.extend((units > 0).then_some(Edit::Delete(units)));
        for token in new {
            match (token, edits.last_mut()) {
                (Token::Text(more), Some(Edit::Type(text))) => text.push_str(more),
                (Token::Text(text), _) => edits.push(Edit::Type((*text).to_owned())),
                (Token::Block(entries), _) => edits.push(Edit::Split(entries)),
            }
        }
        let Some((old, new)) = both else { return };
        if let Token::Block(entries) = come[new] {
            edits.push(Edit::Become(entries));
        }
        (gone, come) = (&gone[old + 1..], &come[new + 1..]);
    }
}

/// Ranges of one name, in order.
type Ranges<'a> = Vec<(usize, usize, ScalarValue<'a>)>;

/// The marks wanted on a text with these spans. Equal marks on both sides of a block extend over it.
fn wanted<'s>(spans: &'s [Span<'_>], encoding: TextEncoding) -> BTreeMap<&'s str, Ranges<'s>> {
    let mut names: BTreeMap<&str, Ranges<'_>> = BTreeMap::new();
    // Start of this text, and end of the one before it.
    let (mut at, mut ended) = (0, 0);
    for span in spans {
        let Span::Text { text, marks } = span else {
            at += encoding.width(PLACEHOLDER);
            continue;
        };
        let end = at + encoding.width(text);
        for (name, value) in marks.iter() {
            let ranges = names.entry(name).or_default();
            match ranges.last_mut() {
                Some((_, last, same)) if *last == ended && same == value => *last = end,
                _ => ranges.push((at, end, value.clone())),
            }
        }
        (at, ended) = (end, end);
    }
    names
}

/// Ranges in which the value of a name must change, with the new value; null removes it.
fn changes<'a>(
    current: &[(usize, usize, ScalarValue<'a>)],
    wanted: &[(usize, usize, ScalarValue<'a>)],
) -> Ranges<'a> {
    let mut places: Vec<usize> =
        current.iter().chain(wanted).flat_map(|(start, end, _)| [*start, *end]).collect();
    places.sort_unstable();
    places.dedup();
    let mut changes: Ranges<'a> = vec![];
    let (mut old, mut new) = (current.iter().peekable(), wanted.iter().peekable());
    for pair in places.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let mut holds = [&mut old, &mut new].map(|ranges| {
            while ranges.next_if(|(_, end, _)| *end <= start).is_some() {}
            ranges.peek().filter(|(from, ..)| *from <= start).map(|(.., value)| value)
        });
        if holds[0] == holds[1] {
            continue;
        }
        let value = holds[1].take().cloned().unwrap_or(ScalarValue::Null);
        match changes.last_mut() {
            Some((_, last, same)) if *last == start && *same == value => *last = end,
            _ => changes.push((start, end, value)),
        }
    }
    changes
}

/// Bytes of a text to be replaced, or a block to be updated.
struct Change<'n> {
    bytes: Range<usize>,
    /// End before the extension to whole elements.
    ended: usize,
    come: Vec<Edit<'n>>,
}

impl<'n> Change<'n> {
    fn types(&mut self, text: &str) {
        match self.come.last_mut() {
            _ if text.is_empty() => {}
            Some(Edit::Type(before)) => before.push_str(text),
            _ => self.come.push(Edit::Type(text.to_owned())),
        }
    }

    fn push_edit(&mut self, edit: Edit<'n>) {
        match edit {
            Edit::Type(text) => self.types(&text),
            edit => self.come.push(edit),
        }
    }
}

/// Splits kept ranges, in bytes, where other marks begin in the new text, by an empty edit.
fn divided<'n>(edits: Vec<Edit<'n>>, spans: &[Span<'_>]) -> Vec<Edit<'n>> {
    let mut end = 0;
    let mut borders = spans.windows(2).filter_map(|pair| {
        end += pair[0].as_str().len();
        match pair {
            [Span::Text { marks: before, .. }, Span::Text { marks: after, .. }] if before != after => {
                Some(end)
            }
            _ => None,
        }
    });
    let (mut border, mut at, mut divided) = (borders.next(), 0, vec![]);
    for edit in edits {
        let come = match &edit {
            Edit::Keep(bytes) => *bytes,
            Edit::Delete(_) => 0,
            Edit::Type(text) => text.len(),
            Edit::Split(_) | Edit::Become(_) => PLACEHOLDER.len(),
        };
        let (mut from, to) = (at, at + come);
        while let Some(position) = border.filter(|position| *position < to) {
            if matches!(edit, Edit::Keep(_)) && position > from {
                divided.extend([Edit::Keep(position - from), Edit::Type(String::new())]);
                from = position;
            }
            border = borders.next();
        }
        divided.push(if let Edit::Keep(_) = edit { Edit::Keep(to - from) } else { edit });
        at = to;
    }
    divided
}

/// Converts edits in bytes of `old` into edits in units that split no element: the kept part of an element is typed
/// again.
fn of_whole_elements<'n>(edits: Vec<Edit<'n>>, old: &str, elements: &Elements) -> Vec<Edit<'n>> {
    let (mut all, mut at): (Vec<Change<'n>>, usize) = (vec![], 0);
    for edit in edits {
        let gone = match &edit {
            Edit::Keep(bytes) => {
                at += bytes;
                continue;
            }
            Edit::Delete(bytes) => *bytes,
            Edit::Become(_) => PLACEHOLDER.len(),
            Edit::Type(_) | Edit::Split(_) => 0,
        };
        let (start, end) = (elements.floor(at).0, elements.ceil(at + gone).0);
        let stays = matches!(edit, Edit::Become(_));
        let last = all.last_mut().filter(|last| {
            !stays
                && !matches!(last.come[..], [Edit::Become(_)])
                && (start < last.bytes.end || at == last.ended)
        });
        let change = match last {
            Some(last) => {
                last.types(&old[last.ended..at]);
                last.bytes.end = last.bytes.end.max(end);
                last
            }
            None => {
                all.push(Change { bytes: start..end, ended: at, come: vec![] });
                let change = all.last_mut().expect("it was just pushed");
                change.types(&old[start..at]);
                change
            }
        };
        at += gone;
        change.ended = at;
        if !matches!(edit, Edit::Delete(_)) {
            change.push_edit(edit);
        }
    }
    let (mut whole, mut at) = (vec![], (0, 0));
    for mut change in all {
        change.types(&old[change.ended..change.bytes.end]);
        let (start, end) = (elements.floor(change.bytes.start), elements.floor(change.bytes.end));
        whole.push(Edit::Keep(start.1 - at.1));
        if !matches!(change.come[..], [Edit::Become(_)]) && start.1 < end.1 {
            whole.push(Edit::Delete(end.1 - start.1));
        }
        whole.append(&mut change.come);
        at = end;
    }
    whole
}

/// The edits that turn a text into the wanted one, without marks.
fn plan<'n>(view: &View<'_>, obj: &ObjId, spans: &'n [Span<'_>]) -> Result<Vec<Edit<'n>>, EditError> {
    let there: Vec<Span<'_>> = view.spans(obj)?.collect();
    let (mut old, mut new) = (tokens(&there, clusters), tokens(spans, clusters));
    if !is_quick(&old, &new) {
        (old, new) = (tokens(&there, lines), tokens(spans, lines));
    }
    let steps = diff(&old, &new);
    let text = view.text(obj)?;
    Ok(match Elements::of_odd(view, obj, &text) {
        None => edits(&old, &new, &steps, view.state.encoding),
        Some(elements) => {
            let in_bytes = edits(&old, &new, &steps, TextEncoding::Utf8CodeUnit);
            of_whole_elements(divided(in_bytes, spans), &text, &elements)
        }
    })
}

fn clusters(text: &str) -> Vec<&str> {
    text.graphemes(true).collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

impl Editor<'_> {
    /// Turns a rich text into `spans` with few edits, none of which splits a grapheme cluster.
    pub(crate) fn update_spans(
        &mut self,
        obj: &ObjId,
        spans: &[Span<'_>],
        config: &UpdateSpansConfig,
    ) -> Result<(), EditError> {
        self.update_tokens(obj, spans)?;
        self.update_marks(obj, spans, config)
    }

    /// Updates text and blocks.
    fn update_tokens(&mut self, obj: &ObjId, spans: &[Span<'_>]) -> Result<(), EditError> {
        let encoding = self.state.encoding;
        let edits = plan(&View::now(self.state), obj, spans)?;
        let mut at = 0;
        for edit in edits {
            match edit {
                Edit::Keep(units) => at += units,
                Edit::Delete(units) => {
                    let units = isize::try_from(units).expect("no text in memory is longer");
                    self.splice_text(obj, at, units, "")?;
                }
                Edit::Type(text) => {
                    self.splice_text(obj, at, 0, &text)?;
                    at += encoding.width(&text);
                }
                Edit::Split(entries) => {
                    let block = self.split_block(obj, at)?;
                    self.update_object(&block, &Literal::Map(entries.clone()))?;
                    at += encoding.width(PLACEHOLDER);
                }
                Edit::Become(entries) => {
                    let (block, _) = self.block(obj, at)?;
                    self.update_object(&block, &Literal::Map(entries.clone()))?;
                    at += encoding.width(PLACEHOLDER);
                }
            }
        }
        Ok(())
    }

    /// Updates the marks of a text whose characters and blocks are already correct.
    fn update_marks(
        &mut self,
        obj: &ObjId,
        spans: &[Span<'_>],
        config: &UpdateSpansConfig,
    ) -> Result<(), EditError> {
        let mut names: BTreeMap<Cow<'_, str>, [Ranges<'_>; 2]> = BTreeMap::new();
        for mark in View::now(self.state).marks(obj)? {
            let Mark { start, end, name, value } = mark.into_owned();
            names.entry(name).or_default()[0].push((start, end, value));
        }
        for (name, ranges) in wanted(spans, self.state.encoding) {
            names.entry(name.into()).or_default()[1] = ranges;
        }
        for (name, [current, wanted]) in names {
            for (start, end, value) in changes(&current, &wanted) {
                let mark = Mark { start, end, name: Cow::Borrowed(&name), value };
                self.mark(obj, &mark, config.expand(&name))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(triples: &[(usize, usize, i64)]) -> Ranges<'static> {
        triples.iter().map(|(start, end, value)| (*start, *end, (*value).into())).collect()
    }

    #[test]
    fn only_differences_are_marked() {
        let to = |current: &[_], wanted: &[_]| changes(&ranges(current), &ranges(wanted));
        assert_eq!(to(&[(0, 5, 1)], &[(0, 5, 1)]), []);
        assert_eq!(to(&[(0, 5, 1)], &[(0, 3, 1)]), [(3, 5, ScalarValue::Null)]);
        assert_eq!(to(&[(0, 2, 1), (4, 6, 1)], &[(0, 6, 1)]), ranges(&[(2, 4, 1)]));
        // Adjacent ranges with the same wanted value are merged.
        assert_eq!(to(&[(2, 3, 2)], &[(0, 9, 1)]), ranges(&[(0, 9, 1)]));
        assert_eq!(to(&[(2, 3, 1)], &[(0, 9, 1)]), ranges(&[(0, 2, 1), (3, 9, 1)]));
        assert_eq!(to(&[(0, 1, 1), (1, 2, 2)], &[]), [(0, 2, ScalarValue::Null)]);
    }

    #[test]
    fn block_that_replaces_a_deleted_one_is_updated() {
        let (one, two) = (Entries::from_iter([("n".to_owned(), 1.into())]), Entries::default());
        let old = [Token::Text("a"), Token::Block(&one), Token::Text("b")];
        let new = [Token::Text("xy"), Token::Block(&two), Token::Block(&one)];
        let steps = [Step::Delete { old: 0, len: 3 }, Step::Insert { new: 0, len: 3 }];
        let typed = |text: &str| Edit::Type(text.to_owned());
        assert_eq!(
            edits(&old, &new, &steps, TextEncoding::Utf8CodeUnit),
            [Edit::Delete(1), typed("xy"), Edit::Become(&two), Edit::Delete(1), Edit::Split(&one)]
        );
    }
}
