//! Reads of marks: of a whole text, at one position, and together with the text.

use std::borrow::Cow;
use std::fmt;

use super::active::ActiveMarks;
use super::walk::{TextItem, TextWalk};
use super::{Mark, MarkSet, Span};
use crate::read::view::View;
use crate::store::log::value::StoredValue;
use crate::store::register::Visible;
use crate::store::state::{DocumentState, PLACEHOLDER};
use crate::types::ObjId;
use crate::types::error::EditError;
use crate::types::literal::Literal;

/// The ranges of one name.
struct Ranges<'a> {
    /// Completed ranges, in order.
    done: Vec<Mark<'a>>,
    /// Value of the last completed range.
    last: StoredValue,
    /// Start and value of the open range.
    open: Option<(usize, StoredValue)>,
}

impl<'a> Ranges<'a> {
    fn new(room: usize) -> Self {
        Self { done: Vec::with_capacity(room), last: StoredValue::NULL, open: None }
    }

    /// Sets the value from unit `at` on.
    #[inline]
    fn set_from(&mut self, at: usize, value: Option<StoredValue>, name: &'a str, state: &'a DocumentState) {
        let same = |a: StoredValue, b: StoredValue| a == b || state.scalar(a) == state.scalar(b);
        if let Some((start, old)) = self.open.take() {
            if let Some(value) = value.filter(|value| same(old, *value)) {
                // Equal values may differ in bits: of zeros with two signs, the first one is kept.
                self.open = Some((start, if start == at { value } else { old }));
                return;
            }
            if start < at {
                self.last = old;
                self.done.push(Mark { start, end: at, name: name.into(), value: state.scalar(old) });
            }
        }
        let Some(value) = value else { return };
        let last = self.last;
        let joined = self.done.pop_if(|mark| mark.end == at && same(last, value));
        self.open = Some(joined.map_or((at, value), |mark| (mark.start, last)));
    }
}

impl<'a> View<'a> {
    /// All marks of a text as maximal ranges, ordered by name and then by position.
    ///
    /// Costs O(n) in runs of characters, deleted ones included.
    pub fn marks(&self, obj: impl AsRef<ObjId>) -> Result<Vec<Mark<'a>>, EditError> {
        let (state, walk) = (self.state, self.walk(obj.as_ref())?);
        let mut active = ActiveMarks::new(state);
        // Most texts have marks of one name only, or nearly so.
        let mut names = vec![Ranges::new(walk.marks() / 2)];
        let end = walk.boundaries(|at, id, mark| {
            if let Some(name) = active.pass(id, mark) {
                if name >= names.len() {
                    names.resize_with(name + 1, || Ranges::new(0));
                }
                names[name].set_from(at, active.value(name), active.name(name), state);
            }
        });
        let mut names: Vec<(&'a str, Ranges<'a>)> = active.names().zip(names).collect();
        names.iter_mut().for_each(|(name, ranges)| ranges.set_from(end, None, name, state));
        if let [_] = &names[..] {
            return Ok(names.pop().map(|(_, ranges)| ranges.done).unwrap_or_default());
        }
        names.sort_unstable_by_key(|(name, _)| *name);
        Ok(names.into_iter().flat_map(|(_, ranges)| ranges.done).collect())
    }

    /// The marks at unit `index` of a text; none after its end.
    ///
    /// Costs O(n) in the runs of characters before it.
    pub fn get_marks(&self, obj: impl AsRef<ObjId>, index: usize) -> Result<MarkSet<'a>, EditError> {
        let (mut active, mut left) = (ActiveMarks::new(self.state), index);
        for piece in self.walk(obj.as_ref())? {
            match piece {
                TextItem::Text { width, .. } | TextItem::Block { width, .. } => {
                    match left.checked_sub(width as usize) {
                        Some(rest) => left = rest,
                        None => return Ok(active.set()),
                    }
                }
                TextItem::Boundary { id, mark } => drop(active.pass(id, mark)),
            }
        }
        Ok(MarkSet::default())
    }

    /// A text as spans: texts with equal marks, and the blocks between them.
    ///
    /// Costs O(bytes) when read to the end.
    pub fn spans(&self, obj: impl AsRef<ObjId>) -> Result<Spans<'a>, EditError> {
        Ok(Spans {
            walk: self.walk(obj.as_ref())?,
            active: ActiveMarks::new(self.state),
            view: self.clone(),
            text: None,
            changed: false,
            block: None,
        })
    }
}

/// Iterator over the spans of a text. See [`View::spans`].
pub struct Spans<'a> {
    view: View<'a>,
    walk: TextWalk<'a>,
    active: ActiveMarks<'a>,
    /// Collected text that is not returned yet.
    text: Option<(Cow<'a, str>, MarkSet<'a>)>,
    /// May the marks differ from those of the collected text?
    changed: bool,
    /// The block after the text.
    block: Option<Visible>,
}

impl fmt::Debug for Spans<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").field("text", &self.text).finish_non_exhaustive()
    }
}

impl<'a> Spans<'a> {
    /// Returns the collected text.
    fn flush(&mut self) -> Option<Span<'a>> {
        let (text, marks) = self.text.take()?;
        (!text.is_empty()).then_some(Span::Text { text, marks })
    }

    /// Adds text; returns the collected text before it if the marks differ.
    fn push(&mut self, more: &'a str) -> Option<Span<'a>> {
        let marks = match &self.text {
            Some(_) if !self.changed => None,
            Some((_, marks)) => Some(self.active.set()).filter(|set| set != marks),
            None => Some(self.active.set()),
        };
        self.changed = false;
        if let Some(marks) = marks {
            let before = self.flush();
            self.text = Some((more.into(), marks));
            return before;
        }
        let (text, _) = self.text.as_mut().expect("its marks are the same");
        match text.is_empty() {
            true => *text = more.into(),
            false => text.to_mut().push_str(more),
        }
        None
    }

    fn block(&self, map: Visible) -> Span<'a> {
        let (_, id) = self.view.state.export(&map);
        match self.view.hydrate(id) {
            Ok(Literal::Map(entries)) => Span::Block(entries),
            other => unreachable!("a map in a text was read as {other:?}"),
        }
    }
}

impl<'a> Iterator for Spans<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        if let Some(map) = self.block.take() {
            return Some(self.block(map));
        }
        while let Some(piece) = self.walk.next() {
            let before = match piece {
                TextItem::Boundary { id, mark } => {
                    self.changed |= self.active.pass(id, mark).is_some();
                    None
                }
                TextItem::Text { text, .. } => {
                    self.push(text.map_or(PLACEHOLDER, |text| self.view.state.heap.text(text)))
                }
                TextItem::Block { map, .. } => match self.flush() {
                    Some(text) => {
                        self.block = Some(map);
                        Some(text)
                    }
                    None => Some(self.block(map)),
                },
            };
            if before.is_some() {
                return before;
            }
        }
        self.flush()
    }
}
