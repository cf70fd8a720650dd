//! Passwords under a policy, one at a time or many at once.

use std::sync::Arc;

use hashmill_hash::argon2::{HashError, Params, Stop as StopFlag};
use hashmill_hash::password::{
    self, CreateError, Limits, Login, NewPassword, PasswordHash, Policy, Preset, Syntax, VerifyError,
};
use napi::Either;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use zeroize::Zeroizing;

use crate::argon2::variant;
use crate::failure::Failure;
use crate::work::{Stop, Work};

/// What new hashes look like.
#[napi(object)]
pub struct Terms {
    pub memory_cost: u32,
    pub time_cost: u32,
    pub parallelism: u32,
    /// 0, 1, 2: d, i, id.
    #[napi(js_name = "type")]
    pub kind: u32,
    pub hash_length: u32,
    pub salt_length: u32,
}

/// Terms that have a name.
#[napi(object, object_from_js = false)]
pub struct Named {
    pub name: &'static str,
    pub terms: Terms,
}

/// What a check found, and what should be stored from now on.
#[napi(object, object_from_js = false)]
pub struct Checked {
    pub matches: bool,
    pub upgrade: Option<String>,
    /// Why there is no upgrade, where there should be one.
    pub failure: Option<Failure>,
}

/// One policy, one set of limits, one pool of memory.
#[napi]
pub struct Passwords {
    inner: Arc<password::Passwords>,
    limits: Limits,
}

/// A password for another thread. It is wiped.
type Secret = Zeroizing<Vec<u8>>;

#[napi(catch_unwind)]
pub fn passwords(
    terms: Terms,
    limits: String,
    secret: &[u8],
    memory_budget: Option<f64>,
) -> Either<Passwords, Failure> {
    Passwords::new(&terms, &limits, secret, memory_budget).map_or_else(Either::B, Either::A)
}

#[napi(catch_unwind)]
pub fn presets() -> Vec<Named> {
    let named = |preset: Preset| {
        let policy = preset.policy();
        let params = policy.params();
        let terms = Terms {
            memory_cost: params.memory_kib(),
            time_cost: params.passes(),
            parallelism: params.lanes(),
            kind: params.variant().number(),
            hash_length: policy.tag_len() as u32,
            salt_length: policy.salt_len() as u32,
        };
        Named { name: preset.name(), terms }
    };
    Preset::ALL.map(named).into()
}

#[napi]
impl Passwords {
    #[napi(catch_unwind)]
    pub fn hash(&self, password: &[u8], salt: &[u8], stop: &Stop) -> AsyncTask<Work<String>> {
        let (password, salt) = (secret(password), salt.to_vec());
        self.later(stop, move |inner, stop| {
            fits(salt.len(), inner.policy().salt_len())?;
            Ok(inner.hash_until(&password, &salt, stop)?.to_string())
        })
    }

    #[napi(catch_unwind)]
    pub fn verify(&self, stored: String, password: &[u8], stop: &Stop) -> AsyncTask<Work<bool>> {
        let (password, limits) = (secret(password), self.limits);
        self.later(stop, move |inner, stop| {
            verdict(inner.verify_decoded_until(&password, &decode(&stored, &limits)?, stop))
        })
    }

    /// The salt is that of the new hash, if there is one.
    #[napi(catch_unwind)]
    pub fn verify_and_upgrade(
        &self,
        stored: String,
        password: &[u8],
        salt: &[u8],
        stop: &Stop,
    ) -> AsyncTask<Work<Checked>> {
        let (password, salt, limits) = (secret(password), salt.to_vec(), self.limits);
        self.later(stop, move |inner, stop| {
            fits(salt.len(), inner.policy().salt_len())?;
            let stored = decode(&stored, &limits)?;
            let matches = verdict(inner.verify_decoded_until(&password, &stored, stop))?;
            let mut checked = Checked { matches, upgrade: None, failure: None };
            if matches && inner.policy().wants_rehash(&stored) {
                // Without a new hash the guest is still who it is.
                match inner.hash_until(&password, &salt, stop) {
                    Ok(hash) => checked.upgrade = Some(hash.to_string()),
                    Err(error @ CreateError::Hash(HashError::Stopped)) => return Err(error.into()),
                    Err(error) => checked.failure = Some(error.into()),
                }
            }
            Ok(checked)
        })
    }

    #[napi(catch_unwind)]
    pub fn verify_dummy(&self, password: &[u8], stop: &Stop) -> AsyncTask<Work<bool>> {
        let password = secret(password);
        self.later(stop, move |inner, stop| verdict(inner.verify_dummy_until(&password, stop)))
    }

