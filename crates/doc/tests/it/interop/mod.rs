//! Tests of JSON and serde.

#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod json_differences;
#[cfg(feature = "serde")]
mod serde;
