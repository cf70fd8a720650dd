//! A node of a shared storage: its replica, and the network.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tokio::runtime::Handle;

use super::SharedStorage;
use super::network::{Network, NetworkEvent};
use crate::event::{Action, Event};
use crate::fact::Fact;
use crate::storage::cluster::{Input, Output, Replica};

/// The replica of a server, driven by the thread of the core.
pub(in crate::shell) struct SharedNode<T> {
    replica: Replica,
    network: Network<T>,
    outputs: Vec<Output>,
    wake_at: Option<Duration>,
}

impl<T: From<NetworkEvent> + Send + 'static> SharedNode<T> {
    pub(in crate::shell) fn start(runtime: Handle, storage: SharedStorage, events: Sender<T>) -> Self {
        let replica = Replica::new(storage.config.clone());
        let network = Network::start(runtime, storage, events);
        SharedNode { replica, network, outputs: Vec::new(), wake_at: None }
    }

    /// Has it read what was in the journal when it started?
    pub(in crate::shell) fn is_caught_up(&self) -> bool {
        self.replica.is_caught_up()
    }

    /// Is there a connection to the journal?
    pub(in crate::shell) fn is_reached(&self) -> bool {
        self.network.is_reached()
    }

    /// When [`fire_timer`](Self::fire_timer) is due.
    pub(in crate::shell) fn wake_at(&self) -> Option<Duration> {
        self.wake_at
    }

    /// Carries out an action of the core. Returns others.
    pub(in crate::shell) fn carry_out(
        &mut self,
        now: Duration,
        action: Action,
        events: &mut VecDeque<Event>,
        report: &impl Fn(&Fact),
    ) -> Option<Action> {
        let mut outputs = std::mem::take(&mut self.outputs);
        let rest = self.replica.carry_out(now, action, &mut outputs);
        self.carry_out_all(outputs, events, report);
        match rest {
            Some(Action::Relay(_, frame)) => {
                self.network.relay(&frame);
                None
            }
            rest => rest,
        }
    }

    /// Processes what came from the network.
    pub(in crate::shell) fn receive(
        &mut self,
        now: Duration,
        event: NetworkEvent,
        events: &mut VecDeque<Event>,
        report: &impl Fn(&Fact),
    ) {
        match event {
            NetworkEvent::Replica(input) => self.step(now, input, events, report),
            NetworkEvent::Relayed(frame) => events.push_back(Event::Relayed(frame)),
        }
    }

    pub(in crate::shell) fn fire_timer(
        &mut self,
        now: Duration,
        events: &mut VecDeque<Event>,
        report: &impl Fn(&Fact),
    ) {
        if self.wake_at.is_some_and(|at| at <= now) {
            self.wake_at = None;
            self.step(now, Input::TimerFired, events, report);
        }
    }

    fn step(&mut self, now: Duration, input: Input, events: &mut VecDeque<Event>, report: &impl Fn(&Fact)) {
        let mut outputs = std::mem::take(&mut self.outputs);
        self.replica.step(now, input, &mut outputs);
        self.carry_out_all(outputs, events, report);
    }

    fn carry_out_all(
        &mut self,
        mut outputs: Vec<Output>,
        events: &mut VecDeque<Event>,
        report: &impl Fn(&Fact),
    ) {
        for output in outputs.drain(..) {
            match output {
                Output::ToCore(event) => events.push_back(event),
                Output::WakeAt(at) => self.wake_at = Some(at),
                Output::Report(fact) => report(&fact),
                output => self.network.carry_out(output),
            }
        }
        self.outputs = outputs;
    }
}
