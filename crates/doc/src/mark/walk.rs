//! What stands in a text, from its start: strings, other values, and the boundaries of marks between them.

use smallvec::SmallVec;

use crate::codec::value::code;
use crate::error::{EditError, Mismatch};
use crate::store::log::MarkOp;
use crate::store::memory::byte_arena::Bytes;
use crate::store::past::Clock;
use crate::store::register::Visible;
use crate::store::seq::{Kind, Pages, Seq, Span};
use crate::store::state::{PLACEHOLDER, State};
use crate::types::{ObjId, ObjType, OpId};
use crate::view::View;

/// One thing in a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'a> {
    /// Characters, where they lie in the heap; nothing for a value that is neither text nor a block.
    Text { text: Option<Bytes>, width: u32 },
    /// A block.
    Block { map: Visible, width: u32 },
    /// A boundary of a mark.
    Boundary { id: OpId, mark: &'a MarkOp },
}

/// The pieces of a text, now or at the time of a view.
pub(super) struct Walk<'a> {
    state: &'a State,
    seq: &'a Seq,
    clock: Option<Clock>,
    pages: Pages<'a>,
    page: std::slice::Iter<'a, Span>,
    /// What was left of a span of the past, the next one last.
    parts: SmallVec<[Piece<'a>; 2]>,
}

impl<'a> View<'a> {
    /// The pieces of a text.
    pub(super) fn walk(&self, obj: &ObjId) -> Result<Walk<'a>, EditError> {
        let state = self.state;
        let number = state.resolve(obj)?;
        let found = state.objects[number].kind;
        let seq = state.seq(number).filter(|_| found == ObjType::Text);
        let seq = seq.ok_or_else(|| Mismatch::of_kind(obj, "a text", found))?;
        let (clock, parts) = (self.clock.clone(), SmallVec::new());
        Ok(Walk { state, seq, clock, pages: seq.pages(), page: [].iter(), parts })
    }
}

impl<'a> Walk<'a> {
    /// How many boundaries there are, those that are not there at the time of the view included.
    pub(super) fn marks(&self) -> usize {
        self.seq.marks as usize
    }

    /// Tells each boundary with the units before it; gives how many units there are.
    pub(super) fn boundaries(self, mut each: impl FnMut(usize, OpId, &'a MarkOp)) -> usize {
        let mut at = 0;
        if self.clock.is_some() {
            for piece in self {
                match piece {
                    Piece::Text { width, .. } | Piece::Block { width, .. } => at += width as usize,
                    Piece::Boundary { id, mark } => each(at, id, mark),
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

    /// What a span holds that has a value of its own.
    fn value(&self, winner: Visible) -> Piece<'a> {
        match winner.val.as_object() {
            Some((ObjType::Map, _)) => {
                Piece::Block { map: winner, width: self.state.encoding.width(PLACEHOLDER) as u32 }
            }
            _ => {
                let text = Some(winner.val.bytes).filter(|_| winner.val.code == code::STR);
                Piece::Text { text, width: self.state.rendered(winner.val).1 }
            }
        }
    }

    /// What a visible span shows, where `winner` is the value of an element with a register.
    fn shown(&self, span: &Span, winner: Option<Visible>) -> Piece<'a> {
        match (winner, span.kind) {
            (Some(winner), _) => self.value(winner),
            (None, Kind::Text) => {
                Piece::Text { text: Some(Bytes { at: span.at, len: span.bytes }), width: span.width }
            }
            (None, _) => self.value(Visible { id: span.id, val: self.state.inserted(span, 0), added: 0 }),
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Piece<'a>;

    #[inline]
    fn next(&mut self) -> Option<Piece<'a>> {
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
                    return Some(Piece::Boundary { id: span.id, mark });
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
