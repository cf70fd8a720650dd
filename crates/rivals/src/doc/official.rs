//! The official crate as a [`Peer`].

use automerge::iter::Span;
use automerge::marks::{ExpandMark, Mark, MarkSet};
use automerge::transaction::{CommitOptions, Transactable as _};
use automerge::{
    ActorId, AutoCommit, Change, ChangeHash, Cursor, LoadOptions, MoveCursor, ObjId, ObjType, Patch,
    PatchAction, Prop, ROOT, ReadDoc as _, ScalarValue, TextEncoding, Value, hydrate,
};

use automerge::sync::{Message, State, SyncDoc as _};

use super::peer::{CallResult, Hash, MarkSpec, PatchText, Peer, Pointer, PropRef, Values, object_text};
use super::script::{Encoding, Expand, Kind, Scalar, Tree};
use crate::doc::translate::{shared_functions, shared_methods};

shared_functions!(
    Prop, ScalarValue,
    mark => mark_text(mark.name(), mark.value(), mark.start, mark.end),
    text => text.make_string()
);

/// A document of the official crate.
#[derive(Debug)]
pub struct Official {
    doc: AutoCommit,
    encoding: TextEncoding,
}

impl Official {
    fn object(&self, object: &str) -> CallResult<ObjId> {
        if object == "_root" { Ok(ROOT) } else { call_result(self.doc.import_obj(object)) }
    }
}

fn tree(value: &Tree, encoding: TextEncoding) -> hydrate::Value {
    match value {
        Tree::Leaf(value) => hydrate::Value::Scalar(scalar(value)),
        Tree::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| (key.as_str(), tree(value, encoding)));
            hydrate::Value::Map(pairs.collect::<std::collections::HashMap<_, _>>().into())
        }
        Tree::List(values) => values.iter().map(|value| tree(value, encoding)).collect::<Vec<_>>().into(),
        Tree::Text(text) => hydrate::Value::text(encoding, text),
    }
}

fn tree_text(value: &hydrate::Value) -> String {
    match value {
        hydrate::Value::Scalar(value) => scalar_text(value),
        hydrate::Value::Text(text) => format!("text {:?}", text.to_string()),
        hydrate::Value::List(values) => {
            format!("{:?}", values.iter().map(|value| tree_text(&value.value)).collect::<Vec<_>>())
        }
        hydrate::Value::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            map_text(entries.into_iter().map(|(key, value)| (key, tree_text(&value.value))))
        }
    }
}

fn set_text(marks: &MarkSet) -> Vec<String> {
    marks.iter().map(|(name, value)| format!("{name} {}", scalar_text(value))).collect()
}

fn span_text(span: Span) -> String {
    match span {
        Span::Text { text, marks } => {
            format!("{text:?} {:?}", marks.map(|marks| set_text(&marks)).unwrap_or_default())
        }
        Span::Block(entries) => tree_text(&hydrate::Value::Map(entries)),
    }
}

impl Peer for Official {
    shared_methods!(mark => mark_text(mark.name(), mark.value(), mark.start, mark.end));

    fn blank(actor: &[u8], text: Encoding) -> Self {
        let encoding = encoding(text);
        let doc = AutoCommit::new_with_encoding(encoding).with_actor(ActorId::from(actor));
        Self { doc, encoding }
    }

    fn load(bytes: &[u8], actor: &[u8], text: Encoding) -> CallResult<Self> {
        let encoding = encoding(text);
        let doc = AutoCommit::load_with_options(bytes, LoadOptions::new().text_encoding(encoding));
        Ok(Self { doc: call_result(doc)?.with_actor(ActorId::from(actor)), encoding })
    }

    fn set_actor(&mut self, actor: &[u8]) {
        self.doc.set_actor(ActorId::from(actor));
    }

    fn splice(&mut self, object: &str, index: usize, delete: isize, values: &[Tree]) -> CallResult<()> {
        let values: Vec<_> = values.iter().map(|value| tree(value, self.encoding)).collect();
        call_result(self.doc.splice(self.object(object)?, index, delete, values))
    }

