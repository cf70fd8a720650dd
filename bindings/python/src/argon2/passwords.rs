//! The class `Passwords`: one policy, one set of limits, one pool of memory.

use std::sync::Arc;

use hashmill_engines::{EnginePasswords, PasswordFailure};
use hashmill_hash::argon2::{Params, Stop};
use hashmill_hash::password::{
    self, Limits, Login, NewPassword, PasswordHash, Policy, Preset, Syntax, VerifyError,
};
use hashmill_machine::SecretBytes;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use zeroize::Zeroizing;

use super::failure::{
    InvalidHashError, from_create_error, from_password_failure, from_phc_error, from_verify_error,
};
use super::secret::variant;
use crate::boundary::Bytes;
use crate::engines::{self, EventQueue};
use crate::long_call::interruptible;

/// Bytes of a password, for a thread that may outlive the call. They are wiped on drop.
type Secret = Zeroizing<Vec<u8>>;

fn secret(object: &Bound<'_, PyAny>) -> PyResult<Secret> {
    Ok(Zeroizing::new(Bytes::borrow(object)?.as_slice().to_vec()))
}

/// A token that ends the calls that it is passed to, from any thread.
#[pyclass(frozen, name = "Stop", module = "hashmill._hashmill.argon2")]
#[derive(Default)]
pub(crate) struct StopToken(Arc<Stop>);

#[pymethods]
impl StopToken {
    #[new]
    fn new() -> StopToken {
        StopToken::default()
    }

    fn set(&self) {
        self.0.set();
    }
}

/// Hashes and checks passwords with one policy.
#[pyclass(frozen, module = "hashmill._hashmill.argon2")]
pub(crate) struct Passwords {
    inner: Arc<EnginePasswords>,
    limits: Limits,
    /// The names of the engines for batches.
    engine: Option<String>,
    /// Events of the engine that no call has reported yet.
    events: EventQueue,
}

/// Stored hashes of libargon2 alone.
const SYNTAX: Syntax = Syntax::Strict;

#[pymethods]
impl Passwords {
    /// Costs and lengths; the name of the limits for stored hashes; a secret; the memory budget of all calls;
    /// the names of the engines for batches.
    #[new]
    #[pyo3(signature = (time_cost, memory_cost, parallelism, kind, hash_len, salt_len, limits, secret, memory_budget, engine))]
    #[expect(clippy::too_many_arguments, reason = "one wrapper in Python calls it, with names")]
    fn new(
        py: Python<'_>,
        time_cost: u32,
        memory_cost: u32,
        parallelism: u32,
        kind: u32,
        hash_len: usize,
        salt_len: usize,
        limits: &str,
        secret: Option<&Bound<'_, PyAny>>,
        memory_budget: Option<u64>,
        engine: Option<&str>,
    ) -> PyResult<Passwords> {
        let refused = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let params = Params::new(memory_cost, time_cost, parallelism).map_err(|error| refused(&error))?;
        let policy = Policy::new(params.with_variant(variant(kind)?));
        let policy = policy.with_salt_len(salt_len).and_then(|policy| policy.with_tag_len(hash_len));
        let policy = policy.map_err(|error| refused(&error))?;
        let limits = match limits {
            "around" => Limits::around(&policy),
            "policy" => Limits::for_policy(&policy),
            "recommended" => Limits::RECOMMENDED.covering(&policy),
            other => {
                let words = format!("limits {other:?}: \"around\", \"policy\" and \"recommended\" exist");
                return Err(PyValueError::new_err(words));
            }
        };
        let mut inner = password::Passwords::new(policy).limits(limits);
        if let Some(kib) = memory_budget {
            inner = inner.memory_budget(kib);
        }
        let secret = match secret {
            Some(secret) => SecretBytes::copied(Bytes::borrow(secret)?.as_slice())?,
            None => SecretBytes::zeroed(0)?,
        };
        let events = EventQueue::default();
        let tags = match engine {
            Some(list) => engines::open(py, list)?.tags(events.sink()),
            None => None,
        };
        let (inner, engine) = (EnginePasswords::new(inner, secret, tags), engine.map(str::to_owned));
        Ok(Passwords { inner: Arc::new(inner), limits, engine, events })
    }

    #[pyo3(signature = (password, stop = None))]
    fn hash(
        &self,
        py: Python<'_>,
        password: &Bound<'_, PyAny>,
        stop: Option<&Bound<'_, StopToken>>,
    ) -> PyResult<String> {
        let password = secret(password)?;
        let salt = self.salt()?;
        let result =
            self.stoppable(py, stop, move |inner, stop| inner.on_cpu().hash_until(&password, &salt, stop))?;
        result.map(|hash| hash.to_string()).map_err(from_create_error)
    }

    #[pyo3(signature = (hash, password, stop = None))]
    fn verify(
        &self,
        py: Python<'_>,
        hash: &str,
        password: &Bound<'_, PyAny>,
        stop: Option<&Bound<'_, StopToken>>,
    ) -> PyResult<bool> {
        let (password, stored) = (secret(password)?, self.decode(hash)?);
        let verdict = self.stoppable(py, stop, move |inner, stop| {
            inner.on_cpu().verify_decoded_until(&password, &stored, stop)
        })?;
        verdict.map(|()| true).map_err(from_verify_error)
    }

