//! Options of a hasher. None of them changes a digest.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::time::Duration;

use crate::allow_list::AllowList;

/// Limits, and how stores are spoken to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Requests that are under way at once, over all stores. Each holds less than 1 MiB of what it reads.
    pub connections: NonZero<usize>,
    /// The threads that hash and read; `None` is one for each processor that this process may use.
    pub threads: Option<NonZero<usize>>,
    /// How often a request is tried again: after answers that say so, and after connections that break.
    pub retries: usize,
    /// How long a store may be silent.
    pub timeout: Duration,
    /// Objects whose listed size is at least this are fetched in several parts at once.
    pub split: u64,
    /// What `object_store` takes for its clients, by its names: `aws_endpoint`, `aws_access_key_id`, `google_service_account`,
    /// `azure_storage_account_key`, `allow_http` and so on. Names of other stores than the one at hand are passed over.
    pub store: BTreeMap<String, String>,
    /// What rows may name. Without a list: every bucket, every server with a public address, and local files where the inventory is
    /// not in a store.
    pub only: Option<AllowList>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connections: NonZero::new(64).expect("more than none"),
            threads: None,
            retries: 5,
            timeout: Duration::from_secs(30),
            split: 64 << 20,
            store: BTreeMap::new(),
            only: None,
        }
    }
}
