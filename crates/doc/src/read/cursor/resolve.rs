//! Conversion between positions and cursors, with the same rules for the current state and for earlier heads.

use crate::codec::row::Action;
use crate::read::view::View;
use crate::store::log::key_op::Key;
use crate::store::seq::{ElementPos, Kind, Seq, Span};
use crate::store::state::{Body, DocumentState, Object};
use crate::store::versions::clock::Clock;
use crate::types::error::{CursorMismatch, EditError, ForeignCursor};
use crate::types::{Cursor, CursorPosition, MoveCursor, ObjId, OpId};

impl<'a> View<'a> {
    /// A cursor at a position of a list or text, which moves to the next element when its element is deleted. See
    /// [`Self::get_cursor_moving`].
    #[inline]
    pub fn get_cursor(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
    ) -> Result<Cursor, EditError> {
        self.cursor_at(obj.as_ref(), position.into(), MoveCursor::After)
    }

    /// A cursor at a position of a list or text, which moves in direction `moving` when its element is deleted. For an
    /// element with several values it refers to the winner. An index past the end is an error: the end has a cursor of
    /// its own.
    ///
    /// Costs O(log n), at earlier heads O(n).
    #[inline]
    pub fn get_cursor_moving(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
        moving: MoveCursor,
    ) -> Result<Cursor, EditError> {
        self.cursor_at(obj.as_ref(), position.into(), moving)
    }

    /// The position of a cursor in a list or text.
    ///
    /// This is the index of its element while the value that the cursor refers to is visible. If that value was deleted
    /// or replaced, a cursor that moves after is at the next visible element, which is its own one if that has another
    /// value. A cursor that moves before is at the first visible element among the one after which its element was
    /// inserted, the one after which that was inserted, and so on. An element of several units is at its first unit.
    ///
    /// Costs O(log n), and as much again for each run of deleted elements that it moves over; the first lookup after
    /// local edits also costs a step for each run that they moved. At earlier heads O(n).
    #[inline]
    pub fn get_cursor_position(&self, obj: impl AsRef<ObjId>, cursor: &Cursor) -> Result<usize, EditError> {
        let obj = obj.as_ref();
        let (object, seq) = self.sequence(obj)?;
        match cursor {
            Cursor::Start => Ok(0),
            Cursor::End => Ok(self.length(obj)),
            Cursor::Op { moving, .. } => {
                let sequence = SeqView { state: self.state, clock: self.clock.as_ref(), seq };
                let named =
                    sequence.named(object, cursor).map_err(|reason| mismatch_error(cursor, obj, reason))?;
                Ok(sequence.position(named, *moving).map_or(0, |at| self.units_to(seq, at)))
            }
        }
    }

    #[inline]
    fn cursor_at(
        &self,
        obj: &ObjId,
        position: CursorPosition,
        moving: MoveCursor,
    ) -> Result<Cursor, EditError> {
        let (_, seq) = self.sequence(obj)?;
        let index = match position {
            CursorPosition::Start => return Ok(Cursor::Start),
            CursorPosition::End => return Ok(Cursor::End),
            CursorPosition::Index(index) => index,
        };
        let winner = match &self.clock {
            None => u32::try_from(index)
                .ok()
                .and_then(|index| seq.element(index, &self.state.ctx()))
                .and_then(|(span, n)| match seq.reg(span) {
                    Some(reg) => reg.values.last().map(|winner| winner.id),
                    None => Some(span.id.plus(n)),
                }),
            Some(_) => self.element(seq, index).last().map(|winner| winner.id),
        };
        let Some(id) = winner else { return Err(EditError::Index { index, len: self.length(obj) }) };
        Ok(Cursor::Op { counter: id.ctr.into(), actor: self.state.actors.id(id.actor).clone(), moving })
    }

    #[inline]
    fn sequence(&self, obj: &ObjId) -> Result<(&'a Object, &'a Seq), EditError> {
        let object = self.state.object(obj)?;
        match &*object.body {
            Body::Seq(seq) => Ok((object, seq)),
            Body::Map(_) => Err(EditError::NotSequence { obj: Box::new(obj.clone()), found: object.kind }),
        }
    }

    /// Number of visible units before an element.
    fn units_to(&self, seq: &Seq, at: ElementPos) -> usize {
        let Some(clock) = &self.clock else { return seq.units_before(at, &self.state.ctx()) };
        let mut units = 0;
        let mut count = |span: &Span| {
            let parts = self.state.parts_at(seq, span, clock);
            units += parts.iter().map(|(part, values)| self.units(seq, part, values.as_ref())).sum::<usize>();
        };
        let until = seq.span(at);
        seq.spans().take_while(|span| span.id != until.id).for_each(&mut count);
        if at.off > 0 {
            let mut before = *until;
            before.cut(at.off, &self.state.ctx());
            count(&before);
        }
        units
    }
}

