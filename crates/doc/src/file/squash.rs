//! Copy of a document without its history.

use std::collections::{HashMap, VecDeque};

use crate::codec::raw_value::code;
use crate::document::Document;
use crate::edit::editor::{CommitOptions, Editor, encode};
use crate::edit::transaction::{Transactable as _, Transaction};
use crate::interop::legacy::OpType;
use crate::mark::ExpandMark;
use crate::read::read_doc::ReadDoc as _;
use crate::read::view::View;
use crate::store::log::value::StoredValue;
use crate::store::register::Visible;
use crate::store::seq::InsertPos;
use crate::store::state::{DocumentState, PLACEHOLDER};
use crate::types::error::EditError;
use crate::types::{ActorId, ObjId, ObjIdx, ObjType, OpId, Prop, ROOT, TextEncoding, Value};

/// An object and its copy, which is still empty.
type Pair = (ObjId, ObjId);

impl Document {
    /// A new document with the contents of this one, as a single change by `actor`.
    ///
    /// The history is dropped, and with it overwritten and deleted values, the losers of conflicts, and authorship;
    /// counters get their current values. Marks and blocks are kept, and so is every element of a text, including
    /// elements that are not exactly one character. A table becomes a map; in a text, where a map would be a block, it
    /// becomes U+FFFC. The new document has no history in common with this one: the two must not be merged.
    pub fn squash(&self, actor: ActorId, options: &CommitOptions) -> Result<Self, EditError> {
        let mut doc =
            Self::from_state(DocumentState::new(self.state.encoding), self.limits).with_actor(actor);
        doc.transact_with(options, |tx| self.copy_into(tx))?;
        Ok(doc)
    }

