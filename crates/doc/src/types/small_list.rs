//! Small list: most lists in messages have one element, which is stored inline.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A list that derefs to a slice.
#[derive(Clone)]
pub struct SmallList<T>(Items<T>);

#[derive(Clone)]
enum Items<T> {
    None,
    One(Aligned<T>),
    /// Any length: an existing `Vec` is adopted unchanged.
    Many(Vec<T>),
}

/// Word-aligned, so that it is copied in words: bytes would be read before their stores complete.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(8))]
pub(crate) struct Aligned<T>(pub(crate) T);

impl<T> SmallList<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self(Items::None)
    }

    /// A list with one element.
    pub const fn one(item: T) -> Self {
        Self(Items::One(Aligned(item)))
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.0 = Items::None;
    }

    /// Appends an element.
    pub fn push(&mut self, item: T) {
        self.0 = match std::mem::replace(&mut self.0, Items::None) {
            Items::None => Items::One(Aligned(item)),
            Items::One(Aligned(first)) => Items::Many(vec![first, item]),
            Items::Many(mut items) => {
                items.push(item);
                Items::Many(items)
            }
        };
    }

    /// Converts into a `Vec`.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Items::None => vec![],
            Items::One(Aligned(item)) => vec![item],
            Items::Many(items) => items,
        }
    }

    /// Allocated bytes, without those owned by the elements.
    #[cfg(test)]
    pub(crate) fn allocated(&self) -> usize {
        if let Items::Many(items) = &self.0 { items.capacity() * size_of::<T>() } else { 0 }
    }
}

impl<T: Ord> SmallList<T> {
    /// Sorted and without duplicates.
    pub(crate) fn sorted(self) -> Self {
        match self.0 {
            Items::Many(mut items) => {
                items.sort_unstable();
                items.dedup();
                items.into()
            }
            short => Self(short),
        }
    }
}

impl<T> Default for SmallList<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for SmallList<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Items::None => &[],
            Items::One(Aligned(item)) => std::slice::from_ref(item),
            Items::Many(items) => items,
        }
    }
}

impl<T> DerefMut for SmallList<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Items::None => &mut [],
            Items::One(Aligned(item)) => std::slice::from_mut(item),
            Items::Many(items) => items,
        }
    }
}

impl<T> From<Vec<T>> for SmallList<T> {
    fn from(mut items: Vec<T>) -> Self {
        match items.len() {
            0 => Self::new(),
            1 => items.pop().map_or_else(Self::new, Self::one),
            _ => Self(Items::Many(items)),
        }
    }
}

impl<T> From<SmallList<T>> for Vec<T> {
    fn from(few: SmallList<T>) -> Self {
        few.into_vec()
    }
}

impl<T> FromIterator<T> for SmallList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        let Some(first) = items.next() else { return Self::new() };
        let Some(second) = items.next() else { return Self::one(first) };
        Self(Items::Many([first, second].into_iter().chain(items).collect()))
    }
}

impl<T> Extend<T> for SmallList<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T> IntoIterator for SmallList<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SmallList<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq, L: AsRef<[T]>> PartialEq<L> for SmallList<T> {
    fn eq(&self, other: &L) -> bool {
        **self == *other.as_ref()
    }
}

impl<T: Eq> Eq for SmallList<T> {}

impl<T> AsRef<[T]> for SmallList<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: fmt::Debug> fmt::Debug for SmallList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_origin_are_equal() {
        for count in 0..4 {
            let list: Vec<usize> = (0..count).collect();
            let mut pushed = SmallList::new();
            list.iter().for_each(|item| pushed.push(*item));
            let mut extended = SmallList::from(list[..count / 2].to_vec());
            extended.extend(list[count / 2..].iter().copied());
            for few in [list.clone().into(), list.iter().copied().collect(), pushed, extended] {
                assert_eq!(few, list);
                assert_eq!(few.allocated() > 0, count > 1);
                assert_eq!(few.iter().collect::<Vec<_>>(), list.iter().collect::<Vec<_>>());
                assert_eq!(few.clone().into_iter().rev().collect::<SmallList<_>>().sorted(), list);
                assert_eq!(Vec::from(few), list);
            }
        }
        let mut few = SmallList::from(vec![1, 2]);
        few[0] = 3;
        assert_eq!(few, [3, 2]);
        few.clear();
        assert!(few.is_empty() && few != [3]);
    }
}
