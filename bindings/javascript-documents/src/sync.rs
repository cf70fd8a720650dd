//! The class `SyncState`, and what is said between peers.

use std::cell::RefCell;

use hashmill_doc::ChangeHash;
use hashmill_doc::sync::{
    BloomFilter, Few, Have, Message, MessageFlags, MessageVersion, State, StateParts, SyncDoc as _,
};
use js_sys::{Array, Object};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::arguments::{Js, Room, array, bytes, entries, flag, given, hash, hashes, property, text, thrown};
use crate::document::Automerge;
use crate::exports::{self, object, set};

/// What is known of a peer.
#[wasm_bindgen]
pub struct SyncState(RefCell<State>);

impl SyncState {
    fn of(state: State) -> Self {
        Self(RefCell::new(state))
    }
}

#[wasm_bindgen]
impl SyncState {
    /// Heads of what both have.
    #[wasm_bindgen(getter, js_name = sharedHeads)]
    pub fn shared_heads(&self) -> JsValue {
        exports::hashes(self.0.borrow().shared_heads())
    }

    /// The heads that the peer was told last.
    #[wasm_bindgen(getter, js_name = lastSentHeads)]
    pub fn last_sent_heads(&self) -> JsValue {
        exports::hashes(self.0.borrow().last_sent_heads())
    }

    /// As if the peer had been told other heads.
    #[wasm_bindgen(setter, js_name = lastSentHeads)]
    pub fn set_last_sent_heads(&self, heads: &JsValue) -> Js<()> {
        let heads = hashes(heads, "heads")?;
        self.change(|parts| parts.last_sent_heads = heads.into());
        Ok(())
    }

    /// As if the peer had been sent other changes.
    #[wasm_bindgen(setter, js_name = sentHashes)]
    pub fn set_sent_hashes(&self, sent: &JsValue) -> Js<()> {
        let (hashes, upto) = self::sent(sent)?;
        self.change(|parts| (parts.sent_hashes, parts.sent_upto) = (hashes, upto));
        Ok(())
    }

    /// Whether changes of the peer are left alone.
    #[wasm_bindgen(getter, js_name = readOnly)]
    pub fn read_only(&self) -> bool {
        self.0.borrow().is_read_only()
    }

    /// Whether changes of the peer are left alone from now on.
    #[wasm_bindgen(setter, js_name = readOnly)]
    pub fn set_read_only(&self, read_only: bool) {
        self.0.borrow_mut().set_read_only(read_only);
    }

    /// Whether the peer said that it takes no changes.
    #[wasm_bindgen(getter, js_name = peerReadOnly)]
    pub fn peer_read_only(&self) -> bool {
        self.0.borrow().is_peer_read_only()
    }

    /// The same again.
    #[allow(clippy::should_implement_trait, reason = "the name it has in JavaScript")]
    pub fn clone(&self) -> Self {
        Self::of(self.0.borrow().clone())
    }
}

impl SyncState {
    fn change(&self, change: impl FnOnce(&mut StateParts)) {
        let mut state = self.0.borrow_mut();
        let mut parts = StateParts::from(&*state);
        change(&mut parts);
        *state = parts.into();
    }
}

#[wasm_bindgen]
impl Automerge {
    /// The next message for a peer, or null.
    #[wasm_bindgen(js_name = generateSyncMessage)]
    pub fn generate_sync_message(&self, state: &SyncState) -> Js {
        let mut inner = self.whole()?;
        let message = inner.doc.sync().generate_sync_message(&mut state.0.borrow_mut());
        Ok(message.map_or(JsValue::NULL, |message| exports::bytes(&message.encode())))
    }

    /// Takes a message of a peer.
    #[wasm_bindgen(js_name = receiveSyncMessage)]
    pub fn receive_sync_message(&self, state: &SyncState, message: &JsValue) -> Js<()> {
        let message = Message::decode(&bytes(message, "the message")?).map_err(thrown)?;
        let mut inner = self.whole()?;
        let received = inner.doc.sync().receive_sync_message(&mut state.0.borrow_mut(), message);
        received.map(drop).map_err(thrown)
    }

    /// Whether a peer has all changes that are here.
    #[wasm_bindgen(js_name = hasOurChanges)]
    pub fn has_our_changes(&self, state: &SyncState) -> Js<bool> {
        Ok(self.whole()?.doc.sync().has_our_changes(&state.0.borrow()))
    }
}

