//! What Argon2 of either back end is an engine of: batches, and a search for nonces.

/// The engines of an `Argon2` on a `Device`, which are both in scope.
macro_rules! engines {
    () => {
        /// A device's search for nonces: as many at the same time as there is memory for.
        ///
        /// What it finds the processor computes again before anybody hears of it: a wrong hit is [`EngineError::SelfTest`]. One that a
        /// device misses, nobody finds.
        #[derive(Debug)]
        pub struct Nonces {
            pow: Pow,
            argon2: Argon2,
        }

        impl Nonces {
            /// An engine for this function, with at most so many nonces at the same time. It is asked for known digests.
            ///
            /// # Errors
            /// As for [`Argon2::new`].
            pub fn new(device: &Device, pow: Pow, most: usize) -> Result<Nonces, Error> {
                Ok(Nonces { pow, argon2: Argon2::new(device, pow.params(), most)? })
            }

            /// As [`new`](Nonces::new), laid out like this, as far as memory allows.
            ///
            /// # Errors
            /// As there.
            pub fn tuned(device: &Device, pow: Pow, tuning: Tuning) -> Result<Nonces, Error> {
                Ok(Nonces { pow, argon2: Argon2::tuned(device, pow.params(), tuning)? })
            }

            /// How it is laid out.
            pub fn tuning(&self) -> Tuning {
                self.argon2.tuning()
            }
        }

        impl NonceEngine for Nonces {
            fn name(&self) -> &str {
                &self.argon2.device.info().name
            }

            fn limits(&self) -> NonceLimits {
                NonceLimits::new(self.argon2.width(), self.argon2.memory(), argon2::STOP_LATENCY)
            }

            fn search(
                &mut self,
                job: &NonceJob<'_>,
                nonces: Range<u64>,
                watch: &Watch,
                hit: &(dyn Fn(Hit) + Sync),
            ) -> Result<Searched, EngineError> {
                let Argon2 { device, plan, memory, .. } = &mut self.argon2;
                let name = &device.info().name;
                argon2::search(memory, (name, *plan, self.pow), job, nonces, watch, hit)
            }
        }

        /// Tags are the device's: nobody computes them again.
        impl BatchEngine for Argon2 {
            fn name(&self) -> &str {
                &self.device.info().name
            }

            fn limits(&self) -> BatchLimits {
                BatchLimits::new(self.width(), self.memory(), argon2::STOP_LATENCY)
            }

            fn hash(&mut self, jobs: &mut [Job<'_>], stop: &Stop) -> Result<usize, EngineError> {
                Ok(argon2::hash(&mut self.memory, self.plan, self.params, jobs, stop)?)
            }
        }
    };
}
pub(crate) use engines;
