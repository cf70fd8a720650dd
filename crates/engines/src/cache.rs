//! Cache of open engines, for libraries that are called with names of engines.

use crate::budget::Budget;
use crate::set::{EngineSet, OpenError};
use crate::tune_file::TunedChoices;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Open engines by name, with one account of memory. Opening a device takes much longer than a batch on it.
#[derive(Default)]
pub struct EngineCache {
    budget: OnceLock<Budget>,
    open: Mutex<Vec<CachedSet>>,
}

struct CachedSet {
    /// The process that opened it: devices do not survive a fork, and a child must not close those of its parent.
    process: u32,
    list: String,
    set: Arc<EngineSet>,
}

impl EngineCache {
    /// An empty cache.
    pub const fn new() -> EngineCache {
        EngineCache { budget: OnceLock::new(), open: Mutex::new(Vec::new()) }
    }

    /// The engines of this list, opened on the first call.
    ///
    /// # Errors
    /// As for [`EngineSet::open`].
    pub fn open(&self, list: &str) -> Result<Arc<EngineSet>, OpenError> {
        let process = std::process::id();
        let mut open = self.open_sets();
        if let Some(cached) = open.iter().find(|cached| cached.process == process && cached.list == list) {
            return Ok(Arc::clone(&cached.set));
        }
        let budget = self.budget.get_or_init(Budget::of_free_memory).clone();
        let set = Arc::new(EngineSet::open_list(&list.parse()?, TunedChoices::default(), budget)?);
        open.push(CachedSet { process, list: list.to_owned(), set: Arc::clone(&set) });
        Ok(set)
    }

    /// Removes the engines of this list after a failure, so that the next call opens them again.
    pub fn remove(&self, list: &str) {
        let process = std::process::id();
        self.open_sets().retain(|cached| cached.process != process || cached.list != list);
    }

    fn open_sets(&self) -> MutexGuard<'_, Vec<CachedSet>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_opened_once_until_they_are_removed() {
        let cache = EngineCache::new();
        let first = cache.open("cpu").expect("the CPU");
        assert!(Arc::ptr_eq(&first, &cache.open("cpu").expect("the CPU")));
        cache.remove("cpu");
        assert!(!Arc::ptr_eq(&first, &cache.open("cpu").expect("the CPU")));
        let error = cache.open("cpuu").err().expect("no such engine").to_string();
        assert_eq!(error, "no engine is called \"cpuu\": did you mean cpu?");
    }

    #[test]
    fn sets_of_another_process_are_neither_used_nor_closed() {
        let cache = EngineCache::new();
        let parents = cache.open("cpu").expect("the CPU");
        cache.open_sets()[0].process ^= 1;
        assert!(!Arc::ptr_eq(&parents, &cache.open("cpu").expect("the CPU")));
        cache.remove("cpu");
        assert_eq!(cache.open_sets().len(), 1);
    }
}
