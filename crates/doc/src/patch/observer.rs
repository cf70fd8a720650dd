//! Observer: reports the changes of a document to a program that displays it.

use crate::document::Document;
use crate::patch::Patch;
use crate::patch::text_fast_path::{SinglePatch, compared_patches, single_patch};
use crate::store::history::branches::Branch;
use crate::store::state::DocumentState;
use crate::types::{ChangeIdx, ObjIdx};

/// State of a program that displays a document: it stores what was reported and returns what is new, whatever the
/// origin: a local commit, a merge, remote changes, a sync, a load.
///
/// The memory of one result is reused for the next. A request after each typed character costs about as much again as
/// typing alone.
///
/// ```
/// use hashmill_doc::{Document, Literal, ObjType, Observer, ROOT, ReadDoc, TextEncoding, Transactable, literal};
///
/// let mut doc = Document::new();
/// let mut observer = Observer::new();                // nothing was reported yet
/// let mut shown = literal!({});
///
/// let text = doc.transact(|tx| tx.put_object(ROOT, "text", ObjType::Text))?;
/// let mut other = doc.fork();
/// for (at, c) in ["H", "i", "!"].into_iter().enumerate() {
///     doc.transact(|tx| tx.splice_text(&text, at, 0, c))?;
///     shown.apply_patches(observer.patches_since_last(&doc), TextEncoding::default())?;
/// }
/// other.transact(|tx| tx.put(ROOT, "title", "A greeting"))?;
/// doc.merge(&other)?;
/// shown.apply_patches(observer.patches_since_last(&doc), TextEncoding::default())?;
///
/// assert_eq!(shown, literal!({ "text": (Literal::text("Hi!")), "title": "A greeting" }));
/// assert_eq!(shown, doc.hydrate(ROOT)?);
/// assert!(observer.patches_since_last(&doc).is_empty());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Observer {
    /// All changes before a row, in one copy of a document.
    reported: Option<(Branch, ChangeIdx)>,
    /// The last reported patches.
    patches: Vec<Patch>,
    /// The object of the only reported patch, if no other object was changed since.
    about: Option<ObjIdx>,
}

impl Observer {
    /// An observer without any report: the first result is the whole document.
    pub fn new() -> Self {
        Self::default()
    }

    /// An observer of the current state: the first result is what changes after it.
    pub fn from_current(doc: &Document) -> Self {
        Self { reported: Some((doc.branch, doc.state.history.next())), ..Self::default() }
    }

    /// The patches from the state at the last call to the current one, as with [`Document::diff`].
    ///
    /// If the document is another one than in the last call, a copy included, everything is reported, as from an empty
    /// document. The edits of a leaked transaction are not reported.
    ///
    /// Costs O(1) if the last edit was one run of characters typed into or deleted from a text without marks, or one
    /// write to a key; otherwise as much as [`Document::diff`], without the search for the two points.
    pub fn patches_since_last(&mut self, doc: &Document) -> &[Patch] {
        match doc.state.open_change {
            None => self.update(&doc.state, doc.branch),
            Some(_) => self.update(&doc.committed_state(), doc.branch),
        }
    }

    fn update(&mut self, state: &DocumentState, branch: Branch) -> &[Patch] {
        let next = state.history.next();
        let from = match self.reported.replace((branch, next)) {
            Some((of, row)) if of == branch => row,
            _ => ChangeIdx::default(),
        };
        if from == next {
            return &[];
        }
        match single_patch(state, from) {
            Some(SinglePatch { obj, step }) if self.about == Some(obj) => {
                self.patches.iter_mut().for_each(|patch| step.replace(&mut patch.action, state));
            }
            Some(step) => {
                self.about = Some(step.obj);
                self.patches.clear();
                self.patches.extend(step.patch(state));
            }
            None => {
                self.about = None;
                self.patches = compared_patches(state, from);
            }
        }
        &self.patches
    }
}
