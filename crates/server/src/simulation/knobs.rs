//! Size and faults of a simulated world, drawn from its seed.

use std::time::Duration;

use hashmill_testkit::Rng;

use crate::config::Config;

/// Settings of a world. Probabilities are in percent.
#[derive(Clone, Debug)]
pub(super) struct Knobs {
    pub(super) clients: usize,
    pub(super) documents: usize,
    /// Number of operations of clients and faults.
    pub(super) operations: usize,
    /// Maximum pause between two operations.
    pub(super) pause_ms: usize,
    /// Maximum size of a written value.
    pub(super) value_bytes: usize,
    /// Maximum delays.
    pub(super) network_ms: usize,
    pub(super) disk_ms: usize,
    pub(super) work_ms: usize,
    /// Of all operations.
    pub(super) crashes: usize,
    pub(super) outages: usize,
    pub(super) cuts: usize,
    pub(super) access_changes: usize,
    pub(super) reading_pauses: usize,
    pub(super) hostile_sockets: usize,
    pub(super) broadcasts: usize,
    /// Of all writes.
    pub(super) failed_writes: usize,
    pub(super) unknown_writes: usize,
    /// Of all loads.
    pub(super) failed_loads: usize,
    pub(super) damaged_loads: usize,
    /// Of all bytes in flight at a crash: may parts of chunks be written?
    pub(super) tears: bool,
    pub(super) config: Config,
}

impl Knobs {
    pub(super) fn draw(rng: &mut Rng) -> Knobs {
        // Each class of faults is off in half of the worlds: what happens together in all of them hides what happens alone.
        let mut rate = |most: usize| if rng.below(2) == 0 { 0 } else { 1 + rng.below(most) };
        let [crashes, outages, cuts] = [rate(6), rate(4), rate(10)];
        let [access_changes, reading_pauses, hostile_sockets, broadcasts] =
            [rate(10), rate(20), rate(10), rate(30)];
        let [failed_writes, unknown_writes] = [rate(30), rate(30)];
        let [failed_loads, damaged_loads] = [rate(30), rate(80)];
        let mut config = Config::new("srv", "5638dcaa-8264-4cd2-a865-2a045e045ae2");
        config.queue_bytes = [1 << 11, 1 << 20][rng.below(2)];
        config.max_queue_bytes = 16 * config.queue_bytes;
        config.inline_bytes = [0, 600, 1 << 20][rng.below(3)];
        config.max_chunks = [2, 8, 1000][rng.below(3)];
        config.idle_after = Duration::from_millis([50, 1000, 60_000][rng.below(3)]);
        config.degrade_after = Duration::from_millis([200, 2000][rng.below(2)]);
        config.staged_bytes = [500, 64 << 20][rng.below(2)];
        config.memory_bytes = [10_000, 1 << 30][rng.below(2)];
        let mut knobs = Knobs {
            clients: 2 + rng.below(3),
            documents: 1 + rng.below(3),
            operations: 40 + rng.below(160),
            pause_ms: [5, 50, 500][rng.below(3)],
            value_bytes: [8, 2000][rng.below(2)],
            network_ms: [2, 100][rng.below(2)],
            disk_ms: [1, 10, 200][rng.below(3)],
            work_ms: [1, 50][rng.below(2)],
            crashes,
            outages,
            cuts,
            access_changes,
            reading_pauses,
            hostile_sockets,
            broadcasts,
            failed_writes,
            unknown_writes,
            failed_loads,
            damaged_loads,
            tears: rng.below(2) == 0,
            config,
        };
        // Larger than all changes of clients that keep to the protocol.
        knobs.config.max_document_bytes = 2 << 20;
        knobs.config.quarantine_time = Duration::from_millis([100, 5000][rng.below(2)]);
        knobs.config.messages_per_second = [None, Some(20)][rng.below(2)];
        knobs.config.bytes_per_second = [None, Some(1 << 16)][rng.below(2)];
        knobs
    }
}
