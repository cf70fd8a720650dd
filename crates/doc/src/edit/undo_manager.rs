//! Undo of one user's changes during concurrent edits.
//!
//! Distributed changes cannot be removed, so undo makes a new change with the opposite effect. That effect is the
//! difference between the current document and the document as if the undone change had never been made, so later
//! contents of other users stay. Nothing of this is stored in the file: other programs see ordinary changes.

use hashbrown::HashMap;

use crate::document::{Commit, Document};
use crate::edit::editor::CommitOptions;
use crate::edit::transaction::{Transactable, Transaction};
use crate::mark::ExpandMark;
use crate::patch::diff::{Scope, diff};
use crate::patch::{Patch, PatchAction};
use crate::read::read_doc::ReadDoc as _;
use crate::store::versions::clock::Clock;
use crate::types::error::EditError;
use crate::types::{ChangeHash, ChangeIdx, ObjId, ObjType, Prop, ScalarValue, Value};

/// Undo and redo history of one user of a document.
///
/// ```
/// use hashmill_doc::{CommitOptions, Document, EditError, ROOT, ReadDoc as _, Transactable as _, UndoManager};
///
/// let (mut doc, mut undo) = (Document::new(), UndoManager::new());
/// for title in ["Groceries", "Shopping"] {
///     let (_, commit) = doc.transact_with(&CommitOptions::default(), |tx| tx.put(ROOT, "title", title))?;
///     undo.record(commit);
/// }
/// undo.undo(&mut doc)?;
/// assert_eq!(doc.get_as::<String>(ROOT, "title")?.as_deref(), Some("Groceries"));
/// undo.redo(&mut doc)?;
/// assert_eq!(doc.get_as::<String>(ROOT, "title")?.as_deref(), Some("Shopping"));
/// # Ok::<_, EditError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct UndoManager {
    /// All steps in order, including undo and redo steps: changes that belong together, each made here.
    steps: Vec<Vec<Commit>>,
    /// Indexes of the steps that can be undone; those already undone are not included. The last one is undone first.
    done: Vec<usize>,
    /// Indexes of undo steps, which redo can undo in turn.
    undone: Vec<usize>,
}

impl UndoManager {
    /// An empty history.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a change as the last step. Steps undone before cannot be redone any more.
    pub fn record(&mut self, commit: Option<Commit>) {
        if let Some(commit) = commit {
            self.undone.clear();
            self.done.push(self.steps.len());
            self.steps.push(vec![commit]);
        }
    }

    /// Adds a change to the last step, for example while a word is typed.
    pub fn join(&mut self, commit: Option<Commit>) {
        // If the last step was undone, or is itself an undo, there is nothing to add to.
        let last = self.steps.len().checked_sub(1).filter(|last| self.done.last() == Some(last));
        match (last, commit) {
            (Some(last), Some(commit)) if self.undone.is_empty() => self.steps[last].push(commit),
            _ => self.record(commit),
        }
    }

    /// Is there a step to undo?
    pub fn can_undo(&self) -> bool {
        !self.done.is_empty()
    }

    /// Is there a step to redo?
    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }

    /// Undoes the last step that still has an effect; returns the change that does so, or `None`.
    pub fn undo(&mut self, doc: &mut Document) -> Result<Option<Commit>, EditError> {
        let Self { steps, done, undone } = self;
        reverse(steps, done, undone, doc)
    }

    /// Redoes the last undone step; returns the change that does so, or `None`.
    pub fn redo(&mut self, doc: &mut Document) -> Result<Option<Commit>, EditError> {
        let Self { steps, done, undone } = self;
        reverse(steps, undone, done, doc)
    }
}

/// Reverses the last step of `from` that has an effect, and adds the reversal to `to`.
///
/// All steps after that one have been undone themselves: the document becomes what it would be without all of them.
fn reverse(
    steps: &mut Vec<Vec<Commit>>,
    from: &mut Vec<usize>,
    to: &mut Vec<usize>,
    doc: &mut Document,
) -> Result<Option<Commit>, EditError> {
    let options = CommitOptions::default();
    while let Some(step) = from.last() {
        let rows = |steps: &[Vec<Commit>]| -> Vec<ChangeIdx> {
            steps.iter().flatten().filter_map(|commit| doc.row(*commit)).collect()
        };
        let (own, since) = (rows(&steps[*step..=*step]), rows(&steps[*step + 1..]));
        // Restored contents are copies: without this test, a step without effect would replace a copy by the original.
        let commit = if doc.effect(&own, &since).is_empty() {
            None
        } else {
            doc.without(&[own, since].concat(), &options)?
        };
        from.pop();
        if let Some(commit) = commit {
            to.push(steps.len());
            steps.push(vec![commit]);
            return Ok(Some(commit));
        }
    }
    Ok(None)
}

