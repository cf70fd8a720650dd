//! Passwords with a policy, one at a time or in batches.

use std::sync::Arc;

use hashmill_engines::{EnginePasswords, PasswordFailure};
use hashmill_hash::argon2::{HashError, Params, Stop as StopFlag};
use hashmill_hash::password::{
    self, CreateError, Limits, Login, NewPassword, PasswordHash, Policy, Preset, Syntax, VerifyError,
};
use hashmill_machine::SecretBytes;
use napi::Either;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use zeroize::Zeroizing;

use crate::argon2::variant;
use crate::engines::{self, EventQueue};
use crate::error::Failure;
use crate::work::{Stop, Work};

/// Costs and lengths of new hashes.
#[napi(object)]
pub struct PolicyJs {
    pub memory_cost: u32,
    pub time_cost: u32,
    pub parallelism: u32,
    /// 0, 1, 2: d, i, id.
    #[napi(js_name = "type")]
    pub kind: u32,
    pub hash_length: u32,
    pub salt_length: u32,
}

/// The named policies.
#[napi(object, object_from_js = false)]
pub struct Named {
    pub name: &'static str,
    pub policy: PolicyJs,
}

/// The result of a check, and the hash to store from now on.
#[napi(object, object_from_js = false)]
pub struct Checked {
    pub matches: bool,
    pub upgrade: Option<String>,
    /// The reason why a needed upgrade could not be made.
    pub failure: Option<Failure>,
}

/// One policy, one set of limits, one pool of memory.
#[napi]
pub struct Passwords {
    inner: Arc<EnginePasswords>,
    limits: Limits,
    /// The names of the engines for batches.
    engine: Option<String>,
    /// Events of the engine that no call has reported yet.
    events: EventQueue,
}

/// Hashes of the package `argon2` have their costs in another order, so the lenient syntax is used.
const SYNTAX: Syntax = Syntax::Lenient;

/// A password for another thread. It is wiped on drop.
type Secret = Zeroizing<Vec<u8>>;

#[napi(catch_unwind)]
pub fn passwords(
    policy: PolicyJs,
    limits: String,
    secret: &[u8],
    memory_budget: Option<f64>,
    engine: Option<String>,
) -> Either<Passwords, Failure> {
    Passwords::new(&policy, &limits, secret, memory_budget, engine.as_deref())
        .map_or_else(Either::B, Either::A)
}

#[napi(catch_unwind)]
pub fn presets() -> Vec<Named> {
    let named = |preset: Preset| {
        let policy = preset.policy();
        let params = policy.params();
        let policy = PolicyJs {
            memory_cost: params.memory_kib(),
            time_cost: params.passes(),
            parallelism: params.lanes(),
            kind: params.variant().number(),
            hash_length: policy.tag_len() as u32,
            salt_length: policy.salt_len() as u32,
        };
        Named { name: preset.name(), policy }
    };
    Preset::ALL.map(named).into()
}

#[napi]
impl Passwords {
    #[napi(catch_unwind)]
    pub fn hash(&self, password: &[u8], salt: &[u8], stop: &Stop) -> AsyncTask<Work<String>> {
        let (password, salt) = (secret(password), salt.to_vec());
        self.run_on_thread(stop, move |inner, stop| {
            fits(salt.len(), inner.on_cpu().policy().salt_len())?;
            Ok(inner.on_cpu().hash_until(&password, &salt, stop)?.to_string())
        })
    }

    #[napi(catch_unwind)]
    pub fn verify(&self, stored: String, password: &[u8], stop: &Stop) -> AsyncTask<Work<bool>> {
        let (password, limits) = (secret(password), self.limits);
        self.run_on_thread(stop, move |inner, stop| {
            to_matches(inner.on_cpu().verify_decoded_until(&password, &decode(&stored, &limits)?, stop))
        })
    }

