//! Editing by result: the caller says what a rich text shall be, and the edits that make it so are found here.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::{ExpandMark, Mark, Span};
use crate::edit::Editor;
use crate::error::EditError;
use crate::literal::{Entries, Literal};
use crate::store::state::PLACEHOLDER;
use crate::types::{ObjId, ScalarValue, TextEncoding};
use crate::update::{Elements, Step, diff, is_quick};
use crate::view::View;

/// How marks expand that an update of a rich text puts there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateSpansConfig {
    /// Those of names that are not mentioned.
    pub default_expand: ExpandMark,
    /// Those of single names.
    pub per_mark_expands: HashMap<String, ExpandMark>,
}

impl UpdateSpansConfig {
    /// Names that are not mentioned expand so.
    #[must_use]
    pub fn with_default_expand(mut self, expand: ExpandMark) -> Self {
        self.default_expand = expand;
        self
    }

    /// Marks of a name expand so.
    #[must_use]
    pub fn with_mark_expand(mut self, name: impl Into<String>, expand: ExpandMark) -> Self {
        self.per_mark_expands.insert(name.into(), expand);
        self
    }

    fn expand(&self, name: &str) -> ExpandMark {
        self.per_mark_expands.get(name).copied().unwrap_or(self.default_expand)
    }
}

/// What is kept or goes as a whole.
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

/// One step of the way through a text.
#[derive(Debug, PartialEq)]
enum Edit<'n> {
    Keep(usize),
    Delete(usize),
    Type(String),
    Split(&'n Entries),
    /// A block stays and becomes this.
    Become(&'n Entries),
}

/// Makes edits of what is compared. A block that comes where one went is that block, with something else inside.
fn edits<'n>(old: &[Token<'_>], new: &[Token<'n>], steps: &[Step], encoding: TextEncoding) -> Vec<Edit<'n>> {
    let mut edits = vec![];
    let width = |tokens: &[Token<'_>]| tokens.iter().map(|token| token.width(encoding)).sum();
    // What went and came since something was kept: neighbours, though told in several steps.
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

/// Puts tokens in the place of others.
fn exchange<'n>(
    mut gone: &[Token<'_>],
    mut come: &[Token<'n>],
    encoding: TextEncoding,
    edits: &mut Vec<Edit<'n>>,
) {
    let block = |token: &Token<'_>| matches!(token, Token::Block(_));
    loop {
        // What goes and comes before the next block on both sides, then the block.
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

/// What shall be marked in a text of these spans. A mark on both sides of a block goes on over it.
fn wanted<'s>(spans: &'s [Span<'_>], encoding: TextEncoding) -> BTreeMap<&'s str, Ranges<'s>> {
    let mut names: BTreeMap<&str, Ranges<'_>> = BTreeMap::new();
    // Where this text starts, and where the one before it ended.
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

/// Where the value of a name must change, and to what; null where there shall be none.
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

/// Bytes of a text that go, and what comes for them; or a block that stays and becomes another one.
struct Change<'n> {
    bytes: Range<usize>,
    /// Where they ended before they were extended to whole elements.
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

    fn comes(&mut self, edit: Edit<'n>) {
        match edit {
            Edit::Type(text) => self.types(&text),
            edit => self.come.push(edit),
        }
    }
}

/// Divides what is kept, in bytes, where other marks shall begin in the new text: an empty edit stands there.
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
        while let Some(place) = border.filter(|place| *place < to) {
            if matches!(edit, Edit::Keep(_)) && place > from {
                divided.extend([Edit::Keep(place - from), Edit::Type(String::new())]);
                from = place;
            }
            border = borders.next();
        }
        divided.push(if let Edit::Keep(_) = edit { Edit::Keep(to - from) } else { edit });
        at = to;
    }
    divided
}

/// Makes edits that count bytes of `old` into edits that count units and divide no element: what stays of an element is
/// typed anew.
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
            change.comes(edit);
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

/// The way from what a text says to what it shall say, marks aside.
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
    /// Turns a rich text into `spans` with few edits, none of which divides a grapheme cluster.
    pub(crate) fn update_spans(
        &mut self,
        obj: &ObjId,
        spans: &[Span<'_>],
        config: &UpdateSpansConfig,
    ) -> Result<(), EditError> {
        self.update_tokens(obj, spans)?;
        self.update_marks(obj, spans, config)
    }

    /// Text and blocks.
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

    /// The marks of a text that has the right characters and blocks.
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

    fn ranges(said: &[(usize, usize, i64)]) -> Ranges<'static> {
        said.iter().map(|(start, end, value)| (*start, *end, (*value).into())).collect()
    }

    #[test]
    fn only_what_differs_is_marked_anew() {
        let to = |current: &[_], wanted: &[_]| changes(&ranges(current), &ranges(wanted));
        assert_eq!(to(&[(0, 5, 1)], &[(0, 5, 1)]), []);
        assert_eq!(to(&[(0, 5, 1)], &[(0, 3, 1)]), [(3, 5, ScalarValue::Null)]);
        assert_eq!(to(&[(0, 2, 1), (4, 6, 1)], &[(0, 6, 1)]), ranges(&[(2, 4, 1)]));
        // What is next to each other and shall be the same is one.
        assert_eq!(to(&[(2, 3, 2)], &[(0, 9, 1)]), ranges(&[(0, 9, 1)]));
        assert_eq!(to(&[(2, 3, 1)], &[(0, 9, 1)]), ranges(&[(0, 2, 1), (3, 9, 1)]));
        assert_eq!(to(&[(0, 1, 1), (1, 2, 2)], &[]), [(0, 2, ScalarValue::Null)]);
    }

    #[test]
    fn a_block_where_one_went_is_the_same_block() {
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
