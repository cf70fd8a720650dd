//! Memory budget of decoded pages, independent of the sizes that a file states.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::errors::ParquetError;

/// Maximum bytes in memory of the pages of all columns of a file. Writers end a page at 1 MiB, DuckDB at 100 MB.
pub(super) const PAGES: u64 = 256 << 20;

/// Budget that pages share.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(Arc<AtomicU64>);

/// A part of a budget, returned when it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    budget: Budget,
    bytes: u64,
}

impl Budget {
    /// # Errors
    /// If the file needs more memory than the budget.
    pub(super) fn lease(&self, bytes: u64) -> Result<Lease, ParquetError> {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let lease = Lease { budget: self.clone(), bytes };
        if before.saturating_add(bytes) > PAGES {
            let what = format!("its pages take more than {} MiB of memory at a time", PAGES >> 20);
            return Err(ParquetError::General(what));
        }
        Ok(lease)
    }
}

impl Lease {
    /// Bytes that hold the lease until the last slice of them is dropped.
    pub(super) fn hold(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        struct Leased<T>(T, #[expect(dead_code, reason = "dropped with the bytes")] Lease);
        impl<T: AsRef<[u8]>> AsRef<[u8]> for Leased<T> {
            fn as_ref(&self) -> &[u8] {
                self.0.as_ref()
            }
        }
        Bytes::from_owner(Leased(bytes, self))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_returns_with_the_last_slice() {
        let budget = Budget::default();
        let bytes = budget.lease(PAGES).expect("all of it").hold(vec![7; 10]);
        let slice = bytes.slice(3..5);
        drop(bytes);
        assert!(budget.lease(1).is_err());
        assert_eq!(slice[..], [7, 7]);
        drop(slice);
        assert!(budget.lease(PAGES).is_ok());
        assert!(budget.lease(PAGES + 1).is_err());
        assert!(budget.lease(PAGES).is_ok(), "what was refused takes nothing");
    }
}
