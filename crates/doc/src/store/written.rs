//! What a save said about keys that were written again and again: the next save goes on from there, as long as nobody
//! else wrote them in between. Nothing is saved between an operation and its undoing, so what is kept stays true.

use std::sync::{Arc, Mutex, MutexGuard};

use hashbrown::HashMap;

use super::heap::Bytes;
use crate::codec::stretch::Rewritten;
use crate::types::OpId;

/// Fewer operations of a key are followed back each time. With checks on, stories of a few edits come here too.
pub(crate) const KEPT_FROM: usize = if cfg!(debug_assertions) { 2 } else { 8 };

/// Operations on one key from the first on, each superseding just the one before it.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    /// The number of the newest in the log, plus one, and its id.
    pub(crate) last: u32,
    pub(crate) id: OpId,
    pub(crate) rows: Rewritten,
}

/// The number of an object and the name of a key in it.
type Place = (u32, u32, u32);

fn place(obj: u32, key: Bytes) -> Place {
    (obj, key.at, key.len)
}

/// What there is, by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pasts {
    keys: HashMap<Place, Arc<Past>>,
}

impl Pasts {
    #[inline]
    pub(crate) fn get(&self, obj: u32, key: Bytes) -> Option<&Past> {
        if self.keys.is_empty() {
            return None;
        }
        self.keys.get(&place(obj, key)).map(|past| &**past)
    }

    fn put(&mut self, obj: u32, key: Bytes, mut past: Past) {
        past.rows.shrink();
        self.keys.insert(place(obj, key), Arc::new(past));
    }
}

/// [`Pasts`] that a save adds to while others read the document. Clones share them.
#[derive(Debug, Default)]
pub(crate) struct Written(Mutex<Arc<Pasts>>);

impl Clone for Written {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.pasts()))
    }
}

impl Written {
    fn lock(&self) -> MutexGuard<'_, Arc<Pasts>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn pasts(&self) -> Arc<Pasts> {
        Arc::clone(&self.lock())
    }

    /// Adds the pasts of keys of objects. The table is copied first if somebody else uses it.
    pub(crate) fn add(&self, new: Vec<(u32, Bytes, Past)>) {
        if !new.is_empty() {
            let mut pasts = self.lock();
            let pasts = Arc::make_mut(&mut pasts);
            new.into_iter().for_each(|(obj, key, past)| pasts.put(obj, key, past));
        }
    }
}
