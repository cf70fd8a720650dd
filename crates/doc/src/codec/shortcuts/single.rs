//! Changes with one operation of the kinds that most of them have: the general reader's and writer's sixteen columns
//! are more than such a change has bytes.

use super::block::Block;
use super::put::Put;
use super::single_char::SingleCharOp;
use crate::types::OpId;

/// The only operation of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Single<'a> {
    SingleCharOp(SingleCharOp<'a>),
    Put(Put<'a>),
}

impl<'a> Single<'a> {
    /// Reads columns that hold nothing but such an operation, as it is always written; gives their length, too.
    pub(crate) fn read(section: &'a [u8], actors: usize) -> Option<(Self, usize)> {
        match SingleCharOp::read(section, actors) {
            Some((char_op, len)) => Some((Self::SingleCharOp(char_op), len)),
            None => Put::read(section, actors).map(|(put, len)| (Self::Put(put), len)),
        }
    }

    /// Writes the columns. Actors are those of the chunk.
    #[inline]
    pub(crate) fn write(&self, out: &mut Block) {
        match self {
            Self::SingleCharOp(char_op) => char_op.write(out),
            Self::Put(put) => put.write(out),
        }
    }

    /// The object, and the other operation that it names.
    #[inline]
    pub(crate) fn ids(&self) -> [OpId; 2] {
        match self {
            Self::SingleCharOp(char_op) => [char_op.obj, char_op.elem],
            Self::Put(put) => [put.obj, put.pred],
        }
    }

    /// The same with other names for these two.
    #[inline]
    pub(crate) fn with_ids(self, [obj, other]: [OpId; 2]) -> Self {
        match self {
            Self::SingleCharOp(char_op) => Self::SingleCharOp(SingleCharOp { obj, elem: other, ..char_op }),
            Self::Put(put) => Self::Put(Put { obj, pred: other, ..put }),
        }
    }
}
