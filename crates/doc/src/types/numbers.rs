//! Numbers of the things in a document, a type for each kind of thing: a change is never taken for an operation.
//!
//! Each counts from 0 in the order in which things came. Where there may be none, it lies in memory as one more than that:
//! "none" is an [`Option`] that takes no room of its own. Numbers are made and read here and nowhere else.

use std::num::NonZeroU32;
use std::ops::Range;

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

/// Numbers of things of which there may be none.
macro_rules! optional {
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

optional! {
    /// Of an operation on a key or an element, in [`crate::store::log::Log::keyed`].
    KeyOpIdx,
    /// Of a register, in [`crate::store::seq::Seq::regs`].
    RegIdx,
}

/// Numbers that are always there: all of 32 bits are theirs.
macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(u32);

        impl Number for $name {
            #[inline]
            fn new(place: usize) -> Self {
                Self(u32::try_from(place).expect("limits keep numbers below 2^32"))
            }

            #[inline]
            fn place(self) -> usize {
                $name::place(self)
            }
        }

        #[allow(dead_code, reason = "not every kind of thing is counted on from")]
        impl $name {
            /// The `n`-th after this one.
            #[inline]
            pub(crate) const fn plus(self, n: u32) -> Self {
                Self(self.0 + n)
            }

            /// The number that [`Self::get`] gave, or that a file or a stranger says.
            #[inline]
            pub(crate) const fn of(number: u32) -> Self {
                Self(number)
            }

            /// The place of the thing.
            #[inline]
            pub(crate) const fn place(self) -> usize {
                self.0 as usize
            }

            /// To be kept where a number has no type, and for files.
            #[inline]
            pub(crate) const fn get(self) -> u32 {
                self.0
            }
        }

        /// As files write it.
        impl From<$name> for u64 {
            #[inline]
            fn from(number: $name) -> u64 {
                u64::from(number.0)
            }
        }
    )+};
}

plain! {
    /// Of an actor in the table of the document, or of the file, that a name stands in. In a document it stays for life:
    /// actors are numbered as they arrive.
    ActorIdx,
    /// Of a change in the history of a document.
    ChangeIdx,
    /// Of a leaf of a sequence, in [`crate::store::seq::Seq`].
    LeafIdx,
    /// Of a node above the leaves of a sequence.
    NodeIdx,
    /// Of an object, in [`crate::store::state::State::objects`].
    ObjIdx,
    /// Of a span in its leaf.
    SpanIdx,
}

impl ActorIdx {
    /// The first in a table; in a change by itself, its author.
    pub(crate) const FIRST: Self = Self(0);
    /// No actor has this number: no table is that long.
    pub(crate) const NOBODY: Self = Self(u32::MAX);
}

impl ObjIdx {
    /// The object at the root of every document.
    pub(crate) const ROOT: Self = Self(0);
}

impl LeafIdx {
    /// The leftmost leaf of every sequence.
    pub(crate) const FIRST: Self = Self(0);
}

impl SpanIdx {
    /// The first of every leaf.
    pub(crate) const FIRST: Self = Self(0);

    /// The number of this one in a leaf that begins with `first`.
    #[inline]
    pub(crate) fn since(self, first: Self) -> Self {
        Self(self.0 - first.0)
    }
}

impl ChangeIdx {
    /// No change has this number: no history is that long.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The one before this one, which is not the first.
    #[inline]
    pub(crate) fn before(self) -> Self {
        Self(self.0 - 1)
    }

    /// How many changes lie between `first` and this one, which is not before it.
    #[inline]
    pub(crate) fn since(self, first: Self) -> u32 {
        self.0 - first.0
    }

    /// Those of a range, one after the other.
    #[inline]
    pub(crate) fn each(range: Range<Self>) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (range.start.0..range.end.0).map(Self)
    }
}
