//! Functions that free errors and bytes.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::hm_error;
use super::pointers::{free, hm_bytes};

/// Frees an error, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_free(error: Option<Box<hm_error>>) {
    free(error);
}

/// Frees bytes that a function returned, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_bytes_free(bytes: Option<Box<hm_bytes>>) {
    free(bytes);
}
