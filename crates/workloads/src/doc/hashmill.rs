//! Hashmill's document engine.

use super::case::{Case, keys, numbered, repeat};
use super::engine::{HistoryReads, Objects, Patch, Rich, Shared, Synced, Texts, count_items};
use hashmill_doc::sync::{Message, State, SyncDoc as _};
use hashmill_doc::{
    ActorId, Change, ChangeHash, Cursor, Document, EditError, ExpandMark, Limits, LoadOptions, Mark, ObjId,
    ObjType, Observer, PatchAction, ROOT, ReadDoc as _, Transactable as _, Transaction, Verify,
};
use std::thread;

/// A document of Hashmill's engine.
#[derive(Debug)]
pub struct Hashmill {
    doc: Document,
    text: ObjId,
    map: ObjId,
    list: ObjId,
    observer: Option<Observer>,
}

impl Hashmill {
    fn from_document(doc: Document) -> Self {
        // A document without one of the keys is not edited at it.
        let object = |key: &str| doc.get(ROOT, key).expect("the root is a map").map_or(ROOT, |(_, id)| id);
        let (text, map, list) = (object("text"), object("map"), object("list"));
        Self { doc, text, map, list, observer: None }
    }

    /// Writes later edits as another actor.
    pub(super) fn write_as(&mut self, actor: u8) {
        self.doc.set_actor(ActorId::from([actor; 16]));
    }

    /// The hashes of the heads.
    pub fn heads(&self) -> Vec<[u8; 32]> {
        self.doc.get_heads().into_iter().map(|hash| hash.0).collect()
    }
}

fn transact(doc: &mut Document, edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), EditError>) {
    doc.transact(edit).expect("a sound edit");
}

impl Texts for Hashmill {
    const NAME: &'static str = "hashmill";

    fn blank(actor: u8) -> Self {
        let mut doc = Document::new().with_actor(ActorId::from([actor; 16]));
        doc.transact(|tx| {
            for (key, kind) in [("text", ObjType::Text), ("map", ObjType::Map), ("list", ObjType::List)] {
                tx.put_object(ROOT, key, kind)?;
            }
            Ok::<_, EditError>(())
        })
        .expect("new keys");
        Self::from_document(doc)
    }

    fn edit(&mut self, patches: &[Patch]) {
        let Self { doc, text, .. } = self;
        transact(doc, |tx| {
            let mut patches = patches.iter();
            patches
                .try_for_each(|patch| tx.splice_text(&*text, patch.at, patch.delete as isize, &patch.insert))
        });
    }

    fn complete_commits(&mut self) {
        self.doc.get_heads();
    }

    fn text(&mut self) -> String {
        self.doc.text(&self.text).expect("a text")
    }

    fn length(&mut self) -> usize {
        self.doc.length(&self.text)
    }

    fn save(&mut self) -> Vec<u8> {
        self.doc.save()
    }

    fn save_plain(&mut self) -> Vec<u8> {
        self.doc.save_nocompress()
    }

    fn load(bytes: &[u8]) -> Self {
        Self::from_document(
            Document::load(bytes).expect("a saved document").with_actor(ActorId::from([9; 16])),
        )
    }

    fn load_deferred(bytes: &[u8]) -> Self {
        let options = LoadOptions::new().verify(Verify::Later);
        let doc = Document::load_with(bytes, options).expect("a saved document");
        Self::from_document(doc.with_actor(ActorId::from([9; 16])))
    }

    fn open(bytes: &[u8]) -> impl Sized {
        Document::open(bytes.to_vec()).expect("a saved document")
    }

    fn open_and_save(bytes: &[u8]) -> Vec<u8> {
        Document::open(bytes).expect("a saved document").save().into_owned()
    }
}

impl Shared for Hashmill {
    fn fork(&mut self, actor: u8) -> Self {
        let doc = self.doc.fork().with_actor(ActorId::from([actor; 16]));
        let (text, map, list) = (self.text.clone(), self.map.clone(), self.list.clone());
        Self { doc, text, map, list, observer: None }
    }

    fn edit_and_export(&mut self, patches: &[Patch]) -> Vec<u8> {
        self.edit(patches);
        self.doc.get_last_local_change().expect("the change that was just made").raw_bytes()
    }

    fn apply_updates(&mut self, updates: &[Vec<u8>]) {
        let changes = Change::from_each(updates, &Limits::default()).expect("changes");
        self.doc.apply_changes(changes).expect("changes in order");
    }
}

impl Objects for Hashmill {
    type Cursor = Cursor;

