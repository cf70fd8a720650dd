//! The class `SyncState`, and sync messages.

use std::cell::RefCell;

use hashmill_doc::ChangeHash;
use hashmill_doc::sync::{
    BloomFilter, Have, Message, MessageFlags, MessageVersion, SmallList, State, StateParts, SyncDoc as _,
};
use js_sys::{Array, Object};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::document::Automerge;
use crate::values::arguments::{
    Js, MemoryBudget, array, bytes, entries, flag, given, hash, hashes, property, text, thrown,
};
use crate::values::exports;
use crate::values::exports::{object, set};

/// The sync state of a peer.
#[wasm_bindgen]
pub struct SyncState(RefCell<State>);

impl SyncState {
    fn from_state(state: State) -> Self {
        Self(RefCell::new(state))
    }
}

#[wasm_bindgen]
impl SyncState {
    /// The heads of the changes that both have.
    #[wasm_bindgen(getter, js_name = sharedHeads)]
    pub fn shared_heads(&self) -> JsValue {
        exports::hashes(self.0.borrow().shared_heads())
    }

    /// The heads in the last message to the peer.
    #[wasm_bindgen(getter, js_name = lastSentHeads)]
    pub fn last_sent_heads(&self) -> JsValue {
        exports::hashes(self.0.borrow().last_sent_heads())
    }

    /// Overwrites the heads in the last message to the peer.
    #[wasm_bindgen(setter, js_name = lastSentHeads)]
    pub fn set_last_sent_heads(&self, heads: &JsValue) -> Js<()> {
        let heads = hashes(heads, "heads")?;
        self.change(|parts| parts.last_sent_heads = heads.into());
        Ok(())
    }

    /// Overwrites the changes sent to the peer.
    #[wasm_bindgen(setter, js_name = sentHashes)]
    pub fn set_sent_hashes(&self, sent: &JsValue) -> Js<()> {
        let (hashes, upto) = self::sent(sent)?;
        self.change(|parts| (parts.sent_hashes, parts.sent_upto) = (hashes, upto));
        Ok(())
    }

    /// Whether changes of the peer are ignored.
    #[wasm_bindgen(getter, js_name = readOnly)]
    pub fn read_only(&self) -> bool {
        self.0.borrow().is_read_only()
    }

    /// Sets whether changes of the peer are ignored.
    #[wasm_bindgen(setter, js_name = readOnly)]
    pub fn set_read_only(&self, read_only: bool) {
        self.0.borrow_mut().set_read_only(read_only);
    }

    /// Whether the peer accepts no changes.
    #[wasm_bindgen(getter, js_name = peerReadOnly)]
    pub fn peer_read_only(&self) -> bool {
        self.0.borrow().is_peer_read_only()
    }