/// A state for a peer of whom nothing is known.
#[wasm_bindgen(js_name = initSyncState)]
pub fn init_sync_state() -> SyncState {
    SyncState::of(State::new())
}

/// What is worth keeping of a state.
#[wasm_bindgen(js_name = encodeSyncState)]
pub fn encode_sync_state(state: &SyncState) -> JsValue {
    exports::bytes(&state.0.borrow().encode())
}

/// A state that was kept.
#[wasm_bindgen(js_name = decodeSyncState)]
pub fn decode_sync_state(data: &JsValue) -> Js<SyncState> {
    State::decode(&bytes(data, "the state")?).map(SyncState::of).map_err(thrown)
}

/// A state as a plain object, which callers hold between two messages.
#[wasm_bindgen(js_name = exportSyncState)]
pub fn export_sync_state(state: &SyncState) -> Js {
    let parts = StateParts::from(&*state.0.borrow());
    let theirs = |value: JsValue| if parts.their_heads.is_some() { value } else { JsValue::NULL };
    let sent = Object::new();
    for hash in &parts.sent_hashes {
        set(&sent, &hash.to_string(), &JsValue::TRUE)?;
    }
    for hash in parts.sent_upto.iter() {
        set(&sent, &hash.to_string(), &JsValue::from_str(UPTO))?;
    }
    let object = object([
        ("sharedHeads", exports::hashes(&parts.shared_heads)),
        ("lastSentHeads", exports::hashes(&parts.last_sent_heads)),
        ("theirHeads", parts.their_heads.as_deref().map_or(JsValue::NULL, exports::hashes)),
        ("theirNeed", theirs(exports::hashes(&parts.their_need))),
        ("theirHave", theirs(haves(&parts.their_have)?)),
        ("sentHashes", sent.into()),
        ("inFlight", parts.in_flight.into()),
        ("haveResponded", parts.have_responded.into()),
        ("readOnly", parts.read_only.into()),
        ("peerReadOnly", parts.peer_read_only.into()),
    ])?;
    if let Some(reset) = parts.can_reset {
        let capabilities = Array::of1(&"message-v2".into());
        if reset {
            capabilities.push(&"sync-reset".into());
        }
        set(&object, "theirCapabilities", &capabilities)?;
    }
    // What the original does not know is there only where it says something.
    if !parts.refused.is_empty() {
        set(&object, "refused", &exports::hashes(&parts.refused))?;
    }
    if parts.needs_reset {
        set(&object, "needsReset", &JsValue::TRUE)?;
    }
    Ok(object.into())
}

/// A state from what `exportSyncState` made.
#[wasm_bindgen(js_name = importSyncState)]
pub fn import_sync_state(value: &JsValue) -> Js<SyncState> {
    let list = |name: &str| hashes(&property(value, name)?, name);
    let maybe = |name: &str| given(property(value, name)?).map_or(Ok(vec![]), |value| hashes(&value, name));
    let mut parts = StateParts::default();
    parts.shared_heads = list("sharedHeads")?.into();
    parts.last_sent_heads = list("lastSentHeads")?.into();
    parts.their_heads = given(property(value, "theirHeads")?)
        .map(|heads| hashes(&heads, "theirHeads").map(Into::into))
        .transpose()?;
    parts.their_need = maybe("theirNeed")?.into();
    if let Some(theirs) = given(property(value, "theirHave")?) {
        parts.their_have = import_haves(&theirs)?.into();
    }
    (parts.sent_hashes, parts.sent_upto) = sent(&property(value, "sentHashes")?)?;
    parts.in_flight =
        property(value, "inFlight")?.as_bool().ok_or_else(|| thrown("inFlight not a boolean"))?;
    parts.have_responded = flag(value, "haveResponded")?;
    parts.read_only = flag(value, "readOnly")?;
    parts.peer_read_only = flag(value, "peerReadOnly")?;
    parts.needs_reset = flag(value, "needsReset")?;
    parts.refused = maybe("refused")?;
    if let Some(capabilities) = given(property(value, "theirCapabilities")?) {
        let capabilities = array(&capabilities, "theirCapabilities")?;
        let can = |name: &str| capabilities.includes(&name.into(), 0);
        parts.can_reset = can("message-v2").then(|| can("supports-sync-reset") || can("sync-reset"));
    }
    Ok(SyncState::of(parts.into()))
}

