//! Options of a hasher. None of them changes a digest.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::time::Duration;

use crate::sources::allow_list::AllowList;

/// Limits and options of store clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Concurrent requests, over all stores. Each holds less than 1 MiB of its response.
    pub connections: NonZero<usize>,
    /// Threads that hash and read; `None`: one for each processor that the process may use.
    pub threads: Option<NonZero<usize>>,
    /// Retries of a request, after responses that allow one and after broken connections.
    pub retries: usize,
    /// Timeout for a store that sends nothing.
    pub timeout: Duration,
    /// Listed size in bytes from which an object is fetched in concurrent parts.
    pub split: u64,
    /// Client options by their names in `object_store`: `aws_endpoint`, `aws_access_key_id`, `google_service_account`,
    /// `azure_storage_account_key`, `allow_http` and so on. A client ignores the options of other stores.
    pub store: BTreeMap<String, String>,
    /// Locations that rows may name. Without a list: every bucket, every server with a public address, and local files if the
    /// inventory is not in a store.
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