    fn put_all<'a>(&mut self, mut pairs: impl Iterator<Item = (&'a str, i64)>) {
        let Self { doc, map, .. } = self;
        transact(doc, |tx| pairs.try_for_each(|(key, value)| tx.put(&*map, key, value)));
    }

    fn get(&self, key: &str) -> Option<i64> {
        self.doc.get(&self.map, key).expect("a map")?.0.as_i64()
    }

    fn keys(&self) -> usize {
        count_items(self.doc.keys(&self.map))
    }

    fn insert_all(&mut self, mut values: impl Iterator<Item = (usize, i64)>) {
        let Self { doc, list, .. } = self;
        transact(doc, |tx| values.try_for_each(|(index, value)| tx.insert(&*list, index, value)));
    }

    fn get_index(&self, index: usize) -> Option<i64> {
        self.doc.get(&self.list, index).expect("a list")?.0.as_i64()
    }

    fn cursor(&self, index: usize) -> Cursor {
        self.doc.get_cursor(&self.list, index).expect("an index of the list")
    }

    fn resolve(&self, cursor: &Cursor) -> usize {
        self.doc.get_cursor_position(&self.list, cursor).expect("a cursor of the list")
    }

    fn merge(&mut self, other: &mut Self) {
        self.doc.merge(&other.doc).expect("documents of one family");
    }
}

impl HistoryReads for Hashmill {
    type Version = Vec<ChangeHash>;

    fn version(&mut self) -> Self::Version {
        self.doc.get_heads()
    }

    fn get_at(&mut self, key: &str, version: &Self::Version) -> Option<i64> {
        self.doc.get_at(&self.map, key, version).expect("a map")?.0.as_i64()
    }

    fn text_at(&mut self, version: &Self::Version) -> String {
        self.doc.text_at(&self.text, version).expect("a text")
    }
}

impl Rich for Hashmill {
    fn mark_all(&mut self, mut ranges: impl Iterator<Item = (usize, usize)>) {
        let Self { doc, text, .. } = self;
        transact(doc, |tx| {
            ranges.try_for_each(|(start, end)| {
                tx.mark(&*text, Mark::new("link", start as u64, start, end), ExpandMark::After)
            })
        });
    }

    fn marks(&self) -> usize {
        count_items(self.doc.marks(&self.text).expect("a text").into_iter())
    }

    fn spans(&self) -> usize {
        count_items(self.doc.spans(&self.text).expect("a text"))
    }

    fn edit_and_count_patches(&mut self, patches: &[Patch]) -> usize {
        let Self { doc, text, .. } = self;
        let edit = |tx: &mut Transaction<'_>| {
            let mut patches = patches.iter();
            patches
                .try_for_each(|patch| tx.splice_text(&*text, patch.at, patch.delete as isize, &patch.insert))
        };
        let ((), patches) = doc.transact_with_patches(edit).expect("a sound edit");
        count_items(patches.into_iter())
    }

    fn edit_observed(&mut self, patches: &[Patch]) -> usize {
        self.observer.get_or_insert_with(|| Observer::from_current(&self.doc));
        self.edit(patches);
        self.observer
            .as_mut()
            .map_or(0, |observer| count_items(observer.patches_since_last(&self.doc).iter()))
    }

    fn diff(&mut self, before: &Self::Version, after: &Self::Version) -> usize {
        count_items(self.doc.diff(before, after).expect("known heads").into_iter())
    }
}

impl Synced for Hashmill {
    type Peer = State;

    fn generate(&mut self, peer: &mut State) -> bool {
        std::hint::black_box(self.doc.generate_sync_message(peer)).is_some()
    }

    fn next_message(&mut self, peer: &mut State) -> Option<Vec<u8>> {
        self.doc.generate_sync_message(peer).map(|message| message.encode())
    }

    fn receive(&mut self, peer: &mut State, message: &[u8]) {
        let message = Message::decode(message).expect("a message");
        self.doc.receive_sync_message(peer, message).expect("a valid message");
    }

    fn receive_with_view(
        &mut self,
        peer: &mut State,
        message: &[u8],
        mut show: impl FnMut(usize, usize, usize),
    ) -> bool {
        self.observer.get_or_insert_with(|| Observer::from_current(&self.doc));
        self.receive(peer, message);
        let new_patches =
            self.observer.as_mut().map_or(&[][..], |observer| observer.patches_since_last(&self.doc));
        for step in new_patches {
            match &step.action {
                PatchAction::SpliceText { index, value, .. } => show(*index, 0, value.chars().count()),
                PatchAction::DeleteSeq { index, length } => show(*index, *length, 0),
                _ => {}
            }
        }
        !new_patches.is_empty()
    }

    fn has_same_changes(&mut self, other: &mut Self) -> bool {
        self.doc.get_heads() == other.doc.get_heads()
    }
}

/// Reads a map of `size` keys on a snapshot, divided between `threads` threads.
#[must_use]
pub fn snapshot_reads(size: usize, threads: usize) -> Case {
    let keys = keys(size);
    let mut doc = Hashmill::blank(1);
    doc.put_all(numbered(&keys));
    let (snapshot, map) = (doc.doc.snapshot(), doc.map.clone());
    repeat(move || {
        let read = |keys: &[String]| -> i64 {
            let value = |key: &String| snapshot.get(&map, key).expect("a map").and_then(|got| got.0.as_i64());
            keys.iter().filter_map(value).sum()
        };
        thread::scope(|scope| {
            let parts: Vec<_> = keys
                .chunks(size.div_ceil(threads).max(1))
                .map(|part| scope.spawn(move || read(part)))
                .collect();
            parts.into_iter().map(|part| part.join().expect("a reader")).sum::<i64>()
        })
    })
}