/// A message as bytes.
#[wasm_bindgen(js_name = encodeSyncMessage)]
pub fn encode_sync_message(value: &JsValue) -> Js {
    let mut message = Message::default();
    message.heads = hashes(&property(value, "heads")?, "heads")?.into();
    message.need = hashes(&property(value, "need")?, "need")?.into();
    message.have = import_haves(&property(value, "have")?)?.into();
    let room = Room::default();
    let changes = room.array(&property(value, "changes")?, "changes")?;
    message.changes =
        changes.iter().map(|entry| room.bytes(&entry, "an entry of changes")).collect::<Js<_>>()?;
    if let Some(flags) = given(property(value, "supportedCapabilities")?) {
        let mut all = MessageFlags::new();
        for name in array(&flags, "supportedCapabilities")?.iter() {
            match text(&name, "a capability")?.as_str() {
                // Said by the form.
                "message-v1" | "message-v2" => {}
                "sync-reset" => all.set(MessageFlags::SYNC_RESET),
                "read-only" => all.set(MessageFlags::READ_ONLY),
                "supports-sync-reset" => all.set(MessageFlags::SUPPORTS_SYNC_RESET),
                other => return Err(thrown(format_args!("{other} is no valid capability"))),
            }
        }
        message.flags = Some(all);
    }
    if property(value, "type")?.as_string().as_deref() == Some("v2") {
        message.version = MessageVersion::V2;
    }
    Ok(exports::bytes(&message.encode()))
}

/// A message from its bytes.
#[wasm_bindgen(js_name = decodeSyncMessage)]
pub fn decode_sync_message(message: &JsValue) -> Js {
    let message = Message::decode(&bytes(message, "the message")?).map_err(thrown)?;
    let changes: Array = message.changes.iter().map(|entry| exports::bytes(entry)).collect();
    let version = if message.version == MessageVersion::V1 { "v1" } else { "v2" };
    let object = object([
        ("heads", exports::hashes(&message.heads)),
        ("need", exports::hashes(&message.need)),
        ("have", haves(&message.have)?),
        ("changes", changes.into()),
        ("type", version.into()),
    ])?;
    if let Some(flags) = message.flags {
        let names = [
            ("sync-reset", MessageFlags::SYNC_RESET),
            ("read-only", MessageFlags::READ_ONLY),
            ("supports-sync-reset", MessageFlags::SUPPORTS_SYNC_RESET),
        ];
        let said = names.iter().filter(|(_, flag)| flags.contains(*flag));
        let said: Array = said.map(|(name, _)| JsValue::from_str(name)).collect();
        set(&object, "supportedCapabilities", &said)?;
    }
    Ok(object.into())
}

fn haves(haves: &[Have]) -> Js {
    let all = haves.iter().map(|have| {
        let (last_sync, bloom) = (exports::hashes(&have.last_sync), exports::bytes(&have.bloom.to_bytes()));
        object([("lastSync", last_sync), ("bloom", bloom)]).map(JsValue::from)
    });
    Ok(all.collect::<Js<Array>>()?.into())
}

fn import_haves(value: &JsValue) -> Js<Vec<Have>> {
    let room = Room::default();
    let all = room.array(value, "have")?;
    let all = all.iter().map(|have| {
        let last_sync = room.hashes(&property(&have, "lastSync")?, "lastSync")?.into();
        let bloom = room.bytes(&property(&have, "bloom")?, "bloom")?;
        Ok(Have { last_sync, bloom: BloomFilter::try_from(&bloom[..]).map_err(thrown)? })
    });
    all.collect()
}

/// Of a change in `sentHashes`: it was sent with everything before it.
const UPTO: &str = "upto";

/// What `sentHashes` says: changes whose value is true were sent, those up to which everything was have another.
fn sent(value: &JsValue) -> Js<(Vec<ChangeHash>, Few<ChangeHash>)> {
    let (mut hashes, mut upto) = (vec![], Few::new());
    if !value.is_object() {
        return Ok((hashes, upto));
    }
    for (key, value) in entries(value)? {
        let key = JsValue::from_str(&key);
        if value.as_bool() == Some(true) {
            hashes.push(hash(&key)?);
        } else if value.as_string().as_deref() == Some(UPTO) {
            upto.push(hash(&key)?);
        }
    }
    Ok((hashes, upto))
}
