//! The module `hashmill._hashmill`: what the package `hashmill` for Python is made of. Only translation.
//!
//! One folder for each part of the package; what is `unsafe` about the boundary is in `boundary.rs`.
#![warn(clippy::disallowed_methods)]

mod argon2;
mod blake3;
mod boundary;
mod call;
mod documents;
mod manifest;

use std::sync::OnceLock;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Importing it starts no thread and asks nothing of the machine.
#[pymodule(gil_used = false)]
fn _hashmill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Python asks modules for that from 3.12 on.
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
    manifest::register(module)
}
