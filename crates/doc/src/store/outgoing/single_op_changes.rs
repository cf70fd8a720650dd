//! Encoding of changes with a single frequent operation, the usual case for typed text.

use crate::codec::ops::op_reader::char_len;
use crate::codec::shortcuts::block::Block;
use crate::codec::shortcuts::keystroke::SingleCharOp;
use crate::codec::shortcuts::put::Put;
use crate::codec::shortcuts::single::Single;
use crate::store::history::ChangeRef;
use crate::store::log::key_op::Key;
use crate::store::log::{LogRun, RunAction, stepped};
use crate::store::state::DocumentState;
use crate::types::{ActorIdx, ChangeHash, KeyOpIdx, OpId};

/// The operations of the log one by one from some run on, as long as they are of a frequent kind.
pub(in crate::store) struct Singles<'a> {
    state: &'a DocumentState,
    /// The run, and the operations and bytes of it that were consumed.
    at: usize,
    taken: u32,
    bytes: u32,
}

impl<'a> Singles<'a> {
    /// Starts at operation `ctr`, which is in run `at`.
    pub(in crate::store) fn new(state: &'a DocumentState, at: usize, ctr: u32) -> Self {
        let mut singles = Self { state, at, taken: 0, bytes: 0 };
        if let Some(run) = state.log.runs.get(at).filter(|run| ctr > run.id.ctr) {
            let before = state.clip(run, run.id.ctr, ctr);
            singles.taken = before.len;
            singles.bytes = if let RunAction::Text { bytes, .. } = before.what { bytes.len } else { 0 };
        }
        singles
    }

    /// The run that holds operation `ctr`, which must not precede the next one.
    pub(in crate::store) fn run_of(&mut self, ctr: u32) -> usize {
        while self.state.log.runs.get(self.at).is_some_and(|run| run.id.ctr + run.len <= ctr) {
            (self.at, self.taken, self.bytes) = (self.at + 1, 0, 0);
        }
        self.at
    }

    /// Skips an operation that is a run of its own.
    pub(in crate::store) fn skip(&mut self) {
        self.taken += 1;
    }

    /// The next operation, if it is of a frequent kind.
    pub(in crate::store) fn next(&mut self) -> Option<Single<'a>> {
        let mut run = self.state.log.runs.get(self.at)?;
        if self.taken == run.len {
            (self.at, self.taken, self.bytes) = (self.at + 1, 0, 0);
            run = self.state.log.runs.get(self.at)?;
        }
        let obj = self.state.objects[run.obj].id;
        let char_op = match run.what {
            RunAction::Text { origin, bytes } => {
                let text = &self.state.heap.get(bytes)[self.bytes as usize..];
                let text = &text[..char_len(text[0])];
                self.bytes += text.len() as u32;
                let elem = if self.taken == 0 { origin } else { run.id.plus(self.taken - 1) };
                SingleCharOp { obj, elem, text: Some(text) }
            }
            RunAction::Delete { elem, step } => {
                SingleCharOp { obj, elem: stepped(elem, step, self.taken), text: None }
            }
            RunAction::KeyOp(number) => {
                let put = self.state.put_of(number.plus(self.taken))?;
                self.taken += 1;
                return Some(Single::Put(put));
            }
            RunAction::Values { .. } | RunAction::Mark(_) => return None,
        };
        self.taken += 1;
        Some(Single::SingleCharOp(char_op))
    }
}

impl DocumentState {
    /// The operation of a run of length one, if it is of a frequent kind.
    pub(in crate::store) fn single(&self, run: &LogRun) -> Option<Single<'_>> {
        let obj = self.objects[run.obj].id;
        let char_op = match run.what {
            RunAction::Text { origin, bytes } => {
                SingleCharOp { obj, elem: origin, text: Some(self.heap.get(bytes)) }
            }
            RunAction::Delete { elem, .. } => SingleCharOp { obj, elem, text: None },
            RunAction::KeyOp(number) => return self.put_of(number).map(Single::Put),
            RunAction::Values { .. } | RunAction::Mark(_) => return None,
        };
        Some(Single::SingleCharOp(char_op))
    }

    /// An operation on a key, if it is short and has at most one predecessor.
    fn put_of(&self, number: KeyOpIdx) -> Option<Put<'_>> {
        let op = &self.log.keyed[number];
        let Key::Map(key) = op.key() else { return None };
        let pred = match *self.log.preds(op) {
            [] => OpId::NONE,
            [pred] => pred,
            _ => return None,
        };
        let (obj, key) = (self.objects[op.obj].id, self.heap.text(key));
        Some(Put { obj, key, action: op.action, value: self.raw(op.val()), pred }).filter(Put::is_short)
    }

    /// Writes the body of a change with one frequent operation, unless it exceeds the size of a block.
    #[inline]
    pub(in crate::store) fn write_single(
        &self,
        change: &ChangeRef<'_>,
        single: &Single<'_>,
        deps: &[ChangeHash],
        out: &mut Block,
    ) -> bool {
        let author = change.run.actor;
        let [obj, elem] = single.ids();
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
        let seq = (change.seq, out.len());
        out.number(change.start.into());
        let start = (change.start, out.len());
        out.signed(change.run.time);
        out.prefixed(if message.len == 0 { &[] } else { self.heap.get(message) });
        out.number(others.iter().flatten().count() as u64);
        others.iter().flatten().for_each(|other| out.prefixed(self.actors.bytes(*other)));
        let local = |id: OpId| match others {
            _ if id.is_none() || id.actor == author => OpId::new(id.ctr, ActorIdx::FIRST),
            [Some(first), _] if first == id.actor => OpId::new(id.ctr, ActorIdx::from_u32(1)),
            _ => OpId::new(id.ctr, ActorIdx::from_u32(2)),
        };
        single.with_ids([local(obj), local(elem)]).write(out);
        match single {
            Single::SingleCharOp(keystroke) if extra.len == 0 && deps.len() == 1 => {
                out.remember_keystroke(keystroke, seq, start);
            }
            _ => out.bytes(self.heap.get(extra)),
        }
        true
    }
}
