//! Taking back what one did, while others go on.
//!
//! What has been said to others cannot be unsaid: to take a change back is to make another one that has the opposite effect.
//! That effect is the difference between the document as it is and as it would be if the change had never been made, so what
//! others built on it or put in its place stays. Nothing of this is in the file: other programs see ordinary changes.

use hashbrown::HashMap;

use crate::document::{Commit, Document};
use crate::edit::CommitOptions;
use crate::error::EditError;
use crate::mark::ExpandMark;
use crate::patch::diff::{Scope, diff};
use crate::patch::{Patch, PatchAction};
use crate::read::ReadDoc as _;
use crate::store::past::Clock;
use crate::transaction::{Transactable, Transaction};
use crate::types::{ChangeHash, ChangeIdx, ObjId, ObjType, Prop, ScalarValue, Value};

/// What one person did to a document and can take back, and what was taken back and can be done again.
///
/// ```
/// use hashmill_doc::{CommitOptions, Document, EditError, ROOT, ReadDoc as _, Transactable as _, Undo};
///
/// let (mut doc, mut undo) = (Document::new(), Undo::new());
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
pub struct Undo {
    /// All that was done, taken back and done again, in this order: changes that belong together, each made here.
    steps: Vec<Vec<Commit>>,
    /// Which of them can be taken back: those that others took back since are not here. The last one is the first to go.
    done: Vec<usize>,
    /// Which of them took others back, and can be taken back in their turn.
    undone: Vec<usize>,
}

impl Undo {
    /// Nothing that could be taken back.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers a change as the last one. What was taken back before cannot be done again after it.
    pub fn record(&mut self, commit: Option<Commit>) {
        if let Some(commit) = commit {
            self.undone.clear();
            self.done.push(self.steps.len());
            self.steps.push(vec![commit]);
        }
    }

    /// Remembers a change as a part of the last one, as when somebody goes on typing a word.
    pub fn join(&mut self, commit: Option<Commit>) {
        // What was taken back meanwhile, or did so, is no longer the last.
        let last = self.steps.len().checked_sub(1).filter(|last| self.done.last() == Some(last));
        match (last, commit) {
            (Some(last), Some(commit)) if self.undone.is_empty() => self.steps[last].push(commit),
            _ => self.record(commit),
        }
    }

    /// Whether there may be something to take back.
    pub fn can_undo(&self) -> bool {
        !self.done.is_empty()
    }

    /// Whether there may be something to do again.
    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }

    /// Takes the last change back that still has an effect; gives the change that does so, or nothing if there is none.
    pub fn undo(&mut self, doc: &mut Document) -> Result<Option<Commit>, EditError> {
        let Self { steps, done, undone } = self;
        reverse(steps, done, undone, doc)
    }

    /// Does again what was taken back last; gives the change that does so, or nothing if there is none.
    pub fn redo(&mut self, doc: &mut Document) -> Result<Option<Commit>, EditError> {
        let Self { steps, done, undone } = self;
        reverse(steps, undone, done, doc)
    }
}

/// Takes back the last step of `from` that has an effect; what does that goes to `to`.
///
/// Whatever came after a step, when its turn comes, was taken back itself: the document is made what it would be without the
/// step and all of that.
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
        // What came back since came back as a copy: a step that did nothing would put the first one in its place.
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
    /// Makes a change that takes some others back, whoever made them: what they did that is still to be seen goes, what they
    /// deleted and nobody replaced comes back. Nothing where that is nothing. To take back the change that did it does the
    /// others again.
    ///
    /// Objects that come back are new ones with the same in them; characters that come back are new, too.
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

    /// What would be different without some changes, in the document as it would be without others.
    fn effect(&self, rows: &[ChangeIdx], others: &[ChangeIdx]) -> Vec<Patch> {
        let state = self.settled();
        let leave_out = |clock: Clock, row: &ChangeIdx| {
            let change = state.history.at(*row);
            clock.leaving_out(change.run.actor, change.start..change.end())
        };
        let before = others.iter().fold(state.clock_now(), leave_out);
        let after = rows.iter().fold(before.clone(), leave_out);
        diff(&state, &before, &after, Scope { conflicts: false, ..Scope::ALL })
    }
}

/// Edits a document as patches say. What they show again, and is gone, is made anew.
fn follow(tx: &mut Transaction<'_>, patches: Vec<Patch>) -> Result<(), EditError> {
    let mut anew: HashMap<ObjId, ObjId> = HashMap::new();
    for Patch { obj, action, .. } in patches {
        let to = anew.get(&obj).unwrap_or(&obj).clone();
        match action {
            PatchAction::PutMap { key, value, .. } => put(tx, &to, key.into(), value, &mut anew)?,
            PatchAction::PutSeq { index, value, .. } => put(tx, &to, index.into(), value, &mut anew)?,
            PatchAction::Insert { index, values } => {
                for (index, (value, id, _)) in (index..).zip(values) {
                    let made = match value {
                        Value::Scalar(value) => {
                            tx.insert(&to, index, value)?;
                            continue;
                        }
                        Value::Object(_) if tx.object_type(&to)? == ObjType::Text => {
                            tx.split_block(&to, index)?
                        }
                        Value::Object(kind) => tx.insert_object(&to, index, kind)?,
                    };
                    anew.insert(id, made);
                }
            }
            PatchAction::SpliceText { index, value, marks } => {
                let before = tx.length(&to);
                tx.splice_text(&to, index, 0, &value)?;
                let end = index + (tx.length(&to) - before);
                let held = tx.get_marks(&to, index)?.into_owned();
                let gone = held.iter().filter(|(name, _)| marks.get(name).is_none());
                let gone = gone.map(|(name, _)| (name, &ScalarValue::Null));
                let other = marks.iter().filter(|(name, value)| held.get(name) != Some(value));
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
            PatchAction::Conflict { .. } => unreachable!("conflicts were not asked for"),
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
