//! The traits of the crate `password-hash`, so that a program can migrate from the RustCrypto crate by
//! changing a type.

use super::error::{CreateError, VerifyError};
use super::limits::Quantity;
use super::passwords::Passwords;
use super::phc::{Malformed, PhcError};
use super::policy::Policy;
use super::pool::NEVER;
use crate::argon2::{HashError, Params, ParamsError, Variant, Version};
use password_hash::phc::{self, Ident, Output, ParamsString, Salt};
use password_hash::{CustomizedPasswordHasher, Error, PasswordHasher, PasswordVerifier, Result};
use zeroize::Zeroizing;

impl PasswordHasher<phc::PasswordHash> for Passwords {
    /// Salts have 8 to 48 bytes and tags 10 to 64, because that crate's type holds no others.
    fn hash_password_with_salt(&self, password: &[u8], salt: &[u8]) -> Result<phc::PasswordHash> {
        self.hash_after(self.policy(), password, salt)
    }
}

impl CustomizedPasswordHasher<phc::PasswordHash> for Passwords {
    type Params = Policy;

    /// Costs are checked against the limits, because the costs of a stored hash come here too. Without
    /// `algorithm` and `version` those of `params` are used.
    fn hash_password_customized(
        &self,
        password: &[u8],
        salt: &[u8],
        algorithm: Option<&str>,
        version: Option<u32>,
        params: Policy,
    ) -> Result<phc::PasswordHash> {
        let mut costs = params.params();
        if let Some(name) = algorithm {
            costs = costs.with_variant(name.parse().map_err(|_| Error::Algorithm)?);
        }
        if let Some(number) = version {
            costs = costs.with_version(Version::from_number(number).map_err(|_| Error::Version)?);
        }
        self.stored_limits().check(costs).map_err(|error| over_limit(error.what))?;
        self.stored_limits().check_salt(salt.len()).map_err(|error| over_limit(error.what))?;
        self.stored_limits().check_tag(params.tag_len()).map_err(|error| over_limit(error.what))?;
        let policy = Policy::new(costs).with_tag_len(params.tag_len()).map_err(|_| Error::OutputSize)?;
        self.hash_after(&policy, password, salt)
    }
}

impl PasswordVerifier<str> for Passwords {
    fn verify_password(&self, password: &[u8], hash: &str) -> Result<()> {
        self.verify(password, hash).map_err(|error| match error {
            VerifyError::Mismatch => Error::PasswordInvalid,
            VerifyError::Phc(error) => from_phc(&error),
            VerifyError::OverLimit(error) => over_limit(error.what),
            VerifyError::Hash(error) => from_hash(&error),
        })
    }
}

impl Passwords {
    fn hash_after(&self, policy: &Policy, password: &[u8], salt: &[u8]) -> Result<phc::PasswordHash> {
        let salt = Salt::new(salt)?;
        let params = policy.params();
        let mut tag = Zeroizing::new([0; Output::MAX_LENGTH]);
        let tag = tag.get_mut(..policy.tag_len()).ok_or(Error::OutputSize)?;
        let input = self.input(password, &salt, &[]);
        self.compute(params, &input, tag, &NEVER).map_err(|error| from_hash(&error))?;
        let mut costs = ParamsString::new();
        for (name, value) in [("m", params.memory_kib()), ("t", params.passes()), ("p", params.lanes())] {
            costs.add_decimal(name, value)?;
        }
        Ok(phc::PasswordHash {
            algorithm: Ident::new(params.variant().name())?,
            version: Some(params.version().number()),
            params: costs,
            salt: Some(salt),
            hash: Some(Output::new(tag)?),
        })
    }
}

/// The policy of a stored hash. A hash without a version has version 1.0, see [`phc`](super::Syntax).
impl TryFrom<&phc::PasswordHash> for Policy {
    type Error = Error;

    fn try_from(hash: &phc::PasswordHash) -> Result<Policy> {
        if let Some((name, _)) =
            hash.params.iter().find(|(name, _)| !["m", "t", "p"].contains(&name.as_str()))
        {
            // The tag may depend on this parameter: ignoring it would turn an unknown result into a wrong
            // one.
            let name = if name.as_str() == "data" { "data" } else { "keyid" };
            return Err(Error::ParamInvalid { name });
        }
        let cost = |name: &'static str| hash.params.get_decimal(name).ok_or(Error::ParamInvalid { name });
        let params = Params::new(cost("m")?, cost("t")?, cost("p")?).map_err(|error| from_params(&error))?;
        let variant: Variant = hash.algorithm.as_str().parse().map_err(|_| Error::Algorithm)?;
        let version = hash.version.map_or(Ok(Version::V10), Version::from_number);
        let version = version.map_err(|_| Error::Version)?;
        let policy = Policy::new(params.with_variant(variant).with_version(version));
        let tag_len = hash.hash.as_ref().map_or(Policy::TAG_LEN, Output::len);
        policy.with_tag_len(tag_len).map_err(|_| Error::OutputSize)
    }
}

impl From<CreateError> for Error {
    fn from(error: CreateError) -> Error {
        match error {
            CreateError::SaltLen { .. } => Error::SaltInvalid,
            CreateError::Hash(error) => from_hash(&error),
        }
    }
}

fn from_phc(error: &PhcError) -> Error {
    match error {
        PhcError::Malformed { reason: Malformed::Variant, .. } => Error::Algorithm,
        PhcError::Malformed { .. } => Error::EncodingInvalid,
        PhcError::Params { error, .. } => from_params(error),
        PhcError::OverLimit { error, .. } => over_limit(error.what),
    }
}

fn over_limit(what: Quantity) -> Error {
    match what {
        Quantity::Memory => Error::ParamInvalid { name: "m" },
        Quantity::Passes => Error::ParamInvalid { name: "t" },
        Quantity::Lanes => Error::ParamInvalid { name: "p" },
        // The last two belong to other functions, whose strings these traits do not read.
        Quantity::Work | Quantity::BcryptCost | Quantity::Iterations => Error::ParamsInvalid,
        Quantity::Salt => Error::SaltInvalid,
        Quantity::Tag => Error::OutputSize,
    }
}

fn from_params(error: &ParamsError) -> Error {
    match error {
        ParamsError::Memory { .. } => Error::ParamInvalid { name: "m" },
        ParamsError::Passes => Error::ParamInvalid { name: "t" },
        ParamsError::Lanes { .. } => Error::ParamInvalid { name: "p" },
        ParamsError::UnknownVersion { .. } => Error::Version,
        ParamsError::UnknownVariant => Error::Algorithm,
    }
}

fn from_hash(error: &HashError) -> Error {
    match error {
        HashError::Params(error) => from_params(error),
        HashError::TagLen { .. } => Error::OutputSize,
        HashError::InputTooLong { .. } => Error::PasswordInvalid,
        HashError::OutOfMemory { .. } => Error::OutOfMemory,
        _ => Error::Internal,
    }
}
