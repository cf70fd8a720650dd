//! Keys of token issuers at a URL: fetched, refreshed, and kept while the URL fails.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::header::ACCEPT;
use hyper::{Request, StatusCode};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use super::keys::TokenKeys;
use crate::fact::Fact;
use crate::shell::driver::Handle;
use crate::shell::transport::{HttpClient, RequestLimits, ServiceUrl};

const LIMITS: RequestLimits = RequestLimits { time: Duration::from_secs(10), answer_bytes: 1 << 20 };
/// Pause between two fetches that succeed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(300);
/// Minimum pause between two fetches, however many tokens name unknown keys.
const MIN_INTERVAL: Duration = Duration::from_secs(10);
/// Pause after the first failure, which doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(60);
/// Maximum time for which a client with an unknown key waits for a fetch.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The keys of an issuer. `None`: they were not fetched yet.
type Keys = Option<Arc<TokenKeys>>;

/// Access to the keys of an issuer.
#[derive(Clone)]
pub(in crate::shell) struct Issuer {
    keys: watch::Receiver<Keys>,
    /// The time of the last fetch.
    fetched_at: watch::Receiver<Option<Instant>>,
    requests: Arc<Notify>,
}

/// Fetches the keys of an issuer.
pub(in crate::shell) struct Fetcher {
    url: ServiceUrl,
    client: HttpClient,
    keys: watch::Sender<Keys>,
    fetched_at: watch::Sender<Option<Instant>>,
    requests: Arc<Notify>,
}

/// An issuer at a URL, and the task that fetches its keys.
pub(in crate::shell) fn issuer(url: ServiceUrl, client: HttpClient) -> (Issuer, Fetcher) {
    let (keys, received_keys) = watch::channel(None);
    let (fetched_at, received_at) = watch::channel(None);
    let requests = Arc::new(Notify::new());
    let issuer = Issuer { keys: received_keys, fetched_at: received_at, requests: Arc::clone(&requests) };
    (issuer, Fetcher { url, client, keys, fetched_at, requests })
}

impl Issuer {
    /// The keys. `None`: they were not fetched yet.
    pub(in crate::shell) fn keys(&self) -> Keys {
        self.keys.borrow().clone()
    }

    /// Returns when the keys have changed.
    pub(in crate::shell) async fn changed(&mut self) {
        if self.keys.changed().await.is_err() {
            // The server ends.
            std::future::pending::<()>().await;
        }
    }

    /// Fetches the keys again, unless that was done a moment ago, and waits for the end.
    pub(in crate::shell) async fn refresh(&self) {
        let mut fetched_at = self.fetched_at.clone();
        let is_recent = fetched_at.borrow_and_update().is_some_and(|at| at.elapsed() < MIN_INTERVAL);
        if !is_recent {
            self.requests.notify_one();
            // Late keys are for the next attempt of the client.
            let _ = timeout(MAX_WAIT, fetched_at.changed()).await;
        }
    }
}

impl Fetcher {
    /// Fetches the keys at once and again and again. Never returns.
    pub(in crate::shell) async fn run(self, core: Handle) {
        let (mut failures, mut text) = (0, None);
        loop {
            match self.fetch().await {
                Ok((fetched, keys)) => {
                    // Otherwise all open connections would be looked at.
                    if text.as_ref() != Some(&fetched) {
                        self.keys.send_replace(Some(Arc::new(keys)));
                        text = Some(fetched);
                    }
                    if failures > 0 {
                        core.report(Fact::KeysFetched { url: self.url.to_string() });
                    }
                    failures = 0;
                }
                Err(reason) => {
                    failures += 1;
                    if failures == 1 {
                        let has_keys = text.is_some();
                        core.report(Fact::KeysUnreachable { url: self.url.to_string(), reason, has_keys });
                    }
                }
            }
            self.fetched_at.send_replace(Some(Instant::now()));
            let requested = async {
                sleep(MIN_INTERVAL).await;
                self.requests.notified().await;
            };
            tokio::select! {
                () = sleep(pause(failures)) => {}
                () = requested => {}
            }
        }
    }

    async fn fetch(&self) -> Result<(String, TokenKeys), String> {
        let request = Request::get(self.url.uri()).header(ACCEPT, "application/json");
        let request = request.body(Full::default()).map_err(|error| error.to_string())?;
        let (status, body) = self.client.request(request, LIMITS).await?;
        if status != StatusCode::OK {
            return Err(format!("it answers with status {status}"));
        }
        let text = String::from_utf8(body.into()).map_err(|_| "the answer is no text".to_owned())?;
        let keys = TokenKeys::from_public_text(&text).map_err(|error| error.to_string())?;
        Ok((text, keys))
    }
}

/// The pause before the next fetch, after this number of failures in a row.
fn pause(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => REFRESH_INTERVAL,
        Some(doublings) => (FIRST_RETRY * 2_u32.pow(doublings.min(16))).min(MAX_RETRY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_tried_again_ever_later() {
        let seconds = [0, 1, 2, 3, 6, 7, 8, u32::MAX].map(|failures| pause(failures).as_secs());
        assert_eq!(seconds, [300, 1, 2, 4, 32, 60, 60, 60]);
    }
}
