//! Size and faults of a simulated world, drawn from its seed.

use std::time::Duration;

use hashmill_testkit::Rng;

use crate::config::Config;
use crate::simulation::client::Generation;

/// Settings of a world. Probabilities are in percent.
#[derive(Clone, Debug)]
pub(in crate::simulation) struct Knobs {
    /// One for each client.
    pub(in crate::simulation) generations: Vec<Generation>,
    pub(in crate::simulation) documents: usize,
    /// Number of operations of clients and faults.
    pub(in crate::simulation) operations: usize,
    /// Maximum pause between two operations.
    pub(in crate::simulation) pause_ms: usize,
    /// Maximum size of a written value.
    pub(in crate::simulation) value_bytes: usize,
    /// Maximum delays.
    pub(in crate::simulation) network_ms: usize,
    pub(in crate::simulation) disk_ms: usize,
    pub(in crate::simulation) work_ms: usize,
    /// Of all operations.
    pub(in crate::simulation) crashes: usize,
    pub(in crate::simulation) outages: usize,
    pub(in crate::simulation) cuts: usize,
    pub(in crate::simulation) access_changes: usize,
    pub(in crate::simulation) reading_pauses: usize,
    pub(in crate::simulation) hostile_sockets: usize,
    pub(in crate::simulation) broadcasts: usize,
    pub(in crate::simulation) drains: usize,
    /// Deletions, and as many returns of deleted documents.
    pub(in crate::simulation) deletions: usize,
    /// Interventions and inspections of the operator.
    pub(in crate::simulation) interventions: usize,
    /// Jumps of the machine's clock, by years.
    pub(in crate::simulation) clock_jumps: usize,
    /// Time for which a deleted document can be brought back.
    pub(in crate::simulation) undelete_seconds: u64,
    /// Backups of the storage, and as many restorations of the latest one.
    pub(in crate::simulation) backups: usize,
    /// A client ends, and starts again from its storage.
    pub(in crate::simulation) client_restarts: usize,
    /// Of all writes.
    pub(in crate::simulation) failed_writes: usize,
    pub(in crate::simulation) unknown_writes: usize,
    /// Of all loads.
    pub(in crate::simulation) failed_loads: usize,
    pub(in crate::simulation) damaged_loads: usize,
    /// Another service knows the rights of clients.
    pub(in crate::simulation) has_remote_rights: bool,
    /// Of all its answers: those that never come, and as many failures.
    pub(in crate::simulation) failed_answers: usize,
    /// Maximum delay of an answer.
    pub(in crate::simulation) answer_ms: usize,
    /// Of all bytes in flight at a crash: may parts of chunks be written?
    pub(in crate::simulation) tears: bool,
    pub(in crate::simulation) config: Config,
}

impl Knobs {
    pub(in crate::simulation) fn draw(rng: &mut Rng) -> Knobs {
        // Each class of faults is off in half of the worlds: what happens together in all of them hides what happens alone.
        let mut rate = |most: usize| if rng.below(2) == 0 { 0 } else { 1 + rng.below(most) };
        let [crashes, outages, cuts] = [rate(6), rate(4), rate(10)];
        let [access_changes, reading_pauses, hostile_sockets, broadcasts] =
            [rate(10), rate(20), rate(10), rate(30)];
        let [failed_writes, unknown_writes] = [rate(30), rate(30)];
        let [failed_loads, damaged_loads] = [rate(30), rate(80)];
        let [drains, client_restarts] = [rate(4), rate(6)];
        let mut config = Config::new("srv", "5638dcaa-8264-4cd2-a865-2a045e045ae2");
        config.queue_bytes = [1 << 11, 1 << 20][rng.below(2)];
        config.max_queue_bytes = [4, 16][rng.below(2)] * config.queue_bytes;
        config.inline_bytes = [0, 600, 1 << 20][rng.below(3)];
        config.max_chunks = [2, 8, 1000][rng.below(3)];
        config.idle_after = Duration::from_millis([50, 1000, 60_000][rng.below(3)]);
        config.degrade_after = Duration::from_millis([200, 2000][rng.below(2)]);
        config.staged_bytes = [500, 64 << 20][rng.below(2)];
        // More than clients make: the end of a world needs all changes.
        config.max_stored_bytes_per_identity = Some(1 << 30);
        config.supply_timeout = Duration::from_millis(500);
        config.memory_bytes = [10_000, 1 << 30][rng.below(2)];
        let mut knobs = Knobs {
            generations: (0..2 + rng.below(3)).map(|_| Generation::draw(rng)).collect(),
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
            drains,
            deletions: 0,
            interventions: 0,
            clock_jumps: 0,
            undelete_seconds: 0,
            backups: 0,
            client_restarts,
            failed_writes,
            unknown_writes,
            failed_loads,
            damaged_loads,
            has_remote_rights: false,
            failed_answers: 0,
            answer_ms: 0,
            tears: rng.below(2) == 0,
            config,
        };
        // Larger than all changes of clients that keep to the protocol.
        knobs.config.max_document_bytes = 2 << 20;
        knobs.config.quarantine_time = Duration::from_millis([100, 5000][rng.below(2)]);
        knobs.config.messages_per_second = [None, Some(20)][rng.below(2)];
        knobs.config.bytes_per_second = [None, Some(1 << 16)][rng.below(2)];
        knobs.config.commit_window = Duration::from_millis([0, 0, 10, 50][rng.below(4)]);
        knobs.deletions = if rng.below(2) == 0 { 0 } else { 1 + rng.below(6) };
        knobs.config.rights_timeout = Duration::from_millis([300, 3000][rng.below(2)]);
        knobs.config.rights_retry = Duration::from_millis(500);
        knobs.has_remote_rights = rng.below(4) == 1;
        knobs.failed_answers = [0, 20][rng.below(2)];
        knobs.answer_ms = [2, 50, 1000][rng.below(3)];
        knobs.interventions = if rng.below(2) == 0 { 0 } else { 1 + rng.below(10) };
        knobs.clock_jumps = if rng.below(2) == 0 { 0 } else { 1 + rng.below(6) };
        knobs.undelete_seconds = [0, 0, 0, 3][rng.below(4)];
        knobs.backups = if rng.below(2) == 0 { 0 } else { 1 + rng.below(4) };
        knobs
    }
}
