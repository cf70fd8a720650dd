//! Byte rope of a column: bytes copied unchanged from another column are borrowed, and copied once into the chunk.

use std::borrow::Cow;

/// Shorter slices are copied at once.
pub(in crate::codec) const BORROWED_FROM: usize = 1 << 12;

/// Borrowed bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BorrowedBytes<'a> {
    /// Number of own bytes before them.
    pub(in crate::codec) at: usize,
    pub(in crate::codec) bytes: &'a [u8],
}

/// Own bytes with the borrowed ones between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByteRope<'a> {
    pub(in crate::codec) own: &'a [u8],
    /// In order.
    pub(in crate::codec) borrowed: &'a [BorrowedBytes<'a>],
}

impl<'a> From<&'a [u8]> for ByteRope<'a> {
    fn from(own: &'a [u8]) -> Self {
        Self { own, borrowed: &[] }
    }
}

impl<'a> ByteRope<'a> {
    pub(crate) fn len(self) -> usize {
        self.own.len() + self.borrowed.iter().map(|borrowed| borrowed.bytes.len()).sum::<usize>()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.own.is_empty() && self.borrowed.is_empty()
    }

    /// All bytes in parts.
    pub(crate) fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let starts = std::iter::once(0).chain(self.borrowed.iter().map(|borrowed| borrowed.at));
        let ends = self.borrowed.iter().map(|borrowed| borrowed.at).chain([self.own.len()]);
        let borrowed = self.borrowed.iter().map(|borrowed| borrowed.bytes).chain([&[][..]]);
        starts
            .zip(ends)
            .zip(borrowed)
            .flat_map(move |((start, end), borrowed)| [&self.own[start..end], borrowed])
    }

    /// All bytes, contiguous.
    pub(crate) fn into_contiguous(self) -> Cow<'a, [u8]> {
        match self.borrowed {
            [] => Cow::Borrowed(self.own),
            _ => {
                let mut all = Vec::with_capacity(self.len());
                self.append_to(&mut all);
                Cow::Owned(all)
            }
        }
    }

    /// Appends all bytes to `out`.
    pub(crate) fn append_to(self, out: &mut Vec<u8>) {
        let mut done = 0;
        for borrowed in self.borrowed {
            out.extend_from_slice(&self.own[done..borrowed.at]);
            out.extend_from_slice(borrowed.bytes);
            done = borrowed.at;
        }
        out.extend_from_slice(&self.own[done..]);
    }
}
