//! A short list: of one thing, as most lists in messages are, it takes no memory of its own.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A list that is read as a slice.
#[derive(Clone)]
pub struct Few<T>(Of<T>);

#[derive(Clone)]
enum Of<T> {
    None,
    One(Aligned<T>),
    /// Any number: a list that was made elsewhere is taken as it is.
    Many(Vec<T>),
}

/// As words: what is copied byte by byte would be read before it is all there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(8))]
pub(super) struct Aligned<T>(pub(super) T);

impl<T> Few<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self(Of::None)
    }

    /// A list of one.
    pub const fn one(item: T) -> Self {
        Self(Of::One(Aligned(item)))
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.0 = Of::None;
    }

    /// Appends one.
    pub fn push(&mut self, item: T) {
        self.0 = match std::mem::replace(&mut self.0, Of::None) {
            Of::None => Of::One(Aligned(item)),
            Of::One(Aligned(first)) => Of::Many(vec![first, item]),
            Of::Many(mut items) => {
                items.push(item);
                Of::Many(items)
            }
        };
    }

    /// As a list of the usual kind.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Of::None => vec![],
            Of::One(Aligned(item)) => vec![item],
            Of::Many(items) => items,
        }
    }

    /// How many bytes lie elsewhere, but for those of the items themselves.
    #[cfg(test)]
    pub(super) fn allocated(&self) -> usize {
        if let Of::Many(items) = &self.0 { items.capacity() * size_of::<T>() } else { 0 }
    }
}

impl<T: Ord> Few<T> {
    /// In ascending order, each once.
    pub(super) fn sorted(self) -> Self {
        match self.0 {
            Of::Many(mut items) => {
                items.sort_unstable();
                items.dedup();
                items.into()
            }
            short => Self(short),
        }
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Of::None => &[],
            Of::One(Aligned(item)) => std::slice::from_ref(item),
            Of::Many(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Of::None => &mut [],
            Of::One(Aligned(item)) => std::slice::from_mut(item),
            Of::Many(items) => items,
        }
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(mut items: Vec<T>) -> Self {
        match items.len() {
            0 => Self::new(),
            1 => items.pop().map_or_else(Self::new, Self::one),
            _ => Self(Of::Many(items)),
        }
    }
}

impl<T> From<Few<T>> for Vec<T> {
    fn from(few: Few<T>) -> Self {
        few.into_vec()
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        let Some(first) = items.next() else { return Self::new() };
        let Some(second) = items.next() else { return Self::one(first) };
        Self(Of::Many([first, second].into_iter().chain(items).collect()))
    }
}

impl<T> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq, L: AsRef<[T]>> PartialEq<L> for Few<T> {
    fn eq(&self, other: &L) -> bool {
        **self == *other.as_ref()
    }
}

impl<T: Eq> Eq for Few<T> {}

impl<T> AsRef<[T]> for Few<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_it_was_made_it_is_the_same_list() {
        for count in 0..4 {
            let list: Vec<usize> = (0..count).collect();
            let mut pushed = Few::new();
            list.iter().for_each(|item| pushed.push(*item));
            let mut extended = Few::from(list[..count / 2].to_vec());
            extended.extend(list[count / 2..].iter().copied());
            for few in [list.clone().into(), list.iter().copied().collect(), pushed, extended] {
                assert_eq!(few, list);
                assert_eq!(few.allocated() > 0, count > 1);
                assert_eq!(few.iter().collect::<Vec<_>>(), list.iter().collect::<Vec<_>>());
                assert_eq!(few.clone().into_iter().rev().collect::<Few<_>>().sorted(), list);
                assert_eq!(Vec::from(few), list);
            }
        }
        let mut few = Few::from(vec![1, 2]);
        few[0] = 3;
        assert_eq!(few, [3, 2]);
        few.clear();
        assert!(few.is_empty() && few != [3]);
    }
}
