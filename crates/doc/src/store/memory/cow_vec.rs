//! Copy-on-write vector: it grows at its end and is copied page by page, so documents share the pages that neither
//! changed.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::types::Number;

const PAGE: usize = 128;

/// A vector of shared pages, indexed by the number type `N`. Cloning costs one reference per page; appending costs no
/// more than a `Vec`.
#[derive(Clone, Debug)]
pub(crate) struct CowVec<T, N = usize> {
    full: Vec<Arc<Vec<T>>>,
    tail: Vec<T>,
    by: PhantomData<fn(N)>,
}

impl<T, N> Default for CowVec<T, N> {
    fn default() -> Self {
        Self { full: Vec::new(), tail: Vec::new(), by: PhantomData }
    }
}

impl<T: Clone, N: Number> CowVec<T, N> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.full.len() * PAGE + self.tail.len()
    }

    /// Number of the next element.
    #[inline]
    pub(crate) fn next(&self) -> N {
        N::new(self.len())
    }

    /// Reserves memory for `len` elements, up to one page.
    pub(crate) fn expect(&mut self, len: usize) {
        if self.len() == 0 {
            self.tail.reserve_exact(len.min(PAGE));
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        if self.tail.capacity() == 0 && !self.full.is_empty() {
            self.tail.reserve_exact(PAGE);
        }
        self.tail.push(value);
        if self.tail.len() == PAGE {
            self.turn();
        }
    }

    /// Starts another page.
    #[cold]
    fn turn(&mut self) {
        self.full.push(Arc::new(std::mem::take(&mut self.tail)));
    }

    #[inline]
    pub(crate) fn get(&self, number: N) -> Option<&T> {
        let at = number.index();
        match self.full.get(at / PAGE) {
            Some(page) => page.get(at % PAGE),
            None => self.tail.get(at - self.full.len() * PAGE),
        }
    }

    /// The element, to be changed. Copies its page first if another document shares it.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: N) -> &mut T {
        let at = number.index();
        let full = self.full.len();
        match self.full.get_mut(at / PAGE) {
            Some(page) => &mut Arc::make_mut(page)[at % PAGE],
            None => &mut self.tail[at - full * PAGE],
        }
    }

    /// The last element, to be changed. Copies its page first if another document shares it.
    #[inline]
    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        match self.tail.is_empty() {
            false => self.tail.last_mut(),
            true => self.full.last_mut().and_then(|page| Arc::make_mut(page).last_mut()),
        }
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<&T> {
        self.tail.last().or_else(|| self.full.last().and_then(|page| page.last()))
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        while self.full.len() * PAGE > len {
            let page = self.full.pop().expect("there is a page beyond the new length");
            self.tail = Arc::unwrap_or_clone(page);
        }
        self.tail.truncate(len - self.full.len() * PAGE);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.full.iter().flat_map(|page| page.iter()).chain(&self.tail)
    }

    /// All elements with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (N, &T)> {
        self.iter().enumerate().map(|(index, value)| (N::new(index), value))
    }

    pub(crate) fn iter_from(&self, from: N) -> impl Iterator<Item = &T> + Clone {
        let from = from.index();
        let (page, skip) = (from / PAGE, from % PAGE);
        let (pages, first) = (self.full.get(page..).unwrap_or_default(), page < self.full.len());
        let tail = if first { 0 } else { from - self.full.len() * PAGE };
        let pages =
            pages.iter().enumerate().flat_map(move |(i, page)| &page[if i == 0 { skip } else { 0 }..]);
        pages.chain(self.tail.get(tail..).unwrap_or_default())
    }
}

impl<T, N: Number> CowVec<T, N> {
    /// `len` elements from `from` on, as slices.
    #[inline]
    pub(crate) fn parts(&self, from: N, len: usize) -> impl Iterator<Item = &[T]> {
        let (mut from, end) = (from.index(), from.index() + len);
        std::iter::from_fn(move || {
            let page = self.full.get(from / PAGE).map_or(&self.tail, |page| page);
            let start = from % PAGE;
            let rows = (end - from).min(PAGE - start);
            from += rows;
            (rows > 0).then(|| &page[start..start + rows])
        })
    }
}

impl<T: Clone, N: Number> std::ops::Index<N> for CowVec<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, number: N) -> &T {
        let at = number.index();
        match self.full.get(at / PAGE) {
            Some(page) => &page[at % PAGE],
            None => &self.tail[at - self.full.len() * PAGE],
        }
    }
}

impl<T: Clone, N: Number> Extend<T> for CowVec<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let mut values = values.into_iter();
        // The first element of a page reserves all of it; the last one moves it to the full pages.
        while let Some(value) = values.next() {
            self.push(value);
            if !self.tail.is_empty() {
                let between = PAGE - 1 - self.tail.len();
                self.tail.extend(values.by_ref().take(between));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_shrinks_and_is_not_changed_through_a_clone() {
        let mut pages = CowVec::<usize>::default();
        pages.extend(0..1000usize);
        let old = pages.clone();
        *pages.get_mut(5) = 7;
        for len in [999, 640, 639, 128, 1, 0] {
            pages.truncate(len);
            assert_eq!(pages.len(), len);
            let expected = (0..len).map(|i| if i == 5 { 7 } else { i });
            assert!(pages.iter().copied().eq(expected));
        }
        for from in [0, 1, 127, 128, 895, 896, 999, 1000] {
            assert!(old.iter_from(from).copied().eq(from..1000), "{from}");
            for to in [from, (from + 1).min(1000), (from + 300).min(1000), 1000] {
                assert!(old.parts(from, to - from).flatten().copied().eq(from..to), "{from} {to}");
            }
        }
    }
}
