//! What engines of both back ends are to do alike. Whoever includes this says which they are: `back`, and a `device` of it.
#![allow(
    clippy::needless_borrow,
    reason = "a device is a reference of one back end, and holds one of the other"
)]

pub(crate) mod nonces;

mod hashes;
mod tiles;
