//! Workload of many concurrent logins: a service that verifies passwords on a few threads, with Hashmill and with other Argon2
//! implementations.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use argon2::password_hash::PasswordVerifier as _;
use hashmill_hash::argon2::{Params, Plan, Threads, Variant};
use hashmill_hash::password::{Login, PasswordHash, Passwords, Policy};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_workloads::{argon2_params, number, thread_counts};

use super::argon2::{OWN_CHOICE, reference_job};
use crate::reference;

pub(super) const WORKLOAD: &str = "argon2id-logins";

/// Default and maximum number of logins: a verdict is one bit of a word.
const LOGINS: usize = 64;
/// Bytes of a tag.
const TAG: usize = 32;

/// Interval of wrong passwords.
const WRONG_INTERVAL: usize = 8;

pub(super) fn register(registry: &mut Registry) {
    let offer = || {
        EngineOffer::classes(&["backend"])
            .threads(thread_counts())
            .knob("logins", ["64"])
            .knob("passes", ["2"])
            .knob("lanes", ["1"])
    };
    registry
        .workload(LoginBurst, &[1 << 20, 19 << 20])
        .engine("passwords", passwords(), offer())
        .engine("argon2-rust", argon2_rust(), offer())
        .engine("rustcrypto", allocating(rustcrypto), offer())
        // The code that argon2-cffi and others wrap, without decoding of strings, which takes a thousandth of the time.
        .engine("reference-c", allocating(reference_c), offer());
}

/// A password and its stored string.
struct Stored {
    password: String,
    text: String,
    hash: PasswordHash,
}

/// Workload of many logins. The size of a case is the memory of each hash.
struct LoginBurst;

impl Workload for LoginBurst {
    type Input = Vec<Stored>;

    fn name(&self) -> &str {
        WORKLOAD
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Hashes(count(spec).unwrap_or(LOGINS) as u64)
    }

    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size * u64::from(spec.threads)
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Vec<Stored>, CaseError> {
        let params = argon2_params(spec, Variant::Id)?;
        let stored = |index: usize| {
            let password = format!("password {seed:x} {index}");
            let salt = [seed.to_le_bytes(), (index as u64).to_le_bytes()].concat();
            let mut tag = vec![0; TAG];
            reference::hash(&reference_job(params, password.as_bytes(), &salt), &mut tag)
                .map_err(CaseError::failed)?;
            let hash = PasswordHash::new(params, salt, tag);
            let entered = if is_right(index) { password } else { password + "?" };
            Ok(Stored { password: entered, text: hash.to_string(), hash })
        };
        (0..count(spec)?).map(stored).collect()
    }

    fn reference(&self, _: &Spec, logins: &Vec<Stored>) -> Result<Digest, CaseError> {
        let right = (0..logins.len()).filter(|&index| is_right(index));
        Ok(digest(&right.fold(0, |verdicts, index| verdicts | 1 << index)))
    }
}

fn is_right(index: usize) -> bool {
    index % WRONG_INTERVAL != WRONG_INTERVAL - 1
}

fn count(spec: &Spec) -> Result<usize, CaseError> {
    match number(spec, "logins", LOGINS)? {
        count @ 1..=LOGINS => Ok(count),
        count => Err(CaseError::failed(format!("{count} logins: choose 1 to {LOGINS}"))),
    }
}

/// A bit for each login, in their order.
fn digest(verdicts: &u64) -> Digest {
    Digest::new(&verdicts.to_le_bytes())
}

