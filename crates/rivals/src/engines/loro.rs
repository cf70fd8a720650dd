//! Loro: another format, with commits without hashes.

use loro::cursor::{Cursor, Side};
use loro::{ExportMode, Frontiers, LoroDoc, LoroList, LoroMap, LoroText};

use hashmill_workloads::doc::{HistoryReads, Objects, Patch, Shared, Texts, count_items};

/// A document of Loro.
#[derive(Debug)]
pub struct Loro {
    doc: LoroDoc,
    text: LoroText,
    map: LoroMap,
    list: LoroList,
}

impl Loro {
    fn from_document(doc: LoroDoc) -> Self {
        let (text, map, list) = (doc.get_text("text"), doc.get_map("map"), doc.get_list("list"));
        Self { doc, text, map, list }
    }
}

impl Texts for Loro {
    const NAME: &'static str = "loro 1.17.1";

    fn blank(actor: u8) -> Self {
        let doc = LoroDoc::new();
        doc.set_peer_id(u64::from(actor)).expect("an unused peer");
        Self::from_document(doc)
    }

    fn edit(&mut self, patches: &[Patch]) {
        for patch in patches {
            if patch.delete > 0 {
                self.text.delete(patch.at, patch.delete).expect("a part of the text");
            }
            if !patch.insert.is_empty() {
                self.text.insert(patch.at, &patch.insert).expect("a position in the text");
            }
        }
        self.doc.commit();
    }

    fn complete_commits(&mut self) {}

    fn text(&mut self) -> String {
        self.text.to_string()
    }

    fn length(&mut self) -> usize {
        self.text.len_unicode()
    }

    fn save(&mut self) -> Vec<u8> {
        self.doc.export(ExportMode::Snapshot).expect("a snapshot")
    }

    fn load(bytes: &[u8]) -> Self {
        let doc = LoroDoc::from_snapshot(bytes).expect("a snapshot");
        doc.set_peer_id(9).expect("an unused peer");
        Self::from_document(doc)
    }
}

impl Shared for Loro {
    fn fork(&mut self, actor: u8) -> Self {
        let doc = self.doc.fork();
        doc.set_peer_id(u64::from(actor)).expect("an unused peer");
        Self::from_document(doc)
    }

    fn edit_and_export(&mut self, patches: &[Patch]) -> Vec<u8> {
        let before = self.doc.oplog_vv();
        self.edit(patches);
        self.doc.export(ExportMode::updates(&before)).expect("an update")
    }

    fn apply_updates(&mut self, updates: &[Vec<u8>]) {
        match updates {
            [update] => drop(self.doc.import(update).expect("an update")),
            updates => drop(self.doc.import_batch(updates).expect("updates")),
        }
    }
}

impl Objects for Loro {
    type Cursor = Cursor;

    fn put_all<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, i64)>) {
        for (key, value) in pairs {
            self.map.insert(key, value).expect("a map");
        }
        self.doc.commit();
    }

    fn get(&self, key: &str) -> Option<i64> {
        self.map.get(key)?.into_value().ok()?.into_i64().ok()
    }

    fn keys(&self) -> usize {
        count_items(self.map.keys())
    }

    fn insert_all(&mut self, values: impl Iterator<Item = (usize, i64)>) {
        for (index, value) in values {
            self.list.insert(index, value).expect("an index of the list");
        }
        self.doc.commit();
    }

    fn get_index(&self, index: usize) -> Option<i64> {
        self.list.get(index)?.into_value().ok()?.into_i64().ok()
    }

    fn cursor(&self, index: usize) -> Cursor {
        self.list.get_cursor(index, Side::Middle).expect("an index of the list")
    }

    fn resolve(&self, cursor: &Cursor) -> usize {
        self.doc.get_cursor_pos(cursor).expect("a cursor of the list").current.pos
    }

    fn merge(&mut self, other: &mut Self) {
        let update = other.doc.export(ExportMode::updates(&self.doc.oplog_vv())).expect("an update");
        self.doc.import(&update).expect("an update");
    }
}

impl HistoryReads for Loro {
    type Version = Frontiers;

    fn version(&mut self) -> Self::Version {
        self.doc.oplog_frontiers()
    }

    fn get_at(&mut self, key: &str, version: &Self::Version) -> Option<i64> {
        self.doc.checkout(version).expect("a version");
        let value = self.get(key);
        self.doc.checkout_to_latest();
        value
    }

    fn text_at(&mut self, version: &Self::Version) -> String {
        self.doc.checkout(version).expect("a version");
        let text = self.text.to_string();
        self.doc.checkout_to_latest();
        text
    }
}
