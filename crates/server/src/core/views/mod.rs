//! Views of the state for the operator: documents, sockets and counts. Each call returns a bounded number of rows.

mod counts;
mod documents;
mod sockets;

pub use counts::Counts;
pub use documents::{DocumentView, ParticipantView, QuarantineView};
pub use sockets::SocketView;
