//! The module for `use(api)` of `@automerge/automerge/slim`: its names, implemented with the documents of `hashmill-doc`. The
//! table in `README.md` has every name with its callers.
//!
//! This crate only translates: `values` converts values in both directions, and the other files
//! have the calls. Errors are exceptions, `RangeError`s as in the original.

#![allow(unreachable_pub, reason = "wasm-bindgen exports public items of any module")]

mod document;
mod editing;
mod history;
mod materialize;
mod presence;
mod reading;
mod rich_text;
mod state;
mod sync;
mod values;
