//! Fast path for the most frequent patches: consecutive characters typed into or deleted from a text, and one write to
//! a key. They are the last run of the log, so nothing must be compared. As for all
//! [shortcuts](crate::codec::shortcuts), the patches equal those of the general path, or there are none.

use smallvec::SmallVec;

use super::diff::{Scope, diff};
use super::{Patch, PatchAction, Path};
use crate::codec::row::Action;
use crate::mark::MarkSet;
use crate::patch::object_paths::is_shown;
use crate::store::log::key_op::Key;
use crate::store::log::{LogRun, RunAction, stepped};
use crate::store::memory::byte_arena::Bytes;
use crate::store::register::Visible;
use crate::store::seq::Kind;
use crate::store::state::{DocumentState, ROOT};
use crate::types::{ChangeIdx, KeyOpIdx, ObjId, ObjIdx, OpId, Prop, Value};

/// The patches between the document before a row and its current state.
pub(crate) fn patches_since(state: &DocumentState, from: ChangeIdx) -> Vec<Patch> {
    match single_patch(state, from) {
        Some(step) => step.patch(state).into_iter().collect(),
        None => compared_patches(state, from),
    }
}

/// As [`patches_since`], by comparison.
pub(crate) fn compared_patches(state: &DocumentState, from: ChangeIdx) -> Vec<Patch> {
    diff(state, &state.clock_before(from), &state.clock_now(), Scope::ALL)
}

/// The only patch of some changes.
pub(crate) struct SinglePatch<'a> {
    pub(crate) obj: ObjIdx,
    pub(crate) step: Step<'a>,
}

/// Difference in the object.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    Typed { index: usize, text: &'a str },
    Gone { index: usize, length: usize },
    Put { key: &'a str, value: Visible, conflict: bool },
    Deleted { key: &'a str },
    Grown { key: &'a str, by: i64 },
}

/// The difference made by the changes from row `from` on, if it is a single frequent one.
pub(crate) fn single_patch(state: &DocumentState, from: ChangeIdx) -> Option<SinglePatch<'_>> {
    if !state.limits.shortcuts.taken() {
        return None;
    }
    let (first, len) = state.history.operations_from(from)?;
    // They are the end of the last run, so there are no other operations since.
    let run = state.log.runs.last()?;
    let skip = first.ctr.checked_sub(run.id.ctr).filter(|_| run.id.actor == first.actor)?;
    if skip + len != run.len {
        return None;
    }
    let step = match run.what {
        RunAction::Text { .. } => typed(state, run.obj, first, len),
        RunAction::Delete { .. } => deletion_step(state, run, skip),
        RunAction::KeyOp(number) if len == 1 => written(state, run.obj, number.plus(skip)),
        RunAction::KeyOp(_) | RunAction::Values { .. } | RunAction::Mark(_) => None,
    };
    Some(SinglePatch { obj: run.obj, step: step? })
}

fn typed(state: &DocumentState, obj: ObjIdx, first: OpId, len: u32) -> Option<Step<'_>> {
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

fn deletion_step<'a>(state: &'a DocumentState, run: &LogRun, skip: u32) -> Option<Step<'a>> {
    let RunAction::Delete { elem, step } = run.what else { return None };
    let (seq, ctx, len) = (state.seq(run.obj)?, state.ctx(), run.len - skip);
    let at = seq.find_near(stepped(elem, step, if step < 0 { run.len - 1 } else { skip }))?;
    let mut span = *seq.span(at);
    let whole = if seq.is_text { Kind::Text } else { Kind::Values };
    // An element with a register may have been deleted before, or still be visible.
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

fn written(state: &DocumentState, obj: ObjIdx, number: KeyOpIdx) -> Option<Step<'_>> {
    let op = state.log.keyed.get(number)?;
    let Key::Map(key) = op.key() else { return None };
    let key = state.heap.text(key);
    let entry = state.map(obj)?.get(key, &state.heap).filter(|entry| entry.last == Some(number))?;
    let preds = state.log.preds(op);
    match (op.action, &entry.values[..]) {
        (Action::Delete, []) => {
            // The previous operation wrote the deleted value if it is among the predecessors.
            let before = state.log.keyed.get(op.before()?)?;
            let was_there = !matches!(before.action, Action::Delete | Action::Increment);
            (was_there && preds.contains(&before.id)).then_some(Step::Deleted { key })
        }
        (Action::Increment, [value]) if *preds == [value.id] && value.val.is_counter() => {
            let by = state.increment_of(op);
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
    fn action(self, state: &DocumentState) -> PatchAction {
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

    /// Overwrites an earlier patch with this one, reusing its memory.
    pub(crate) fn replace(self, action: &mut PatchAction, state: &DocumentState) {
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

fn owned(state: &DocumentState, value: &Visible) -> (Value<'static>, ObjId) {
    let (value, id) = state.export(value);
    (value.into_owned(), id)
}

impl SinglePatch<'_> {
    /// The patch with the path to its object; `None` if the object is not visible.
    pub(crate) fn patch(self, state: &DocumentState) -> Option<Patch> {
        let path = object_path(state, self.obj)?;
        Some(Patch { obj: state.obj_id(self.obj), path, action: self.step.action(state) })
    }
}

/// The current path from the root to an object; `None` if the object is not visible.
pub(super) fn object_path(state: &DocumentState, obj: ObjIdx) -> Option<Path> {
    let (mut at, mut steps) = (obj, SmallVec::<[(ObjIdx, Prop<'static>); 4]>::new());
    while at != ROOT {
        let parent = state.objects[at].parent;
        steps.push((parent, prop_in_parent(state, at, parent)?));
        at = parent;
    }
    let step = |path: Path, (parent, prop)| path.join(state.obj_id(parent), prop);
    Some(steps.into_iter().rev().fold(Path::default(), step))
}

fn prop_in_parent(state: &DocumentState, obj: ObjIdx, parent: ObjIdx) -> Option<Prop<'static>> {
    let id = state.objects[obj].id;
    let wins = |values: &[Visible]| values.last().is_some_and(|winner| winner.id == id);
    if !is_shown(state, obj) {
        return None;
    }
    match state.containing_key(obj)? {
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
