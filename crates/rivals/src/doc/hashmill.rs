//! Hashmill's engine as a [`Peer`].

use hashmill_doc::{
    ActorId, AutoCommit, Change, ChangeHash, CommitOptions, Cursor, Document, ExpandMark, Literal,
    LoadOptions, Mark, MarkSet, MoveCursor, ObjId, ObjType, Patch, PatchAction, Prop, ROOT, ReadDoc as _,
    ScalarValue, Span, TextEncoding, Transactable as _, Value,
};

use hashmill_doc::sync::{Message, State, SyncDoc as _};

use super::peer::{CallResult, Hash, MarkSpec, PatchText, Peer, Pointer, PropRef, Values, object_text};
use super::script::{Encoding, Expand, Kind, Scalar, Tree};
use crate::doc::translate::{shared_functions, shared_methods};

shared_functions!(
    Prop<'_>, ScalarValue<'_>,
    mark => mark_text(&mark.name, &mark.value, mark.start, mark.end),
    text => text.clone()
);

/// A document of Hashmill's engine.
#[derive(Debug)]
pub struct Hashmill {
    doc: AutoCommit,
}

impl Hashmill {
    fn from_document(doc: Document) -> Self {
        Self { doc: doc.into() }
    }

    #[expect(clippy::unused_self, reason = "the official crate needs its document for it")]
    fn object(&self, object: &str) -> CallResult<ObjId> {
        ObjId::parse(object).ok_or_else(|| format!("{object} names no object"))
    }
}

fn literal(value: &Tree) -> Literal {
    match value {
        Tree::Leaf(value) => Literal::Scalar(scalar(value).into_owned()),
        Tree::Map(pairs) => {
            Literal::Map(pairs.iter().map(|(key, value)| (key.clone(), literal(value))).collect())
        }
        Tree::List(values) => Literal::List(values.iter().map(literal).collect()),
        Tree::Text(text) => Literal::Text(text.clone()),
    }
}

fn tree_text(value: &Literal) -> String {
    match value {
        Literal::Scalar(value) => scalar_text(value),
        Literal::Text(text) => format!("text {text:?}"),
        Literal::List(values) => format!("{:?}", values.iter().map(tree_text).collect::<Vec<_>>()),
        Literal::Map(entries) => map_text(entries.iter().map(|(key, value)| (key, tree_text(value)))),
    }
}

fn set_text(marks: &MarkSet<'_>) -> Vec<String> {
    marks.iter().map(|(name, value)| format!("{name} {}", scalar_text(value))).collect()
}

fn span_text(span: Span<'_>) -> String {
    match span {
        Span::Text { text, marks } => format!("{text:?} {:?}", set_text(&marks)),
        Span::Block(entries) => tree_text(&Literal::Map(entries)),
    }
}

impl Peer for Hashmill {
    shared_methods!(mark => mark_text(&mark.name, &mark.value, mark.start, mark.end));

    fn blank(actor: &[u8], text: Encoding) -> Self {
        Self::from_document(Document::with_encoding(encoding(text)).with_actor(ActorId::from(actor)))
    }

    fn load(bytes: &[u8], actor: &[u8], text: Encoding) -> CallResult<Self> {
        let options = LoadOptions::new().text_encoding(encoding(text)).actor(ActorId::from(actor));
        call_result(Document::load_with(bytes, options)).map(Self::from_document)
    }

    fn set_actor(&mut self, actor: &[u8]) {
        self.doc.document().set_actor(ActorId::from(actor));
    }

    fn splice(&mut self, object: &str, index: usize, delete: isize, values: &[Tree]) -> CallResult<()> {
        call_result(self.doc.splice(self.object(object)?, index, delete, values.iter().map(literal)))
    }

    fn update_text(&mut self, object: &str, text: &str) -> CallResult<()> {
        call_result(self.doc.update_text(self.object(object)?, text))
    }

    fn update_object(&mut self, object: &str, value: &Tree) -> CallResult<()> {
        call_result(self.doc.update_object(self.object(object)?, &literal(value)))
    }

    fn create(
        &mut self,
        object: &str,
        prop_ref: PropRef<'_>,
        value: &Tree,
        insert: bool,
    ) -> CallResult<String> {
        if let Tree::Leaf(_) = value {
            return Err("the official crate creates objects only".to_owned());
        }
        let created = match prop_ref {
            PropRef::Index(index) if insert => {
                self.doc.insert_literal(self.object(object)?, index, literal(value))
            }
            _ => self.doc.put_literal(self.object(object)?, prop(prop_ref), literal(value)),
        };
        call_result(created)?.map(|id| id.to_string()).ok_or_else(|| "no object was created".to_owned())
    }

    fn mark(&mut self, object: &str, mark: &MarkSpec<'_>, expand: Expand) -> CallResult<()> {
        let MarkSpec { name, value, start, end } = *mark;
        call_result(self.doc.mark(
            self.object(object)?,
            Mark::new(name, scalar(value), start, end),
            expand_mark(expand),
        ))
    }

    fn commit(&mut self, message: Option<&str>, time: i64) -> Option<Hash> {
        let options = CommitOptions::default().with_time(time);
        let options = message.iter().fold(options, |options, message| options.with_message(*message));
        let commit = self.doc.commit_with(&options)?;
        Some(self.doc.document().hash(commit).expect("the change was just made").0)
    }

