//! Passwords: what is stored for them, what a stored string may cost, checking, and moving to higher costs.
//!
//! Nothing here makes random numbers: salts are handed in, sixteen fresh random bytes for each hash.
//!
//! ```
//! use hashmill_hash::password::{Passwords, Preset};
//!
//! let passwords = Passwords::new(Preset::by_name("owasp-7m").unwrap().policy());
//! let salt = [7; 16]; // random in earnest
//! let stored = passwords.hash(b"correct horse", &salt)?.to_string();
//! assert!(stored.starts_with("$argon2id$v=19$m=7168,t=5,p=1$"));
//! assert!(passwords.verify(b"correct horse", &stored).is_ok());
//! assert!(passwords.verify(b"battery staple", &stored).is_err());
//! # Ok::<(), hashmill_hash::password::CreateError>(())
//! ```

mod error;
#[cfg(feature = "foreign")]
pub mod foreign;
mod limits;
mod many;
mod passwords;
mod phc;
mod policy;
mod pool;
mod stored;
#[cfg(feature = "password-hash")]
mod traits;

/// What stands in the guide for those who come from elsewhere compiles and does what it says.
#[cfg(all(doctest, guides, feature = "password-hash"))]
#[doc = include_str!("../../../../docs/password.md")]
struct Guide;

pub use error::{CreateError, VerifyError};
pub use limits::{Limits, OverLimit, Quantity};
pub use many::{Login, NewPassword};
pub use passwords::{Passwords, Verified};
pub use phc::{Malformed, PhcError, Syntax};
pub use policy::{Difference, Policy, PolicyError, Preset, Standing};
pub use stored::PasswordHash;
