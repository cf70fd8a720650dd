//! Engine that hashes tiles in place of the processor, and the reaction to its failure.

use crate::context::tile_bytes::TileBytes;
use crate::error::Error;
use crate::function::Function;
use crate::read::plan::STREAM_TILE;
use hashmill_hash::blake3::hazmat::ChainingValue;
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{EngineError, Staging, SubtreeEngine, Tile};
use std::sync::{Arc, OnceLock};

/// Reaction to the failure of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OnEngineFailure {
    /// The processor continues from the failed tile: digests are the same.
    /// [`Files::engine_failure`](crate::Files::engine_failure) returns the failure.
    Processor,
    /// The file has no digest, see [`Error::Engine`].
    Error,
}

/// The engine of one [`Files`](crate::Files).
pub(crate) struct Engine {
    engine: Arc<dyn SubtreeEngine>,
    otherwise: OnEngineFailure,
    failure: OnceLock<EngineError>,
}

impl Engine {
    /// An engine that passed the self-test for this function.
    pub(crate) fn new(
        engine: Arc<dyn SubtreeEngine>,
        function: &Function,
        otherwise: OnEngineFailure,
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

    /// The maximum tile size in bytes.
    pub(crate) fn tile(&self) -> usize {
        self.engine.limits().tile
    }

    /// The number of tiles that it needs at the same time, if each is copied and launched.
    pub(crate) fn slots(&self) -> Option<usize> {
        let limits = self.engine.limits();
        (!limits.in_place).then_some(limits.batch)
    }

    /// The failure after which the processor continued alone.
    pub(crate) fn failure(&self) -> Option<&EngineError> {
        self.failure.get()
    }

    /// Memory for a tile that the engine copies itself; `None` if all of it is in use, or if the engine reads
    /// tiles in place.
    pub(crate) fn stage(&self) -> Result<Option<Staging>, Error> {
        if self.engine.limits().in_place {
            return Ok(None);
        }
        Ok(self.ask(|engine| engine.stage())?.flatten())
    }

    /// The value of a tile; `None` if the processor must compute it.
    pub(crate) fn value(&self, offset: u64, tile: TileBytes<'_>) -> Result<Option<ChainingValue>, Error> {
        let TileBytes { bytes, staging } = tile;
        let tile = Tile::new(0, offset, bytes.len());
        let subtree = self.ask(|engine| match staging {
            Some(staging) => engine.compute_staged(staging, tile),
            None => engine.compute(tile, bytes),
        })?;
        Ok(subtree.map(|subtree| subtree.value))
    }

    /// The result of a call; `None` once the processor continues alone.
    fn ask<T>(
        &self,
        question: impl FnOnce(&dyn SubtreeEngine) -> Result<T, EngineError>,
    ) -> Result<Option<T>, Error> {
        if self.failure.get().is_some() {
            return Ok(None);
        }
        match (question(&*self.engine), self.otherwise) {
            (Ok(answer), _) => Ok(Some(answer)),
            (Err(error), OnEngineFailure::Error) => Err(Error::Engine(error)),
            (Err(error), OnEngineFailure::Processor) => {
                // Only the first failure is kept.
                let _ = self.failure.set(error);
                Ok(None)
            }
        }
    }
}
