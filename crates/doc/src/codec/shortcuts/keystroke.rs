//! Keystrokes: a typed character or a deleted element.

use std::ops::Range;

use crate::types::{ActorIdx, OpId};

/// One keystroke: a typed character, or the deletion of an element without updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SingleCharOp<'a> {
    pub(crate) obj: OpId,
    /// The element after which the character is typed, or the deleted one.
    pub(crate) elem: OpId,
    /// The character; `None` for a deletion.
    pub(crate) text: Option<&'a [u8]>,
}

/// Positions in a block of a change with one keystroke. The next change of its run mostly differs only in these bytes.
#[derive(Debug)]
pub(super) struct Keystroke {
    pub(super) obj: OpId,
    pub(super) actor: ActorIdx,
    /// Range of the character; `None` for a deletion.
    pub(super) text: Option<Range<usize>>,
    pub(super) seq: Leb,
    pub(super) start: Leb,
    pub(super) elem: Leb,
}

/// A number in a block: its end, and the range of numbers of equal length.
#[derive(Debug)]
pub(super) struct Leb {
    pub(super) end: usize,
    pub(super) values: Range<u64>,
    pub(super) width: usize,
}

impl Leb {
    /// A number that ends at `end`; its last byte has `last` significant bits, the others seven.
    pub(super) fn ending((value, end): (u32, usize), last: u32) -> Self {
        let value = u64::from(value);
        let bits = 64 - (value | 1).leading_zeros();
        let width = 1 + bits.saturating_sub(last).div_ceil(7);
        let least = if width == 1 { 0 } else { 1 << (last + 7 * (width - 2)) };
        Self { end, values: least..1 << (last + 7 * (width - 1)), width: width as usize }
    }

    /// Overwrites the number with another one of equal length, `back` bytes before its position.
    #[inline]
    pub(super) fn put(&self, bytes: &mut [u8; 512], mut value: u32, back: usize) {
        let encoded = &mut bytes[self.end - back - self.width..self.end - back];
        if let [first @ .., last] = encoded {
            for byte in first {
                *byte = value as u8 | 0x80;
                value >>= 7;
            }
            *last = value as u8;
        }
    }
}
