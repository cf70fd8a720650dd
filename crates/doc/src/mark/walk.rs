//! Iterator over the items of a text: strings, other values, and mark boundaries.

use smallvec::SmallVec;

use crate::codec::raw_value::code;
use crate::read::view::View;
use crate::store::log::MarkOp;
use crate::store::memory::byte_arena::Bytes;
use crate::store::register::Visible;
use crate::store::seq::{Kind, Pages, Seq, Span};
use crate::store::state::{DocumentState, PLACEHOLDER};
use crate::store::versions::clock::Clock;
use crate::types::error::{EditError, Mismatch};
use crate::types::{ObjId, ObjType, OpId};

/// One item of a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum TextItem<'a> {
    /// Characters as a range of the heap; `None` for a value that is neither text nor a block.
    Text { text: Option<Bytes>, width: u32 },
    /// A block.
    Block { map: Visible, width: u32 },
    /// A mark boundary.
    Boundary { id: OpId, mark: &'a MarkOp },
}

/// Items of a text, now or at the heads of a view.
pub(super) struct TextWalk<'a> {
    state: &'a DocumentState,
    seq: &'a Seq,
    clock: Option<Clock>,
    pages: Pages<'a>,
    page: std::slice::Iter<'a, Span>,
    /// Remaining items of a span, the next one last.
    parts: SmallVec<[TextItem<'a>; 2]>,
}

impl<'a> View<'a> {
    /// The items of a text.
    pub(super) fn walk(&self, obj: &ObjId) -> Result<TextWalk<'a>, EditError> {
        let state = self.state;
        let number = state.resolve(obj)?;
        let found = state.objects[number].kind;
        let seq = state.seq(number).filter(|_| found == ObjType::Text);
        let seq = seq.ok_or_else(|| Mismatch::of_kind(obj, "a text", found))?;
        let (clock, parts) = (self.clock.clone(), SmallVec::new());
        Ok(TextWalk { state, seq, clock, pages: seq.pages(), page: [].iter(), parts })
    }
}

impl<'a> TextWalk<'a> {
    /// Number of boundaries, including those that do not exist at the heads of the view.
    pub(super) fn marks(&self) -> usize {
        self.seq.marks as usize
    }

    /// Calls `each` with every boundary and the number of units before it; returns the number of units.
    pub(super) fn boundaries(self, mut each: impl FnMut(usize, OpId, &'a MarkOp)) -> usize {
        let mut at = 0;
        if self.clock.is_some() {
            for piece in self {
                match piece {
                    TextItem::Text { width, .. } | TextItem::Block { width, .. } => at += width as usize,
                    TextItem::Boundary { id, mark } => each(at, id, mark),
                }
            }
            return at;
        }
        for span in self.pages.flatten() {
            match span.kind {
                Kind::Mark => each(at, span.id, &self.state.log.marks[span.at as usize]),
                Kind::Text | Kind::Values => at += span.units() as usize,
            }
        }
        at
    }

    /// The item of a span with a value of its own.
    fn value(&self, winner: Visible) -> TextItem<'a> {
        match winner.val.as_object() {
            Some((ObjType::Map, _)) => {
                TextItem::Block { map: winner, width: self.state.encoding.width(PLACEHOLDER) as u32 }
            }
            _ => {
                let text = Some(winner.val.bytes).filter(|_| winner.val.code == code::STR);
                TextItem::Text { text, width: self.state.rendered(winner.val).1 }
            }
        }
    }

    /// The item of a visible span; `winner` is the value of an element with a register.
    fn shown(&self, span: &Span, winner: Option<Visible>) -> TextItem<'a> {
        match (winner, span.kind) {
            (Some(winner), _) => self.value(winner),
            (None, Kind::Text) => {
                TextItem::Text { text: Some(Bytes { at: span.at, len: span.bytes }), width: span.width }
            }
            (None, _) => self.value(Visible { id: span.id, val: self.state.inserted(span, 0), added: 0 }),
        }
    }
}

impl<'a> Iterator for TextWalk<'a> {
    type Item = TextItem<'a>;

    #[inline]
    fn next(&mut self) -> Option<TextItem<'a>> {
        loop {
            if let Some(part) = self.parts.pop() {
                return Some(part);
            }
            let Some(span) = self.page.next() else {
                self.page = self.pages.next()?.iter();
                continue;
            };
            let clock = self.clock.as_ref();
            if span.kind == Kind::Mark {
                if clock.is_none_or(|clock| clock.covers(span.id)) {
                    let mark = &self.state.log.marks[span.at as usize];
                    return Some(TextItem::Boundary { id: span.id, mark });
                }
                continue;
            }
            let Some(clock) = clock else {
                if !span.visible {
                    continue;
                }
                let winner = self.seq.reg(span).and_then(|reg| reg.values.last().copied());
                return Some(self.shown(span, winner));
            };
            let parts = self.state.parts_at(self.seq, span, clock);
            let winner = |values: Option<_>| values.and_then(|values: SmallVec<_>| values.last().copied());
            self.parts =
                parts.into_iter().rev().map(|(part, values)| self.shown(&part, winner(values))).collect();
        }
    }
}
