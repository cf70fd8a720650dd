//! Yrs, the Rust port of Yjs: another format, without deleted text.

use yrs::block::ClientID;
use yrs::updates::decoder::Decode as _;
use yrs::{
    Array as _, ArrayRef, Assoc, Doc, GetString as _, IndexedSequence as _, Map as _, MapRef, OffsetKind,
    Options, Out, ReadTxn as _, StateVector, StickyIndex, Text as _, TextRef, Transact as _, Update,
};

use hashmill_workloads::doc::{Objects, Patch, Shared, Texts, count_items};

/// A document of Yrs.
#[derive(Debug)]
pub struct Yrs {
    doc: Doc,
    text: TextRef,
    map: MapRef,
    list: ArrayRef,
}

impl Yrs {
    fn splice(&self, txn: &mut yrs::TransactionMut<'_>, patches: &[Patch]) {
        for patch in patches {
            // UTF-16 units: measured recordings have no character of two units.
            if patch.delete > 0 {
                self.text.remove_range(txn, patch.at as u32, patch.delete as u32);
            }
            if !patch.insert.is_empty() {
                self.text.insert(txn, patch.at as u32, &patch.insert);
            }
        }
    }

    fn integer(value: Option<Out>) -> Option<i64> {
        match value? {
            Out::Any(yrs::Any::Number(yrs::Number::Int(value))) => Some(value),
            _ => None,
        }
    }
}

impl Texts for Yrs {
    const NAME: &'static str = "yrs 0.28.1";

    fn blank(actor: u8) -> Self {
        let options = Options {
            offset_kind: OffsetKind::Utf16,
            ..Options::with_client_id(ClientID::new(u64::from(actor) + 1))
        };
        let doc = Doc::with_options(options);
        let text = doc.get_or_insert_text("text");
        let map = doc.get_or_insert_map("map");
        let list = doc.get_or_insert_array("list");
        Self { doc, text, map, list }
    }

    fn edit(&mut self, patches: &[Patch]) {
        self.splice(&mut self.doc.transact_mut(), patches);
    }

    fn complete_commits(&mut self) {}

    fn text(&mut self) -> String {
        self.text.get_string(&self.doc.transact())
    }

    fn length(&mut self) -> usize {
        self.text.len(&self.doc.transact()) as usize
    }

    fn save(&mut self) -> Vec<u8> {
        self.doc.transact().encode_state_as_update_v1(&StateVector::default())
    }

    fn load(bytes: &[u8]) -> Self {
        let mut loaded = Self::blank(9);
        loaded.apply_updates(std::slice::from_ref(&bytes.to_vec()));
        loaded
    }
}

impl Shared for Yrs {
    fn fork(&mut self, actor: u8) -> Self {
        let mut fork = Self::blank(actor);
        fork.apply_updates(&[self.save()]);
        fork
    }

    fn edit_and_export(&mut self, patches: &[Patch]) -> Vec<u8> {
        let mut txn = self.doc.transact_mut();
        self.splice(&mut txn, patches);
        txn.commit();
        txn.encode_update_v1()
    }

    fn apply_updates(&mut self, updates: &[Vec<u8>]) {
        let mut txn = self.doc.transact_mut();
        for update in updates {
            txn.apply_update(Update::decode_v1(update).expect("an update")).expect("an update");
        }
    }
}

impl Objects for Yrs {
    type Cursor = StickyIndex;

    fn put_all<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, i64)>) {
        let mut txn = self.doc.transact_mut();
        for (key, value) in pairs {
            self.map.insert(&mut txn, key, value);
        }
    }

    fn get(&self, key: &str) -> Option<i64> {
        Self::integer(self.map.get(&self.doc.transact(), key))
    }

    fn keys(&self) -> usize {
        count_items(self.map.keys(&self.doc.transact()))
    }

    fn insert_all(&mut self, values: impl Iterator<Item = (usize, i64)>) {
        let mut txn = self.doc.transact_mut();
        for (index, value) in values {
            self.list.insert(&mut txn, index as u32, value);
        }
    }

    fn get_index(&self, index: usize) -> Option<i64> {
        Self::integer(self.list.get(&self.doc.transact(), index as u32))
    }

    fn cursor(&self, index: usize) -> StickyIndex {
        let cursor = self.list.sticky_index(&self.doc.transact(), index as u32, Assoc::After);
        cursor.expect("an index of the list")
    }

    fn resolve(&self, cursor: &StickyIndex) -> usize {
        cursor.get_offset(&self.doc.transact()).expect("a cursor of the list").index as usize
    }

    fn merge(&mut self, other: &mut Self) {
        let state = self.doc.transact().state_vector();
        let update = other.doc.transact().encode_diff_v1(&state);
        self.apply_updates(&[update]);
    }
}
