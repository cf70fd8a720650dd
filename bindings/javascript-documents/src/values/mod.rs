//! Conversion of values between JavaScript and documents.

pub(crate) mod arguments;
pub(crate) mod exports;
pub(crate) mod limits;
pub(crate) mod literals;
pub(crate) mod scalars;
