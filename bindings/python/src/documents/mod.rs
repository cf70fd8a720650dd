//! The part of the module that `hashmill.documents` is made of.

use pyo3::prelude::*;

/// Adds it to `parent`.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "documents")?;
    parent.add_submodule(&module)
}