    fn update_text(&mut self, object: &str, text: &str) -> CallResult<()> {
        call_result(self.doc.update_text(&self.object(object)?, text))
    }

    fn update_object(&mut self, object: &str, value: &Tree) -> CallResult<()> {
        let value = tree(value, self.encoding);
        self.doc.update_object(self.object(object)?, &value).map_err(|error| error.to_string())
    }

    fn create(
        &mut self,
        object: &str,
        prop_ref: PropRef<'_>,
        value: &Tree,
        insert: bool,
    ) -> CallResult<String> {
        let value = tree(value, self.encoding);
        let id = self.doc.batch_create_object(self.object(object)?, prop(prop_ref), &value, insert);
        call_result(id).map(|id| id.to_string())
    }

    fn mark(&mut self, object: &str, mark: &MarkSpec<'_>, expand: Expand) -> CallResult<()> {
        let MarkSpec { name, value, start, end } = *mark;
        let mark = Mark::new(name.to_owned(), scalar(value), start, end);
        call_result(self.doc.mark(self.object(object)?, mark, expand_mark(expand)))
    }

    fn commit(&mut self, message: Option<&str>, time: i64) -> Option<Hash> {
        let options = CommitOptions::default().with_time(time);
        let options = message.iter().fold(options, |options, message| options.with_message(*message));
        self.doc.commit_with(options).map(|hash| hash.0)
    }

    fn empty_change(&mut self, time: i64) -> Hash {
        self.doc.empty_change(CommitOptions::default().with_time(time)).0
    }

    fn isolate(&mut self, heads: &[Hash]) -> CallResult<()> {
        self.doc.isolate(&hashes(heads));
        Ok(())
    }

    fn changes(&mut self, after: &[Hash]) -> Vec<Vec<u8>> {
        self.doc.get_changes(&hashes(after)).iter().map(|change| change.raw_bytes().to_vec()).collect()
    }

    fn change(&mut self, hash: Hash) -> Option<Vec<u8>> {
        self.doc.get_change_by_hash(&ChangeHash(hash)).map(|change| change.raw_bytes().to_vec())
    }

    fn missing(&mut self, heads: &[Hash]) -> Vec<Hash> {
        plain_hashes(self.doc.get_missing_deps(&hashes(heads)))
    }

    fn apply(&mut self, changes: &[Vec<u8>]) -> CallResult<()> {
        let changes = changes.iter().map(|bytes| Change::from_bytes(bytes.clone()));
        let changes: Vec<_> = changes.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        call_result(self.doc.apply_changes(changes))
    }

    fn merge(&mut self, other: &mut Self) -> CallResult<()> {
        call_result(self.doc.merge(&mut other.doc)).map(drop)
    }

    fn fork_at(&mut self, heads: &[Hash], actor: &[u8]) -> CallResult<Self> {
        let doc = call_result(self.doc.fork_at(&hashes(heads)))?.with_actor(ActorId::from(actor));
        Ok(Self { doc, encoding: self.encoding })
    }

    fn save(&mut self) -> Vec<u8> {
        self.doc.save()
    }

    fn save_plain(&mut self) -> Vec<u8> {
        self.doc.save_nocompress()
    }

    fn save_after(&mut self, heads: &[Hash]) -> Vec<u8> {
        self.doc.save_after(&hashes(heads))
    }

    fn save_incremental(&mut self) -> Vec<u8> {
        self.doc.save_incremental()
    }

    fn load_incremental(&mut self, bytes: &[u8]) -> CallResult<()> {
        call_result(self.doc.load_incremental(bytes)).map(drop)
    }

    fn receive_message(&mut self, state: &mut State, message: &[u8]) -> CallResult<()> {
        let message = Message::decode(message).map_err(|error| error.to_string())?;
        call_result(self.doc.sync().receive_sync_message(state, message))
    }