    fn empty_change(&mut self, time: i64) -> Hash {
        let commit = self.doc.empty_commit(&CommitOptions::default().with_time(time));
        self.doc.document().hash(commit).expect("the change was just made").0
    }

    fn isolate(&mut self, heads: &[Hash]) -> CallResult<()> {
        call_result(self.doc.isolate(&hashes(heads)))
    }

    fn changes(&mut self, after: &[Hash]) -> Vec<Vec<u8>> {
        self.doc.document().get_changes(&hashes(after)).iter().map(Change::raw_bytes).collect()
    }

    fn change(&mut self, hash: Hash) -> Option<Vec<u8>> {
        self.doc.document().get_change_by_hash(&ChangeHash(hash)).map(|change| change.raw_bytes())
    }

    fn missing(&mut self, heads: &[Hash]) -> Vec<Hash> {
        plain_hashes(self.doc.document().get_missing_deps(&hashes(heads)))
    }

    fn apply(&mut self, changes: &[Vec<u8>]) -> CallResult<()> {
        let changes: Vec<Change> =
            call_result(changes.iter().map(|bytes| Change::from_bytes(bytes)).collect())?;
        call_result(self.doc.document().apply_changes(changes))
    }

    fn merge(&mut self, other: &mut Self) -> CallResult<()> {
        call_result(self.doc.document().merge(other.doc.document())).map(drop)
    }

    fn fork_at(&mut self, heads: &[Hash], actor: &[u8]) -> CallResult<Self> {
        let doc = call_result(self.doc.document().fork_at(&hashes(heads)))?;
        Ok(Self::from_document(doc.with_actor(ActorId::from(actor))))
    }

    fn save(&mut self) -> Vec<u8> {
        self.doc.document().save()
    }

    fn save_plain(&mut self) -> Vec<u8> {
        self.doc.document().save_nocompress()
    }

    fn save_after(&mut self, heads: &[Hash]) -> Vec<u8> {
        self.doc.document().save_after(&hashes(heads))
    }

    fn save_incremental(&mut self) -> Vec<u8> {
        self.doc.document().save_incremental()
    }

    fn load_incremental(&mut self, bytes: &[u8]) -> CallResult<()> {
        call_result(self.doc.document().load_incremental(bytes)).map(drop)
    }

    fn check(&mut self) {
        self.doc.document().check(true);
    }

    fn receive_message(&mut self, state: &mut State, message: &[u8]) -> CallResult<()> {
        let received =
            call_result(self.doc.sync().receive_sync_message(state, call_result(Message::decode(message))?))?;
        received.refused.first().map_or(Ok(()), |(_, reason)| Err(reason.to_string()))
    }

    fn peer_has_all_changes(&mut self, state: &State) -> bool {
        self.doc.sync().has_our_changes(state)
    }

    fn keys(&self, object: &str, at: Option<&[Hash]>) -> Vec<String> {
        match (self.object(object), at) {
            (Err(_), _) => Vec::new(),
            (Ok(object), None) => self.doc.keys(object).map(str::to_owned).collect(),
            (Ok(object), Some(at)) => self.doc.keys_at(object, &hashes(at)).unwrap_or_default(),
        }
    }

    fn length(&self, object: &str, at: Option<&[Hash]>) -> usize {
        match (self.object(object), at) {
            (Err(_), _) => 0,
            (Ok(object), None) => self.doc.length(object),
            (Ok(object), Some(at)) => self.doc.length_at(object, &hashes(at)).unwrap_or(0),
        }
    }

    /// Also checks that the patches turn the earlier value into the later one.
    fn diff(&mut self, before: &[Hash], after: &[Hash]) -> CallResult<Vec<PatchText>> {
        let (before, after) = (hashes(before), hashes(after));
        let patches = call_result(self.doc.diff(&before, &after))?;
        let doc = self.doc.document();
        let mut value = call_result(call_result(doc.at(&before))?.hydrate(ROOT))?;
        let later = call_result(call_result(doc.at(&after))?.hydrate(ROOT))?;
        if doc.text_encoding() != TextEncoding::GraphemeCluster {
            call_result(value.apply_patches(&patches, doc.text_encoding()))?;
            assert_eq!(value, later, "{before:?} with {patches:?}");
        }
        Ok(patches.iter().map(patch_text).collect())
    }

    fn cursor(&self, object: &str, index: usize, before: bool, at: Option<&[Hash]>) -> CallResult<Pointer> {
        let object = self.object(object)?;
        let moving = if before { MoveCursor::Before } else { MoveCursor::After };
        let cursor = call_result(match at {
            None => self.doc.get_cursor_moving(object, index, moving),
            Some(at) => self.doc.get_cursor_moving_at(object, index, moving, &hashes(at)),
        })?;
        Ok(Pointer { text: cursor.to_string(), bytes: cursor.to_bytes() })
    }

    fn position(&self, object: &str, cursor: &Pointer, at: Option<&[Hash]>) -> CallResult<usize> {
        let object = self.object(object)?;
        let read: Cursor = call_result(cursor.text.parse())?;
        if call_result(Cursor::try_from(cursor.bytes.as_slice()))? != read {
            return Err(format!("{} has bytes of another cursor", cursor.text));
        }
        call_result(match at {
            None => self.doc.get_cursor_position(object, &read),
            Some(at) => self.doc.get_cursor_position_at(object, &read, &hashes(at)),
        })
    }
}
