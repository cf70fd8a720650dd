//! Password strings of others, to be verified until each can be replaced by one of Argon2: bcrypt, scrypt and PBKDF2, as
//! PHP, Apache, Django, passlib, Werkzeug, LDAP servers, libxcrypt and RustCrypto's crates write them.
//!
//! It stands here, behind a feature, and not in the program: a service that moves its users needs it at each login, and so
//! do bindings for other languages; the program is its second user. The functions are RustCrypto's crates, which nobody
//! gets who leaves the feature out. [`Passwords::verify`] takes Argon2 alone with or without it.
//!
//! ```
//! use hashmill_hash::password::{Limits, Passwords, Syntax, foreign::StoredHash};
//!
//! let passwords = Passwords::default();
//! let old = "$2y$04$WGFuEpcL36blR.ixB.7/Teefn/8CSjFM0yeo3Db19.k9g449fGR26"; // htpasswd -B
//! let stored = StoredHash::decode(old, Syntax::Strict, &Limits::default())?;
//! passwords.verify_stored(b"password", &stored)?;
//! assert!(passwords.wants_upgrade(&stored));
//! let salt = [7; 16]; // random in earnest
//! let new = stored.form().write(&passwords.hash(b"password", &salt)?);
//! assert!(new.starts_with("$argon2id$"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compute;
mod read;

use super::error::VerifyError;
use super::limits::{Limits, OverLimit, Quantity};
use super::passwords::Passwords;
use super::phc::{PhcError, Syntax};
use super::stored::PasswordHash;
use crate::work_sharing;
use core::fmt;
use std::sync::{Mutex, PoisonError};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What stands in a database for one password: a hash of Argon2 or of another function, and how it is written there.
#[derive(Clone, Debug)]
pub struct StoredHash {
    form: Form,
    hash: Hash,
}

#[derive(Clone, Debug)]
enum Hash {
    Argon2(PasswordHash),
    Foreign(ForeignHash),
}

/// What stands before a hash in a database, so that its readers know whose it is. A hash that takes the place of another
/// is written in the same form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Form {
    /// Nothing.
    Plain,
    /// The name of a hasher of Django.
    Django,
    /// A scheme in braces and capitals, as in LDAP.
    Ldap,
    /// A scheme in braces and small letters, as Spring Security writes it.
    Spring,
    /// A scheme of Dovecot in braces, which has the variant in its name.
    Dovecot,
}

impl Form {
    /// The hash with what stands before it.
    pub fn write(self, hash: &PasswordHash) -> String {
        match self {
            Form::Plain => hash.to_string(),
            Form::Django => format!("argon2{hash}"),
            Form::Ldap => format!("{{ARGON2}}{hash}"),
            Form::Spring => format!("{{argon2}}{hash}"),
            Form::Dovecot => {
                let variant = hash.params().variant().name().to_ascii_uppercase();
                format!("{{{variant}}}{hash}")
            }
        }
    }
}

impl StoredHash {
    /// Reads a string of any kind that can be verified here. `syntax` is about those of Argon2.
    ///
    /// # Errors
    /// A string of a kind that is not verified here, or of no known one; a fault with its place; anything over `limits`.
    pub fn decode(
        text: impl AsRef<[u8]>,
        syntax: Syntax,
        limits: &Limits,
    ) -> Result<StoredHash, StoredError> {
        read::stored(text.as_ref(), syntax, limits)
    }

    /// What stands before it.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The hash, if it is one of Argon2.
    pub fn argon2(&self) -> Option<&PasswordHash> {
        match &self.hash {
            Hash::Argon2(hash) => Some(hash),
            Hash::Foreign(_) => None,
        }
    }

    /// The hash, if it is one of another function.
    pub fn foreign(&self) -> Option<&ForeignHash> {
        match &self.hash {
            Hash::Argon2(_) => None,
            Hash::Foreign(hash) => Some(hash),
        }
    }

    /// KiB of memory that verifying it takes.
    pub fn memory_kib(&self) -> u64 {
        match &self.hash {
            Hash::Argon2(hash) => hash.params().blocks(),
            Hash::Foreign(hash) => hash.scheme.memory_kib(),
        }
    }
}

/// A hash that is not of Argon2. `Debug` keeps salt and tag to itself, and the tag is wiped when dropped.
#[derive(Clone)]
pub struct ForeignHash {
    scheme: Scheme,
    salt: Vec<u8>,
    tag: Zeroizing<Vec<u8>>,
}

