//! Tests of help, hints, manual pages and the examples in the guides.

#[cfg(feature = "generate")]
mod generate;
#[cfg(all(unix, feature = "doc", feature = "generate", feature = "lab"))]
mod guides;
mod hints;
mod info;
