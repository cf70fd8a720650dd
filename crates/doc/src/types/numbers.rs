//! Index types, one for each kind of item in a document, so that a change index is not mistaken for an operation index.
//!
//! Indexes count from 0 in order of arrival. Optional ones are stored as the index plus one, so that an [`Option`]
//! takes no extra memory. Conversions from and to integers are only here.

use std::num::NonZeroU32;
use std::ops::Range;

/// Index of an item in a vector of such items.
pub(crate) trait Number: Copy {
    /// The index of position `place`. Up to 2^32 - 1 items of each kind are possible.
    fn new(index: usize) -> Self;
    /// The position of the item.
    fn index(self) -> usize;
}

impl Number for usize {
    #[inline]
    fn new(index: usize) -> Self {
        index
    }

    #[inline]
    fn index(self) -> usize {
        self
    }
}

/// Index types that may be absent.
macro_rules! optional {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(NonZeroU32);

        impl Number for $name {
            #[inline]
            fn new(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
                Self(number.expect("limits keep numbers below 2^32"))
            }

            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        #[allow(dead_code, reason = "not every kind of thing is counted on from")]
        impl $name {
            /// The index `n` after this one.
            #[inline]
            pub(crate) fn plus(self, n: u32) -> Self {
                Self(self.0.checked_add(n).expect("limits keep numbers below 2^32"))
            }

            /// The index before this one, if it is not the first.
            #[inline]
            pub(crate) fn before(self) -> Option<Self> {
                NonZeroU32::new(self.0.get() - 1).map(Self)
            }
        }
    )+};
}

optional! {
    /// Index of an operation on a key or element, in [`crate::store::log::Log::keyed`].
    KeyOpIdx,
    /// Index of a register, in [`crate::store::seq::Seq::regs`].
    RegIdx,
}

/// Index types that are always present and use all 32 bits.
macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(u32);

        impl Number for $name {
            #[inline]
            fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("limits keep numbers below 2^32"))
            }

            #[inline]
            fn index(self) -> usize {
                $name::index(self)
            }
        }

        #[allow(dead_code, reason = "not every kind of thing is counted on from")]
        impl $name {
            /// The index `n` after this one.
            #[inline]
            pub(crate) const fn plus(self, n: u32) -> Self {
                Self(self.0 + n)
            }

            /// The inverse of [`Self::get`], also for numbers from files and peers.
            #[inline]
            pub(crate) const fn from_u32(number: u32) -> Self {
                Self(number)
            }

            /// The position of the item.
            #[inline]
            pub(crate) const fn index(self) -> usize {
                self.0 as usize
            }

            /// The raw number, for untyped storage and files.
            #[inline]
            pub(crate) const fn get(self) -> u32 {
                self.0
            }
        }

        /// The number as written in files.
        impl From<$name> for u64 {
            #[inline]
            fn from(number: $name) -> u64 {
                u64::from(number.0)
            }
        }
    )+};
}

plain! {
    /// Index of an actor in the table of a document or a file. In a document it never changes: actors are numbered in
    /// order of arrival.
    ActorIdx,
    /// Index of a change in the history of a document.
    ChangeIdx,
    /// Index of a leaf of a sequence, in [`crate::store::seq::Seq`].
    LeafIdx,
    /// Index of an inner node of a sequence.
    NodeIdx,
    /// Index of an object, in [`crate::store::state::DocumentState::objects`].
    ObjIdx,
    /// Index of a span in its leaf.
    SpanIdx,
}

impl ActorIdx {
    /// The first actor of a table; in a change chunk, the author.
    pub(crate) const FIRST: Self = Self(0);
    /// Not the index of any actor: no table is that long.
    pub(crate) const NOBODY: Self = Self(u32::MAX);
}

impl ObjIdx {
    /// The root object of a document.
    pub(crate) const ROOT: Self = Self(0);
}

impl LeafIdx {
    /// The leftmost leaf of a sequence.
    pub(crate) const FIRST: Self = Self(0);
}

impl SpanIdx {
    /// The first span of a leaf.
    pub(crate) const FIRST: Self = Self(0);

    /// The index of this span in a leaf that starts with `first`.
    #[inline]
    pub(crate) fn since(self, first: Self) -> Self {
        Self(self.0 - first.0)
    }
}

impl ChangeIdx {
    /// Not the index of any change: no history is that long.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The index before this one, which must not be the first.
    #[inline]
    pub(crate) fn before(self) -> Self {
        Self(self.0 - 1)
    }

    /// Number of changes from `first` to before this one, which must not precede it.
    #[inline]
    pub(crate) fn since(self, first: Self) -> u32 {
        self.0 - first.0
    }

    /// The indexes of a range.
    #[inline]
    pub(crate) fn each(range: Range<Self>) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (range.start.0..range.end.0).map(Self)
    }
}
