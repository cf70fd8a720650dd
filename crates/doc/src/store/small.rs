//! Changes with one keystroke in them, which most changes of a typed text are, on their way from the log to their bytes.

use super::history::ChangeAt;
use super::log::{LogRun, What, stepped};
use super::state::State;
use crate::codec::block::Block;
use crate::codec::ops::char_len;
use crate::codec::stroke::Stroke;
use crate::types::{ChangeHash, OpId};

/// The operations of the log one by one, from some run on, as long as they are keystrokes.
pub(super) struct Strokes<'a> {
    state: &'a State,
    /// The run, and the operations and bytes of it that were taken.
    at: usize,
    taken: u32,
    bytes: u32,
}

impl<'a> Strokes<'a> {
    /// From operation `ctr` on, which run `at` holds.
    pub(super) fn new(state: &'a State, at: usize, ctr: u32) -> Self {
        let mut strokes = Self { state, at, taken: 0, bytes: 0 };
        if let Some(run) = state.log.runs.get(at).filter(|run| ctr > run.id.ctr) {
            let before = state.clip(run, run.id.ctr, ctr);
            strokes.taken = before.len;
            strokes.bytes = if let What::Text { bytes, .. } = before.what { bytes.len } else { 0 };
        }
        strokes
    }

    /// The run that holds operation `ctr`, which is not before the next one.
    pub(super) fn run_of(&mut self, ctr: u32) -> usize {
        while self.state.log.runs.get(self.at).is_some_and(|run| run.id.ctr + run.len <= ctr) {
            (self.at, self.taken, self.bytes) = (self.at + 1, 0, 0);
        }
        self.at
    }

    /// Passes over an operation that is a run of its own.
    pub(super) fn skip(&mut self) {
        self.taken += 1;
    }

    /// The next operation, if it is a keystroke.
    pub(super) fn next(&mut self) -> Option<Stroke<'a>> {
        let mut run = self.state.log.runs.get(self.at)?;
        if self.taken == run.len {
            (self.at, self.taken, self.bytes) = (self.at + 1, 0, 0);
            run = self.state.log.runs.get(self.at)?;
        }
        let obj = self.state.objects[run.obj as usize].id;
        let stroke = match run.what {
            What::Text { origin, bytes } => {
                let text = &self.state.heap.get(bytes)[self.bytes as usize..];
                let text = &text[..char_len(text[0])];
                self.bytes += text.len() as u32;
                let elem = if self.taken == 0 { origin } else { run.id.plus(self.taken - 1) };
                Stroke { obj, elem, text: Some(text) }
            }
            What::Delete { elem, step } => Stroke { obj, elem: stepped(elem, step, self.taken), text: None },
            What::Values { .. } | What::Mark(_) | What::Keyed(_) => return None,
        };
        self.taken += 1;
        Some(stroke)
    }
}

impl State {
    /// The keystroke that a run of one operation is.
    pub(super) fn stroke(&self, run: &LogRun) -> Option<Stroke<'_>> {
        let obj = self.objects[run.obj as usize].id;
        match run.what {
            What::Text { origin, bytes } => {
                Some(Stroke { obj, elem: origin, text: Some(self.heap.get(bytes)) })
            }
            What::Delete { elem, .. } => Some(Stroke { obj, elem, text: None }),
            What::Values { .. } | What::Mark(_) | What::Keyed(_) => None,
        }
    }

    /// Writes the body of a change whose only operation is a keystroke, unless it is longer than a block can be.
    #[inline]
    pub(super) fn write_stroke(
        &self,
        change: &ChangeAt<'_>,
        stroke: &Stroke<'_>,
        deps: &[ChangeHash],
        out: &mut Block,
    ) -> bool {
        let (author, obj, elem) = (change.run.actor, stroke.obj, stroke.elem);
        let foreign = |id: OpId| !id.is_none() && id.actor != author;
        let others = match (foreign(obj), foreign(elem)) {
            (false, false) => [None, None],
            (true, false) => [Some(obj.actor), None],
            (false, true) => [Some(elem.actor), None],
            (true, true) if obj.actor == elem.actor => [Some(obj.actor), None],
            (true, true) if self.actors.rank(obj.actor) < self.actors.rank(elem.actor) => {
                [Some(obj.actor), Some(elem.actor)]
            }
            (true, true) => [Some(elem.actor), Some(obj.actor)],
        };
        let (actor, message, extra) = (self.actors.bytes(author), change.run.message, change.run.extra);
        let others_len: usize =
            others.iter().flatten().map(|other| self.actors.bytes(*other).len() + 5).sum();
        if 32 * deps.len() + actor.len() + message.len as usize + extra.len as usize + others_len
            > Block::FREE
        {
            return false;
        }
        out.clear();
        out.number(deps.len() as u64);
        deps.iter().for_each(|dep| out.part(&dep.0, 32));
        out.prefixed(actor);
        out.number(change.seq.into());
        out.number(change.start.into());
        out.signed(change.run.time);
        out.prefixed(if message.len == 0 { &[] } else { self.heap.get(message) });
        out.number(others.iter().flatten().count() as u64);
        others.iter().flatten().for_each(|other| out.prefixed(self.actors.bytes(*other)));
        let local = |id: OpId| match others {
            _ if id.is_none() || id.actor == author => OpId::new(id.ctr, 0),
            [Some(first), _] if first == id.actor => OpId::new(id.ctr, 1),
            _ => OpId::new(id.ctr, 2),
        };
        Stroke { obj: local(obj), elem: local(elem), text: stroke.text }.write(out);
        if extra.len > 0 {
            out.bytes(self.heap.get(extra));
        }
        true
    }
}
