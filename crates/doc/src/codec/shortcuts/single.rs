//! Changes with a single frequent operation: such a change has fewer bytes than the general path has columns.

use super::block::Block;
use super::keystroke::SingleCharOp;
use super::put::Put;
use crate::types::OpId;

/// The only operation of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Single<'a> {
    SingleCharOp(SingleCharOp<'a>),
    Put(Put<'a>),
}

impl<'a> Single<'a> {
    /// Reads columns with exactly one such operation in its canonical form; returns their length, too.
    pub(crate) fn read(section: &'a [u8], actors: usize) -> Option<(Self, usize)> {
        match SingleCharOp::read(section, actors) {
            Some((char_op, len)) => Some((Self::SingleCharOp(char_op), len)),
            None => Put::read(section, actors).map(|(put, len)| (Self::Put(put), len)),
        }
    }

    /// Writes the columns, with actor indexes of the chunk.
    #[inline]
    pub(crate) fn write(&self, out: &mut Block) {
        match self {
            Self::SingleCharOp(char_op) => char_op.write(out),
            Self::Put(put) => put.write(out),
        }
    }

    /// The object, and the other referenced operation.
    #[inline]
    pub(crate) fn ids(&self) -> [OpId; 2] {
        match self {
            Self::SingleCharOp(char_op) => [char_op.obj, char_op.elem],
            Self::Put(put) => [put.obj, put.pred],
        }
    }

    /// The operation with these two ids replaced.
    #[inline]
    pub(crate) fn with_ids(self, [obj, other]: [OpId; 2]) -> Self {
        match self {
            Self::SingleCharOp(char_op) => Self::SingleCharOp(SingleCharOp { obj, elem: other, ..char_op }),
            Self::Put(put) => Self::Put(Put { obj, pred: other, ..put }),
        }
    }
}
