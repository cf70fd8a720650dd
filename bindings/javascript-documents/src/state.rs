//! State of a document: its content and the display settings of its caller.

use std::rc::Rc;

use hashmill_doc::{
    AutoCommit, ChangeHash, CommitOptions, ObjId, ObjType, ReadDoc as _, Transactable as _, View,
};

use crate::values::arguments::{Js, object_and_path, thrown};
use crate::values::scalars::Types;

/// A document with the display settings of its caller.
pub(crate) struct Inner {
    pub(crate) doc: AutoCommit,
    pub(crate) types: Rc<Types>,
    /// Whether the shown objects are frozen.
    pub(crate) freeze: bool,
    /// The author of the actor.
    pub(crate) author: Option<Vec<u8>>,
}

impl Inner {
    pub(crate) fn from_doc(mut doc: AutoCommit) -> Self {
        doc.record_order();
        Self { doc, types: Rc::default(), freeze: false, author: None }
    }

    pub(crate) fn view(&self, heads: Option<&[ChangeHash]>) -> Js<View<'_>> {
        match heads {
            None => Ok(self.doc.view()),
            Some(heads) => self.doc.at(heads).map_err(thrown),
        }
    }

    /// The object for an id and a path.
    pub(crate) fn object(&self, text: &str) -> Js<(ObjId, ObjType)> {
        let (mut obj, path) = object_and_path(text)?;
        let view = self.doc.view();
        let unknown = || thrown(format_args!("invalid object ID: {text} leads to no object"));
        let mut kind = view.object_type(&obj).map_err(|_| unknown())?;
        for step in path {
            let found = match step.parse::<usize>() {
                Ok(index) if kind.is_sequence() => view.get(&obj, index),
                _ => view.get(&obj, step),
            };
            let (value, id) = found.ok().flatten().ok_or_else(unknown)?;
            kind = value.as_object().ok_or_else(unknown)?;
            obj = id;
        }
        Ok((obj, kind))
    }

    pub(crate) fn options(&self, message: Option<String>, time: Option<f64>) -> CommitOptions {
        let mut options = CommitOptions::default().with_time(time.map_or(0, |time| time as i64));
        if let Some(message) = message {
            options = options.with_message(message);
        }
        match &self.author {
            Some(author) => options.with_author(author.clone()),
            None => options,
        }
    }

    /// After an exception the caller did not get the result, so the next call shows everything anew.
    pub(crate) fn record_shown(&mut self, shown: Js) -> Js {
        if shown.is_err() {
            self.doc.reset_diff_cursor();
        }
        shown
    }

    /// Commits pending edits first, because a later implicit commit would lack the author.
    pub(crate) fn commit_pending(&mut self) {
        if self.author.is_some() && self.doc.pending_ops() > 0 {
            let options = self.options(None, None);
            self.doc.commit_with(&options);
        }
    }
}
