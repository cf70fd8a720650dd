//! Bytes of a column that need not lie together: what is taken out of another column as it lies is copied once, into the chunk.

use std::borrow::Cow;

/// Fewer bytes are copied at once.
pub(super) const LENT_FROM: usize = 1 << 12;

/// Bytes that lie elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent<'a> {
    /// How many bytes that were written here come before them.
    pub(super) at: usize,
    pub(super) bytes: &'a [u8],
}

/// What was written, and what was lent between it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread<'a> {
    pub(super) own: &'a [u8],
    /// In order.
    pub(super) lent: &'a [Lent<'a>],
}

impl<'a> From<&'a [u8]> for Spread<'a> {
    fn from(own: &'a [u8]) -> Self {
        Self { own, lent: &[] }
    }
}

impl<'a> Spread<'a> {
    pub(crate) fn len(self) -> usize {
        self.own.len() + self.lent.iter().map(|lent| lent.bytes.len()).sum::<usize>()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.own.is_empty() && self.lent.is_empty()
    }

    /// All of it, piece by piece.
    pub(crate) fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let starts = std::iter::once(0).chain(self.lent.iter().map(|lent| lent.at));
        let ends = self.lent.iter().map(|lent| lent.at).chain([self.own.len()]);
        let lent = self.lent.iter().map(|lent| lent.bytes).chain([&[][..]]);
        starts.zip(ends).zip(lent).flat_map(move |((start, end), lent)| [&self.own[start..end], lent])
    }

    /// All of it together.
    pub(crate) fn together(self) -> Cow<'a, [u8]> {
        match self.lent {
            [] => Cow::Borrowed(self.own),
            _ => {
                let mut all = Vec::with_capacity(self.len());
                self.append_to(&mut all);
                Cow::Owned(all)
            }
        }
    }

    /// Writes all of it.
    pub(crate) fn append_to(self, out: &mut Vec<u8>) {
        let mut done = 0;
        for lent in self.lent {
            out.extend_from_slice(&self.own[done..lent.at]);
            out.extend_from_slice(lent.bytes);
            done = lent.at;
        }
        out.extend_from_slice(&self.own[done..]);
    }
}
