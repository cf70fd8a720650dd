//! The official crate `automerge`.

use automerge::marks::{ExpandMark, Mark};
use automerge::transaction::Transactable as _;
use automerge::{
    ActorId, AutoCommit, Change, ChangeHash, Cursor, ObjId, ObjType, PatchAction, ROOT, ReadDoc as _,
};

use automerge::sync::{Message, State, SyncDoc as _};
use hashmill_workloads::doc::{HistoryReads, Objects, Patch, Rich, Shared, Synced, Texts, count_items};

/// A document of the official crate.
#[derive(Debug)]
pub struct Official {
    doc: AutoCommit,
    text: ObjId,
    map: ObjId,
    list: ObjId,
}

impl Official {
    fn from_document(doc: AutoCommit) -> Self {
        let object = |key: &str| doc.get(ROOT, key).ok().flatten().map_or(ROOT, |(_, id)| id);
        let (text, map, list) = (object("text"), object("map"), object("list"));
        Self { doc, text, map, list }
    }

    /// The hashes of the heads.
    pub fn heads(&mut self) -> Vec<[u8; 32]> {
        self.doc.get_heads().into_iter().map(|hash| hash.0).collect()
    }

    fn splice(&mut self, patches: &[Patch]) {
        for patch in patches {
            self.doc
                .splice_text(&self.text, patch.at, patch.delete as isize, &patch.insert)
                .expect("a position in the text");
        }
    }
}

impl Texts for Official {
    const NAME: &'static str = "automerge 0.12.0";

    fn blank(actor: u8) -> Self {
        let mut doc = AutoCommit::new().with_actor(ActorId::from([actor; 16]));
        for (key, kind) in [("text", ObjType::Text), ("map", ObjType::Map), ("list", ObjType::List)] {
            doc.put_object(ROOT, key, kind).expect("a new key");
        }
        doc.commit();
        Self::from_document(doc)
    }

    fn edit(&mut self, patches: &[Patch]) {
        self.splice(patches);
        self.doc.commit();
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
            AutoCommit::load(bytes).expect("a saved document").with_actor(ActorId::from([9; 16])),
        )
    }
}

impl Shared for Official {
    fn fork(&mut self, actor: u8) -> Self {
        Self::from_document(self.doc.fork().with_actor(ActorId::from([actor; 16])))
    }

    fn edit_and_export(&mut self, patches: &[Patch]) -> Vec<u8> {
        self.edit(patches);
        self.doc.get_last_local_change().expect("the change that was just made").raw_bytes().to_vec()
    }

    fn apply_updates(&mut self, updates: &[Vec<u8>]) {
        let changes = updates.iter().map(|bytes| Change::from_bytes(bytes.clone()).expect("a change"));
        self.doc.apply_changes(changes.collect::<Vec<_>>()).expect("changes in order");
    }
}

impl Objects for Official {
    type Cursor = Cursor;

    fn put_all<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, i64)>) {
        for (key, value) in pairs {
            self.doc.put(&self.map, key, value).expect("a map");
        }
        self.doc.commit();
    }

    fn get(&self, key: &str) -> Option<i64> {
        self.doc.get(&self.map, key).expect("a map")?.0.as_i64()
    }

    fn keys(&self) -> usize {
        count_items(self.doc.keys(&self.map))
    }

    fn insert_all(&mut self, values: impl Iterator<Item = (usize, i64)>) {
        for (index, value) in values {
            self.doc.insert(&self.list, index, value).expect("an index of the list");
        }
        self.doc.commit();
    }

    fn get_index(&self, index: usize) -> Option<i64> {
        self.doc.get(&self.list, index).expect("a list")?.0.as_i64()
    }

    fn cursor(&self, index: usize) -> Cursor {
        self.doc.get_cursor(&self.list, index, None).expect("an index of the list")
    }

    fn resolve(&self, cursor: &Cursor) -> usize {
        self.doc.get_cursor_position(&self.list, cursor, None).expect("a cursor of the list")
    }

    fn merge(&mut self, other: &mut Self) {
        self.doc.merge(&mut other.doc).expect("documents of one family");
    }
}

impl HistoryReads for Official {
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

impl Rich for Official {
    fn mark_all(&mut self, ranges: impl Iterator<Item = (usize, usize)>) {
        for (start, end) in ranges {
            let mark = Mark::new("link".to_owned(), start as u64, start, end);
            self.doc.mark(&self.text, mark, ExpandMark::After).expect("a range of the text");
        }
        self.doc.commit();
    }

    fn marks(&self) -> usize {
        count_items(self.doc.marks(&self.text).expect("a text").into_iter())
    }

    fn spans(&self) -> usize {
        count_items(self.doc.spans(&self.text).expect("a text"))
    }

    fn edit_and_count_patches(&mut self, patches: &[Patch]) -> usize {
        if self.doc.diff_cursor().is_empty() {
            self.doc.update_diff_cursor();
        }
        self.splice(patches);
        count_items(self.doc.diff_incremental().into_iter())
    }

    fn diff(&mut self, before: &Self::Version, after: &Self::Version) -> usize {
        count_items(self.doc.diff(before, after).into_iter())
    }
}

impl Synced for Official {
    type Peer = State;

    fn generate(&mut self, peer: &mut State) -> bool {
        std::hint::black_box(self.doc.sync().generate_sync_message(peer)).is_some()
    }

    fn next_message(&mut self, peer: &mut State) -> Option<Vec<u8>> {
        self.doc.sync().generate_sync_message(peer).map(Message::encode)
    }

    fn receive(&mut self, peer: &mut State, message: &[u8]) {
        let message = Message::decode(message).expect("a message");
        self.doc.sync().receive_sync_message(peer, message).expect("a valid message");
    }

    fn receive_with_view(
        &mut self,
        peer: &mut State,
        message: &[u8],
        mut show: impl FnMut(usize, usize, usize),
    ) -> bool {
        if self.doc.diff_cursor().is_empty() {
            self.doc.update_diff_cursor();
        }
        let before = self.doc.get_heads();
        self.receive(peer, message);
        if before == self.doc.get_heads() {
            return false;
        }
        for step in self.doc.diff_incremental() {
            match step.action {
                PatchAction::SpliceText { index, value, .. } => {
                    show(index, 0, value.make_string().chars().count());
                }
                PatchAction::DeleteSeq { index, length } => show(index, length, 0),
                _ => {}
            }
        }
        true
    }

    fn has_same_changes(&mut self, other: &mut Self) -> bool {
        self.doc.get_heads() == other.doc.get_heads()
    }
}
