//! A shortcut for what people do all the time: characters put into a text, or taken from it, one after another, and one write
//! to a key. The log holds it as its last run, so nothing has to be compared. By the law of the
//! [shortcuts](crate::codec::shortcuts) the steps are those that the difference gives, or there are none.

use smallvec::SmallVec;

use super::diff::{Scope, diff};
use super::place::is_shown;
use super::{Patch, PatchAction, Path};
use crate::codec::row::Action;
use crate::mark::MarkSet;
use crate::store::log::key_op::Key;
use crate::store::log::{LogRun, What, stepped};
use crate::store::memory::byte_arena::Bytes;
use crate::store::register::Visible;
use crate::store::seq::Kind;
use crate::store::state::{ROOT, State};
use crate::types::{ChangeIdx, KeyOpIdx, ObjId, ObjIdx, OpId, Prop, Value};

/// The steps from the document before a row to what it is.
pub(crate) fn since(state: &State, from: ChangeIdx) -> Vec<Patch> {
    match direct(state, from) {
        Some(step) => step.patch(state).into_iter().collect(),
        None => general(state, from),
    }
}

/// As [`since`], by comparing.
pub(crate) fn general(state: &State, from: ChangeIdx) -> Vec<Patch> {
    diff(state, &state.clock_before(from), &state.clock_now(), Scope::ALL)
}

/// The only step of some changes.
pub(crate) struct Direct<'a> {
    pub(crate) obj: ObjIdx,
    pub(crate) step: Step<'a>,
}

/// What happens in the object.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    Typed { index: usize, text: &'a str },
    Gone { index: usize, length: usize },
    Put { key: &'a str, value: Visible, conflict: bool },
    Deleted { key: &'a str },
    Grown { key: &'a str, by: i64 },
}

/// What the changes from row `from` on did, where that is one such thing.
pub(crate) fn direct(state: &State, from: ChangeIdx) -> Option<Direct<'_>> {
    if !state.limits.shortcuts.taken() {
        return None;
    }
    let (first, len) = state.history.operations_from(from)?;
    // They are the end of the last run, so nobody else did anything since.
    let run = state.log.runs.last()?;
    let skip = first.ctr.checked_sub(run.id.ctr).filter(|_| run.id.actor == first.actor)?;
    if skip + len != run.len {
        return None;
    }
    let step = match run.what {
        What::Text { .. } => typed(state, run.obj, first, len),
        What::Delete { .. } => gone(state, run, skip),
        What::KeyOp(number) if len == 1 => written(state, run.obj, number.plus(skip)),
        What::KeyOp(_) | What::Values { .. } | What::Mark(_) => None,
    };
    Some(Direct { obj: run.obj, step: step? })
}

fn typed(state: &State, obj: ObjIdx, first: OpId, len: u32) -> Option<Step<'_>> {
    let (seq, ctx) = (state.seq(obj).filter(|seq| seq.marks == 0)?, state.ctx());
    let at = seq.find_near(first)?;
    let mut span = *seq.span(at);
    if span.kind != Kind::Text || !span.visible || span.reg.is_some() || span.len - at.off < len {
        return None;
    }
    if at.off > 0 {
        span = span.split_off(at.off, &ctx);
    }
    if span.len > len {
        span.cut(len, &ctx);
    }
    let text = state.heap.text(Bytes { at: span.at, len: span.bytes });
    Some(Step::Typed { index: seq.units_before(at, &ctx), text })
}

fn gone<'a>(state: &'a State, run: &LogRun, skip: u32) -> Option<Step<'a>> {
    let What::Delete { elem, step } = run.what else { return None };
    let (seq, ctx, len) = (state.seq(run.obj)?, state.ctx(), run.len - skip);
    let at = seq.find_near(stepped(elem, step, if step < 0 { run.len - 1 } else { skip }))?;
    let mut span = *seq.span(at);
    let whole = if seq.is_text { Kind::Text } else { Kind::Values };
    // Who has a register may have been gone before, or be there still.
    if span.kind != whole || span.reg.is_some() || span.deleted_by.is_none() || span.len - at.off < len {
        return None;
    }
    if at.off > 0 {
        span = span.split_off(at.off, &ctx);
    }
    if span.len > len {
        span.cut(len, &ctx);
    }
    let length = if seq.is_text { span.width } else { span.len };
    Some(Step::Gone { index: seq.units_before(at, &ctx), length: length as usize })
}