    /// A copy.
    #[allow(clippy::should_implement_trait, reason = "the name it has in JavaScript")]
    pub fn clone(&self) -> Self {
        Self::from_state(self.0.borrow().clone())
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

    /// Processes a message of a peer.
    #[wasm_bindgen(js_name = receiveSyncMessage)]
    pub fn receive_sync_message(&self, state: &SyncState, message: &JsValue) -> Js<()> {
        let message = Message::decode(&bytes(message, "the message")?).map_err(thrown)?;
        let mut inner = self.whole()?;
        let received = inner.doc.sync().receive_sync_message(&mut state.0.borrow_mut(), message);
        received.map(drop).map_err(thrown)
    }

    /// Whether a peer has all changes of this document.
    #[wasm_bindgen(js_name = hasOurChanges)]
    pub fn has_our_changes(&self, state: &SyncState) -> Js<bool> {
        Ok(self.whole()?.doc.sync().has_our_changes(&state.0.borrow()))
    }
}

/// The state for an unknown peer.
#[wasm_bindgen(js_name = initSyncState)]
pub fn init_sync_state() -> SyncState {
    SyncState::from_state(State::new())
}

/// The encoded part of a state that is useful later.
#[wasm_bindgen(js_name = encodeSyncState)]
pub fn encode_sync_state(state: &SyncState) -> JsValue {
    exports::bytes(&state.0.borrow().encode())
}

/// Decodes a stored state.
#[wasm_bindgen(js_name = decodeSyncState)]
pub fn decode_sync_state(data: &JsValue) -> Js<SyncState> {
    State::decode(&bytes(data, "the state")?).map(SyncState::from_state).map_err(thrown)
}

/// A state as a plain object, which callers keep between two messages.
#[wasm_bindgen(js_name = exportSyncState)]
pub fn export_sync_state(state: &SyncState) -> Js {
    let parts = StateParts::from(&*state.0.borrow());
    let if_known = |value: JsValue| if parts.their_heads.is_some() { value } else { JsValue::NULL };
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
        ("theirNeed", if_known(exports::hashes(&parts.their_need))),
        ("theirHave", if_known(haves(&parts.their_have)?)),
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
    // Fields unknown to the original are present only if they are not empty.
    if !parts.refused.is_empty() {
        set(&object, "refused", &exports::hashes(&parts.refused))?;
    }
    let lists =
        [("refusedDeps", &parts.refused_deps), ("givenUp", &parts.given_up), ("waited", &parts.waited)];
    for (name, hashes) in lists {
        if !hashes.is_empty() {
            set(&object, name, &exports::hashes(hashes))?;
        }
    }
    let facts = [
        ("needsReset", parts.needs_reset),
        ("hidHeads", parts.hid_heads),
        ("sentWhole", parts.sent_whole),
        ("byChange", parts.by_change),
        ("toldReset", parts.has_sent_reset),
        ("asked", parts.has_requested),
    ];
    for (name, _) in facts.into_iter().filter(|(_, is)| *is) {
        set(&object, name, &JsValue::TRUE)?;
    }
    for (name, count) in [("askedForChanges", parts.change_requests), ("unanswered", parts.unanswered)] {
        if count > 0 {
            set(&object, name, &count.into())?;
        }
    }
    Ok(object.into())
}

/// A state from the output of `exportSyncState`.
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
    if let Some(their_have) = given(property(value, "theirHave")?) {
        parts.their_have = import_haves(&their_have)?.into();
    }
    (parts.sent_hashes, parts.sent_upto) = sent(&property(value, "sentHashes")?)?;
    parts.in_flight =
        property(value, "inFlight")?.as_bool().ok_or_else(|| thrown("inFlight not a boolean"))?;
    parts.have_responded = flag(value, "haveResponded")?;
    parts.read_only = flag(value, "readOnly")?;
    parts.peer_read_only = flag(value, "peerReadOnly")?;
    parts.needs_reset = flag(value, "needsReset")?;
    parts.hid_heads = flag(value, "hidHeads")?;
    parts.sent_whole = flag(value, "sentWhole")?;
    parts.by_change = flag(value, "byChange")?;
    parts.has_sent_reset = flag(value, "toldReset")?;
    parts.has_requested = flag(value, "asked")?;
    let count = |name: &str| match given(property(value, name)?).map(|count| count.as_f64()) {
        None => Ok(0),
        Some(Some(count)) if (0.0..=255.0).contains(&count) => Ok(count as u8),
        Some(_) => Err(thrown(format_args!("{name} is no count"))),
    };
    parts.change_requests = count("askedForChanges")?;
    parts.unanswered = count("unanswered")?;
    parts.refused = maybe("refused")?;
    parts.refused_deps = maybe("refusedDeps")?;
    parts.given_up = maybe("givenUp")?;
    parts.waited = maybe("waited")?;
    if let Some(capabilities) = given(property(value, "theirCapabilities")?) {
        let capabilities = array(&capabilities, "theirCapabilities")?;
        let can = |name: &str| capabilities.includes(&name.into(), 0);
        parts.can_reset = can("message-v2").then(|| can("supports-sync-reset") || can("sync-reset"));
    }
    Ok(SyncState::from_state(parts.into()))
}

/// Encodes a message.
#[wasm_bindgen(js_name = encodeSyncMessage)]
pub fn encode_sync_message(value: &JsValue) -> Js {
    let mut message = Message::default();
    message.heads = hashes(&property(value, "heads")?, "heads")?.into();
    message.need = hashes(&property(value, "need")?, "need")?.into();
    message.have = import_haves(&property(value, "have")?)?.into();
    let budget = MemoryBudget::default();
    let changes = budget.array(&property(value, "changes")?, "changes")?;
    message.changes =
        changes.iter().map(|entry| budget.bytes(&entry, "an entry of changes")).collect::<Js<_>>()?;
    if let Some(flags) = given(property(value, "supportedCapabilities")?) {
        let mut all = MessageFlags::new();
        for name in array(&flags, "supportedCapabilities")?.iter() {
            match text(&name, "a capability")?.as_str() {
                // Implied by the version.
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

/// Decodes a message.
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
        let set_flags = names.iter().filter(|(_, flag)| flags.contains(*flag));
        let capabilities: Array = set_flags.map(|(name, _)| JsValue::from_str(name)).collect();
        set(&object, "supportedCapabilities", &capabilities)?;
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
    let budget = MemoryBudget::default();
    let all = budget.array(value, "have")?;
    let all = all.iter().map(|have| {
        let last_sync = budget.hashes(&property(&have, "lastSync")?, "lastSync")?.into();
        let bloom = budget.bytes(&property(&have, "bloom")?, "bloom")?;
        Ok(Have { last_sync, bloom: BloomFilter::try_from(&bloom[..]).map_err(thrown)? })
    });
    all.collect()
}

/// The value in `sentHashes` of a change that was sent with all of its ancestors.
const UPTO: &str = "upto";

/// Decodes `sentHashes`: changes with the value true were sent; another value means that all ancestors were sent, too.
fn sent(value: &JsValue) -> Js<(Vec<ChangeHash>, SmallList<ChangeHash>)> {
    let (mut hashes, mut upto) = (vec![], SmallList::new());
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
