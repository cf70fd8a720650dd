//! Requests of nodes to the journal and to the object store, with their faults.

use super::{ANSWER_TIMEOUT, Happening, MAX_LATE_MS, NodeStart, World};
use crate::event::IoFailure;
use crate::simulation::cluster::object_store::ObjectRequest;
use crate::simulation::violation::Violation;
use crate::storage::cluster::{Input, ObjectId, ObjectOutcome, PublishId};

impl World {
    /// A record arrives at the journal, and is durable if the journal did not end meanwhile.
    pub(super) fn store_record(
        &mut self,
        from: NodeStart,
        id: PublishId,
        shard: u16,
        record: Vec<u8>,
        journal: u64,
    ) {
        if self.journal.is_out || self.journal.start != journal {
            self.probes.count("records lost by the journal");
            let lost = Err(IoFailure::Unknown("no answer".to_owned()));
            return self.schedule_at(self.now + ANSWER_TIMEOUT, Happening::Published(from, id, lost));
        }
        self.probes.count("records");
        self.journal.append(shard, record, &mut self.promise);
        if self.nodes[from.node].is_cut || self.draws(self.knobs.lost_answers) {
            let lost = Err(IoFailure::Unknown("no answer".to_owned()));
            self.schedule_at(self.now + ANSWER_TIMEOUT, Happening::Published(from, id, lost));
        } else {
            let delay = self.rng.below(self.knobs.network_ms + 1);
            self.schedule(delay, Happening::Published(from, id, Ok(())));
        }
        (0..self.nodes.len()).for_each(|node| self.wake_delivery(node, shard));
    }

    pub(super) fn wake_delivery(&mut self, node: usize, shard: u16) {
        if !self.reaches_journal(node) {
            return;
        }
        let delay = self.rng.below(self.knobs.network_ms + 1);
        let at = self.node_start(node);
        let Some(running) = &mut self.nodes[node].running else { return };
        if !std::mem::replace(&mut running.is_delivering[usize::from(shard)], true) {
            self.schedule(delay, Happening::Delivers(at, shard));
        }
    }

    pub(super) fn deliver_record(&mut self, at: NodeStart, shard: u16) -> Result<(), Violation> {
        if !self.is_current(at) {
            return Ok(());
        }
        let is_reached = self.reaches_journal(at.node);
        let back = if self.draws(3) { self.rng.below(4) as u64 } else { 0 };
        let running = self.nodes[at.node].running.as_mut().expect("it is current");
        let position = running.positions[usize::from(shard)];
        let next = if is_reached { self.journal.next(shard, position) } else { None };
        let Some((sequence, record)) = next else {
            running.is_delivering[usize::from(shard)] = false;
            return Ok(());
        };
        if position > 0 && sequence > position {
            self.probes.count("records trimmed before they were read");
        }
        // Now and then some come again.
        running.positions[usize::from(shard)] = (sequence + 1).saturating_sub(back);
        let delay = self.rng.below(self.knobs.network_ms / 10 + 2);
        self.schedule(delay, Happening::Delivers(at, shard));
        self.step_replica(at, Input::RecordDelivered { shard, sequence, record })
    }

    /// A node reaches the journal, again or for the first time.
    pub(super) fn reconnect_journal(&mut self, node: usize) {
        let at = self.node_start(node);
        for shard in 0..self.knobs.replica.shards {
            let delay = self.rng.below(self.knobs.network_ms + 1);
            self.schedule(delay, Happening::Inspects(at, shard));
            self.wake_delivery(node, shard);
        }
    }

    pub(super) fn request_object(
        &mut self,
        at: NodeStart,
        id: ObjectId,
        request: ObjectRequest,
    ) -> Result<(), Violation> {
        let delay = self.rng.below(self.knobs.store_ms + 1);
        if self.store.is_out || self.nodes[at.node].is_cut || self.draws(self.knobs.failed_requests) {
            self.probes.count("failed requests");
            let failed = Err(IoFailure::NotDone("503".to_owned()));
            self.schedule(delay, Happening::ObjectDone(at, id, failed));
            return Ok(());
        }
        let is_unknown = self.draws(self.knobs.unknown_requests);
        let is_carried_out = !is_unknown || self.draws(50);
        let unknown = || Err(IoFailure::Unknown("timeout".to_owned()));
        let is_repeated = self.draws(self.knobs.repeated_requests)
            && matches!(request, ObjectRequest::Put(..) | ObjectRequest::Delete(..));
        if is_repeated {
            // Without an effect on the node: its id is used up.
            let late = self.rng.below(MAX_LATE_MS);
            self.schedule(late, Happening::ObjectArrives(at, ObjectId(u64::MAX), request.clone()));
        }
        let mut result = unknown();
        if is_carried_out {
            let kind = match &request {
                ObjectRequest::List(_) => "lists",
                ObjectRequest::Get(_) => "gets",
                ObjectRequest::Put(..) => "puts",
                ObjectRequest::Delete(_) => "deletions",
            };
            self.probes.count(kind);
            let lag = self.knobs.replica.list_lag;
            let mut outcome =
                self.store.carry_out(request, self.now, lag, &mut self.rng, &mut self.promise)?;
            if let ObjectOutcome::Got(None) = &outcome {
                self.probes.count("missing objects");
            }
            if let ObjectOutcome::Got(Some(bytes)) = &mut outcome
                && !bytes.is_empty()
                && self.draws(self.knobs.damaged_gets)
            {
                let offset = self.rng.below(bytes.len());
                bytes[offset] ^= 1 << self.rng.below(8);
            }
            if !is_unknown {
                result = Ok(outcome);
            }
        }
        self.schedule(delay, Happening::ObjectDone(at, id, result));
        Ok(())
    }

    pub(super) fn publish(
        &mut self,
        from: NodeStart,
        id: PublishId,
        shard: u16,
        record: Vec<u8>,
        delay: usize,
    ) {
        let lost = Err(IoFailure::Unknown("no answer".to_owned()));
        if !self.reaches_journal(from.node) {
            return self.schedule_at(self.now + ANSWER_TIMEOUT, Happening::Published(from, id, lost));
        }
        if self.draws(self.knobs.refused_records) {
            let refused = Err(IoFailure::NotDone("refused".to_owned()));
            return self.schedule(delay, Happening::Published(from, id, refused));
        }
        let journal = self.journal.start;
        if self.draws(self.knobs.doubled_records) {
            let late = delay + self.rng.below(MAX_LATE_MS);
            let record = record.clone();
            self.schedule(late, Happening::Stored { from, id, shard, record, journal });
        }
        self.schedule(delay, Happening::Stored { from, id, shard, record, journal });
    }
}