/// Hashmill's `Passwords`, which keeps its memory between calls and chooses the number of concurrent hashes.
fn passwords() -> impl Engine<Input = Vec<Stored>> {
    let init = |spec: &Spec| {
        let threads = match spec.threads {
            1 => Threads::Serial,
            n => Threads::AtMost(n as usize),
        };
        Ok(Passwords::new(Policy::new(argon2_params(spec, Variant::Id)?)).threads(threads))
    };
    let run = |passwords: &mut Passwords, logins: &Vec<Stored>| {
        let logins: Vec<Login<'_>> = logins
            .iter()
            .map(|login| Login { password: login.password.as_bytes(), stored: &login.text })
            .collect();
        let verdicts = passwords.verify_many(&logins);
        Ok(verdicts.iter().rev().fold(0_u64, |bits, verdict| bits << 1 | u64::from(verdict.is_ok())))
    };
    let kernel = |_: &Passwords| Plan::host().kernel().name().to_owned();
    Routine::new(init, kernel, run, digest)
}

/// Threads that verify logins from a common queue.
struct LoginWorkers {
    pool: rayon::ThreadPool,
    params: Params,
}

impl LoginWorkers {
    fn new(spec: &Spec) -> Result<LoginWorkers, CaseError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(spec.threads as usize).build();
        Ok(LoginWorkers { pool: pool.map_err(CaseError::failed)?, params: argon2_params(spec, Variant::Id)? })
    }

    /// Verifies all logins. `check` gets the number of its thread.
    fn verdicts(&self, logins: &[Stored], check: impl Fn(usize, &Stored) -> bool + Sync) -> u64 {
        let (next, verdicts) = (AtomicUsize::new(0), AtomicU64::new(0));
        self.pool.broadcast(|thread| {
            while let Some((index, login)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                logins.get(index).map(|login| (index, login))
            } {
                verdicts.fetch_or(u64::from(check(thread.index(), login)) << index, Ordering::Relaxed);
            }
        });
        verdicts.into_inner()
    }
}

/// The crate `argon2-rust` with a pooled hasher for each thread.
fn argon2_rust() -> impl Engine<Input = Vec<Stored>> {
    let init = |spec: &Spec| {
        let workers = LoginWorkers::new(spec)?;
        let argon2 = super::argon2::argon2_rust(workers.params, TAG, 1)?;
        let hasher = || Mutex::new(argon2.hasher());
        let hashers: Vec<Mutex<argon2_rust::Hasher>> = (0..spec.threads).map(|_| hasher()).collect();
        Ok((workers, hashers))
    };
    let run = |(workers, hashers): &mut (LoginWorkers, Vec<Mutex<argon2_rust::Hasher>>),
               logins: &Vec<Stored>| {
        Ok(workers.verdicts(logins, |thread, login| {
            let mut hasher = hashers[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let (password, algorithm) = (login.password.as_bytes(), argon2_rust::Algorithm::Argon2id);
            hasher.verify_encoded(&login.text, password, algorithm).is_ok()
        }))
    };
    let kernel = |_: &(LoginWorkers, Vec<Mutex<argon2_rust::Hasher>>)| OWN_CHOICE.to_owned();
    Routine::new(init, kernel, run, digest)
}

/// An engine that allocates memory for each login.
fn allocating(check: impl Fn(&Stored) -> bool + Sync + 'static) -> impl Engine<Input = Vec<Stored>> {
    let run = move |workers: &mut LoginWorkers, logins: &Vec<Stored>| {
        Ok(workers.verdicts(logins, |_, login| check(login)))
    };
    Routine::new(LoginWorkers::new, |_: &LoginWorkers| OWN_CHOICE.to_owned(), run, digest)
}

fn rustcrypto(login: &Stored) -> bool {
    let stored = argon2::password_hash::phc::PasswordHash::new(&login.text);
    let matches = |stored| argon2::Argon2::default().verify_password(login.password.as_bytes(), &stored);
    stored.is_ok_and(|stored| matches(stored).is_ok())
}

fn reference_c(login: &Stored) -> bool {
    let mut tag = vec![0; login.hash.tag_len()];
    let job = reference_job(login.hash.params(), login.password.as_bytes(), login.hash.salt());
    reference::hash(&job, &mut tag).is_ok() && login.hash.matches(&tag)
}
