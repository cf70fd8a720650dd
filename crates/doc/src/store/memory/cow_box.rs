//! Copy-on-write box: a value that copies of a document share until one of them changes it.

use std::ops::Deref;
use std::sync::Arc;

/// A shared value, or an exclusively held one while it is edited repeatedly. Testing whether a shared value has one
/// owner is an atomic exchange each time, which waits for all earlier stores.
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

/// Costs O(1) for a shared value. A held value is copied.
impl<T: Clone> Clone for CowBox<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Shared(thing) => Self::Shared(Arc::clone(thing)),
            Self::Alone(thing) => Self::from(T::clone(thing)),
        }
    }
}

impl<T: Clone + Default> CowBox<T> {
    /// The value to change; copied first if another document shares it.
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

    /// Holds the value exclusively: later edits skip the test. Until [`Self::share`], cloning copies the value.
    pub(crate) fn hold(&mut self) {
        if let Self::Shared(thing) = self {
            *self = Self::Alone(Box::new(std::mem::take(Arc::make_mut(thing))));
        }
    }

    /// Makes the value shareable again.
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
    fn edits_do_not_change_other_copies() {
        let mut shared = CowBox::from(vec![1]);
        let first = shared.clone();
        shared.get_mut().push(2);
        shared.hold();
        assert!(!shared.is_shared());
        let second = shared.clone();
        shared.get_mut().push(3);
        shared.share();
        let third = shared.clone();
        shared.hold();
        shared.get_mut().push(4);
        let all = [first, second, third, shared].map(|shared| shared.len());
        assert_eq!(all, [1, 2, 3, 4]);
    }
}
