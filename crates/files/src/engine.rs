//! An engine that hashes tiles in the processor's place.

use crate::error::Error;
use crate::function::Function;
use crate::plan::STREAM_TILE;
use crate::source::Seen;
use hashmill_hash::blake3::hazmat::ChainingValue;
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{EngineError, Staging, SubtreeEngine, Tile};
use std::sync::{Arc, OnceLock};

/// What becomes of a file when an engine fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Otherwise {
    /// The processor goes on, from the tile that failed: digests are the same. What happened,
    /// [`Files::engine_failure`](crate::Files::engine_failure) tells.
    Processor,
    /// The file has no digest, see [`Error::Engine`].
    Error,
}

/// The engine of one [`Files`](crate::Files).
pub(crate) struct Engine {
    engine: Arc<dyn SubtreeEngine>,
    otherwise: Otherwise,
    failure: OnceLock<EngineError>,
}

impl Engine {
    /// After it was asked for known values of this function.
    pub(crate) fn new(
        engine: Arc<dyn SubtreeEngine>,
        function: &Function,
        otherwise: Otherwise,
    ) -> Result<Engine, EngineError> {
        let Some(mode) = function.mode() else {
            let reason = "it takes its input strictly in order, and has no subtrees".to_owned();
            return Err(EngineError::Function { reason });
        };
        let room = engine.limits().tile;
        if room < STREAM_TILE {
            return Err(EngineError::Tile { offset: 0, len: STREAM_TILE, room });
        }
        self_test(&*engine, &mode)?;
        Ok(Engine { engine, otherwise, failure: OnceLock::new() })
    }

    /// The longest tile.
    pub(crate) fn tile(&self) -> usize {
        self.engine.limits().tile
    }

    /// How many tiles it wants at the same time, if each is copied and launched.
    pub(crate) fn slots(&self) -> Option<usize> {
        let limits = self.engine.limits();
        (!limits.in_place).then_some(limits.batch)
    }

    /// What made the processor go on alone.
    pub(crate) fn failure(&self) -> Option<&EngineError> {
        self.failure.get()
    }

    /// Memory for a tile that the engine fetches by itself; nothing if all of it is in use, or the engine takes tiles where they lie.
    pub(crate) fn stage(&self) -> Result<Option<Staging>, Error> {
        if self.engine.limits().in_place {
            return Ok(None);
        }
        Ok(self.ask(|engine| engine.stage())?.flatten())
    }

    /// The value of a tile; nothing if the processor is to compute it.
    pub(crate) fn value(&self, offset: u64, tile: Seen<'_>) -> Result<Option<ChainingValue>, Error> {
        let Seen { bytes, lent } = tile;
        let tile = Tile::new(0, offset, bytes.len());
        let subtree = self.ask(|engine| match lent {
            Some(staging) => engine.compute_staged(staging, tile),
            None => engine.compute(tile, bytes),
        })?;
        Ok(subtree.map(|subtree| subtree.value))
    }

    /// What the engine answers; nothing once the processor goes on alone.
    fn ask<T>(
        &self,
        question: impl FnOnce(&dyn SubtreeEngine) -> Result<T, EngineError>,
    ) -> Result<Option<T>, Error> {
        if self.failure.get().is_some() {
            return Ok(None);
        }
        match (question(&*self.engine), self.otherwise) {
            (Ok(answer), _) => Ok(Some(answer)),
            (Err(error), Otherwise::Error) => Err(Error::Engine(error)),
            (Err(error), Otherwise::Processor) => {
                // Of several threads the first says why.
                let _ = self.failure.set(error);
                Ok(None)
            }
        }
    }
}
