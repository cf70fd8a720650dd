//! Password hashing: creation and verification of hashes, limits on the cost of stored strings, and upgrades
//! to higher costs.
//!
//! Nothing here generates random numbers: the caller passes salts, sixteen fresh random bytes for each hash.
//!
//! ```
//! use hashmill_hash::password::{Passwords, Preset};
//!
//! let passwords = Passwords::new(Preset::by_name("owasp-7m").unwrap().policy());
//! let salt = [7; 16]; // in production: random
//! let stored = passwords.hash(b"correct horse", &salt)?.to_string();
//! assert!(stored.starts_with("$argon2id$v=19$m=7168,t=5,p=1$"));
//! assert!(passwords.verify(b"correct horse", &stored).is_ok());
//! assert!(passwords.verify(b"battery staple", &stored).is_err());
//! # Ok::<(), hashmill_hash::password::CreateError>(())
//! ```

mod batch;
mod error;
#[cfg(feature = "foreign")]
pub mod foreign;
mod limits;

mod passwords;
mod phc;
mod policy;
mod policy_limits;
mod pool;
mod stored;
#[cfg(feature = "password-hash")]
mod traits;

/// Compiles and runs the examples of the migration guide.
#[cfg(all(doctest, guides, feature = "password-hash"))]
#[doc = include_str!("../../../../docs/password.md")]
struct Guide;

pub use batch::{Login, NewPassword};
pub use error::{CreateError, VerifyError};
pub use limits::{Limits, OverLimit, Quantity};

pub use passwords::{Passwords, Verified};
pub use phc::{Malformed, PhcError, Syntax};
pub use policy::{Difference, Policy, PolicyComparison, PolicyError, Preset};
pub use stored::PasswordHash;
