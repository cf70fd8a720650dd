//! One operation on a key of a map, or an update of an element. A document has as many of these as it has puts, and loads,
//! saves and hashes wait for their memory: what is seldom there lies elsewhere.

use crate::codec::row::Action;
use crate::store::log::Val;
use crate::store::memory::byte_arena::Bytes;
use crate::types::{ActorIdx, KeyOpIdx, Number, ObjIdx, OpId};

/// The key an operation is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Key {
    Map(Bytes),
    Elem(OpId),
}

/// One operation on a key of a map, or an update of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyOp {
    pub(crate) id: OpId,
    pub(crate) obj: ObjIdx,
    /// The operation on the same key that arrived before this one. While a file is read, its group: see [`Self::in_group`].
    before: Option<KeyOpIdx>,
    /// An operation on the same key further back: each between it and this one superseded everything
    /// visible, so who does not have it in their past has none of them. Twice as far for each `rank`, and such that any
    /// operation is reached by a number of jumps and steps that is logarithmic in theirs.
    jump: Option<KeyOpIdx>,
    /// The two numbers of a [`Key`].
    key: (u32, u32),
    /// The bytes of the [`Val`].
    bytes: Bytes,
    pub(in crate::store) preds: Preds,
    /// The type code of the [`Val`].
    code: u8,
    pub(crate) action: Action,
    rank: u8,
    /// Whether the key is an element, and [`Self::clears`].
    flags: u8,
}

/// An operation further back, and how far that is: twice as far for each rank.
pub(in crate::store) type Jump = (Option<KeyOpIdx>, u8);

/// None, the only one, or which of the lists of several.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Preds(OpId);

impl Preds {
    /// No actor has this number.
    const LIST: ActorIdx = ActorIdx::NOBODY;
    pub(in crate::store) const NONE: Preds = Preds(OpId::NONE);

    pub(in crate::store) fn one(id: OpId) -> Self {
        Self(id)
    }

    pub(in crate::store) fn list(number: u32) -> Self {
        Self(OpId::new(number, Self::LIST))
    }

    /// The number of the list, or the one or none that there are.
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

    /// An operation that does not know yet what was on its key before, nor what precedes it.
    #[inline]
    pub(crate) fn new(id: OpId, obj: ObjIdx, key: Key, action: Action, val: Val) -> Self {
        let (key, flags) = match key {
            Key::Map(bytes) => ((bytes.at, bytes.len), 0),
            Key::Elem(elem) => ((elem.ctr, elem.actor.get()), Self::ELEM),
        };
        let Val { code, bytes } = val;
        let (before, jump, preds) = (None, None, Preds::NONE);
        Self { id, obj, before, jump, key, bytes, preds, code, action, rank: 0, flags }
    }

    /// The same on a key that was not known yet.
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
            Key::Elem(OpId::new(a, ActorIdx::of(b)))
        }
    }

    #[inline]
    pub(crate) fn val(&self) -> Val {
        Val { code: self.code, bytes: self.bytes }
    }

    /// It superseded everything visible: who has it in their past sees nothing older here.
    #[inline]
    pub(crate) fn clears(&self) -> bool {
        self.flags & Self::CLEARS != 0
    }

    /// The operation on the same key that arrived before this one.
    #[inline]
    pub(crate) fn before(&self) -> Option<KeyOpIdx> {
        self.before
    }

    /// An operation on the same key further back, such that everything between it and this one superseded all there was.
    #[inline]
    pub(crate) fn jump(&self) -> Option<KeyOpIdx> {
        self.jump
    }

    /// Says what was on the key before: the operation, and where to jump with which rank.
    #[inline]
    pub(in crate::store) fn follow(&mut self, before: Option<KeyOpIdx>, (jump, rank): Jump) {
        (self.before, self.jump, self.rank) = (before, jump, rank);
    }

    /// The jump and its rank of a new operation after `before`, which is the operation here; `op` finds others. It goes
    /// over the jumps of two equal ranks, one behind the other, or to `before` alone.
    #[inline]
    pub(in crate::store) fn jump_over<'a>(
        &self,
        before: KeyOpIdx,
        op: impl FnOnce(KeyOpIdx) -> Option<&'a KeyOp>,
    ) -> Jump {
        let Some(two) = self.jump.and_then(op) else { return (Some(before), 0) };
        // No branch: it would often be foreseen wrongly.
        let far = self.clears() & two.clears() & (self.rank == two.rank) & two.jump.is_some();
        let jump = std::hint::select_unpredictable(far, two.jump, Some(before));
        (jump, u8::from(far) * (self.rank + 1))
    }

    /// The same operation of a file, where it is in a group of operations on one key and nobody knows yet which came before.
    #[inline]
    pub(in crate::store) fn in_group(self, group: usize) -> Self {
        Self { before: Some(KeyOpIdx::new(group)), ..self }
    }

    /// The group of an operation of a file.
    #[inline]
    pub(in crate::store) fn group(&self) -> usize {
        self.before.map_or(0, Number::place)
    }

    pub(crate) fn set_clears(&mut self, clears: bool) {
        self.flags = self.flags & !Self::CLEARS | if clears { Self::CLEARS } else { 0 };
    }
}

const _: () = assert!(size_of::<KeyOp>() == 48);