    /// A hash of each password. The salts lie one behind another.
    #[napi(catch_unwind)]
    pub fn hash_many(
        &self,
        passwords: Vec<&[u8]>,
        salts: &[u8],
        stop: &Stop,
    ) -> AsyncTask<Work<Vec<String>>> {
        let (passwords, salts) = (secrets(&passwords), salts.to_vec());
        self.later(stop, move |inner, stop| {
            let salt_len = inner.policy().salt_len();
            fits(salts.len(), passwords.len() * salt_len)?;
            let new = passwords
                .iter()
                .zip(salts.chunks_exact(salt_len))
                .map(|(password, salt)| NewPassword { password, salt });
            let made = inner.hash_many_until(&new.collect::<Vec<_>>(), stop);
            made.into_iter().map(|hash| Ok(hash?.to_string())).collect()
        })
    }

    /// For each stored hash and the password of the same place: whether they match, or why nothing is known.
    #[napi(catch_unwind)]
    pub fn verify_many(
        &self,
        stored: Vec<String>,
        passwords: Vec<&[u8]>,
        stop: &Stop,
    ) -> AsyncTask<Work<Vec<Either<bool, Failure>>>> {
        let passwords = secrets(&passwords);
        self.later(stop, move |inner, stop| {
            fits(stored.len(), passwords.len())?;
            let logins = stored.iter().zip(&passwords).map(|(stored, password)| Login { password, stored });
            let verdicts = inner.verify_many_until(&logins.collect::<Vec<_>>(), stop);
            if stop.is_set() {
                return Err(Failure::stopped());
            }
            Ok(verdicts.into_iter().map(|found| verdict(found).map_or_else(Either::B, Either::A)).collect())
        })
    }

    #[napi(catch_unwind)]
    pub fn needs_rehash(&self, stored: String) -> Either<bool, Failure> {
        let wants = decode(&stored, &self.limits).map(|hash| self.inner.policy().wants_rehash(&hash));
        wants.map_or_else(Either::B, Either::A)
    }

    /// In what a hash differs from a new one, in words.
    #[napi(catch_unwind)]
    pub fn differences(&self, stored: String) -> Either<Vec<String>, Failure> {
        let words = |hash: PasswordHash| {
            self.inner.policy().differences(&hash).map(|difference| difference.to_string()).collect()
        };
        decode(&stored, &self.limits).map(words).map_or_else(Either::B, Either::A)
    }
}

impl Passwords {
    fn new(terms: &Terms, limits: &str, secret: &[u8], budget: Option<f64>) -> Result<Passwords, Failure> {
        let params = Params::new(terms.memory_cost, terms.time_cost, terms.parallelism)?;
        let policy = Policy::new(params.with_variant(variant(terms.kind)?));
        let policy = policy
            .with_salt_len(terms.salt_length as usize)
            .and_then(|policy| policy.with_tag_len(terms.hash_length as usize))
            .map_err(|error| Failure::range(&error))?;
        let least = Limits::RECOMMENDED.min_tag;
        if policy.tag_len() < least {
            let words = format!("hashLength of {}: at least {least} are needed", policy.tag_len());
            return Err(Failure::range(&words));
        }
        let limits = match limits {
            "around" => Limits::around(&policy),
            "policy" => Limits::for_policy(&policy),
            "recommended" => Limits::RECOMMENDED.covering(&policy),
            other => {
                let words = format!("limits {other:?}: \"around\", \"policy\" and \"recommended\" exist");
                return Err(Failure::range(&words));
            }
        };
        let mut inner = password::Passwords::new(policy).limits(limits).syntax(Syntax::Lenient);
        inner = inner.secret(secret.to_vec());
        if let Some(kib) = budget {
            inner = inner.memory_budget(kib as u64);
        }
        Ok(Passwords { inner: Arc::new(inner), limits })
    }

    /// `work` on another thread.
    fn later<T>(
        &self,
        stop: &Stop,
        work: impl FnOnce(&password::Passwords, &StopFlag) -> Result<T, Failure> + Send + 'static,
    ) -> AsyncTask<Work<T>>
    where
        Work<T>: napi::Task,
    {
        let (inner, stop) = (Arc::clone(&self.inner), Arc::clone(&stop.0));
        AsyncTask::new(Work::new(move || {
            if stop.is_set() {
                return Err(Failure::stopped());
            }
            work(&inner, &stop)
        }))
    }
}

fn secret(password: &[u8]) -> Secret {
    Zeroizing::new(password.to_vec())
}

fn secrets(passwords: &[&[u8]]) -> Vec<Secret> {
    passwords.iter().map(|password| secret(password)).collect()
}

/// Whether lengths agree. Lists of two lengths are never cut to the shorter, which would lose what the caller asked for.
fn fits(have: usize, want: usize) -> Result<(), Failure> {
    if have == want { Ok(()) } else { Err(Failure::ours(&format!("{have} where {want} belong"))) }
}

/// What the package `argon2` stores has its costs in another order: the reading that is not strict.
fn decode(stored: &str, limits: &Limits) -> Result<PasswordHash, Failure> {
    Ok(PasswordHash::decode(stored, Syntax::Lenient, limits)?)
}

fn verdict(found: Result<(), VerifyError>) -> Result<bool, Failure> {
    match found {
        Ok(()) => Ok(true),
        Err(VerifyError::Mismatch) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
