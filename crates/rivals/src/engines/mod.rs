//! Document engines of other projects.

#[cfg(feature = "doc-engines")]
pub mod diamond;
#[cfg(feature = "doc-engines")]
pub mod loro;
pub mod official;
#[cfg(feature = "doc-engines")]
pub mod yrs;