impl ForeignHash {
    /// Function and costs.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether more of the password than was looked at follows: bcrypt takes 72 bytes.
    pub fn ignores_part_of(&self, password: &[u8]) -> bool {
        matches!(self.scheme, Scheme::Bcrypt { .. }) && password.len() > compute::BCRYPT_KEY
    }

    fn verify(&self, password: &[u8]) -> Result<(), VerifyError> {
        let mut tag = Zeroizing::new(vec![0; self.tag.len()]);
        if compute::tag(self.scheme, &self.salt, password, &mut tag)? && self.tag[..].ct_eq(&tag).into() {
            Ok(())
        } else {
            Err(VerifyError::Mismatch)
        }
    }
}

impl fmt::Debug for ForeignHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignHash").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// A function other than Argon2, and what it costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Scheme {
    /// bcrypt of the password.
    Bcrypt {
        /// Two to this power is the number of rounds.
        cost: u32,
    },
    /// bcrypt of a SHA-256 of the password, so that all of a long one counts.
    BcryptSha256 {
        /// Two to this power is the number of rounds.
        cost: u32,
        /// What bcrypt is given.
        digest: Prehash,
    },
    /// scrypt.
    Scrypt {
        /// N is two to this power.
        log_n: u32,
        /// The size of a block in 128 bytes.
        r: u32,
        /// How many times.
        p: u32,
    },
    /// PBKDF2 with HMAC.
    Pbkdf2 {
        /// Of which function.
        digest: Digest,
        /// For each piece of the tag that is as long as the digest.
        iterations: u32,
    },
}

/// What goes into bcrypt in the place of the password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Prehash {
    /// The digest in hexadecimal digits: Django.
    Hex,
    /// The digest in base64: passlib's first version.
    Base64,
    /// The digest of HMAC, keyed with the salt as it is written, in base64: passlib's second version.
    Hmac,
}

/// A digest under PBKDF2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Digest {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Digest {
    /// Its length in bytes.
    fn len(self) -> usize {
        match self {
            Digest::Sha1 => 20,
            Digest::Sha256 => 32,
            Digest::Sha512 => 64,
        }
    }
}

impl Scheme {
    /// Its name, without costs.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Bcrypt { .. } => "bcrypt",
            Scheme::BcryptSha256 { .. } => "bcrypt-sha256",
            Scheme::Scrypt { .. } => "scrypt",
            Scheme::Pbkdf2 { digest: Digest::Sha1, .. } => "pbkdf2-sha1",
            Scheme::Pbkdf2 { digest: Digest::Sha256, .. } => "pbkdf2-sha256",
            Scheme::Pbkdf2 { digest: Digest::Sha512, .. } => "pbkdf2-sha512",
        }
    }

    /// The memory of one hash, rounded up.
    fn memory_kib(self) -> u64 {
        match self {
            Scheme::Scrypt { log_n, r, p } => {
                let n = 1u64.checked_shl(log_n).unwrap_or(u64::MAX);
                n.saturating_add(p.into()).saturating_mul(r.into()).saturating_mul(128).div_ceil(1024)
            }
            Scheme::Bcrypt { .. } | Scheme::BcryptSha256 { .. } => 5,
            Scheme::Pbkdf2 { .. } => 1,
        }
    }

    /// Checks what a tag of `tag_len` bytes costs.
    fn check(self, tag_len: usize, limits: &Limits) -> Result<(), OverLimit> {
        let at_most = |what, given: u64, bound: u64| match given <= bound {
            true => Ok(()),
            false => Err(OverLimit { what, given, bound, is_least: false }),
        };
        match self {
            Scheme::Bcrypt { cost } | Scheme::BcryptSha256 { cost, .. } => {
                at_most(Quantity::BcryptCost, cost.into(), limits.bcrypt_cost.into())
            }
            Scheme::Scrypt { log_n, r, p } => {
                at_most(Quantity::Memory, self.memory_kib(), limits.memory_kib.into())?;
                let once = Scheme::Scrypt { log_n, r, p: 0 }.memory_kib();
                at_most(Quantity::Work, once.saturating_mul(p.into()), limits.work_kib)
            }
            Scheme::Pbkdf2 { digest, iterations } => {
                let pieces = tag_len.div_ceil(digest.len()) as u64;
                at_most(Quantity::Iterations, pieces * u64::from(iterations), limits.iterations.into())
            }
        }
    }
}

