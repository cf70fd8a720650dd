//! Reading marks: of a whole text, at one place, and beside the text itself.

use std::borrow::Cow;
use std::fmt;

use super::active::Active;
use super::walk::{Piece, Walk};
use super::{Mark, MarkSet, Span};
use crate::error::EditError;
use crate::literal::Literal;
use crate::store::log::Val;
use crate::store::register::Visible;
use crate::store::state::{PLACEHOLDER, State};
use crate::types::ObjId;
use crate::view::View;

/// The ranges of one name.
struct Ranges<'a> {
    /// Those that have ended, in order.
    done: Vec<Mark<'a>>,
    /// The value of the last of these.
    last: Val,
    /// The start and the value of the one that goes on.
    open: Option<(usize, Val)>,
}

impl<'a> Ranges<'a> {
    fn new(room: usize) -> Self {
        Self { done: Vec::with_capacity(room), last: Val::NULL, open: None }
    }

    /// From unit `at` on this holds.
    #[inline]
    fn go_on(&mut self, at: usize, value: Option<Val>, name: &'a str, state: &'a State) {
        let same = |a: Val, b: Val| a == b || state.scalar(a) == state.scalar(b);
        if let Some((start, old)) = self.open.take() {
            if let Some(value) = value.filter(|value| same(old, *value)) {
                // Equal is not always identical: of zeros with two signs the one that has been seen stays.
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
    /// The marks of a text: ranges as long as they can be, by name and then by place.
    ///
    /// Costs O(n) in runs of characters, deleted ones too.
    pub fn marks(&self, obj: impl AsRef<ObjId>) -> Result<Vec<Mark<'a>>, EditError> {
        let (state, walk) = (self.state, self.walk(obj.as_ref())?);
        let mut active = Active::new(state);
        // Most texts have marks of one name alone, or nearly so.
        let mut names = vec![Ranges::new(walk.marks() / 2)];
        let end = walk.boundaries(|at, id, mark| {
            if let Some(name) = active.pass(id, mark) {
                if name >= names.len() {
                    names.resize_with(name + 1, || Ranges::new(0));
                }
                names[name].go_on(at, active.value(name), active.name(name), state);
            }
        });
        let mut names: Vec<(&'a str, Ranges<'a>)> = active.names().zip(names).collect();
        names.iter_mut().for_each(|(name, ranges)| ranges.go_on(end, None, name, state));
        if let [_] = &names[..] {
            return Ok(names.pop().map(|(_, ranges)| ranges.done).unwrap_or_default());
        }
        names.sort_unstable_by_key(|(name, _)| *name);
        Ok(names.into_iter().flat_map(|(_, ranges)| ranges.done).collect())
    }

    /// The marks that hold for the unit of a text at `index`; none behind its end.
    ///
    /// Costs O(n) in runs of characters before it.
    pub fn get_marks(&self, obj: impl AsRef<ObjId>, index: usize) -> Result<MarkSet<'a>, EditError> {
        let (mut active, mut left) = (Active::new(self.state), index);
        for piece in self.walk(obj.as_ref())? {
            match piece {
                Piece::Text { width, .. } | Piece::Block { width, .. } => {
                    match left.checked_sub(width as usize) {
                        Some(rest) => left = rest,
                        None => return Ok(active.set()),
                    }
                }
                Piece::Boundary { id, mark } => drop(active.pass(id, mark)),
            }
        }
        Ok(MarkSet::default())
    }

    /// A text as an editor shows it: text under the same marks, and blocks between.
    ///
    /// Costs O(bytes) when read to the end.
    pub fn spans(&self, obj: impl AsRef<ObjId>) -> Result<Spans<'a>, EditError> {
        Ok(Spans {
            walk: self.walk(obj.as_ref())?,
            active: Active::new(self.state),
            view: self.clone(),
            text: None,
            changed: false,
            block: None,
        })
    }
}

/// The spans of a text. See [`View::spans`].
pub struct Spans<'a> {
    view: View<'a>,
    walk: Walk<'a>,
    active: Active<'a>,
    /// The text that was met and not given out.
    text: Option<(Cow<'a, str>, MarkSet<'a>)>,
    /// The marks may be others than those of the text.
    changed: bool,
    /// The block behind the text.
    block: Option<Visible>,
}

impl fmt::Debug for Spans<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").field("text", &self.text).finish_non_exhaustive()
    }
}

impl<'a> Spans<'a> {
    /// Gives out what was met of a text.
    fn flush(&mut self) -> Option<Span<'a>> {
        let (text, marks) = self.text.take()?;
        (!text.is_empty()).then_some(Span::Text { text, marks })
    }

    /// More text; gives what comes before it when its marks are others.
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
            other => unreachable!("a map that stands in a text is {other:?}"),
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
                Piece::Boundary { id, mark } => {
                    self.changed |= self.active.pass(id, mark).is_some();
                    None
                }
                Piece::Text { text, .. } => {
                    self.push(text.map_or(PLACEHOLDER, |text| self.view.state.heap.text(text)))
                }
                Piece::Block { map, .. } => match self.flush() {
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
