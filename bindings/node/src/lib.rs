//! The native library of the package `@hashmill/node`. It only translates: `lib/` has the JavaScript interface.
//!
//! Long work runs on Node's thread pool (`work`), on copies of its input: JavaScript may detach, shrink or write to a buffer at
//! any time without notice. Short work runs synchronously on the buffer itself, which cannot change during a call.
#![warn(clippy::disallowed_methods)]
#![allow(unreachable_pub, reason = "napi exports public items of any module")]
#![allow(clippy::needless_pass_by_value, reason = "napi passes converted values")]
#![cfg_attr(test, allow(dead_code, reason = "nothing is exported to tests; there are none here"))]
#![allow(missing_docs, reason = "generated items have none")]

mod argon2;
mod blake3;
mod engines;
mod error;
mod files;
mod many;
mod mode;
mod passwords;
mod work;
