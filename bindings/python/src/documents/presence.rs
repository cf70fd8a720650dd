//! Presence of the users of a document. The classes of its results are in `hashmill/documents/presence.py`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hashmill_doc::Literal;
use hashmill_repo::{CborItem, PeerId, PresenceEvent, PresenceTimes, ReceivedPresence};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple};

use crate::documents::errors;
use crate::documents::forks::LockOwnerProcess;
use crate::documents::values::{literal, plain};

/// What each user of a document shows the others, such as a cursor: a map from channels to values, never stored. Exchanges the
/// payloads of automerge-repo's `Presence`, with programs in every language.
///
/// The program sends and receives the payloads, and passes the time: seconds since any fixed start, as of `time.monotonic()`.
/// Times that go back count as the latest one. After `heartbeat` seconds without another payload a heartbeat is sent, and after
/// `expiry` seconds without one a user is forgotten.
///
/// Values are those of documents. They arrive as plain Python: a counter as its number, a whole float as an `int`. Of others, at
/// most 4096 users and 16 MiB are remembered, of which the channels of a user take at most 64 KiB.
#[pyclass(frozen, module = "hashmill.documents.presence")]
pub(crate) struct Presence {
    state: Mutex<hashmill_repo::Presence>,
    home: LockOwnerProcess,
}

impl Presence {
    /// Calls a function of the state. Values are converted before or after it, because that may run code of the program.
    fn call<R: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut hashmill_repo::Presence) -> R + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| {
            self.home.check(|| self.state.try_lock())?;
            Ok(call(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner)))
        });
        done.map_err(|failed: errors::DeferredError| failed.raise(py))
    }
}

#[pymethods]
impl Presence {
    #[new]
    #[pyo3(signature = (channels = None, *, heartbeat = 15.0, expiry = 45.0))]
    fn new(channels: Option<&Bound<'_, PyAny>>, heartbeat: f64, expiry: f64) -> PyResult<Self> {
        let times = PresenceTimes {
            heartbeat: duration("heartbeat", heartbeat)?,
            expiry: duration("expiry", expiry)?,
        };
        // There would be a next payload at any time.
        if times.heartbeat.is_zero() {
            return Err(PyValueError::new_err("heartbeat must be more than 0 seconds"));
        }
        let mut state = hashmill_repo::Presence::new(times);
        if let Some(channels) = channels {
            let Literal::Map(entries) = literal(channels)? else {
                return Err(PyTypeError::new_err("channels must be a mapping from names to values"));
            };
            for (channel, value) in entries {
                let set = CborItem::from_literal(&value).and_then(|value| state.set(&channel, value));
                set.map_err(|error| errors::presence(channels.py(), &error))?;
            }
        }
        Ok(Self { state: Mutex::new(state), home: LockOwnerProcess::new() })
    }

    /// Sets a channel of this user. Until it is sent, a later value replaces it.
    fn set(&self, py: Python<'_>, channel: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = literal(value)?;
        let set = |state: &mut hashmill_repo::Presence| state.set(channel, CborItem::from_literal(&value)?);
        self.call(py, set)?.map_err(|error| errors::presence(py, &error))
    }

    /// The channels of this user, as others see them.
    #[getter]
    fn ours<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let channels = self.call(py, |state| channel_map(state.own_channels()))?;
        plain(py, &channels)
    }

    /// The next payload to send to all users of the document. To be called until it is `None`: after `set`, `receive`, `leave`
    /// and `reconnect`, and at `next_deadline()`.
    fn next_payload<'py>(&self, py: Python<'py>, now: f64) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let now = duration("now", now)?;
        let payload = self.call(py, |state| state.next_payload(now))?;
        Ok(payload.map(|payload| PyBytes::new(py, &payload)))
    }

    /// Processes a payload of another user. Returns `Updated` or `Left`, `OtherPayload` for a message of the program, and `None` for
    /// presence that changes nothing, such as a heartbeat. A payload that cannot be read is a `FormatError`, and one beyond a limit
    /// a `LimitError`; both change nothing.
    fn receive<'py>(
        &self,
        py: Python<'py>,
        sender: &str,
        payload: &[u8],
        now: f64,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (sender, now) = (PeerId::from(sender), duration("now", now)?);
        let received = self.call(py, |state| state.receive(&sender, payload, now))?;
        match received.map_err(|error| errors::presence(py, &error))? {
            ReceivedPresence::Event(PresenceEvent::Updated { peer, channels, is_new }) => {
                let channels = PyTuple::new(py, channels)?;
                new_result(py, "Updated", (peer.as_str(), channels, is_new)).map(Some)
            }
            ReceivedPresence::Event(PresenceEvent::Left(peer)) => {
                new_result(py, "Left", (peer.as_str(),)).map(Some)
            }
            ReceivedPresence::OtherPayload => new_result(py, "OtherPayload", ()).map(Some),
            _ => Ok(None),
        }
    }

    /// Forgets the users of whom nothing was heard for too long, and returns their ids.
    fn expire(&self, py: Python<'_>, now: f64) -> PyResult<Vec<String>> {
        let now = duration("now", now)?;
        let events = self.call(py, |state| state.expire(now))?;
        let expired = events.into_iter().filter_map(|event| match event {
            PresenceEvent::Expired(peer) => Some(peer.to_string()),
            _ => None,
        });
        Ok(expired.collect())
    }

    /// When `expire` or, on an open connection, `next_payload` has something to do. `None`: not before another call.
    #[pyo3(signature = (*, connected = true))]
    fn next_deadline(&self, py: Python<'_>, connected: bool) -> PyResult<Option<f64>> {
        Ok(self.call(py, |state| state.next_deadline(connected))?.map(seconds))
    }

    /// The ids of the other users.
    fn peers(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.call(py, |state| state.peers().map(|(id, _)| id.to_string()).collect())
    }

    /// The presence of another user, if it is known.
    fn peer<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let peer = self.call(py, |state| {
            let peer = state.peer(id)?;
            Some((channel_map(peer.channels()), peer.last_seen(), peer.last_active()))
        })?;
        let Some((channels, last_seen, active)) = peer else { return Ok(None) };
        new_result(py, "Peer", (plain(py, &channels)?, seconds(last_seen), seconds(active))).map(Some)
    }

    /// Prepares for a new connection: the others are told to forget this user and then of all channels, and answer with theirs.
    fn reconnect(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, hashmill_repo::Presence::reconnect)
    }

    /// Tells the others that this user leaves. Nothing is sent after that.
    fn leave(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, hashmill_repo::Presence::leave)
    }

    /// Whether the last payload of this user was sent.
    #[getter]
    fn has_left(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |state| state.has_left())
    }
}

/// Channels with their values, as a map.
fn channel_map<'c>(channels: impl Iterator<Item = (&'c str, &'c CborItem)>) -> Literal {
    Literal::Map(channels.map(|(channel, value)| (channel.to_owned(), value.to_literal())).collect())
}

/// An instance of a class of `hashmill.documents.presence`.
fn new_result<'py>(
    py: Python<'py>,
    name: &str,
    parts: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || py.import("hashmill.documents.presence").map(Bound::unbind))?;
    module.bind(py).getattr(name)?.call1(parts)
}

fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("{name} must be a number of seconds from 0 on, not {seconds}"))
    })
}

/// Rounded up where a float is too coarse: a clock that shows these seconds has reached the time.
fn seconds(time: Duration) -> f64 {
    let mut seconds = time.as_secs_f64();
    while Duration::try_from_secs_f64(seconds).is_ok_and(|reached| reached < time) {
        seconds = seconds.next_up();
    }
    seconds
}
