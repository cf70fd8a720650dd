//! One thing after the other, on the thread that asks for it.

/// Both, side by side where there are several threads. What both do with each other's help must not need a lock that is held
/// here: a thread that waits takes up whatever there is to do.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    (a(), b())
}

/// `each` of the items with its number, by several threads where there are some, which take `together` items at a time.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    _together: usize,
    each: impl Fn(usize, &T) -> R + Send + Sync,
) -> Vec<R> {
    items.iter().enumerate().map(|(number, item)| each(number, item)).collect()
}