impl fmt::Display for Scheme {
    /// The name with the costs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Scheme::Bcrypt { cost } | Scheme::BcryptSha256 { cost, .. } => write!(f, ", cost {cost}"),
            Scheme::Scrypt { log_n, r, p } => write!(f, ", N 2^{log_n}, r {r}, p {p}"),
            Scheme::Pbkdf2 { iterations, .. } => write!(f, ", {iterations} iterations"),
        }
    }
}

/// Why a string was not taken for a stored hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoredError {
    /// A string of Argon2, with its fault.
    Argon2(PhcError),
    /// A kind that is known by name and not verified here.
    NotVerified(&'static str),
    /// Nothing that is known.
    Unknown,
    /// A string of a known kind that is not as those are.
    Malformed {
        /// Which kind.
        kind: &'static str,
        /// What is wrong.
        expected: &'static str,
    },
    /// It is over a limit. Nothing was computed.
    OverLimit {
        /// Which kind.
        kind: &'static str,
        /// What is too much.
        error: OverLimit,
    },
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredError::Argon2(error) => error.fmt(f),
            StoredError::NotVerified(kind) => write!(f, "{kind}, which is not verified here"),
            StoredError::Unknown => f.write_str(
                "no password hash of a known kind: Argon2, bcrypt, scrypt and PBKDF2 are verified",
            ),
            StoredError::Malformed { kind, expected } => write!(f, "{kind} hash: expected {expected}"),
            StoredError::OverLimit { kind, error } => write!(f, "{kind} hash: {error}"),
        }
    }
}

impl core::error::Error for StoredError {}

impl From<PhcError> for StoredError {
    fn from(error: PhcError) -> StoredError {
        StoredError::Argon2(error)
    }
}

impl Passwords {
    /// Whether the password belongs to a stored hash of any kind: an error if not. A [secret](Passwords::secret) counts for
    /// hashes of Argon2 alone. The memory of scrypt is not part of the [budget](Passwords::memory_budget).
    ///
    /// # Errors
    /// As [`verify_decoded`](Passwords::verify_decoded).
    pub fn verify_stored(&self, password: &[u8], stored: &StoredHash) -> Result<(), VerifyError> {
        match &stored.hash {
            Hash::Argon2(hash) => self.verify_decoded(password, hash),
            Hash::Foreign(hash) => {
                hash.scheme.check(hash.tag.len(), self.stored_limits()).map_err(VerifyError::OverLimit)?;
                hash.verify(password)
            }
        }
    }

    /// [`verify_stored`](Passwords::verify_stored) for each, in their order, on all threads of the current rayon pool, in as
    /// much memory as [`verify_many`](Passwords::verify_many) takes.
    pub fn verify_stored_many(&self, logins: &[(&[u8], &StoredHash)]) -> Vec<Result<(), VerifyError>> {
        let of_argon2 = logins.iter().filter_map(|(password, stored)| Some((*password, stored.argon2()?)));
        let mut of_argon2 = self.verify_decoded_many(&of_argon2.collect::<Vec<_>>()).into_iter();
        let mut results: Vec<_> = logins
            .iter()
            .map(|(_, stored)| match stored.hash {
                Hash::Argon2(_) => of_argon2.next(),
                Hash::Foreign(_) => None,
            })
            .collect();
        let open: Vec<_> = logins.iter().zip(&mut results).filter(|(_, result)| result.is_none()).collect();
        let (count, largest) =
            (open.len(), open.iter().map(|((_, stored), _)| stored.memory_kib()).max().unwrap_or(0));
        let workers = self.most_threads().min(count).min(self.room_for(largest)).max(1);
        let open = Mutex::new(open.into_iter());
        let next = || open.lock().unwrap_or_else(PoisonError::into_inner).next();
        work_sharing::run(1, count, workers - 1, &|_, _| {
            if let Some(((password, stored), result)) = next() {
                *result = Some(self.verify_stored(password, stored));
            }
        });
        results.into_iter().map(|result| result.expect("each was verified by one of the two")).collect()
    }

    /// Whether a stored hash should be replaced by a new one: it is not of Argon2, or the policy
    /// [wants](super::Policy::wants_rehash) it.
    pub fn wants_upgrade(&self, stored: &StoredHash) -> bool {
        stored.argon2().is_none_or(|hash| self.policy().wants_rehash(hash))
    }
}
