//! Sequential versions of the thread helpers, for builds without threads.

/// Runs both closures, in parallel if there are several threads. Code that waits for the other closure must not depend
/// on a lock held by the caller: a waiting thread runs any available task.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    (a(), b())
}

/// Maps the items with their indexes, in parallel if there are several threads; a task is `together` items.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    _together: usize,
    each: impl Fn(usize, &T) -> R + Send + Sync,
) -> Vec<R> {
    items.iter().enumerate().map(|(number, item)| each(number, item)).collect()
}
