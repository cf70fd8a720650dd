//! The module that `use(api)` of `@automerge/automerge/slim` takes: its names over the documents of `hashmill-doc`. The table
//! in `README.md` has every name, and who calls it.
//!
//! Nothing here decides: `arguments` reads what JavaScript gives, `exports` makes what it gets, and the other files are the
//! calls between. What cannot be done is an exception, a `RangeError` as in the original.

#![allow(unreachable_pub, reason = "wasm-bindgen exports what is public, wherever it stands")]

mod arguments;
mod changes;
mod document;
mod editing;
mod exports;
mod fragments;
mod history;
mod limits;
mod reading;
mod rich_text;
mod scalars;
mod shown;
mod sync;
