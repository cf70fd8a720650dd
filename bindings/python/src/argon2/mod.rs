//! The native part of `hashmill.argon2`.

mod failure;
mod passwords;
mod secret;

use pyo3::prelude::*;

/// Adds it to `parent`.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "argon2")?;
    module.add_class::<passwords::Passwords>()?;
    module.add_class::<passwords::StopToken>()?;
    module.add_function(wrap_pyfunction!(secret::hash_secret, &module)?)?;
    module.add_function(wrap_pyfunction!(secret::hash_secret_raw, &module)?)?;
    module.add_function(wrap_pyfunction!(secret::verify_secret, &module)?)?;
    module.add_function(wrap_pyfunction!(passwords::presets, &module)?)?;
    parent.add_submodule(&module)
}
