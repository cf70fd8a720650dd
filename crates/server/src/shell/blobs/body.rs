//! Body of a response whose bytes are read while they are sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body_util::{Either, Full};
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use tokio::sync::mpsc::Receiver;

/// Body of any response.
pub(in crate::shell) type Body = Either<Full<Bytes>, BlobBody>;

/// Bytes of a blob.
pub(in crate::shell) struct BlobBody {
    left_bytes: u64,
    parts: Receiver<Vec<u8>>,
}

impl BlobBody {
    pub(super) fn new(len: u64, parts: Receiver<Vec<u8>>) -> BlobBody {
        BlobBody { left_bytes: len, parts }
    }
}

impl HttpBody for BlobBody {
    type Data = Bytes;
    type Error = io::Error;

    /// A sender that ends early is an error: the connection is closed, so that the client does not take the bytes for all.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left_bytes == 0 {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(match ready!(self.parts.poll_recv(context)) {
            Some(part) => {
                self.left_bytes = self.left_bytes.saturating_sub(part.len() as u64);
                Ok(Frame::data(part.into()))
            }
            None => Err(io::Error::other("the blob could not be read further")),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes)
    }
}
