//! Size and faults of a world with several nodes, drawn from its seed.

use std::time::Duration;

use hashmill_testkit::Rng;

use super::super::client::Generation;
use crate::config::Config;
use crate::storage::cluster::{NodeId, ReplicaConfig};

/// Settings of a world. Probabilities are in percent.
#[derive(Clone, Debug)]
pub(super) struct Knobs {
    pub(super) generations: Vec<Generation>,
    pub(super) nodes: usize,
    pub(super) documents: usize,
    pub(super) operations: usize,
    pub(super) pause_ms: usize,
    pub(super) value_bytes: usize,
    pub(super) network_ms: usize,
    pub(super) journal_ms: usize,
    pub(super) store_ms: usize,
    pub(super) work_ms: usize,
    /// Of all operations.
    pub(super) crashes: usize,
    pub(super) crashes_of_all: usize,
    pub(super) partitions: usize,
    pub(super) journal_restarts: usize,
    pub(super) store_outages: usize,
    pub(super) moves: usize,
    pub(super) client_restarts: usize,
    pub(super) access_changes: usize,
    pub(super) broadcasts: usize,
    pub(super) deletions: usize,
    /// Of all records.
    pub(super) refused_records: usize,
    pub(super) lost_answers: usize,
    pub(super) doubled_records: usize,
    /// Of all requests to the object store.
    pub(super) failed_requests: usize,
    pub(super) unknown_requests: usize,
    pub(super) repeated_requests: usize,
    pub(super) damaged_gets: usize,
    pub(super) replica: ReplicaConfig,
    pub(super) config: Config,
}

impl Knobs {
    pub(super) fn draw(rng: &mut Rng) -> Knobs {
        // Each class of faults is off in half of the worlds: what happens together in all of them hides what happens alone.
        let mut rate = |most: usize| if rng.below(2) == 0 { 0 } else { 1 + rng.below(most) };
        let [crashes, crashes_of_all, partitions] = [rate(8), rate(2), rate(6)];
        let [journal_restarts, store_outages, moves] = [rate(4), rate(4), rate(15)];
        let [client_restarts, access_changes, broadcasts, deletions] = [rate(5), rate(8), rate(10), rate(6)];
        let [refused_records, lost_answers, doubled_records] = [rate(20), rate(20), rate(20)];
        let [failed_requests, unknown_requests] = [rate(20), rate(20)];
        let [repeated_requests, damaged_gets] = [rate(10), rate(20)];
        let mut config = Config::new("srv", "5638dcaa-8264-4cd2-a865-2a045e045ae2");
        config.has_other_nodes = true;
        config.inline_bytes = [0, 600, 1 << 20][rng.below(3)];
        config.max_chunks = [2, 4, 16][rng.below(3)];
        config.idle_after = Duration::from_millis([50, 1000, 60_000][rng.below(3)]);
        config.degrade_after = Duration::from_millis([200, 2000][rng.below(2)]);
        config.staged_bytes = [500, 64 << 20][rng.below(2)];
        config.supply_timeout = Duration::from_millis(500);
        config.commit_window = Duration::from_millis([0, 0, 10, 50][rng.below(4)]);
        config.memory_bytes = [10_000, 1 << 30][rng.below(2)];
        let replica = ReplicaConfig {
            node: NodeId([0; 16]),
            shards: 1 + rng.below(3) as u16,
            max_inline_bytes: [300, 1 << 20][rng.below(2)],
            record_bytes: [1000, 1 << 20][rng.below(2)],
            trim_after: Duration::from_millis([100, 2000, 20_000][rng.below(3)]),
            trim_bytes: [2000, 1 << 20][rng.below(2)],
            list_lag: Duration::from_millis([0, 0, 300][rng.below(3)]),
        };
        Knobs {
            generations: (0..2 + rng.below(3)).map(|_| Generation::draw(rng)).collect(),
            nodes: 2 + rng.below(2),
            documents: 1 + rng.below(3),
            operations: 40 + rng.below(160),
            pause_ms: [5, 50, 500][rng.below(3)],
            value_bytes: [8, 500][rng.below(2)],
            network_ms: [2, 100][rng.below(2)],
            journal_ms: [1, 10, 200][rng.below(3)],
            store_ms: [1, 50, 1000][rng.below(3)],
            work_ms: [1, 50][rng.below(2)],
            crashes,
            crashes_of_all,
            partitions,
            journal_restarts,
            store_outages,
            moves,
            client_restarts,
            access_changes,
            broadcasts,
            deletions,
            refused_records,
            lost_answers,
            doubled_records,
            failed_requests,
            unknown_requests,
            repeated_requests,
            damaged_gets,
            replica,
            config,
        }
    }

    /// Ends the faults that are not operations.
    pub(super) fn heal(&mut self) {
        let rates = [
            &mut self.refused_records,
            &mut self.lost_answers,
            &mut self.doubled_records,
            &mut self.failed_requests,
            &mut self.unknown_requests,
            &mut self.repeated_requests,
            &mut self.damaged_gets,
        ];
        rates.into_iter().for_each(|rate| *rate = 0);
        // A storage that takes longer than this fails for the node: it refuses changes again and again, and a client without flags gives
        // up after ten answers that move nothing, as its library says.
        let most = self.config.degrade_after.as_millis() as usize / 8;
        (self.journal_ms, self.store_ms) = (self.journal_ms.min(most), self.store_ms.min(most));
    }
}