    fn peer_has_all_changes(&mut self, state: &State) -> bool {
        state.shared_heads == self.doc.get_heads()
    }

    fn keys(&self, object: &str, at: Option<&[Hash]>) -> Vec<String> {
        let mut keys: Vec<String> = match (self.object(object), at) {
            (Err(_), _) => Vec::new(),
            (Ok(object), None) => self.doc.keys(object).collect(),
            (Ok(object), Some(at)) => self.doc.keys_at(object, &hashes(at)).collect(),
        };
        // After an increment of both of its counters has hidden a conflicting object, a key is listed twice.
        keys.dedup();
        keys
    }

    fn length(&self, object: &str, at: Option<&[Hash]>) -> usize {
        match (self.object(object), at) {
            (Err(_), _) => 0,
            (Ok(object), None) => self.doc.length(object),
            (Ok(object), Some(at)) => self.doc.length_at(object, &hashes(at)),
        }
    }

    fn diff(&mut self, before: &[Hash], after: &[Hash]) -> CallResult<Vec<PatchText>> {
        let after = hashes(after);
        let patches = self.doc.diff(&hashes(before), &after);
        // If an element has a value that stays, one that is removed and a new one, in this order of ids, the patches name the first
        // one as the winner.
        for patch in &patches {
            if let PatchAction::PutSeq { index, value, .. } = &patch.action
                && call_result(self.doc.get_at(&patch.obj, *index, &after))?
                    .is_none_or(|(_, id)| id != value.1)
            {
                return Err("the patches contradict the document".to_owned());
            }
        }
        Ok(patches.iter().map(patch_text).collect())
    }

    fn cursor(&self, object: &str, index: usize, before: bool, at: Option<&[Hash]>) -> CallResult<Pointer> {
        let object = self.object(object)?;
        let moving = if before { MoveCursor::Before } else { MoveCursor::After };
        let at = at.map(hashes);
        let cursor = call_result(self.doc.get_cursor_moving(object, index, at.as_deref(), moving))?;
        Ok(Pointer { text: cursor.to_string(), bytes: cursor.to_bytes() })
    }

    fn position(&self, object: &str, cursor: &Pointer, at: Option<&[Hash]>) -> CallResult<usize> {
        let object = self.object(object)?;
        let (at, read) = (at.map(hashes), call_result(Cursor::try_from(cursor.text.as_str()))?);
        if call_result(Cursor::try_from(cursor.bytes.as_slice()))? != read {
            return Err(format!("{} has bytes of another cursor", cursor.text));
        }
        call_result(self.doc.get_cursor_position(object, &read, at.as_deref()))
    }
}

/// A sync message as text. Concurrent changes may be sent in any order, so they are sorted. A document chunk is replaced by its changes:
/// it can be encoded in several ways, and one without changes may be left out.
pub fn message_text(bytes: &[u8]) -> String {
    let Message { heads, need, have, changes, flags, version } = match Message::decode(bytes) {
        Ok(message) => message,
        Err(error) => return format!("not a message: {error}"),
    };
    let mut entries = Vec::new();
    for entry in changes.iter() {
        match entry.get(8) {
            Some(0) => {
                let mut doc = AutoCommit::load(entry).expect("a document that was just saved");
                entries.extend(
                    doc.get_changes(&[]).iter().map(|change| format!("in a document: {}", change.hash())),
                );
            }
            _ => entries.extend(chunks(entry).iter().map(|chunk| format!("{chunk:02x?}"))),
        }
    }
    entries.sort();
    format!(
        "{version:?} heads {heads:?}\nneed {need:?}\nhave {have:?}\nflags {flags:?}\n{}",
        entries.join("\n")
    )
}

/// Splits consecutive chunks.
fn chunks(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    while bytes.len() > 9 {
        let (mut len, mut start) = (0, 9);
        while let Some(byte) = bytes.get(start) {
            len |= usize::from(byte & 0x7f) << (7 * (start - 9));
            start += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (chunk, rest) = bytes.split_at((start + len).min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}
