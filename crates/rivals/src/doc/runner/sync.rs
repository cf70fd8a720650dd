//! Sync in a script: each engine receives the messages of the other.

use std::collections::VecDeque;
use std::mem;

use super::{CallOutcome, Peer, Runner, Stop, attempt, visible_state};
use crate::doc::official;
use crate::doc::script::Delivery;

/// Sync states of a replica for a peer, with the messages in flight.
pub(super) struct SyncLink<A, B> {
    replica: usize,
    peer: usize,
    oracle: A,
    subject: B,
    /// Equal messages of both engines.
    in_flight: VecDeque<(Vec<u8>, Vec<u8>)>,
    read_only: bool,
}

/// Maximum number of message rounds of one sync.
const ROUNDS: usize = 30;

impl<A: Peer, B: Peer> Runner<'_, A, B> {
    fn link(&mut self, replica: usize, peer: usize) -> &mut SyncLink<A::SyncState, B::SyncState> {
        let index = self.links.iter().position(|link| (link.replica, link.peer) == (replica, peer));
        let index = index.unwrap_or_else(|| {
            let (oracle, subject) = Default::default();
            self.links.push(SyncLink {
                replica,
                peer,
                oracle,
                subject,
                in_flight: VecDeque::new(),
                read_only: false,
            });
            self.links.len() - 1
        });
        &mut self.links[index]
    }

    /// A pair that can sync: neither is isolated, and all edits are committed.
    fn sync_pair(&mut self, replica: usize, peer: usize) -> Result<Option<usize>, Stop> {
        let peer = peer % self.replicas.len();
        if peer == replica || self.replicas[replica].isolated || self.replicas[peer].isolated {
            return Ok(None);
        }
        self.commit(replica, None, 0)?;
        self.commit(peer, None, 0)?;
        Ok(Some(peer))
    }

    pub(super) fn send(&mut self, replica: usize, to: usize) -> Result<bool, Stop> {
        let Some(to) = self.sync_pair(replica, to)? else { return Ok(false) };
        let link = self.link(replica, to);
        let (mut oracle, mut subject) = (mem::take(&mut link.oracle), mem::take(&mut link.subject));
        let state = &mut self.replicas[replica];
        let oracle_result = attempt(|| state.oracle.next_message(&mut oracle));
        let subject_result = attempt(|| state.subject.next_message(&mut subject));
        let link = self.link(replica, to);
        (link.oracle, link.subject) = (oracle, subject);
        let (oracle_result, subject_result) = match (oracle_result, subject_result) {
            (CallOutcome::Done(oracle), CallOutcome::Done(subject)) => (oracle, subject),
            (oracle, subject) => {
                return self
                    .compare_results("next message", oracle, subject)
                    .map(|message| message.is_some());
            }
        };
        let text = |message: &Option<Vec<u8>>| message.as_ref().map(|bytes| official::message_text(bytes));
        self.compare_results(
            "messages",
            CallOutcome::Done(text(&oracle_result)),
            CallOutcome::Done(text(&subject_result)),
        )?;
        let messages = oracle_result.zip(subject_result);
        let is_sent = messages.is_some();
        self.link(replica, to).in_flight.extend(messages);
        Ok(is_sent)
    }

    pub(super) fn receive(&mut self, replica: usize, from: usize, delivery: Delivery) -> Result<bool, Stop> {
        let Some(from) = self.sync_pair(replica, from)? else { return Ok(false) };
        let in_flight = &mut self.link(from, replica).in_flight;
        let message = match delivery {
            Delivery::Late => in_flight.pop_back(),
            Delivery::Again => in_flight.front().cloned(),
            Delivery::InTurn | Delivery::Lost => in_flight.pop_front(),
        };
        let Some((for_subject, for_oracle)) = message.filter(|_| delivery != Delivery::Lost) else {
            return Ok(false);
        };
        let link = self.link(replica, from);
        let (mut oracle, mut subject) = (mem::take(&mut link.oracle), mem::take(&mut link.subject));
        let state = &mut self.replicas[replica];
        let oracle_result = attempt(|| state.oracle.receive_message(&mut oracle, &for_oracle).ok());
        let subject_result = attempt(|| state.subject.receive_message(&mut subject, &for_subject).ok());
        let link = self.link(replica, from);
        (link.oracle, link.subject) = (oracle, subject);
        self.compare_results("receive message", oracle_result, subject_result)?;
        let link = self.link(replica, from);
        let saved = (A::encode_state(&link.oracle), B::encode_state(&link.subject));
        self.compare_results("encoded sync states", CallOutcome::Done(saved.0), CallOutcome::Done(saved.1))?;
        let link = self.link(replica, from);
        let (oracle, subject) = (link.oracle.clone(), link.subject.clone());
        let state = &mut self.replicas[replica];
        let (oracle_result, subject_result) =
            (state.oracle.peer_has_all_changes(&oracle), state.subject.peer_has_all_changes(&subject));
        self.compare_results(
            "has our changes",
            CallOutcome::Done(oracle_result),
            CallOutcome::Done(subject_result),
        )?;
        self.share_objects(replica, from);
        self.compare(replica)?;
        Ok(true)
    }

    /// Ends a connection and loses the messages in flight.
    pub(super) fn disconnect(&mut self, replica: usize, peer: usize, keeps_state: bool) -> Result<(), Stop> {
        let peer = peer % self.replicas.len();
        if peer == replica {
            return Ok(());
        }
        for (replica, peer) in [(replica, peer), (peer, replica)] {
            let link = self.link(replica, peer);
            let encoded = (A::encode_state(&link.oracle), B::encode_state(&link.subject));
            (link.oracle, link.subject, link.read_only) = Default::default();
            link.in_flight.clear();
            if keeps_state
                && let (Ok(oracle), Ok(subject)) = (A::decode_state(&encoded.1), B::decode_state(&encoded.0))
            {
                (link.oracle, link.subject) = (oracle, subject);
            }
        }
        Ok(())
    }

    /// Drops the sync states of a replica that lost its document.
    pub(super) fn drop_links(&mut self, replica: usize) {
        self.links.retain(|link| link.replica != replica);
    }

    pub(super) fn read_only(&mut self, replica: usize, peer: usize, read_only: bool) {
        let peer = peer % self.replicas.len();
        if peer != replica {
            let link = self.link(replica, peer);
            A::read_only(&mut link.oracle, read_only);
            B::read_only(&mut link.subject, read_only);
            link.read_only = read_only;
        }
    }

    /// Syncs two replicas on a new connection until neither has a message; then both must have the same state.
    pub(super) fn sync(&mut self, replica: usize, with: usize, keeps_state: bool) -> Result<(), Stop> {
        let Some(with) = self.sync_pair(replica, with)? else { return Ok(()) };
        self.disconnect(replica, with, keeps_state)?;
        for _ in 0..ROUNDS {
            let sent = self.send(replica, with)?;
            let received = self.receive(with, replica, Delivery::InTurn)?;
            let replied = self.send(with, replica)?;
            let reply_received = self.receive(replica, with, Delivery::InTurn)?;
            if !(sent || received || replied || reply_received) {
                let (replica, peer) = (&self.replicas[replica].subject, &self.replicas[with].subject);
                let states = (visible_state(replica, None, false), visible_state(peer, None, false));
                return self
                    .compare_results(
                        "visible state after the sync",
                        CallOutcome::Done(states.0),
                        CallOutcome::Done(states.1),
                    )
                    .map(drop);
            }
        }
        let context = "rounds of a sync";
        Err(self.difference(context, "at most 30 rounds", "more").into())
    }
}
