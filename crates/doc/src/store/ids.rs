//! Numbers of the things in a document, a type for each kind of thing: a change is never taken for an operation.
//!
//! Each counts from 0 in the order in which things came. Where there may be none, it lies in memory as one more than that:
//! "none" is an [`Option`] that takes no room of its own. Numbers are made and read here and nowhere else.

use std::num::NonZeroU32;

/// The number of a thing in a vector of such things.
pub(crate) trait Number: Copy {
    /// Of the thing at this place. There is room for 2^32 - 1 of each kind.
    fn new(place: usize) -> Self;
    /// The place of the thing.
    fn place(self) -> usize;
}

impl Number for usize {
    #[inline]
    fn new(place: usize) -> Self {
        place
    }

    #[inline]
    fn place(self) -> usize {
        self
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(NonZeroU32);

        impl Number for $name {
            #[inline]
            fn new(place: usize) -> Self {
                let number = u32::try_from(place + 1).ok().and_then(NonZeroU32::new);
                Self(number.expect("limits keep numbers below 2^32"))
            }

            #[inline]
            fn place(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        #[allow(dead_code, reason = "not every kind of thing is counted on from")]
        impl $name {
            /// The `n`-th after this one.
            #[inline]
            pub(crate) fn plus(self, n: u32) -> Self {
                Self(self.0.checked_add(n).expect("limits keep numbers below 2^32"))
            }

            /// The one before this one, if it is not the first.
            #[inline]
            pub(crate) fn before(self) -> Option<Self> {
                NonZeroU32::new(self.0.get() - 1).map(Self)
            }
        }
    )+};
}

numbers! {
    /// Of an operation on a key or an element, in [`crate::store::log::Log::keyed`].
    KeyOpIdx,
    /// Of a register, in [`crate::store::seq::Seq::regs`].
    RegIdx,
}

/// Of an object, in [`crate::store::state::State::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct ObjIdx(u32);

impl Number for ObjIdx {
    #[inline]
    fn new(place: usize) -> Self {
        Self(u32::try_from(place).expect("limits keep numbers below 2^32"))
    }

    #[inline]
    fn place(self) -> usize {
        self.0 as usize
    }
}

impl ObjIdx {
    /// The object at the root of every document.
    pub(crate) const ROOT: Self = Self(0);

    /// The number that [`Self::get`] gave, or that a stranger says.
    #[inline]
    pub(crate) fn of(number: u32) -> Self {
        Self(number)
    }

    /// To be kept where a number has no type.
    #[inline]
    pub(crate) fn get(self) -> u32 {
        self.0
    }
}
