//! The class `Passwords`: one policy, one set of limits, one pool of memory.

use std::sync::Arc;

use hashmill_hash::argon2::{Params, Stop};
use hashmill_hash::password::{
    self, Limits, Login, NewPassword, PasswordHash, Policy, Preset, Syntax, VerifyError,
};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use zeroize::Zeroizing;

use super::failure::{InvalidHashError, of_create, of_phc, of_verify};
use super::secret::variant;
use crate::boundary::Bytes;
use crate::call::interruptible;

/// Bytes of a password, for a thread that may outlive the call. They are wiped.
type Secret = Zeroizing<Vec<u8>>;

fn secret(object: &Bound<'_, PyAny>) -> PyResult<Secret> {
    Ok(Zeroizing::new(Bytes::of(object)?.as_slice().to_vec()))
}

/// Ends calls that it is given to, from any thread.
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

/// Hashes and checks passwords under one policy.
#[pyclass(frozen, module = "hashmill._hashmill.argon2")]
pub(crate) struct Passwords {
    inner: Arc<password::Passwords>,
    limits: Limits,
}

#[pymethods]
impl Passwords {
    /// Costs and lengths; the most that a stored hash may cost, by name; a secret; how much memory all calls may take together.
    #[new]
    #[pyo3(signature = (time_cost, memory_cost, parallelism, kind, hash_len, salt_len, limits, secret, memory_budget))]
    #[expect(clippy::too_many_arguments, reason = "one wrapper in Python calls it, with names")]
    fn new(
        time_cost: u32,
        memory_cost: u32,
        parallelism: u32,
        kind: u32,
        hash_len: usize,
        salt_len: usize,
        limits: &str,
        secret: Option<&Bound<'_, PyAny>>,
        memory_budget: Option<u64>,
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
        if let Some(secret) = secret {
            inner = inner.secret(Bytes::of(secret)?.as_slice().to_vec());
        }
        if let Some(kib) = memory_budget {
            inner = inner.memory_budget(kib);
        }
        Ok(Passwords { inner: Arc::new(inner), limits })
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
        let made = self.stoppable(py, stop, move |inner, stop| inner.hash_until(&password, &salt, stop))?;
        made.map(|hash| hash.to_string()).map_err(of_create)
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
        let verdict = self
            .stoppable(py, stop, move |inner, stop| inner.verify_decoded_until(&password, &stored, stop))?;
        verdict.map(|()| true).map_err(of_verify)
    }

    /// As much work as a check of a new hash, for names that nobody has. Never succeeds.
    #[pyo3(signature = (password, stop = None))]
    fn verify_dummy(
        &self,
        py: Python<'_>,
        password: &Bound<'_, PyAny>,
        stop: Option<&Bound<'_, StopToken>>,
    ) -> PyResult<bool> {
        let password = secret(password)?;
        let verdict =
            self.stoppable(py, stop, move |inner, stop| inner.verify_dummy_until(&password, stop))?;
        verdict.map(|()| true).map_err(of_verify)
    }

    /// For each pair of a hash and a password: `True`, `False`, or why nothing is known.
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
            inner.verify_many_until(&logins.collect::<Vec<_>>(), stop)
        })?;
        let object = |verdict: Result<(), VerifyError>| match verdict {
            Ok(()) => true.into_pyobject(py).map(|known| known.to_owned().into_any()).map_err(PyErr::from),
            Err(VerifyError::Mismatch) => {
                false.into_pyobject(py).map(|known| known.to_owned().into_any()).map_err(PyErr::from)
            }
            Err(error) => Ok(of_verify(error).into_value(py).into_bound(py).into_any()),
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
        let made = self.stoppable(py, stop, move |inner, stop| {
            let new = new.iter().map(|(password, salt)| NewPassword { password, salt });
            inner.hash_many_until(&new.collect::<Vec<_>>(), stop)
        })?;
        made.into_iter().map(|hash| hash.map(|hash| hash.to_string()).map_err(of_create)).collect()
    }

    /// Whether a new hash of the same password were stronger, and nowhere cheaper.
    fn needs_rehash(&self, hash: &str) -> PyResult<bool> {
        Ok(self.inner.policy().wants_rehash(&self.decode(hash)?))
    }

    /// In what a hash differs from a new one, in words.
    fn differences(&self, hash: &str) -> PyResult<Vec<String>> {
        let hash = self.decode(hash)?;
        Ok(self.inner.policy().differences(&hash).map(|difference| difference.to_string()).collect())
    }
}

impl Passwords {
    /// The result of `work` on another thread. A signal that raises ends both, and so does the token of the caller.
    fn stoppable<T: Send + 'static>(
        &self,
        py: Python<'_>,
        token: Option<&Bound<'_, StopToken>>,
        work: impl FnOnce(&password::Passwords, &Stop) -> T + Send + 'static,
    ) -> PyResult<T> {
        let stop = token.map_or_else(Arc::default, |token| Arc::clone(&token.get().0));
        let (inner, stopped) = (Arc::clone(&self.inner), Arc::clone(&stop));
        interruptible(py, || stop.set(), move || work(&inner, &stopped))
    }

    fn decode(&self, hash: &str) -> PyResult<PasswordHash> {
        PasswordHash::decode(hash, Syntax::Strict, &self.limits).map_err(|error| match error {
            error @ password::PhcError::OverLimit { .. } => of_phc(error),
            error => InvalidHashError::new_err(error.to_string()),
        })
    }

    fn salt(&self) -> PyResult<Vec<u8>> {
        let mut salt = vec![0; self.inner.policy().salt_len()];
        getrandom::fill(&mut salt).map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(salt)
    }
}

/// Name, what it is, `time_cost`, `memory_cost`, `parallelism` and `hash_len` of every policy that has a name.
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