    /// Copies every object with its contents, parents first.
    fn copy_into(&self, tx: &mut Transaction<'_>) -> Result<(), EditError> {
        let from = self.view();
        let mut expands = None;
        let mut pending = VecDeque::from([(ROOT, ROOT)]);
        while let Some((old, new)) = pending.pop_front() {
            match from.object_type(&old)? {
                ObjType::Map | ObjType::Table => {
                    for item in from.map_range(&old, ..) {
                        match item.value {
                            Value::Scalar(value) => tx.put(&new, item.key, value)?,
                            Value::Object(kind) => {
                                pending.push_back((item.id, tx.put_object(&new, item.key, copied(kind))?));
                            }
                        }
                    }
                }
                ObjType::List => {
                    for (index, (value, id)) in from.values_of(&old).into_iter().enumerate() {
                        match value {
                            Value::Scalar(value) => tx.insert(&new, index, value)?,
                            Value::Object(kind) => {
                                pending.push_back((id, tx.insert_object(&new, index, copied(kind))?));
                            }
                        }
                    }
                }
                ObjType::Text => {
                    pending.extend(copy_text(&from, &old, tx.editor(), &new)?);
                    for mark in from.marks(&old)? {
                        let expands = expands.get_or_insert_with(|| self.mark_expands());
                        let expand = expands.get(&*mark.name).copied().unwrap_or_default();
                        tx.mark(&new, mark, expand)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Expansion of marks by name: that of the last mark with each name.
    fn mark_expands(&self) -> HashMap<String, ExpandMark> {
        let mut expands = HashMap::new();
        for change in self.get_changes(&[]) {
            let mut open_expand = None;
            for op in change.decode().operations {
                match (op.action, open_expand.take()) {
                    (OpType::MarkBegin(mark), _) => open_expand = Some(mark),
                    (OpType::MarkEnd(after), Some(mark)) => {
                        let expand = match (mark.expand, after) {
                            (true, true) => ExpandMark::Both,
                            (true, false) => ExpandMark::Before,
                            (false, true) => ExpandMark::After,
                            (false, false) => ExpandMark::None,
                        };
                        expands.insert(mark.name, expand);
                    }
                    _ => {}
                }
            }
        }
        expands
    }
}

/// Kind of a copy. Tables can be read, but not created.
fn copied(kind: ObjType) -> ObjType {
    if kind == ObjType::Table { ObjType::Map } else { kind }
}

/// Copies the elements of a text, each as one element; returns the objects among them with their copies.
///
/// Elements are inserted after each other, not at units: some have no width, and adjacent clusters could be one cluster
/// if they were typed together.
fn copy_text(from: &View<'_>, old: &ObjId, editor: Editor<'_>, new: &ObjId) -> Result<Vec<Pair>, EditError> {
    let mut copy = TextCopy::new(from.state, editor, new)?;
    let mut outcome = Ok(());
    from.each_element(old, |winner, _| {
        if outcome.is_ok() {
            outcome = copy.element(&winner);
        }
    });
    outcome?;
    copy.flush()?;
    Ok(copy.objects)
}

/// A text under construction, appended at its end.
struct TextCopy<'a, 'e> {
    from: &'a DocumentState,
    editor: Editor<'e>,
    text: ObjIdx,
    /// Position of the next element, and the element before it.
    gap: InsertPos,
    last: OpId,
    /// Characters to be inserted, one per element.
    run: String,
    objects: Vec<Pair>,
}

impl<'a, 'e> TextCopy<'a, 'e> {
    fn new(from: &'a DocumentState, mut editor: Editor<'e>, text: &ObjId) -> Result<Self, EditError> {
        let (text, _) = editor.object(text)?;
        let (gap, last, _) = editor.gap(text, 0)?;
        Ok(Self { from, editor, text, gap, last, run: String::new(), objects: vec![] })
    }

    fn element(&mut self, winner: &Visible) -> Result<(), EditError> {
        if winner.val.code == code::STR {
            let characters = self.from.heap.text(winner.val.bytes);
            if is_single(characters) {
                if !joins_nothing(characters, self.from.encoding) {
                    self.flush()?;
                    self.run.push_str(characters);
                    return self.flush();
                }
                self.run.push_str(characters);
                return Ok(());
            }
        }
        self.flush()?;
        match self.from.export(winner) {
            (Value::Scalar(value), _) => {
                let text = self.editor.state.obj_id(self.text);
                let end = Prop::Seq(View::now(self.editor.state).length(&text));
                let mut scratch = Vec::new();
                let raw = encode(&text, &end, &value, &mut scratch)?;
                self.editor.room(1, raw.bytes.len(), 0)?;
                let val = self.editor.state.keep_raw(raw);
                let id = self.editor.reserve_ids(1);
                self.insert(id, val);
            }
            (Value::Object(ObjType::Table), _) => {
                self.run.push_str(PLACEHOLDER);
                self.flush()?;
            }
            (Value::Object(kind), old) => {
                self.editor.room(1, 0, 0)?;
                let id = self.editor.reserve_ids(1);
                let val = self.editor.state.make(id, kind, self.text);
                self.insert(id, val);
                self.objects.push((old, self.editor.created_object(Some(val))));
            }
        }
        Ok(())
    }

    fn insert(&mut self, id: OpId, value: StoredValue) {
        self.editor.state.insert_values(self.text, self.gap, self.last, id, &[value]);
        self.go_behind(id);
    }

    /// Inserts the collected characters.
    fn flush(&mut self) -> Result<(), EditError> {
        if self.run.is_empty() {
            return Ok(());
        }
        self.editor.room(self.run.len(), self.run.len(), 0)?;
        let last = self.editor.insert_behind(self.text, self.gap, self.last, &self.run);
        self.run.clear();
        self.go_behind(last);
        Ok(())
    }

    fn go_behind(&mut self, last: OpId) {
        let seq = self.editor.state.seq(self.text).expect("it is a text");
        self.gap = seq.gap_after(seq.find(last).expect("it was just inserted"));
        self.last = last;
    }
}

/// Is an element exactly one character?
fn is_single(characters: &str) -> bool {
    let mut each = characters.chars();
    each.next().is_some() && each.next().is_none()
}

/// Does a character stay an element of its own when it is inserted together with others?
fn joins_nothing(character: &str, encoding: TextEncoding) -> bool {
    encoding != TextEncoding::GraphemeCluster || (character.is_ascii() && character != "\r")
}