    /// The work of checking a new hash, for user names that do not exist. Never succeeds.
    #[pyo3(signature = (password, stop = None))]
    fn verify_dummy(
        &self,
        py: Python<'_>,
        password: &Bound<'_, PyAny>,
        stop: Option<&Bound<'_, StopToken>>,
    ) -> PyResult<bool> {
        let password = secret(password)?;
        let verdict =
            self.stoppable(py, stop, move |inner, stop| inner.on_cpu().verify_dummy_until(&password, stop))?;
        verdict.map(|()| true).map_err(from_verify_error)
    }

    /// For each pair of a hash and a password: `True`, `False`, or the reason why there is no answer.
    #[pyo3(signature = (logins, stop = None))]
    fn verify_many<'py>(
        &self,
        py: Python<'py>,
        logins: Vec<(String, Bound<'py, PyAny>)>,
        stop: Option<&Bound<'py, StopToken>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let logins = logins.into_iter().map(|(hash, password)| Ok((hash, secret(&password)?)));
        let logins = logins.collect::<PyResult<Vec<_>>>()?;
        let verdicts = self.stoppable(py, stop, move |inner, stop| {
            let logins = logins.iter().map(|(stored, password)| Login { password, stored });
            inner.verify_many(&logins.collect::<Vec<_>>(), stop)
        })?;
        self.report_engine(py, verdicts.iter().filter_map(|verdict| verdict.as_ref().err()))?;
        let object = |verdict: Result<(), PasswordFailure>| match verdict {
            Ok(()) => true.into_pyobject(py).map(|known| known.to_owned().into_any()).map_err(PyErr::from),
            Err(PasswordFailure::Verify(VerifyError::Mismatch)) => {
                false.into_pyobject(py).map(|known| known.to_owned().into_any()).map_err(PyErr::from)
            }
            Err(failure) => Ok(from_password_failure(failure).into_value(py).into_bound(py).into_any()),
        };
        PyList::new(py, verdicts.into_iter().map(object).collect::<PyResult<Vec<_>>>()?)
    }

    #[pyo3(signature = (passwords, stop = None))]
    fn hash_many(
        &self,
        py: Python<'_>,
        passwords: Vec<Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, StopToken>>,
    ) -> PyResult<Vec<String>> {
        let new = passwords.into_iter().map(|password| Ok((secret(&password)?, self.salt()?)));
        let new = new.collect::<PyResult<Vec<_>>>()?;
        let result = self.stoppable(py, stop, move |inner, stop| {
            let new = new.iter().map(|(password, salt)| NewPassword { password, salt });
            inner.hash_many(&new.collect::<Vec<_>>(), stop)
        })?;
        self.report_engine(py, result.as_ref().err().into_iter())?;
        Ok(result.map_err(from_password_failure)?.iter().map(ToString::to_string).collect())
    }

    /// Whether a new hash of the same password would be stronger, and no cost lower.
    fn needs_rehash(&self, hash: &str) -> PyResult<bool> {
        Ok(self.inner.on_cpu().policy().wants_rehash(&self.decode(hash)?))
    }

    /// The differences between a hash and a new one, in words.
    fn differences(&self, hash: &str) -> PyResult<Vec<String>> {
        let hash = self.decode(hash)?;
        Ok(self.inner.on_cpu().policy().differences(&hash).map(|difference| difference.to_string()).collect())
    }
}

impl Passwords {
    /// The result of `work` on another thread. A signal handler that raises ends both, and so does the token of the caller.
    fn stoppable<T: Send + 'static>(
        &self,
        py: Python<'_>,
        token: Option<&Bound<'_, StopToken>>,
        work: impl FnOnce(&EnginePasswords, &Stop) -> T + Send + 'static,
    ) -> PyResult<T> {
        let stop = token.map_or_else(Arc::default, |token| Arc::clone(&token.get().0));
        let (inner, stopped) = (Arc::clone(&self.inner), Arc::clone(&stop));
        interruptible(py, || stop.set(), move || work(&inner, &stopped))
    }

    /// Reports events of the engine as warnings. After a failure, the next `Passwords` opens the engine again.
    fn report_engine<'a>(
        &self,
        py: Python<'_>,
        mut failures: impl Iterator<Item = &'a PasswordFailure>,
    ) -> PyResult<()> {
        if let Some(list) = &self.engine
            && failures.any(|failure| failure.of_engine().is_some() && !failure.is_stop())
        {
            engines::close(list);
        }
        self.events.warn(py)
    }

    fn decode(&self, hash: &str) -> PyResult<PasswordHash> {
        PasswordHash::decode(hash, SYNTAX, &self.limits).map_err(|error| match error {
            error @ password::PhcError::OverLimit { .. } => from_phc_error(error),
            error => InvalidHashError::new_err(error.to_string()),
        })
    }

    fn salt(&self) -> PyResult<Vec<u8>> {
        let mut salt = vec![0; self.inner.on_cpu().policy().salt_len()];
        getrandom::fill(&mut salt).map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(salt)
    }
}

/// Name, description, `time_cost`, `memory_cost`, `parallelism` and `hash_len` of every named policy.
#[pyfunction]
pub(super) fn presets() -> Vec<(&'static str, &'static str, u32, u32, u32, usize)> {
    let row = |preset: Preset| {
        let policy = preset.policy();
        let params = policy.params();
        let costs = (params.passes(), params.memory_kib(), params.lanes());
        (preset.name(), preset.about(), costs.0, costs.1, costs.2, policy.tag_len())
    };
    Preset::ALL.map(row).to_vec()
}
