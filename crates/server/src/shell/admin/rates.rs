//! Samples of the last hour: use of memory, and rates.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::core::{Counts, Usage};
use crate::shell::driver::Handle;

/// Interval of samples.
const INTERVAL: Duration = Duration::from_secs(5);
/// Number of samples in an hour.
const MAX_SAMPLES: usize = 720;

/// State of a server at a time, and rates since the sample before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::shell) struct Sample {
    time: u64,
    usage: Usage,
    seconds: f64,
    counts: Counts,
    before: Counts,
}

impl Sample {
    pub(super) fn to_json(self) -> Value {
        let Sample { time, usage, seconds, counts, before } = self;
        // A tenth is enough: samples are many.
        let rate =
            |now: u64, before: u64| (now.saturating_sub(before) as f64 / seconds * 10.0).round() / 10.0;
        json!({
            "time": time,
            "connections": usage.sockets,
            "documents_open": usage.documents,
            "document_bytes": usage.document_bytes,
            "queue_bytes": usage.socket_bytes,
            "unstored_bytes": usage.staged_bytes,
            "received_messages_per_s": rate(counts.received_messages, before.received_messages),
            "sent_messages_per_s": rate(counts.sent_messages, before.sent_messages),
            "received_bytes_per_s": rate(counts.received_bytes, before.received_bytes),
            "sent_bytes_per_s": rate(counts.sent_bytes, before.sent_bytes),
            "changes_per_s": rate(counts.changes, before.changes),
            "commits_per_s": rate(counts.commits, before.commits),
        })
    }
}

/// The samples.
#[derive(Clone, Default)]
pub(in crate::shell) struct Rates(Arc<Mutex<VecDeque<Arc<Sample>>>>);

impl Rates {
    /// Takes samples without end, and passes each on.
    pub(in crate::shell) async fn run(
        self,
        core: Handle,
        unix_time: fn() -> u64,
        publish: impl Fn(Arc<Sample>),
    ) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut before, mut taken_at) = (Counts::default(), Instant::now());
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let Some((usage, counts)) = core.view(|view| (view.core.usage(), view.core.counts())).await
            else {
                return;
            };
            let seconds = taken_at.elapsed().as_secs_f64().max(f64::EPSILON);
            let sample = Arc::new(Sample { time: unix_time(), usage, seconds, counts, before });
            (before, taken_at) = (counts, Instant::now());
            self.push(Arc::clone(&sample));
            publish(sample);
        }
    }

    fn push(&self, sample: Arc<Sample>) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == MAX_SAMPLES {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    pub(super) fn to_json(&self) -> Value {
        let samples: Vec<Arc<Sample>> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        let samples: Vec<Value> = samples.iter().map(|sample| sample.to_json()).collect();
        json!({ "interval_s": INTERVAL.as_secs(), "samples": samples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_bounded_and_have_rates() {
        let rates = Rates::default();
        let (mut counts, before) = (Counts::default(), Counts::default());
        counts.received_bytes = 1000;
        for time in 0..MAX_SAMPLES as u64 + 3 {
            rates.push(Arc::new(Sample { time, usage: Usage::default(), seconds: 3.0, counts, before }));
        }
        let json = rates.to_json();
        let samples = json["samples"].as_array().expect("a list");
        assert_eq!(samples.len(), MAX_SAMPLES);
        assert_eq!((&samples[0]["time"], &samples[0]["received_bytes_per_s"]), (&json!(3), &json!(333.3)));
    }
}