impl Document {
    /// Makes a change that reverts others, by any actors: their visible effects are removed, and what they deleted is
    /// restored unless it was replaced. `None` if there is no such effect. Reverting the new change restores the effects of
    /// the others.
    ///
    /// Restored objects are new ones with the same contents; restored characters are new, too.
    pub fn revert(
        &mut self,
        changes: &[ChangeHash],
        options: &CommitOptions,
    ) -> Result<Option<Commit>, EditError> {
        let rows = changes.iter().map(|hash| self.state.row(hash).ok_or(EditError::UnknownHash(*hash)));
        let rows = rows.collect::<Result<Vec<ChangeIdx>, _>>()?;
        self.without(&rows, options)
    }

    /// Makes the document what it would be if some changes had never been made.
    fn without(&mut self, rows: &[ChangeIdx], options: &CommitOptions) -> Result<Option<Commit>, EditError> {
        let patches = self.effect(rows, &[]);
        let (_, commit) = self.transact_with(options, |tx| follow(tx, patches))?;
        Ok(commit)
    }

    /// The effect of some changes, in the document as it would be without others.
    fn effect(&self, rows: &[ChangeIdx], others: &[ChangeIdx]) -> Vec<Patch> {
        let state = self.committed_state();
        let leave_out = |clock: Clock, row: &ChangeIdx| {
            let change = state.history.at(*row);
            clock.leaving_out(change.run.actor, change.start..change.end())
        };
        let before = others.iter().fold(state.clock_now(), leave_out);
        let after = rows.iter().fold(before.clone(), leave_out);
        diff(&state, &before, &after, Scope { conflicts: false, ..Scope::ALL })
    }
}

/// Applies patches as edits of a document. Deleted objects that become visible again are made anew.
fn follow(tx: &mut Transaction<'_>, patches: Vec<Patch>) -> Result<(), EditError> {
    let mut anew: HashMap<ObjId, ObjId> = HashMap::new();
    for Patch { obj, action, .. } in patches {
        let to = anew.get(&obj).unwrap_or(&obj).clone();
        match action {
            PatchAction::PutMap { key, value, .. } => put(tx, &to, key.into(), value, &mut anew)?,
            PatchAction::PutSeq { index, value, .. } => put(tx, &to, index.into(), value, &mut anew)?,
            PatchAction::Insert { index, values } => {
                for (index, (value, id, _)) in (index..).zip(values) {
                    let created = match value {
                        Value::Scalar(value) => {
                            tx.insert(&to, index, value)?;
                            continue;
                        }
                        Value::Object(_) if tx.object_type(&to)? == ObjType::Text => {
                            tx.split_block(&to, index)?
                        }
                        Value::Object(kind) => tx.insert_object(&to, index, kind)?,
                    };
                    anew.insert(id, created);
                }
            }
            PatchAction::SpliceText { index, value, marks } => {
                let before = tx.length(&to);
                tx.splice_text(&to, index, 0, &value)?;
                let end = index + (tx.length(&to) - before);
                let current_marks = tx.get_marks(&to, index)?.into_owned();
                let gone = current_marks.iter().filter(|(name, _)| marks.get(name).is_none());
                let gone = gone.map(|(name, _)| (name, &ScalarValue::Null));
                let other = marks.iter().filter(|(name, value)| current_marks.get(name) != Some(value));
                for (name, value) in gone.chain(other) {
                    let mark = crate::mark::Mark::new(name, value.clone(), index, end);
                    tx.mark(&to, mark, ExpandMark::After)?;
                }
            }
            PatchAction::Increment { prop, value } => tx.increment(&to, prop, value)?,
            PatchAction::DeleteMap { key } => tx.delete(&to, key)?,
            PatchAction::DeleteSeq { index, length } if tx.object_type(&to)? == ObjType::Text => {
                tx.splice_text(&to, index, length as isize, "")?;
            }
            PatchAction::DeleteSeq { index, length } => {
                (0..length).try_for_each(|_| tx.delete(&to, index))?;
            }
            PatchAction::Mark { marks } => {
                for mark in marks {
                    tx.mark(&to, mark, ExpandMark::After)?;
                }
            }
            PatchAction::Conflict { .. } => unreachable!("conflicts were not requested"),
        }
    }
    Ok(())
}

fn put(
    tx: &mut Transaction<'_>,
    obj: &ObjId,
    prop: Prop<'static>,
    (value, id): (Value<'static>, ObjId),
    anew: &mut HashMap<ObjId, ObjId>,
) -> Result<(), EditError> {
    match value {
        Value::Scalar(value) => tx.editor().put_exactly(obj, &prop, &value)?,
        Value::Object(kind) => drop(anew.insert(id, tx.put_object(obj, prop, kind)?)),
    }
    Ok(())
}