fn written(state: &State, obj: ObjIdx, number: KeyOpIdx) -> Option<Step<'_>> {
    let op = state.log.keyed.get(number)?;
    let Key::Map(key) = op.key() else { return None };
    let key = state.heap.text(key);
    let entry = state.map(obj)?.get(key, &state.heap).filter(|entry| entry.last == Some(number))?;
    let preds = state.log.preds(op);
    match (op.action, &entry.values[..]) {
        (Action::Delete, []) => {
            // What came right before is what was there, if it is one of those that went.
            let before = state.log.keyed.get(op.before()?)?;
            let was_there = !matches!(before.action, Action::Delete | Action::Increment);
            (was_there && preds.contains(&before.id)).then_some(Step::Deleted { key })
        }
        (Action::Increment, [value]) if *preds == [value.id] && value.val.is_counter() => {
            let by = state.amount(op);
            (by != 0).then_some(Step::Grown { key, by })
        }
        (Action::Delete | Action::Increment, _) => None,
        (_, [.., value]) if value.id == op.id => {
            Some(Step::Put { key, value: *value, conflict: entry.values.len() > 1 })
        }
        _ => None,
    }
}

impl Step<'_> {
    fn action(self, state: &State) -> PatchAction {
        match self {
            Self::Typed { index, text } => {
                PatchAction::SpliceText { index, value: text.to_owned(), marks: MarkSet::default() }
            }
            Self::Gone { index, length } => PatchAction::DeleteSeq { index, length },
            Self::Put { key, value, conflict } => {
                PatchAction::PutMap { key: key.to_owned(), value: owned(state, &value), conflict }
            }
            Self::Deleted { key } => PatchAction::DeleteMap { key: key.to_owned() },
            Self::Grown { key, by } => {
                PatchAction::Increment { prop: Prop::Map(key.to_owned().into()), value: by }
            }
        }
    }

    /// Makes this step of an earlier one, in whose memory.
    pub(crate) fn replace(self, action: &mut PatchAction, state: &State) {
        let refill = |old: &mut String, new: &str| {
            old.clear();
            old.push_str(new);
        };
        match (self, action) {
            (Self::Typed { index, text }, PatchAction::SpliceText { index: at, value, .. }) => {
                *at = index;
                refill(value, text);
            }
            (
                Self::Put { key, value, conflict },
                PatchAction::PutMap { key: at, value: old, conflict: both },
            ) => {
                refill(at, key);
                (*old, *both) = (owned(state, &value), conflict);
            }
            (step, action) => *action = step.action(state),
        }
    }
}

fn owned(state: &State, value: &Visible) -> (Value<'static>, ObjId) {
    let (value, id) = state.export(value);
    (value.into_owned(), id)
}

impl Direct<'_> {
    /// The step with the way to its object; nothing if no way leads there.
    pub(crate) fn patch(self, state: &State) -> Option<Patch> {
        let path = way(state, self.obj)?;
        Some(Patch { obj: state.obj_id(self.obj), path, action: self.step.action(state) })
    }
}

/// The way from the root to an object now; nothing if no way leads there.
pub(super) fn way(state: &State, obj: ObjIdx) -> Option<Path> {
    let (mut at, mut steps) = (obj, SmallVec::<[(ObjIdx, Prop<'static>); 4]>::new());
    while at != ROOT {
        let parent = state.objects[at].parent;
        steps.push((parent, place(state, at, parent)?));
        at = parent;
    }
    let step = |path: Path, (parent, prop)| path.join(state.obj_id(parent), prop);
    Some(steps.into_iter().rev().fold(Path::default(), step))
}

fn place(state: &State, obj: ObjIdx, parent: ObjIdx) -> Option<Prop<'static>> {
    let id = state.objects[obj].id;
    let wins = |values: &[Visible]| values.last().is_some_and(|winner| winner.id == id);
    if !is_shown(state, obj) {
        return None;
    }
    match state.place_of(obj)? {
        Key::Map(key) => {
            let key = state.heap.text(key);
            let entry = state.map(parent)?.get(key, &state.heap)?;
            wins(&entry.values).then(|| Prop::Map(key.to_owned().into()))
        }
        Key::Elem(elem) => {
            let seq = state.seq(parent)?;
            let at = seq.find(elem)?;
            let span = seq.span(at);
            let wins = span.visible && wins(&state.element_values(seq, span, at.off));
            wins.then(|| Prop::Seq(seq.units_before(at, &state.ctx())))
        }
    }
}
