//! Nonce search on a device.

use super::argon2::{Argon2, Engine};
use super::{Device, dispatch};
use crate::argon2::{STOP_LATENCY, nonces};
use crate::{Error, Tuning};
use hashmill_hash::argon2::Stop;
use hashmill_hash::argon2::pow::{HitChecker, Order};
use hashmill_hash::engine::{EngineError, NonceEngine, NonceLimits, Supply};
use std::sync::Arc;

/// A nonce search on a device, with as many nonces at a time as memory allows.
///
/// The processor recomputes each hit before it is reported, while the device goes on: a wrong hit is
/// [`EngineError::SelfTest`]. A hit that the device misses stays unnoticed.
#[derive(Debug)]
pub struct Nonces {
    argon2: Argon2,
    checker: Arc<HitChecker>,
}

impl Nonces {
    pub(super) fn new(device: &Device, checker: Arc<HitChecker>, most: usize) -> Result<Nonces, Error> {
        Ok(Nonces { argon2: Argon2::new(device, checker.pow().params(), most)?, checker })
    }

    pub(super) fn tuned(device: &Device, checker: Arc<HitChecker>, tuning: Tuning) -> Result<Nonces, Error> {
        Ok(Nonces { argon2: Argon2::tuned(device, checker.pow().params(), tuning)?, checker })
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
        NonceLimits::new(self.argon2.width(), self.argon2.memory(), STOP_LATENCY)
    }

    fn order(&self) -> Order {
        self.checker.pow().order()
    }

    fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError> {
        let Argon2 { device, engine } = &mut self.argon2;
        let name = &device.info().name;
        dispatch!(engine, Engine, argon2 => {
            nonces::run(&mut argon2.lanes, (name, argon2.plan), &self.checker, supply, stop)
        })
    }
}
