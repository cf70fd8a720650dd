//! Commands of the operator: by requests from this machine to a running server, or to a storage that no server uses.

mod offline;
mod requests;
mod sweeper;

pub use offline::execute;
pub(super) use requests::{Admin, Ends, has_path};
pub(super) use sweeper::Sweeper;
