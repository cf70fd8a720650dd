//! Input of passwords, secrets and stored hashes.

pub(super) mod entry;
pub(super) mod lines;
mod password_source;
pub(super) mod stored_hash;

pub(super) use password_source::{
    Secret, attempt, everything, mishap, new_password, secret, secret_and_password, takes_stdin,
};
