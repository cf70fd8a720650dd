//! `hashmill.documents`: documents of the crate `hashmill-doc` as mappings, sequences and texts of Python.
//!
//! This folder only translates: [`shared`] controls concurrent access, [`values`] converts values, [`errors`] converts errors,
//! and the other files are the classes.

mod automerge;
mod classes;
mod document;
mod errors;
mod forks;
mod objects;
mod presence;
mod shared;
mod values;

use pyo3::prelude::*;

/// Adds the module `documents` to `parent`.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = parent.py();
    let module = PyModule::new(py, "documents")?;
    module.add_class::<classes::Map>()?;
    module.add_class::<classes::List>()?;
    module.add_class::<classes::Text>()?;
    module.add_class::<classes::Document>()?;
    module.add_class::<document::edits::Edits>()?;
    module.add_class::<document::Limits>()?;
    module.add_class::<document::change::Change>()?;
    module.add_class::<document::events::Events>()?;
    module.add_class::<document::sync::SyncState>()?;
    module.add_class::<classes::Undo>()?;
    module.add_class::<presence::Presence>()?;
    module.add_class::<values::scalars::Counter>()?;
    module.add_class::<values::scalars::Timestamp>()?;
    module.add_class::<values::scalars::Unknown>()?;
    automerge::register(&module)?;
    parent.add_submodule(&module)?;
    let modules = py.import("sys")?.getattr("modules")?;
    modules.set_item("hashmill._hashmill.documents", &module)
}
