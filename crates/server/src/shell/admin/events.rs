//! Stream of facts, samples and changes of one document, as server-sent events. Each client has a bounded queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hashmill_repo::DocumentId;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, broadcast, mpsc};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::answer::Refusal;
use super::catalogue::{Catalogue, Fingerprint};
use super::rates::Sample;
use crate::fact::Fact;

/// Maximum number of streams.
const MAX_STREAMS: usize = 32;
/// Number of the latest facts that a new stream begins with.
const MAX_RECENT: usize = 100;
/// Number of notices that a stream may be behind. It is told how many it missed.
const MAX_BEHIND: usize = 256;
/// Number of events that wait to be written to a client.
const QUEUE: usize = 8;
/// A client that reads nothing for this time is disconnected.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of looks at a document.
const DOCUMENT_INTERVAL: Duration = Duration::from_secs(1);
/// Number of these intervals after which a silent stream sends a comment.
const TICKS_TO_COMMENT: u32 = 15;
/// Number of changes of a document in an event.
const CHANGES: usize = 20;

/// Something for all streams.
#[derive(Clone)]
enum Notice {
    Fact { time: u64, fact: Arc<Fact> },
    Sample(Arc<Sample>),
}

/// Source of all streams.
#[derive(Clone)]
pub(in crate::shell) struct Feed {
    unix_time: fn() -> u64,
    recent: Arc<Mutex<VecDeque<Notice>>>,
    sender: broadcast::Sender<Notice>,
    streams: Arc<Semaphore>,
}

impl Feed {
    pub(in crate::shell) fn new(unix_time: fn() -> u64) -> Feed {
        let (sender, _) = broadcast::channel(MAX_BEHIND);
        Feed { unix_time, recent: Arc::default(), sender, streams: Arc::new(Semaphore::new(MAX_STREAMS)) }
    }

    /// Passes a fact on. It is also kept for a while. Never waits for a client.
    pub(in crate::shell) fn publish(&self, fact: &Fact) {
        let notice = Notice::Fact { time: (self.unix_time)(), fact: Arc::new(fact.clone()) };
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == MAX_RECENT {
            recent.pop_front();
        }
        recent.push_back(notice.clone());
        // There may be no stream.
        let _ = self.sender.send(notice);
    }

    pub(in crate::shell) fn publish_sample(&self, sample: Arc<Sample>) {
        let _ = self.sender.send(Notice::Sample(sample));
    }

    /// The place of a new stream.
    pub(super) fn acquire(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_| {
            Refusal::unavailable("too-many-streams", format!("{MAX_STREAMS} streams are open: close one"))
        })
    }

    /// The latest facts, and all notices after them.
    fn subscribe(&self) -> (Vec<Notice>, broadcast::Receiver<Notice>) {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        (recent.iter().cloned().collect(), self.sender.subscribe())
    }

    /// Starts a stream. `abort` ends the connection of a client that does not read.
    pub(super) fn start(
        &self,
        catalogue: Arc<Catalogue>,
        document: Option<DocumentId>,
        permit: OwnedSemaphorePermit,
        abort: Arc<Notify>,
    ) -> mpsc::Receiver<Bytes> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let feed = self.clone();
        tokio::spawn(async move {
            let stream = Stream { catalogue, document, events: sender };
            if stream.run(&feed).await.is_err() {
                abort.notify_one();
            }
            drop(permit);
        });
        receiver
    }
}

/// A stream to one client.
struct Stream {
    catalogue: Arc<Catalogue>,
    document: Option<DocumentId>,
    events: mpsc::Sender<Bytes>,
}

/// The client does not read.
struct Stalled;

impl Stream {
    /// Sends events until the client or the server ends.
    async fn run(self, feed: &Feed) -> Result<(), Stalled> {
        let (recent, mut notices) = feed.subscribe();
        for notice in recent {
            self.send(event_text(&notice)).await?;
        }
        let mut ticks = interval(DOCUMENT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut last_seen, mut silent_ticks) = (None, 0);
        loop {
            let event = tokio::select! {
                () = self.events.closed() => return Ok(()),
                notice = notices.recv() => match notice {
                    Ok(notice) => Some(event_text(&notice)),
                    Err(RecvError::Lagged(count)) => Some(event("missed", &json!({ "count": count }))),
                    Err(RecvError::Closed) => return Ok(()),
                },
                _ = ticks.tick() => self.document_event(&mut last_seen).await,
            };
            silent_ticks = if event.is_some() { 0 } else { silent_ticks + 1 };
            match event {
                Some(event) => self.send(event).await?,
                None if silent_ticks >= TICKS_TO_COMMENT => {
                    silent_ticks = 0;
                    self.send(Bytes::from_static(b": alive\n\n")).await?;
                }
                None => {}
            }
        }
    }

    /// The state of the document, if it differs from the last one.
    async fn document_event(&self, last_seen: &mut Option<Fingerprint>) -> Option<Bytes> {
        let document = self.document.as_ref()?;
        let fingerprint = self.catalogue.fingerprint(document).await?;
        if last_seen.as_ref() == Some(&fingerprint) {
            return None;
        }
        *last_seen = Some(fingerprint);
        match self.catalogue.details(document, CHANGES).await {
            Ok(details) => Some(event("document", &details)),
            Err(refusal) => {
                Some(event("document-error", &json!({ "code": refusal.code, "error": refusal.reason })))
            }
        }
    }

    async fn send(&self, event: Bytes) -> Result<(), Stalled> {
        match timeout(STALL_TIMEOUT, self.events.send(event)).await {
            // A client that has gone ends the loop.
            Ok(_) => Ok(()),
            Err(_) => Err(Stalled),
        }
    }
}

fn event_text(notice: &Notice) -> Bytes {
    match notice {
        Notice::Fact { time, fact } => event("fact", &fact_json(*time, fact)),
        Notice::Sample(sample) => event("sample", &sample.to_json()),
    }
}

fn fact_json(time: u64, fact: &Fact) -> Value {
    json!({
        "time": time,
        "event": fact.name(),
        "message": fact.to_string(),
        "document": fact.document().map(ToString::to_string),
    })
}

/// JSON has no line break.
fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_facts_are_kept() {
        let feed = Feed::new(|| 7);
        for number in 0..MAX_RECENT + 5 {
            let (address, reason) = ([127, 0, 0, 1].into(), format!("line\nbreak {number}"));
            feed.publish(&Fact::ClientRefused { address, reason });
        }
        let (recent, _) = feed.subscribe();
        assert_eq!(recent.len(), MAX_RECENT);
        let text = event_text(&recent[0]);
        let text = std::str::from_utf8(&text).expect("UTF-8");
        assert!(text.starts_with("event: fact\ndata: {") && text.contains("line\\nbreak 5"), "{text}");
        assert_eq!(text.matches('\n').count(), 3, "{text}");
    }

    #[test]
    fn streams_are_bounded() {
        let feed = Feed::new(|| 7);
        let mut permits: Vec<_> = (0..MAX_STREAMS).map(|_| feed.acquire().expect("room")).collect();
        assert_eq!(feed.acquire().expect_err("no room").code, "too-many-streams");
        permits.pop();
        assert!(feed.acquire().is_ok());
    }
}
