//! A thing that copies of a document share until one of them changes it.

use std::ops::Deref;
use std::sync::Arc;

/// Shared, or for as long as somebody edits it again and again, in one hand. Whether a shared thing is anybody else's is an
/// atomic exchange each time, which waits for all that was written before.
#[derive(Debug)]
pub(crate) enum CowBox<T> {
    Shared(Arc<T>),
    Alone(Box<T>),
}

impl<T> From<T> for CowBox<T> {
    fn from(thing: T) -> Self {
        Self::Shared(Arc::new(thing))
    }
}

impl<T> Deref for CowBox<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Shared(thing) => thing,
            Self::Alone(thing) => thing,
        }
    }
}

/// Costs O(1) for what is shared. What is held alone is copied.
impl<T: Clone> Clone for CowBox<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Shared(thing) => Self::Shared(Arc::clone(thing)),
            Self::Alone(thing) => Self::from(T::clone(thing)),
        }
    }
}

impl<T: Clone + Default> CowBox<T> {
    /// The thing to change, copied first if it is another document's, too.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        match self {
            Self::Shared(thing) => Arc::make_mut(thing),
            Self::Alone(thing) => thing,
        }
    }

    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// From now on nobody is asked. Until [`Self::share`] a copy costs as much as the thing is large.
    pub(crate) fn hold(&mut self) {
        if let Self::Shared(thing) = self {
            *self = Self::Alone(Box::new(std::mem::take(Arc::make_mut(thing))));
        }
    }

    /// Copies may have it, too.
    pub(crate) fn share(&mut self) {
        if let Self::Alone(thing) = self {
            *self = Self::from(std::mem::take(&mut **thing));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_changes_what_another_has() {
        let mut held = CowBox::from(vec![1]);
        let first = held.clone();
        held.get_mut().push(2);
        held.hold();
        assert!(!held.is_shared());
        let second = held.clone();
        held.get_mut().push(3);
        held.share();
        let third = held.clone();
        held.hold();
        held.get_mut().push(4);
        let all = [first, second, third, held].map(|held| held.len());
        assert_eq!(all, [1, 2, 3, 4]);
    }
}
