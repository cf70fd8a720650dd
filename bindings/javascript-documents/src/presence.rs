//! The class `Presence`: what each user of a document shows the others.

use std::cell::RefCell;
use std::time::Duration;

use hashmill_doc::Literal;
use hashmill_repo::{CborItem, PeerId, PresenceError, PresenceEvent, PresenceTimes, ReceivedPresence};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::values::arguments::{Js, bytes, entries, given, property, text, thrown};
use crate::values::exports;
use crate::values::exports::object;
use crate::values::literals;
use crate::values::scalars::Types;

/// The presence of this user and of all others in one document. Times are milliseconds since any fixed start.
#[wasm_bindgen]
pub struct Presence(RefCell<hashmill_repo::Presence>);

#[wasm_bindgen]
impl Presence {
    /// Presence with channels, announced with the first payload.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &JsValue) -> Js<Presence> {
        let defaults = PresenceTimes::default();
        let times = PresenceTimes {
            heartbeat: maybe_time(options, "heartbeatMs")?.unwrap_or(defaults.heartbeat),
            expiry: maybe_time(options, "expiryMs")?.unwrap_or(defaults.expiry),
        };
        // There would be a next payload at any time.
        if times.heartbeat.is_zero() {
            return Err(thrown("heartbeatMs must be more than 0"));
        }
        let presence = Self(RefCell::new(hashmill_repo::Presence::new(times)));
        if let Some(channels) = given(property(options, "channels")?) {
            for (channel, value) in entries(&channels)? {
                presence.set(&JsValue::from_str(&channel), &value)?;
            }
        }
        Ok(presence)
    }

    /// Sets a channel of this user. Until it is sent, a later value replaces it.
    pub fn set(&self, channel: &JsValue, value: &JsValue) -> Js<()> {
        let channel = text(channel, "a channel")?;
        // Functions of the caller may run here, so nothing is borrowed.
        let value = literals::presence(value)?;
        let value = CborItem::from_literal(&value).map_err(refused)?;
        self.0.borrow_mut().set(&channel, value).map_err(refused)
    }

    /// The channels of this user, as others see them.
    #[wasm_bindgen(getter)]
    pub fn ours(&self) -> Js {
        let channels = channel_map(self.0.borrow().own_channels());
        exports::literal(channels, &Types::default())
    }

    /// The next payload to send to all users of the document, or null.
    #[wasm_bindgen(js_name = nextPayload)]
    pub fn next_payload(&self, now: &JsValue) -> Js {
        let payload = self.0.borrow_mut().next_payload(time(now, "now")?);
        Ok(payload.map_or(JsValue::NULL, |payload| exports::bytes(&payload)))
    }

    /// Processes a payload of another user.
    pub fn receive(&self, sender: &JsValue, payload: &JsValue, now: &JsValue) -> Js {
        let sender = PeerId::from(text(sender, "the sender")?.as_str());
        let (payload, now) = (bytes(payload, "the payload")?, time(now, "now")?);
        let received = self.0.borrow_mut().receive(&sender, &payload, now).map_err(refused)?;
        let event = match received {
            ReceivedPresence::Event(PresenceEvent::Updated { peer, channels, is_new }) => {
                let channels: Array = channels.iter().map(|channel| JsValue::from_str(channel)).collect();
                object([
                    ("type", "updated".into()),
                    ("peer", peer.as_str().into()),
                    ("channels", channels.into()),
                    ("isNew", is_new.into()),
                ])?
            }
            ReceivedPresence::Event(PresenceEvent::Left(peer)) => {
                object([("type", "left".into()), ("peer", peer.as_str().into())])?
            }
            ReceivedPresence::OtherPayload => object([("type", "other".into())])?,
            _ => return Ok(JsValue::NULL),
        };
        Ok(event.into())
    }

    /// Forgets the users of whom nothing was heard for too long, and returns their ids.
    pub fn expire(&self, now: &JsValue) -> Js<Array> {
        let events = self.0.borrow_mut().expire(time(now, "now")?);
        let expired = events.iter().filter_map(|event| match event {
            PresenceEvent::Expired(peer) => Some(JsValue::from_str(peer.as_str())),
            _ => None,
        });
        Ok(expired.collect())
    }

    /// When `expire` or, on an open connection, `nextPayload` has something to do. Null: not before another call.
    #[wasm_bindgen(js_name = nextDeadline)]
    pub fn next_deadline(&self, connected: &JsValue) -> JsValue {
        let is_connected = connected.as_bool().unwrap_or(true);
        let deadline = self.0.borrow().next_deadline(is_connected);
        deadline.map_or(JsValue::NULL, |deadline| JsValue::from_f64(milliseconds(deadline)))
    }

    /// The ids of the other users.
    pub fn peers(&self) -> Array {
        self.0.borrow().peers().map(|(id, _)| JsValue::from_str(id.as_str())).collect()
    }

    /// The presence of another user, or null.
    pub fn peer(&self, id: &JsValue) -> Js {
        let id = text(id, "the id of a user")?;
        let presence = self.0.borrow();
        let Some(peer) = presence.peer(&id) else { return Ok(JsValue::NULL) };
        let (channels, last_seen, active) =
            (channel_map(peer.channels()), peer.last_seen(), peer.last_active());
        let peer = object([
            ("channels", exports::literal(channels, &Types::default())?),
            ("lastSeen", milliseconds(last_seen).into()),
            ("lastActive", milliseconds(active).into()),
        ])?;
        Ok(peer.into())
    }

    /// Prepares for a new connection: the others are told to forget this user and then of all channels.
    pub fn reconnect(&self) {
        self.0.borrow_mut().reconnect();
    }

    /// Tells the others that this user leaves. Nothing is sent after that.
    pub fn leave(&self) {
        self.0.borrow_mut().leave();
    }

    /// Was the last payload of this user sent?
    #[wasm_bindgen(getter, js_name = hasLeft)]
    pub fn has_left(&self) -> bool {
        self.0.borrow().has_left()
    }
}

/// Channels with their values, as a map.
fn channel_map<'c>(channels: impl Iterator<Item = (&'c str, &'c CborItem)>) -> Literal {
    Literal::Map(channels.map(|(channel, value)| (channel.to_owned(), value.to_literal())).collect())
}

fn refused(error: PresenceError) -> JsValue {
    match &error {
        PresenceError::Decode(reason) => thrown(format_args!("{error}: {reason}")),
        _ => thrown(error),
    }
}

fn maybe_time(options: &JsValue, name: &str) -> Js<Option<Duration>> {
    given(property(options, name)?).map(|value| time(&value, name)).transpose()
}

fn time(value: &JsValue, name: &str) -> Js<Duration> {
    let millis = value.as_f64().ok_or_else(|| thrown(format_args!("{name} must be a number")))?;
    from_milliseconds(millis).ok_or_else(|| {
        thrown(format_args!("{name} must be a number of milliseconds from 0 on, not {millis}"))
    })
}

fn from_milliseconds(millis: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(millis / 1e3).ok()
}

/// Rounded up where a float is too coarse: a clock that shows these milliseconds has reached the time.
fn milliseconds(time: Duration) -> f64 {
    let mut millis = time.as_nanos() as f64 / 1e6;
    while from_milliseconds(millis).is_some_and(|reached| reached < time) {
        millis = millis.next_up();
    }
    millis
}