#[cold]
fn mismatch_error(cursor: &Cursor, obj: &ObjId, reason: CursorMismatch) -> EditError {
    EditError::ForeignCursor(Box::new(ForeignCursor { cursor: cursor.clone(), obj: obj.clone(), reason }))
}

/// An operation, and the element that it inserted or changed.
#[derive(Clone, Copy)]
struct CursorOp {
    op: OpId,
    elem: OpId,
    at: ElementPos,
}

/// A sequence, now or at earlier heads.
struct SeqView<'a> {
    state: &'a DocumentState,
    clock: Option<&'a Clock>,
    seq: &'a Seq,
}

impl SeqView<'_> {
    /// The operation and element of a cursor, if they are in the sequence.
    #[inline]
    fn named(&self, object: &Object, cursor: &Cursor) -> Result<CursorOp, CursorMismatch> {
        let Cursor::Op { counter, actor, .. } = cursor else { return Err(CursorMismatch::NotInObject) };
        let actor = self.state.actors.find(actor).ok_or(CursorMismatch::UnknownActor)?;
        let counter = u32::try_from(*counter).map_err(|_| CursorMismatch::NotInObject)?;
        let op = OpId::new(counter, actor);
        let named = match self.seq.find(op) {
            Some(at) => Some(CursorOp { op, elem: op, at }),
            None => self.state.updated(object.id, op).and_then(|elem| {
                let at = self.seq.find(elem)?;
                Some(CursorOp { op, elem, at })
            }),
        };
        let named = named.ok_or(CursorMismatch::NotInObject)?;
        match self.clock {
            Some(clock) if !clock.covers(op) => Err(CursorMismatch::NotAtHeads),
            _ => Ok(named),
        }
    }

    /// The element that stands for a cursor; `None` for the start.
    #[inline]
    fn position(&self, mut named: CursorOp, moving: MoveCursor) -> Option<ElementPos> {
        if moving == MoveCursor::After {
            return Some(named.at);
        }
        while !self.is_visible(&named) {
            let op = if named.op == named.elem { self.origin(named.at)? } else { named.elem };
            // In data from other implementations, an origin may be later than its element.
            if op.ctr >= named.op.ctr {
                return None;
            }
            named = CursorOp { op, elem: op, at: self.seq.find(op)? };
        }
        Some(named.at)
    }

    /// Is the value that an operation wrote to its element visible? A mark boundary counts as visible: it has no width,
    /// but is a position.
    #[inline]
    fn is_visible(&self, named: &CursorOp) -> bool {
        let span = self.seq.span(named.at);
        match (self.clock, self.seq.reg(span)) {
            (None, None) => span.visible || span.kind == Kind::Mark,
            (None, Some(reg)) => reg.values.iter().any(|value| value.id == named.op),
            (Some(clock), None) => self.was_visible(span, named.at.off, clock),
            (Some(clock), Some(_)) => {
                let values = self.state.element_at(self.seq, span, clock);
                values.iter().any(|value| value.id == named.op)
            }
        }
    }

    /// As [`Self::is_visible`], for an element without updates.
    fn was_visible(&self, span: &Span, n: u32, clock: &Clock) -> bool {
        let gone = !span.deleted_by.is_none() && clock.covers(span.deletion_of(n));
        clock.covers(span.id.plus(n)) && !gone
    }

    /// The next element on the path of a hidden one: its origin or, if that is hidden in the same run, the origin of
    /// that, and so on.
    fn origin(&self, at: ElementPos) -> Option<OpId> {
        let span = self.seq.span(at);
        let then = |clock| (0..at.off).rev().find(|n| self.was_visible(span, *n, clock));
        let origin = match self.clock.and_then(then) {
            Some(n) => span.id.plus(n),
            None => span.origin,
        };
        (!origin.is_none()).then_some(origin)
    }
}

impl DocumentState {
    /// The element that an operation of a sequence updated or incremented.
    fn updated(&self, obj: OpId, id: OpId) -> Option<OpId> {
        let (from, to) = match self.history.by_op(id) {
            Some((number, _)) => self.log_range(number),
            // An operation of the uncommitted change, whose first operation may have extended the last run.
            None => (self.history.log_len.saturating_sub(1) as usize, self.log.runs.len()),
        };
        let number = self.log.runs.get(self.log.find(id.ctr, from, to))?.keyed(id)?;
        let op = &self.log.keyed[number];
        let here = self.objects[op.obj].id == obj && op.action != Action::Delete;
        match op.key() {
            Key::Elem(elem) if here => Some(elem),
            _ => None,
        }
    }
}
