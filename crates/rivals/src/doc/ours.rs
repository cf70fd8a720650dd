//! Our engine as a [`Peer`].

use hashmill_doc::{
    ActorId, AutoCommit, Change, ChangeHash, CommitOptions, Cursor, Document, ExpandMark, Literal,
    LoadOptions, Mark, MarkSet, MoveCursor, ObjId, ObjType, Patch, PatchAction, Prop, ROOT, ReadDoc as _,
    ScalarValue, Span, TextEncoding, Transactable as _, Value,
};

use hashmill_doc::sync::{Message, State, SyncDoc as _};

use super::peer::{Hash, Marked, Peer, Place, PlaceRef, Pointer, Said, Told, Values, object_word};
use super::script::{Encoding, Expand, Kind, Scalar, Tree};
use super::vocabulary::vocabulary;

vocabulary!(Prop<'_>, ScalarValue<'_>);

/// A copy kept by our engine.
#[derive(Debug)]
pub struct Ours(AutoCommit);

fn object(object: &str) -> Said<ObjId> {
    ObjId::parse(object).ok_or_else(|| format!("{object} names no object"))
}

fn scalar(value: &Scalar) -> ScalarValue<'_> {
    match value {
        Scalar::Null => ScalarValue::Null,
        Scalar::Boolean(value) => ScalarValue::Boolean(*value),
        Scalar::Uint(value) => ScalarValue::Uint(*value),
        Scalar::Int(value) => ScalarValue::Int(*value),
        Scalar::F64(value) => ScalarValue::F64(*value),
        Scalar::Str(value) => value.into(),
        Scalar::Bytes(value) => value.as_slice().into(),
        Scalar::Counter(value) => ScalarValue::counter(*value),
        Scalar::Timestamp(value) => ScalarValue::Timestamp(*value),
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

fn tree_words(value: &Literal) -> String {
    match value {
        Literal::Scalar(value) => scalar_words(value),
        Literal::Text(text) => format!("text {text:?}"),
        Literal::List(values) => format!("{:?}", values.iter().map(tree_words).collect::<Vec<_>>()),
        Literal::Map(entries) => map_words(entries.iter().map(|(key, value)| (key, tree_words(value)))),
    }
}

fn set_words(marks: &MarkSet<'_>) -> Vec<String> {
    marks.iter().map(|(name, value)| format!("{name} {}", scalar_words(value))).collect()
}

fn span_words(span: Span<'_>) -> String {
    match span {
        Span::Text { text, marks } => format!("{text:?} {:?}", set_words(&marks)),
        Span::Block(entries) => tree_words(&Literal::Map(entries)),
    }
}

fn told(patch: &Patch) -> Told {
    let path: Vec<String> = patch.path.iter().map(|(object, prop)| format!("{object}/{prop}")).collect();
    let of = format!("{} {path:?}", patch.obj);
    let put = |(value, id): &(Value<'static>, ObjId), conflict: bool| {
        format!("{} by {id}{}", words(value), if conflict { " of several" } else { "" })
    };
    let action = match &patch.action {
        PatchAction::PutMap { key, value, conflict } => format!("put {key:?} {}", put(value, *conflict)),
        PatchAction::PutSeq { index, value, conflict } => format!("put {index} {}", put(value, *conflict)),
        PatchAction::Insert { index, values } => {
            let values =
                values.iter().map(|(value, id, conflict)| put(&(value.clone(), id.clone()), *conflict));
            format!("insert {index} {:?}", values.collect::<Vec<_>>())
        }
        PatchAction::SpliceText { index, value, .. } => {
            return Told::Splice { of, index: *index, text: value.clone() };
        }
        PatchAction::Increment { prop, value } => format!("increment {prop} {value}"),
        PatchAction::Conflict { prop } => format!("conflict {prop}"),
        PatchAction::DeleteMap { key } => format!("delete {key:?}"),
        PatchAction::DeleteSeq { index, length } => format!("delete {index} {length}"),
        PatchAction::Mark { marks } => {
            let marks = marks.iter().map(|mark| mark_words(&mark.name, &mark.value, mark.start, mark.end));
            return Told::Marks(marks.collect());
        }
    };
    Told::Other(format!("{of} {action}"))
}

impl Peer for Ours {
    fn blank(actor: &[u8], text: Encoding) -> Self {
        Self(Document::with_encoding(encoding(text)).with_actor(ActorId::from(actor)).into())
    }

    fn load(bytes: &[u8], actor: &[u8], text: Encoding) -> Said<Self> {
        let options = LoadOptions::new().text_encoding(encoding(text)).actor(ActorId::from(actor));
        Ok(Self(said(Document::load_with(bytes, options))?.into()))
    }

    fn set_actor(&mut self, actor: &[u8]) {
        self.0.document().set_actor(ActorId::from(actor));
    }

    fn put(&mut self, to: &str, place: &Place, value: &Scalar) -> Said<()> {
        said(self.0.put(object(to)?, prop(place.as_ref()), scalar(value)))
    }

    fn put_object(&mut self, to: &str, place: &Place, kind: Kind) -> Said<String> {
        said(self.0.put_object(object(to)?, prop(place.as_ref()), obj_type(kind))).map(|id| id.to_string())
    }

    fn insert(&mut self, to: &str, index: usize, value: &Scalar) -> Said<()> {
        said(self.0.insert(object(to)?, index, scalar(value)))
    }

    fn insert_object(&mut self, to: &str, index: usize, kind: Kind) -> Said<String> {
        said(self.0.insert_object(object(to)?, index, obj_type(kind))).map(|id| id.to_string())
    }

    fn delete(&mut self, from: &str, place: &Place) -> Said<()> {
        said(self.0.delete(object(from)?, prop(place.as_ref())))
    }

    fn increment(&mut self, of: &str, place: &Place, by: i64) -> Said<()> {
        said(self.0.increment(object(of)?, prop(place.as_ref()), by))
    }

    fn splice(&mut self, of: &str, index: usize, delete: isize, values: &[Tree]) -> Said<()> {
        said(self.0.splice(object(of)?, index, delete, values.iter().map(literal)))
    }

    fn splice_text(&mut self, of: &str, index: usize, delete: isize, text: &str) -> Said<()> {
        said(self.0.splice_text(object(of)?, index, delete, text))
    }

    fn update_text(&mut self, of: &str, text: &str) -> Said<()> {
        said(self.0.update_text(object(of)?, text))
    }

    fn update_object(&mut self, of: &str, value: &Tree) -> Said<()> {
        said(self.0.update_object(object(of)?, &literal(value)))
    }

    fn create(&mut self, to: &str, place: &Place, value: &Tree, insert: bool) -> Said<String> {
        if let Tree::Leaf(_) = value {
            return Err("there they make objects only".to_owned());
        }
        let made = match place {
            Place::Index(index) if insert => self.0.insert_literal(object(to)?, *index, literal(value)),
            _ => self.0.put_literal(object(to)?, prop(place.as_ref()), literal(value)),
        };
        said(made)?.map(|id| id.to_string()).ok_or_else(|| "no object was made".to_owned())
    }

    fn mark(&mut self, of: &str, mark: &Marked<'_>, expand: Expand) -> Said<()> {
        let Marked { name, value, start, end } = *mark;
        said(self.0.mark(object(of)?, Mark::new(name, scalar(value), start, end), expand_mark(expand)))
    }

    fn split_block(&mut self, of: &str, index: usize) -> Said<String> {
        said(self.0.split_block(object(of)?, index)).map(|id| id.to_string())
    }

    fn join_block(&mut self, of: &str, index: usize) -> Said<()> {
        said(self.0.join_block(object(of)?, index))
    }

    fn replace_block(&mut self, of: &str, index: usize) -> Said<String> {
        said(self.0.replace_block(object(of)?, index)).map(|id| id.to_string())
    }

    fn commit(&mut self, message: Option<&str>, time: i64) -> Option<Hash> {
        let options = CommitOptions::default().with_time(time);
        let options = message.iter().fold(options, |options, message| options.with_message(*message));
        let commit = self.0.commit_with(&options)?;
        Some(self.0.document().hash(commit).expect("it was made here").0)
    }

    fn rollback(&mut self) -> usize {
        self.0.rollback()
    }

    fn empty_change(&mut self, time: i64) -> Hash {
        let commit = self.0.empty_commit(&CommitOptions::default().with_time(time));
        self.0.document().hash(commit).expect("it was made here").0
    }

    fn isolate(&mut self, heads: &[Hash]) -> Said<()> {
        said(self.0.isolate(&hashes(heads)))
    }

    fn integrate(&mut self) {
        self.0.integrate();
    }

    fn heads(&mut self) -> Vec<Hash> {
        plain(self.0.get_heads())
    }

    fn changes(&mut self, after: &[Hash]) -> Vec<Vec<u8>> {
        self.0.document().get_changes(&hashes(after)).iter().map(Change::raw_bytes).collect()
    }

    fn change(&mut self, hash: Hash) -> Option<Vec<u8>> {
        self.0.document().get_change_by_hash(&ChangeHash(hash)).map(|change| change.raw_bytes())
    }

    fn missing(&mut self, heads: &[Hash]) -> Vec<Hash> {
        plain(self.0.document().get_missing_deps(&hashes(heads)))
    }

    fn apply(&mut self, changes: &[Vec<u8>]) -> Said<()> {
        let changes: Vec<Change> = said(changes.iter().map(|bytes| Change::from_bytes(bytes)).collect())?;
        said(self.0.document().apply_changes(changes))
    }

    fn merge(&mut self, other: &mut Self) -> Said<()> {
        said(self.0.document().merge(other.0.document())).map(drop)
    }

    fn fork_at(&mut self, heads: &[Hash], actor: &[u8]) -> Said<Self> {
        let doc = said(self.0.document().fork_at(&hashes(heads)))?;
        Ok(Self(doc.with_actor(ActorId::from(actor)).into()))
    }

    fn save(&mut self) -> Vec<u8> {
        self.0.document().save()
    }

    fn save_plain(&mut self) -> Vec<u8> {
        self.0.document().save_nocompress()
    }

    fn save_after(&mut self, heads: &[Hash]) -> Vec<u8> {
        self.0.document().save_after(&hashes(heads))
    }

    fn save_incremental(&mut self) -> Vec<u8> {
        self.0.document().save_incremental()
    }

    fn load_incremental(&mut self, bytes: &[u8]) -> Said<()> {
        said(self.0.document().load_incremental(bytes)).map(drop)
    }

    fn check(&mut self) {
        self.0.document().check(true);
    }

    type Known = State;

    fn say(&mut self, to: &mut State) -> Option<Vec<u8>> {
        self.0.sync().generate_sync_message(to).map(|message| message.encode())
    }

    fn hear(&mut self, of: &mut State, message: &[u8]) -> Said<()> {
        let received = said(self.0.sync().receive_sync_message(of, said(Message::decode(message))?))?;
        received.refused.first().map_or(Ok(()), |(_, why)| Err(why.to_string()))
    }

    fn keep(known: &State) -> Vec<u8> {
        known.encode()
    }

    fn kept(bytes: &[u8]) -> Said<State> {
        said(State::decode(bytes))
    }

    fn read_only(known: &mut State, read_only: bool) {
        known.set_read_only(read_only);
    }

    fn is_with(&mut self, known: &State) -> bool {
        self.0.sync().has_our_changes(known)
    }

    fn kind(&self, of: &str) -> Option<Kind> {
        self.0.object_type(object(of).ok()?).ok().map(kind)
    }

    fn keys(&self, of: &str, at: Option<&[Hash]>) -> Vec<String> {
        match (object(of), at) {
            (Err(_), _) => Vec::new(),
            (Ok(object), None) => self.0.keys(object).map(str::to_owned).collect(),
            (Ok(object), Some(at)) => self.0.keys_at(object, &hashes(at)).unwrap_or_default(),
        }
    }

    fn length(&self, of: &str, at: Option<&[Hash]>) -> usize {
        match (object(of), at) {
            (Err(_), _) => 0,
            (Ok(object), None) => self.0.length(object),
            (Ok(object), Some(at)) => self.0.length_at(object, &hashes(at)).unwrap_or(0),
        }
    }

    fn text(&self, of: &str, at: Option<&[Hash]>) -> Said<String> {
        let object = object(of)?;
        said(match at {
            None => self.0.text(object),
            Some(at) => self.0.text_at(object, &hashes(at)),
        })
    }

    fn get(&self, of: &str, place: PlaceRef<'_>, at: Option<&[Hash]>) -> Said<Option<(String, String)>> {
        let object = object(of)?;
        let found = said(match at {
            None => self.0.get(object, prop(place)),
            Some(at) => self.0.get_at(object, prop(place), &hashes(at)),
        })?;
        Ok(found.map(|(value, id)| (words(&value), id.to_string())))
    }

    fn get_all(&self, of: &str, place: PlaceRef<'_>, at: Option<&[Hash]>) -> Said<Values> {
        let object = object(of)?;
        let found = said(match at {
            None => self.0.get_all(object, prop(place)),
            Some(at) => self.0.get_all_at(object, prop(place), &hashes(at)),
        })?;
        Ok(found.iter().map(|(value, id)| (words(value), id.to_string())).collect())
    }

    fn marks(&self, of: &str, at: Option<&[Hash]>) -> Said<Vec<String>> {
        let object = object(of)?;
        let marks = said(match at {
            None => self.0.marks(object),
            Some(at) => self.0.marks_at(object, &hashes(at)),
        })?;
        Ok(marks.iter().map(|mark| mark_words(&mark.name, &mark.value, mark.start, mark.end)).collect())
    }

    fn spans(&self, of: &str, at: Option<&[Hash]>) -> Said<Vec<String>> {
        let object = object(of)?;
        let spans = said(match at {
            None => self.0.spans(object),
            Some(at) => self.0.spans_at(object, &hashes(at)),
        })?;
        Ok(spans.map(span_words).collect())
    }

    /// What was at the one, with the patches, must be what was at the other.
    fn diff(&mut self, before: &[Hash], after: &[Hash]) -> Said<Vec<Told>> {
        let (before, after) = (hashes(before), hashes(after));
        let patches = said(self.0.diff(&before, &after))?;
        let doc = self.0.document();
        let mut value = said(said(doc.at(&before))?.hydrate(ROOT))?;
        let then = said(said(doc.at(&after))?.hydrate(ROOT))?;
        if doc.text_encoding() != TextEncoding::GraphemeCluster {
            said(value.apply_patches(&patches, doc.text_encoding()))?;
            assert_eq!(value, then, "{before:?} with {patches:?}");
        }
        Ok(patches.iter().map(told).collect())
    }

    fn cursor(&self, of: &str, index: usize, before: bool, at: Option<&[Hash]>) -> Said<Pointer> {
        let object = object(of)?;
        let moving = if before { MoveCursor::Before } else { MoveCursor::After };
        let cursor = said(match at {
            None => self.0.get_cursor_moving(object, index, moving),
            Some(at) => self.0.get_cursor_moving_at(object, index, moving, &hashes(at)),
        })?;
        Ok(Pointer { text: cursor.to_string(), bytes: cursor.to_bytes() })
    }

    fn position(&self, of: &str, cursor: &Pointer, at: Option<&[Hash]>) -> Said<usize> {
        let object = object(of)?;
        let read: Cursor = said(cursor.text.parse())?;
        if said(Cursor::try_from(cursor.bytes.as_slice()))? != read {
            return Err(format!("{} has bytes of another cursor", cursor.text));
        }
        said(match at {
            None => self.0.get_cursor_position(object, &read),
            Some(at) => self.0.get_cursor_position_at(object, &read, &hashes(at)),
        })
    }
}