    /// The salt is for the new hash, if one is made.
    #[napi(catch_unwind)]
    pub fn verify_and_upgrade(
        &self,
        stored: String,
        password: &[u8],
        salt: &[u8],
        stop: &Stop,
    ) -> AsyncTask<Work<Checked>> {
        let (password, salt, limits) = (secret(password), salt.to_vec(), self.limits);
        self.run_on_thread(stop, move |inner, stop| {
            let inner = inner.on_cpu();
            fits(salt.len(), inner.policy().salt_len())?;
            let stored = decode(&stored, &limits)?;
            let matches = to_matches(inner.verify_decoded_until(&password, &stored, stop))?;
            let mut checked = Checked { matches, upgrade: None, failure: None };
            if matches && inner.policy().wants_rehash(&stored) {
                // The password matches even if the new hash could not be made.
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
        self.run_on_thread(stop, move |inner, stop| {
            to_matches(inner.on_cpu().verify_dummy_until(&password, stop))
        })
    }

    /// A hash of each password. The salts are concatenated.
    #[napi(catch_unwind)]
    pub fn hash_many(
        &self,
        passwords: Vec<&[u8]>,
        salts: &[u8],
        stop: &Stop,
    ) -> AsyncTask<Work<Vec<String>>> {
        let (passwords, salts, engine) = (secrets(&passwords), salts.to_vec(), self.engine.clone());
        self.run_on_thread(stop, move |inner, stop| {
            let salt_len = inner.on_cpu().policy().salt_len();
            fits(salts.len(), passwords.len() * salt_len)?;
            let new = passwords
                .iter()
                .zip(salts.chunks_exact(salt_len))
                .map(|(password, salt)| NewPassword { password, salt });
            let result = inner.hash_many(&new.collect::<Vec<_>>(), stop);
            close_after_failure(engine.as_deref(), result.as_ref().err().into_iter());
            Ok(result?.iter().map(ToString::to_string).collect())
        })
    }

    /// For each stored hash and the password with the same index: whether they match, or the reason why there is no answer.
    #[napi(catch_unwind)]
    pub fn verify_many(
        &self,
        stored: Vec<String>,
        passwords: Vec<&[u8]>,
        stop: &Stop,
    ) -> AsyncTask<Work<Vec<Either<bool, Failure>>>> {
        let (passwords, engine) = (secrets(&passwords), self.engine.clone());
        self.run_on_thread(stop, move |inner, stop| {
            fits(stored.len(), passwords.len())?;
            let logins = stored.iter().zip(&passwords).map(|(stored, password)| Login { password, stored });
            let verdicts = inner.verify_many(&logins.collect::<Vec<_>>(), stop);
            if stop.is_set() {
                return Err(Failure::stopped());
            }
            close_after_failure(engine.as_deref(), verdicts.iter().filter_map(|found| found.as_ref().err()));
            let to_result = |found: Result<(), PasswordFailure>| match found {
                Ok(()) => Either::A(true),
                Err(PasswordFailure::Verify(VerifyError::Mismatch)) => Either::A(false),
                Err(failure) => Either::B(failure.into()),
            };
            Ok(verdicts.into_iter().map(to_result).collect())
        })
    }

    /// Messages about engines since the last call.
    #[napi(catch_unwind)]
    pub fn take_messages(&self) -> Vec<String> {
        self.events.take_messages()
    }

    #[napi(catch_unwind)]
    pub fn needs_rehash(&self, stored: String) -> Either<bool, Failure> {
        let wants =
            decode(&stored, &self.limits).map(|hash| self.inner.on_cpu().policy().wants_rehash(&hash));
        wants.map_or_else(Either::B, Either::A)
    }

    /// The differences between a hash and a new one, in words.
    #[napi(catch_unwind)]
    pub fn differences(&self, stored: String) -> Either<Vec<String>, Failure> {
        let words = |hash: PasswordHash| {
            self.inner.on_cpu().policy().differences(&hash).map(|difference| difference.to_string()).collect()
        };
        decode(&stored, &self.limits).map(words).map_or_else(Either::B, Either::A)
    }
}

impl Passwords {
    fn new(
        options: &PolicyJs,
        limits: &str,
        secret: &[u8],
        budget: Option<f64>,
        engine: Option<&str>,
    ) -> Result<Passwords, Failure> {
        let params = Params::new(options.memory_cost, options.time_cost, options.parallelism)?;
        let policy = Policy::new(params.with_variant(variant(options.kind)?));
        let policy = policy
            .with_salt_len(options.salt_length as usize)
            .and_then(|policy| policy.with_tag_len(options.hash_length as usize))
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
        let mut inner = password::Passwords::new(policy).limits(limits).syntax(SYNTAX);
        if let Some(kib) = budget {
            inner = inner.memory_budget(kib as u64);
        }
        let secret = SecretBytes::copied(secret).map_err(|error| Failure::range(&error))?;
        let events = EventQueue::default();
        let tags = engine.map(engines::open).transpose()?.and_then(|engines| engines.tags(events.sink()));
        let (inner, engine) = (EnginePasswords::new(inner, secret, tags), engine.map(str::to_owned));
        Ok(Passwords { inner: Arc::new(inner), limits, engine, events })
    }

    /// `work` on another thread.
    fn run_on_thread<T>(
        &self,
        stop: &Stop,
        work: impl FnOnce(&EnginePasswords, &StopFlag) -> Result<T, Failure> + Send + 'static,
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

/// After a failure of the engine, the next `Passwords` opens it again.
fn close_after_failure<'a>(engine: Option<&str>, mut failures: impl Iterator<Item = &'a PasswordFailure>) {
    if let Some(list) = engine
        && failures.any(|failure| failure.of_engine().is_some() && !failure.is_stop())
    {
        engines::close(list);
    }
}

fn secret(password: &[u8]) -> Secret {
    Zeroizing::new(password.to_vec())
}

fn secrets(passwords: &[&[u8]]) -> Vec<Secret> {
    passwords.iter().map(|password| secret(password)).collect()
}

/// Checks that lengths are equal. Lists are never cut to the shorter one, which would drop work of the caller.
fn fits(have: usize, want: usize) -> Result<(), Failure> {
    if have == want { Ok(()) } else { Err(Failure::bug(&format!("{have} given, {want} needed"))) }
}

fn decode(stored: &str, limits: &Limits) -> Result<PasswordHash, Failure> {
    Ok(PasswordHash::decode(stored, SYNTAX, limits)?)
}

fn to_matches(found: Result<(), VerifyError>) -> Result<bool, Failure> {
    match found {
        Ok(()) => Ok(true),
        Err(VerifyError::Mismatch) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
