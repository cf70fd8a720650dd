//! The native part of `hashmill.blake3`.

mod arrow;
mod hasher;
mod many;
mod mode;
mod threads;

use std::num::NonZero;

use pyo3::prelude::*;

/// Adds it to `parent`.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "blake3")?;
    module.add_class::<hasher::Hasher>()?;
    module.add_class::<arrow::Digests>()?;
    module.add_function(wrap_pyfunction!(many::hash_buffers, &module)?)?;
    module.add_function(wrap_pyfunction!(many::hash_paths, &module)?)?;
    module.add_function(wrap_pyfunction!(many::hash_tree, &module)?)?;
    module.add_function(wrap_pyfunction!(arrow::hash_arrow, &module)?)?;
    parent.add_submodule(&module)
}

/// The value of `max_threads` for code that starts its own threads: `None` is one for each processor.
pub(crate) fn max_threads_arg(max_threads: isize) -> PyResult<Option<NonZero<usize>>> {
    Ok(threads::MaxThreads::from_arg(max_threads)?.for_files())
}
