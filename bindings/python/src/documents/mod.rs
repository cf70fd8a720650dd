//! `hashmill.documents`: documents of the crate `hashmill-doc` as mappings, sequences and texts of Python.
//!
//! Nothing is decided here: [`shared`] says who may read and write when, [`values`] turns values of the one side into those of
//! the other, [`errors`] does so with what went wrong, and the other files are the classes.

mod automerge;
mod blame;
mod change;
mod document;
mod errors;
mod events;
mod forks;
mod hashes;
mod json;
mod list;
mod map;
mod repr;
mod scalars;
mod shared;
mod slices;
mod sync;
mod text;
mod undo;
mod values;

use pyo3::prelude::*;

/// Adds the module `documents` to `parent`.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = parent.py();
    let module = PyModule::new(py, "documents")?;
    module.add_class::<map::Map>()?;
    module.add_class::<list::List>()?;
    module.add_class::<text::Text>()?;
    module.add_class::<document::Document>()?;
    module.add_class::<document::Edits>()?;
    module.add_class::<document::Limits>()?;
    module.add_class::<change::Change>()?;
    module.add_class::<events::Events>()?;
    module.add_class::<sync::SyncState>()?;
    module.add_class::<undo::Undo>()?;
    module.add_class::<scalars::Counter>()?;
    module.add_class::<scalars::Timestamp>()?;
    module.add_class::<scalars::Unknown>()?;
    automerge::register(&module)?;
    parent.add_submodule(&module)?;
    let modules = py.import("sys")?.getattr("modules")?;
    modules.set_item("hashmill._hashmill.documents", &module)
}
