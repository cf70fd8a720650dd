//! Cache of superseded key operations from the last save. The next save extends it, as long as one actor writes the
//! key. No save happens between an operation and its rollback, so entries stay valid.

use std::sync::{Arc, Mutex, MutexGuard};

use hashbrown::HashMap;

use crate::codec::ops::runs::Rewritten;
use crate::store::memory::byte_arena::Bytes;
use crate::types::{KeyOpIdx, ObjIdx, OpId};

/// Histories with fewer operations are not cached.
pub(crate) const MIN_CACHED_OPS: usize = 8;

/// Operations on one key from the first on, each superseding only the one before it.
#[derive(Clone, Debug)]
pub(crate) struct KeyHistory {
    /// Number of the newest operation in the log, and its id.
    pub(crate) last: Option<KeyOpIdx>,
    pub(crate) id: OpId,
    pub(crate) rows: Rewritten,
}

/// Number of an object, and the range of a key.
type KeyId = (ObjIdx, u32, u32);

fn key_id(obj: ObjIdx, key: Bytes) -> KeyId {
    (obj, key.at, key.len)
}

/// Cached histories by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyHistories {
    keys: HashMap<KeyId, Arc<KeyHistory>>,
}

impl KeyHistories {
    #[inline]
    pub(crate) fn get(&self, obj: ObjIdx, key: Bytes) -> Option<&KeyHistory> {
        if self.keys.is_empty() {
            return None;
        }
        self.keys.get(&key_id(obj, key)).map(|history| &**history)
    }

    fn put(&mut self, obj: ObjIdx, key: Bytes, mut history: KeyHistory) {
        history.rows.shrink();
        self.keys.insert(key_id(obj, key), Arc::new(history));
    }
}

/// [`KeyHistories`] that a save extends while other threads read the document. Clones share them.
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

    /// Adds histories of keys. Copies the table first if another document shares it.
    pub(crate) fn add(&self, new: Vec<(ObjIdx, Bytes, KeyHistory)>) {
        if !new.is_empty() {
            let mut histories = self.lock();
            let histories = Arc::make_mut(&mut histories);
            new.into_iter().for_each(|(obj, key, history)| histories.put(obj, key, history));
        }
    }
}
