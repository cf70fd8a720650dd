//! Passwords and their strings.

#[cfg(feature = "foreign")]
mod foreign;
mod passwords;
mod phc;
#[cfg(feature = "password-hash")]
mod traits;
