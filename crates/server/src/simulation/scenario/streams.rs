//! Random decisions of a world, in independent streams: a decision more or less in one leaves the others as they are.

use std::collections::BTreeMap;

use hashmill_testkit::Rng;

/// The streams of a world.
pub(in crate::simulation) struct Streams {
    seed: u64,
    /// Delays of each client's connections. `None`: of hostile clients.
    network: BTreeMap<Option<usize>, Rng>,
    /// Delays and outcomes of the storage.
    pub(in crate::simulation) disk: Rng,
    /// Delays of jobs.
    pub(in crate::simulation) work: Rng,
    pub(in crate::simulation) timers: Rng,
    /// Answers about rights.
    pub(in crate::simulation) rights: Rng,
    /// The choice of frames that hostile clients change.
    pub(in crate::simulation) samples: Rng,
}

impl Streams {
    pub(in crate::simulation) fn new(seed: u64) -> Streams {
        let stream_rng = |stream| stream_of(seed, stream, 0);
        Streams {
            seed,
            network: BTreeMap::new(),
            disk: stream_rng(1),
            work: stream_rng(2),
            timers: stream_rng(3),
            samples: stream_rng(4),
            rights: stream_rng(7),
        }
    }

    /// The decisions of an operation.
    pub(in crate::simulation) fn operation(&self, number: usize) -> Rng {
        stream_of(self.seed, 5, number as u64)
    }

    pub(in crate::simulation) fn network(&mut self, client: Option<usize>) -> &mut Rng {
        let number = client.map_or(0, |client| client as u64 + 1);
        self.network.entry(client).or_insert_with(|| stream_of(self.seed, 6, number))
    }
}

fn stream_of(seed: u64, stream: u64, number: u64) -> Rng {
    // Each seed passes through the generator once, since its sequences of close seeds overlap.
    let mixed = |value| Rng::new(value).next_u64();
    Rng::new(mixed(mixed(mixed(seed) ^ stream) ^ number))
}
