//! From places to cursors and back: the same rules now and at any heads.

use crate::codec::row::Action;
use crate::error::{EditError, Foreign, ForeignCursor};
use crate::store::log::key_op::Key;
use crate::store::past::Clock;
use crate::store::seq::{At, Kind, Seq, Span};
use crate::store::state::{Body, Object, State};
use crate::types::{Cursor, CursorPosition, MoveCursor, ObjId, OpId};
use crate::view::View;

impl<'a> View<'a> {
    /// A cursor at a place of a list or text; when its element goes, it moves to the next one. See
    /// [`Self::get_cursor_moving`].
    #[inline]
    pub fn get_cursor(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
    ) -> Result<Cursor, EditError> {
        self.cursor_at(obj.as_ref(), position.into(), MoveCursor::After)
    }

    /// A cursor at a place of a list or text, which moves as `moving` says when its element goes. Of an element with
    /// several values it is named after the winner. An index past the end is an error: the end has a cursor of its own.
    ///
    /// Costs O(log n), in the past O(n).
    #[inline]
    pub fn get_cursor_moving(
        &self,
        obj: impl AsRef<ObjId>,
        position: impl Into<CursorPosition>,
        moving: MoveCursor,
    ) -> Result<Cursor, EditError> {
        self.cursor_at(obj.as_ref(), position.into(), moving)
    }

    /// Where a cursor is in a list or text.
    ///
    /// That is the index of its element as long as the value is there that the cursor is named after. When it was deleted
    /// or replaced, a cursor that moves after is at the next element that is there, which is its own one if that has another
    /// value; one that moves before is at the first of those that is there among what its element was inserted after,
    /// what that was inserted after, and so on. An element of several units is where its first unit is.
    ///
    /// Costs O(log n), and as much again for each run of deleted elements that it moves over; the first time after edits
    /// here also a glance at each run that they moved. In the past O(n).
    #[inline]
    pub fn get_cursor_position(&self, obj: impl AsRef<ObjId>, cursor: &Cursor) -> Result<usize, EditError> {
        let obj = obj.as_ref();
        let (object, seq) = self.sequence(obj)?;
        match cursor {
            Cursor::Start => Ok(0),
            Cursor::End => Ok(self.length(obj)),
            Cursor::Op { moving, .. } => {
                let place = Place { state: self.state, clock: self.clock.as_ref(), seq };
                let named = place.named(object, cursor).map_err(|why| foreign(cursor, obj, why))?;
                Ok(place.position(named, *moving).map_or(0, |at| self.units_to(seq, at)))
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

    /// How many units of what is visible stand before an element.
    fn units_to(&self, seq: &Seq, at: At) -> usize {
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
fn foreign(cursor: &Cursor, obj: &ObjId, why: Foreign) -> EditError {
    EditError::ForeignCursor(Box::new(ForeignCursor { cursor: cursor.clone(), obj: obj.clone(), why }))
}

/// An operation and the element that it inserted or changed.
#[derive(Clone, Copy)]
struct Named {
    op: OpId,
    elem: OpId,
    at: At,
}

/// A sequence, now or then.
struct Place<'a> {
    state: &'a State,
    clock: Option<&'a Clock>,
    seq: &'a Seq,
}

impl Place<'_> {
    /// What a cursor is named after, if it is in the sequence.
    #[inline]
    fn named(&self, object: &Object, cursor: &Cursor) -> Result<Named, Foreign> {
        let Cursor::Op { counter, actor, .. } = cursor else { return Err(Foreign::NotInObject) };
        let actor = self.state.actors.find(actor).ok_or(Foreign::UnknownActor)?;
        let counter = u32::try_from(*counter).map_err(|_| Foreign::NotInObject)?;
        let op = OpId::new(counter, actor);
        let named = match self.seq.find(op) {
            Some(at) => Some(Named { op, elem: op, at }),
            None => self.state.updated(object.id, op).and_then(|elem| {
                let at = self.seq.find(elem)?;
                Some(Named { op, elem, at })
            }),
        };
        let named = named.ok_or(Foreign::NotInObject)?;
        match self.clock {
            Some(clock) if !clock.covers(op) => Err(Foreign::NotAtHeads),
            _ => Ok(named),
        }
    }

    /// The element that stands for a cursor; none for the start.
    #[inline]
    fn position(&self, mut named: Named, moving: MoveCursor) -> Option<At> {
        if moving == MoveCursor::After {
            return Some(named.at);
        }
        while !self.shows(&named) {
            let op = if named.op == named.elem { self.origin(named.at)? } else { named.elem };
            // What others sent may name what comes later as its origin.
            if op.ctr >= named.op.ctr {
                return None;
            }
            named = Named { op, elem: op, at: self.seq.find(op)? };
        }
        Some(named.at)
    }

    /// Whether the value that an operation gave its element is there. A boundary of a mark always is: nobody sees it, but
    /// it is a place.
    #[inline]
    fn shows(&self, named: &Named) -> bool {
        let span = self.seq.span(named.at);
        match (self.clock, self.seq.reg(span)) {
            (None, None) => span.visible || span.kind == Kind::Mark,
            (None, Some(reg)) => reg.values.iter().any(|value| value.id == named.op),
            (Some(clock), None) => self.shows_then(span, named.at.off, clock),
            (Some(clock), Some(_)) => {
                let values = self.state.element_at(self.seq, span, clock);
                values.iter().any(|value| value.id == named.op)
            }
        }
    }

    /// The same of an element without updates.
    fn shows_then(&self, span: &Span, n: u32, clock: &Clock) -> bool {
        let gone = !span.deleted_by.is_none() && clock.covers(span.deletion_of(n));
        clock.covers(span.id.plus(n)) && !gone
    }

    /// The next element that a hidden one leads to: what it was inserted after or, where that is hidden in the same run,
    /// what that was inserted after, and so on.
    fn origin(&self, at: At) -> Option<OpId> {
        let span = self.seq.span(at);
        let then = |clock| (0..at.off).rev().find(|n| self.shows_then(span, *n, clock));
        let origin = match self.clock.and_then(then) {
            Some(n) => span.id.plus(n),
            None => span.origin,
        };
        (!origin.is_none()).then_some(origin)
    }
}

impl State {
    /// The element that an operation of a sequence updated or incremented.
    fn updated(&self, obj: OpId, id: OpId) -> Option<OpId> {
        let (from, to) = match self.history.by_op(id) {
            Some((number, _)) => self.log_range(number),
            // Of a change that is being made, whose first operation may have made the run before it longer.
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
