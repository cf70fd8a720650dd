//! The part of the module that `hashmill.blake3` is made of.

use pyo3::prelude::*;

/// Adds it to `parent`.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "blake3")?;
    parent.add_submodule(&module)
}
