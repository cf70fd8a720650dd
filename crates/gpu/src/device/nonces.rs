//! Nonce search on a device.

use super::argon2::{Argon2, Engine};
use super::{Device, dispatch};
use crate::argon2::{STOP_LATENCY, nonces};
use crate::{Error, Tuning};
use hashmill_hash::argon2::Stop;
use hashmill_hash::argon2::pow::{HitChecker, Order, Pow};
use hashmill_hash::engine::{EngineError, NonceEngine, NonceLimits, Supply};
use std::sync::Arc;

/// A nonce search on a device, with as many nonces at a time as memory allows.
///
/// The processor recomputes each hit before it is reported, while the device goes on: a wrong hit is
/// [`EngineError::SelfTest`]. A hit that the device misses stays unnoticed.
#[derive(Debug)]
pub struct Nonces {
    pow: Pow,
    argon2: Argon2,
    /// Made by the first search, if the caller gives none.
    checker: Option<Arc<HitChecker>>,
}

impl Nonces {
    pub(super) fn new(device: &Device, pow: Pow, most: usize) -> Result<Nonces, Error> {
        Ok(Nonces { pow, argon2: Argon2::new(device, pow.params(), most)?, checker: None })
    }

    pub(super) fn tuned(device: &Device, pow: Pow, tuning: Tuning) -> Result<Nonces, Error> {
        Ok(Nonces { pow, argon2: Argon2::tuned(device, pow.params(), tuning)?, checker: None })
    }

    /// Lets this checker recompute the hits. One is enough for all engines of a machine that search
    /// by the same function; without, the first search takes memory for a checker of its own.
    ///
    /// # Errors
    /// [`EngineError::Function`] for a checker of another function.
    pub fn checked_by(self, checker: Arc<HitChecker>) -> Result<Nonces, EngineError> {
        if checker.pow() != self.pow {
            let reason = "the checker of hits computes another".to_owned();
            return Err(EngineError::Function { reason });
        }
        Ok(Nonces { checker: Some(checker), ..self })
    }

    /// The layout.
    pub fn tuning(&self) -> Tuning {
        self.argon2.tuning()
    }
}

impl NonceEngine for Nonces {
    fn name(&self) -> &str {
        &self.argon2.device().info().name
    }

    fn limits(&self) -> NonceLimits {
        let limits = NonceLimits::new(self.argon2.width(), self.argon2.memory(), STOP_LATENCY);
        limits.with_host_memory(HitChecker::memory_for(self.pow))
    }

    fn order(&self) -> Order {
        self.pow.order()
    }

    fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError> {
        let checker = match &mut self.checker {
            Some(checker) => checker,
            none => none.insert(Arc::new(HitChecker::new(self.pow)?)),
        };
        let Argon2 { device, engine } = &mut self.argon2;
        let name = &device.info().name;
        dispatch!(engine, Engine, argon2 => {
            nonces::run(&mut argon2.lanes, (name, argon2.plan, self.pow), checker, supply, stop)
        })
    }
}
