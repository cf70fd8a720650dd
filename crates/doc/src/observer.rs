//! Who shows a document and wants to hear what became of it.

use crate::document::Document;
use crate::patch::{Direct, Patch, direct, general};
use crate::store::history::branches::Branch;
use crate::store::state::State;
use crate::types::{ChangeIdx, ObjIdx};

/// Somebody who shows a document: it knows what was told, and hears what is new, whatever brought it: a commit here, a merge,
/// changes received, a sync, a load.
///
/// What one answer took is memory for the next. Who types and asks after each character pays about as much again as for
/// typing alone.
///
/// ```
/// use hashmill_doc::{Document, Literal, ObjType, Observer, ROOT, ReadDoc, TextEncoding, Transactable, literal};
///
/// let mut doc = Document::new();
/// let mut observer = Observer::new();                // nothing was told yet
/// let mut shown = literal!({});
///
/// let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text))?;
/// let mut other = doc.fork();
/// for (at, c) in ["H", "i", "!"].into_iter().enumerate() {
///     doc.transact(|tx| tx.splice_text(&text, at, 0, c))?;
///     shown.apply_patches(observer.news(&doc), TextEncoding::default())?;
/// }
/// other.transact(|tx| tx.put(ROOT, "title", "A greeting"))?;
/// doc.merge(&other)?;
/// shown.apply_patches(observer.news(&doc), TextEncoding::default())?;
///
/// assert_eq!(shown, literal!({ "text": (Literal::text("Hi!")), "title": "A greeting" }));
/// assert_eq!(shown, doc.hydrate(ROOT)?);
/// assert!(observer.news(&doc).is_empty());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Observer {
    /// All changes before a row, in one copy of a document.
    seen: Option<(Branch, ChangeIdx)>,
    /// What was told last.
    told: Vec<Patch>,
    /// All of it is one step about this object, and nothing has happened to others since.
    about: Option<ObjIdx>,
}

impl Observer {
    /// Somebody who was told nothing: the first answer is the whole document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Somebody who has seen the document as it is: the first answer is what comes after it.
    pub fn of(doc: &Document) -> Self {
        Self { seen: Some((doc.branch, doc.state.history.next())), ..Self::default() }
    }

    /// What is new since the last answer: the steps that lead from what the document was to what it is, as
    /// [`Document::diff`] gives them.
    ///
    /// Of another document than the last time, copies included, everything is told, as from nothing. What a transaction that
    /// was leaked left is not told.
    ///
    /// Costs O(1) for one run of characters put into a text without marks, or taken from one, and for one write to a key, where
    /// that was the last edit; otherwise as [`Document::diff`], and nothing for finding the two moments.
    pub fn news(&mut self, doc: &Document) -> &[Patch] {
        match doc.state.unfinished {
            None => self.hear(&doc.state, doc.branch),
            Some(_) => self.hear(&doc.settled(), doc.branch),
        }
    }

    fn hear(&mut self, state: &State, branch: Branch) -> &[Patch] {
        let next = state.history.next();
        let from = match self.seen.replace((branch, next)) {
            Some((of, row)) if of == branch => row,
            _ => ChangeIdx::default(),
        };
        if from == next {
            return &[];
        }
        match direct(state, from) {
            Some(Direct { obj, step }) if self.about == Some(obj) => {
                self.told.iter_mut().for_each(|patch| step.replace(&mut patch.action, state));
            }
            Some(step) => {
                self.about = Some(step.obj);
                self.told.clear();
                self.told.extend(step.patch(state));
            }
            None => {
                self.about = None;
                self.told = general(state, from);
            }
        }
        &self.told
    }
}
