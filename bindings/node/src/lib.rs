//! The library that the package `@hashmill/node` loads. Only translation: `lib/` makes of it what JavaScript sees.
//!
//! What takes time runs on Node's threads for such work (`work`), on copies of the bytes that it was given: JavaScript may
//! detach, shrink or write to a buffer at any time, and Node says nothing of it. What is short runs at once, on the bytes
//! themselves, which nobody can take away during a call.
#![warn(clippy::disallowed_methods)]
#![allow(unreachable_pub, reason = "napi exports what is public, wherever it stands")]
#![allow(clippy::needless_pass_by_value, reason = "napi hands over what it made of JavaScript's values")]
#![cfg_attr(test, allow(dead_code, reason = "napi exports nothing to tests, of which there are none here"))]
#![allow(missing_docs, reason = "what napi writes has none")]

mod argon2;
mod blake3;
mod failure;
mod files;
mod many;
mod mode;
mod passwords;
mod work;
