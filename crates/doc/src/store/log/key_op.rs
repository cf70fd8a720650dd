//! Operation on a map key, or update of an element. A document has as many of these as it has puts, and load, save and
//! hashing are bound by their memory, so rarely used data is stored elsewhere.

use crate::codec::row::Action;
use crate::store::log::value::StoredValue;
use crate::store::memory::byte_arena::Bytes;
use crate::types::{ActorIdx, KeyOpIdx, Number, ObjIdx, OpId};

/// The key of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Key {
    Map(Bytes),
    Elem(OpId),
}

/// Operation on a map key, or update of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyOp {
    pub(crate) id: OpId,
    pub(crate) obj: ObjIdx,
    /// The operation on the same key that arrived before this one. During a load, its group: see [`Self::in_group`].
    before: Option<KeyOpIdx>,
    /// Skip pointer to an earlier operation on the same key. Each operation between it and this one superseded
    /// everything visible, so a history without the target contains none of them. The distance doubles with each
    /// `rank`; any operation is reached in a number of jumps and steps logarithmic in its distance.
    jump: Option<KeyOpIdx>,
    /// The two numbers of a [`Key`].
    key: (u32, u32),
    /// The bytes of the [`StoredValue`].
    bytes: Bytes,
    pub(in crate::store) preds: Preds,
    /// The type code of the [`StoredValue`].
    code: u8,
    pub(crate) action: Action,
    rank: u8,
    /// Flags: the key is an element; see also [`Self::clears`].
    flags: u8,
}

/// A skip pointer and its rank; the distance doubles with each rank.
pub(in crate::store) type Jump = (Option<KeyOpIdx>, u8);

/// No predecessor, the only predecessor, or the index of a list of several.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Preds(OpId);

impl Preds {
    /// An actor number that no actor has.
    const LIST: ActorIdx = ActorIdx::NOBODY;
    pub(in crate::store) const NONE: Preds = Preds(OpId::NONE);

    pub(in crate::store) fn one(id: OpId) -> Self {
        Self(id)
    }

    pub(in crate::store) fn list(number: u32) -> Self {
        Self(OpId::new(number, Self::LIST))
    }

    /// The predecessors if there is at most one, otherwise the index of their list.
    #[inline]
    pub(in crate::store) fn get(&self) -> Result<&[OpId], u32> {
        let Self(id) = self;
        match (id.actor, id.is_none()) {
            (Self::LIST, _) => Err(id.ctr),
            (_, true) => Ok(&[]),
            (_, false) => Ok(std::slice::from_ref(id)),
        }
    }
}

impl KeyOp {
    const ELEM: u8 = 1;
    const CLEARS: u8 = 2;

    /// An operation whose previous operation on the key and whose predecessors are not set yet.
    #[inline]
    pub(crate) fn new(id: OpId, obj: ObjIdx, key: Key, action: Action, val: StoredValue) -> Self {
        let (key, flags) = match key {
            Key::Map(bytes) => ((bytes.at, bytes.len), 0),
            Key::Elem(elem) => ((elem.ctr, elem.actor.get()), Self::ELEM),
        };
        let StoredValue { code, bytes } = val;
        let (before, jump, preds) = (None, None, Preds::NONE);
        Self { id, obj, before, jump, key, bytes, preds, code, action, rank: 0, flags }
    }

    /// The operation on a key that was not known before.
    #[inline]
    pub(crate) fn on(self, key: Key) -> Self {
        Self::new(self.id, self.obj, key, self.action, self.val())
    }

    #[inline]
    pub(crate) fn key(&self) -> Key {
        let (a, b) = self.key;
        if self.flags & Self::ELEM == 0 {
            Key::Map(Bytes { at: a, len: b })
        } else {
            Key::Elem(OpId::new(a, ActorIdx::from_u32(b)))
        }
    }

    #[inline]
    pub(crate) fn val(&self) -> StoredValue {
        StoredValue { code: self.code, bytes: self.bytes }
    }

    /// Did it supersede everything visible? Then nothing older is visible to a history that contains it.
    #[inline]
    pub(crate) fn clears(&self) -> bool {
        self.flags & Self::CLEARS != 0
    }

    /// The operation on the same key that arrived before this one.
    #[inline]
    pub(crate) fn before(&self) -> Option<KeyOpIdx> {
        self.before
    }

    /// An earlier operation on the same key such that each operation between it and this one superseded everything
    /// visible.
    #[inline]
    pub(crate) fn jump(&self) -> Option<KeyOpIdx> {
        self.jump
    }

    /// Sets the previous operation on the key, and the skip pointer with its rank.
    #[inline]
    pub(in crate::store) fn follow(&mut self, before: Option<KeyOpIdx>, (jump, rank): Jump) {
        (self.before, self.jump, self.rank) = (before, jump, rank);
    }

    /// The skip pointer and rank of a new operation after `before`, which is this operation; `op` finds others. It
    /// covers two consecutive jumps of equal rank, or only the step to `before`.
    #[inline]
    pub(in crate::store) fn jump_over<'a>(
        &self,
        before: KeyOpIdx,
        op: impl FnOnce(KeyOpIdx) -> Option<&'a KeyOp>,
    ) -> Jump {
        let Some(two) = self.jump.and_then(op) else { return (Some(before), 0) };
        // Branch-free, because the branch would often be mispredicted.
        let far = self.clears() & two.clears() & (self.rank == two.rank) & two.jump.is_some();
        let jump = std::hint::select_unpredictable(far, two.jump, Some(before));
        (jump, u8::from(far) * (self.rank + 1))
    }

    /// The operation as read from a file, in a group of operations on one key whose order is not known yet.
    #[inline]
    pub(in crate::store) fn in_group(self, group: usize) -> Self {
        Self { before: Some(KeyOpIdx::new(group)), ..self }
    }

    /// The group of an operation that is being loaded.
    #[inline]
    pub(in crate::store) fn group(&self) -> usize {
        self.before.map_or(0, Number::index)
    }

    pub(crate) fn set_clears(&mut self, clears: bool) {
        self.flags = self.flags & !Self::CLEARS | if clears { Self::CLEARS } else { 0 };
    }
}

const _: () = assert!(size_of::<KeyOp>() == 48);
