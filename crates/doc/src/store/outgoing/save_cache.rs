//! What a save said about keys that were written again and again: the next save goes on from there, as long as nobody
//! else wrote them in between. Nothing is saved between an operation and its undoing, so what is kept stays true.

use std::sync::{Arc, Mutex, MutexGuard};

use hashbrown::HashMap;

use crate::codec::runs::Rewritten;
use crate::store::memory::byte_arena::Bytes;
use crate::types::{KeyOpIdx, ObjIdx, OpId};

/// Fewer operations of a key are followed back each time.
pub(crate) const KEPT_FROM: usize = 8;

/// Operations on one key from the first on, each superseding just the one before it.
#[derive(Clone, Debug)]
pub(crate) struct KeyHistory {
    /// The number of the newest in the log, and its id.
    pub(crate) last: Option<KeyOpIdx>,
    pub(crate) id: OpId,
    pub(crate) rows: Rewritten,
}

/// The number of an object and the name of a key in it.
type Place = (ObjIdx, u32, u32);

fn place(obj: ObjIdx, key: Bytes) -> Place {
    (obj, key.at, key.len)
}

/// What there is, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyHistories {
    keys: HashMap<Place, Arc<KeyHistory>>,
}

impl KeyHistories {
    #[inline]
    pub(crate) fn get(&self, obj: ObjIdx, key: Bytes) -> Option<&KeyHistory> {
        if self.keys.is_empty() {
            return None;
        }
        self.keys.get(&place(obj, key)).map(|history| &**history)
    }

    fn put(&mut self, obj: ObjIdx, key: Bytes, mut history: KeyHistory) {
        history.rows.shrink();
        self.keys.insert(place(obj, key), Arc::new(history));
    }
}

/// [`KeyHistories`] that a save adds to while others read the document. Clones share them.
#[derive(Debug, Default)]
pub(crate) struct SaveCache(Mutex<Arc<KeyHistories>>);

impl Clone for SaveCache {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.histories()))
    }
}

impl SaveCache {
    fn lock(&self) -> MutexGuard<'_, Arc<KeyHistories>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn histories(&self) -> Arc<KeyHistories> {
        Arc::clone(&self.lock())
    }

    /// Adds the histories of keys of objects. The table is copied first if somebody else uses it.
    pub(crate) fn add(&self, new: Vec<(ObjIdx, Bytes, KeyHistory)>) {
        if !new.is_empty() {
            let mut histories = self.lock();
            let histories = Arc::make_mut(&mut histories);
            new.into_iter().for_each(|(obj, key, history)| histories.put(obj, key, history));
        }
    }
}
