//! Stored values: scalars and objects.

use crate::codec::row::Action;
use crate::store::memory::byte_arena::Bytes;
use crate::types::{ObjIdx, ObjType};

/// A value of the document: a scalar with its bytes in the heap, or an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredValue {
    /// Type code of the file format; [`StoredValue::OBJECT`] and above for objects.
    pub(crate) code: u8,
    /// Bytes of a scalar. For objects, the address is the object's number.
    pub(crate) bytes: Bytes,
}

impl StoredValue {
    const OBJECT: u8 = 16;
    pub(crate) const NULL: StoredValue = StoredValue { code: 0, bytes: Bytes { at: 0, len: 0 } };

    pub(crate) fn object(kind: ObjType, number: ObjIdx) -> Self {
        let code = Self::OBJECT + Action::make(kind) as u8;
        StoredValue { code, bytes: Bytes { at: number.get(), len: 0 } }
    }

    /// Kind and number of the object, if this is one.
    #[inline]
    pub(crate) fn as_object(self) -> Option<(ObjType, ObjIdx)> {
        if self.code < Self::OBJECT {
            return None;
        }
        let action = Action::from_code((self.code - Self::OBJECT).into()).ok()?;
        Some((action.makes()?, ObjIdx::from_u32(self.bytes.at)))
    }

    /// Action of the operation that wrote this value.
    pub(crate) fn action(self) -> Action {
        self.as_object().map_or(Action::Set, |(kind, _)| Action::make(kind))
    }

    pub(crate) fn is_counter(self) -> bool {
        self.code == crate::codec::raw_value::code::COUNTER
    }
}
