//! The module `hashmill._hashmill`: the native part of the Python package `hashmill`. It only translates.
//!
//! One folder for each part of the package; the `unsafe` code of the boundary is in `boundary.rs`.
#![warn(clippy::disallowed_methods)]

mod argon2;
mod blake3;
mod boundary;
mod documents;
mod engines;
mod inventory;
mod long_call;

use std::sync::OnceLock;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Importing it starts no thread and detects no hardware.
#[pymodule(gil_used = false)]
fn _hashmill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Python requires modules to declare that from 3.12 on.
    static FIRST: OnceLock<i64> = OnceLock::new();
    let here = boundary::interpreter(module.py());
    if *FIRST.get_or_init(|| here) != here {
        return Err(PyImportError::new_err(
            "hashmill serves the first interpreter of a process that imports it, and no other",
        ));
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    blake3::register(module)?;
    argon2::register(module)?;
    documents::register(module)?;
    inventory::register(module)
}
