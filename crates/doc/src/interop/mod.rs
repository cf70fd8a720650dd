//! Documents and changes in other data models: JSON, serde, and the official crate's expanded changes.

#[cfg(feature = "json")]
pub mod json;
pub mod legacy;
#[cfg(any(feature = "json", feature = "serde"))]
mod pointer_token;
#[cfg(feature = "serde")]
pub mod serde;
