//! Output of a run: Parquet files of results, in a folder on a disk or in a store.

mod columns;
pub(crate) mod dir;
pub(crate) mod file;

pub use columns::{HASHED, batch, schema};
