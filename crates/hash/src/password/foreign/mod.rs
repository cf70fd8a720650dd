//! Password strings of other programs, to be verified until they are replaced by Argon2 hashes: bcrypt,
//! scrypt and PBKDF2, as written by PHP, Apache, Django, passlib, Werkzeug, LDAP servers, libxcrypt and
//! RustCrypto's crates.
//!
//! This is in the library, behind a feature, and not in the program: services that migrate their users need
//! it at each login, and so do language bindings; the program uses it, too. The functions are RustCrypto's
//! crates, which are dependencies of this feature only. [`Passwords::verify`] accepts only Argon2, with or
//! without it.
//!
//! ```
//! use hashmill_hash::password::{Limits, Passwords, Syntax, foreign::StoredHash};
//!
//! let passwords = Passwords::default();
//! let old = "$2y$04$WGFuEpcL36blR.ixB.7/Teefn/8CSjFM0yeo3Db19.k9g449fGR26"; // htpasswd -B
//! let stored = StoredHash::decode(old, Syntax::Strict, &Limits::default())?;
//! passwords.verify_stored(b"password", &stored)?;
//! assert!(passwords.wants_upgrade(&stored));
//! let salt = [7; 16]; // in production: random
//! let new = stored.prefix().write(&passwords.hash(b"password", &salt)?);
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

/// A stored password: a hash of Argon2 or of another function, and the prefix of its string.
#[derive(Clone, Debug)]
pub struct StoredHash {
    prefix: HashPrefix,
    hash: Hash,
}

#[derive(Clone, Debug)]
enum Hash {
    Argon2(PasswordHash),
    Foreign(ForeignHash),
}

/// Prefix of a hash in a database, which identifies its scheme. A replacement gets the same prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HashPrefix {
    /// No prefix.
    Plain,
    /// The name of a Django hasher.
    Django,
    /// A scheme in braces and capitals, as in LDAP.
    Ldap,
    /// A scheme in braces and small letters, as in Spring Security.
    Spring,
    /// A Dovecot scheme in braces, which includes the variant's name.
    Dovecot,
}

impl HashPrefix {
    /// The hash with its prefix.
    pub fn write(self, hash: &PasswordHash) -> String {
        match self {
            HashPrefix::Plain => hash.to_string(),
            HashPrefix::Django => format!("argon2{hash}"),
            HashPrefix::Ldap => format!("{{ARGON2}}{hash}"),
            HashPrefix::Spring => format!("{{argon2}}{hash}"),
            HashPrefix::Dovecot => {
                let variant = hash.params().variant().name().to_ascii_uppercase();
                format!("{{{variant}}}{hash}")
            }
        }
    }
}

impl StoredHash {
    /// Decodes a string of any kind that can be verified. `syntax` applies to those of Argon2.
    ///
    /// # Errors
    /// A string of an unsupported or unknown kind; a syntax error; anything over `limits`.
    pub fn decode(
        text: impl AsRef<[u8]>,
        syntax: Syntax,
        limits: &Limits,
    ) -> Result<StoredHash, StoredError> {
        read::stored(text.as_ref(), syntax, limits)
    }

    /// The prefix.
    pub fn prefix(&self) -> HashPrefix {
        self.prefix
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

    /// The memory of its verification in KiB.
    pub fn memory_kib(&self) -> u64 {
        match &self.hash {
            Hash::Argon2(hash) => hash.params().blocks(),
            Hash::Foreign(hash) => hash.scheme.memory_kib(),
        }
    }
}

/// A hash of a function other than Argon2. `Debug` omits salt and tag, and the tag is wiped on drop.
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

    /// Does the function ignore part of the password? bcrypt uses 72 bytes.
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

/// A function other than Argon2, and its costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Scheme {
    /// bcrypt of the password.
    Bcrypt {
        /// Base-2 logarithm of the number of rounds.
        cost: u32,
    },
    /// bcrypt of a SHA-256 of the password, so that every byte of a long one counts.
    BcryptSha256 {
        /// Base-2 logarithm of the number of rounds.
        cost: u32,
        /// The input of bcrypt.
        digest: Prehash,
    },
    /// scrypt.
    Scrypt {
        /// Base-2 logarithm of N.
        log_n: u32,
        /// The block size in units of 128 bytes.
        r: u32,
        /// The parallelism.
        p: u32,
    },
    /// PBKDF2 with HMAC.
    Pbkdf2 {
        /// The digest function.
        digest: Digest,
        /// Iterations for each digest-sized piece of the tag.
        iterations: u32,
    },
}

/// Input of bcrypt in place of the password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Prehash {
    /// The digest in hexadecimal digits: Django.
    Hex,
    /// The digest in base64: passlib's first version.
    Base64,
    /// The digest of HMAC, keyed with the encoded salt, in base64: passlib's second version.
    Hmac,
}

/// Digest function of PBKDF2.
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

    /// Checks the costs of a tag of `tag_len` bytes.
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

/// Error of decoding a stored hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoredError {
    /// A syntax error in an Argon2 string.
    Argon2(PhcError),
    /// A kind that is known by name but not supported.
    NotVerified(&'static str),
    /// An unknown kind.
    Unknown,
    /// A string of a known kind that is malformed.
    Malformed {
        /// The kind.
        kind: &'static str,
        /// The expected form.
        expected: &'static str,
    },
    /// Over a limit. Nothing was computed.
    OverLimit {
        /// The kind.
        kind: &'static str,
        /// The violated limit.
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
    /// Verifies a password against a stored hash of any kind. A [secret](Passwords::secret) applies only to
    /// Argon2 hashes. The memory of scrypt is not part of the [budget](Passwords::memory_budget).
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

    /// As [`verify_stored`](Passwords::verify_stored), for each login in order, on all threads of the current
    /// rayon pool, within the memory of [`verify_many`](Passwords::verify_many).
    pub fn verify_stored_many(&self, logins: &[(&[u8], &StoredHash)]) -> Vec<Result<(), VerifyError>> {
        let argon2 = logins.iter().filter_map(|(password, stored)| Some((*password, stored.argon2()?)));
        let mut argon2_results = self.verify_decoded_many(&argon2.collect::<Vec<_>>()).into_iter();
        let mut results: Vec<_> = logins
            .iter()
            .map(|(_, stored)| match stored.hash {
                Hash::Argon2(_) => argon2_results.next(),
                Hash::Foreign(_) => None,
            })
            .collect();
        let foreign: Vec<_> =
            logins.iter().zip(&mut results).filter(|(_, result)| result.is_none()).collect();
        let (count, largest) =
            (foreign.len(), foreign.iter().map(|((_, stored), _)| stored.memory_kib()).max().unwrap_or(0));
        let workers = self.most_threads().min(count).min(self.max_concurrent(largest)).max(1);
        let foreign = Mutex::new(foreign.into_iter());
        let next = || foreign.lock().unwrap_or_else(PoisonError::into_inner).next();
        work_sharing::run(1, count, workers - 1, &|_, _| {
            if let Some(((password, stored), result)) = next() {
                *result = Some(self.verify_stored(password, stored));
            }
        });
        results.into_iter().map(|result| result.expect("each was verified by one of the two")).collect()
    }

    /// Should a stored hash be replaced by a new one? `true` if it is not of Argon2, or the policy
    /// [wants](super::Policy::wants_rehash) it.
    pub fn wants_upgrade(&self, stored: &StoredHash) -> bool {
        stored.argon2().is_none_or(|hash| self.policy().wants_rehash(hash))
    }
}
