//! Synchronization of documents with peers, over any transport for messages.
#![expect(unsafe_code, reason = "names that a linker finds")]

use crate::hashmill::document::doc::{edit, hm_doc};
use crate::hashmill::error::{HM_MALFORMED, hm_error};
use crate::hashmill::pointers::{
    Arena, call, free, given, hm_bytes, hm_change_hash, hm_hashes, hm_owner, hm_span, slot,
};
use core::mem::MaybeUninit;
use hashmill_doc::ChangeHash;
use hashmill_doc::sync::{Have, Message, MessageFlags, ReadMessageError, State, SyncDoc};

/// The state of a sync with a peer, for one document: one for each connection.
#[derive(Debug)]
pub struct hm_sync_state(State);

/// The changes that a peer has since the last sync.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_sync_have {
    /// The heads that both sides had then.
    last_sync: *const hm_change_hash,
    /// Their number.
    last_sync_len: usize,
    /// The changes after them, as a Bloom filter.
    bloom: hm_span,
}

/// The contents of a message.
#[repr(C)]
#[derive(Debug)]
pub struct hm_sync_message {
    /// The heads of the sender.
    heads: *const hm_change_hash,
    /// Their number.
    heads_len: usize,
    /// Hashes of changes that the sender requests.
    needs: *const hm_change_hash,
    /// Their number.
    needs_len: usize,
    /// Summaries of the sender's changes.
    haves: *const hm_sync_have,
    /// Their number.
    haves_len: usize,
    /// Changes for the receiver, as consecutive chunks for `hm_doc_load_incremental`.
    changes: *const hm_span,
    /// Their number.
    changes_len: usize,
    /// Whether the sender accepts no changes.
    read_only: bool,
    /// Whether the receiver must forget which changes it has sent.
    reset: bool,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

fn list(hashes: &[ChangeHash]) -> Vec<hm_change_hash> {
    hashes.iter().map(hm_change_hash::from_hash).collect()
}

impl hm_sync_message {
    fn new(message: Message) -> Box<hm_sync_message> {
        let (heads, needs, mut arena) = (list(&message.heads), list(&message.need), Arena::default());
        let last_syncs: Vec<_> = message.have.iter().map(|have| list(&have.last_sync)).collect();
        let have = |(have, last_sync): (&Have, &Vec<hm_change_hash>)| hm_sync_have {
            last_sync: last_sync.as_ptr(),
            last_sync_len: last_sync.len(),
            bloom: arena.store(have.bloom.to_bytes()),
        };
        let haves: Vec<_> = message.have.iter().zip(&last_syncs).map(have).collect();
        let changes: Vec<_> = message.changes.into_iter().map(|entry| arena.store(entry)).collect();
        let has_flag = |flag| message.flags.is_some_and(|flags| flags.contains(flag));
        Box::new(hm_sync_message {
            heads: heads.as_ptr(),
            heads_len: heads.len(),
            needs: needs.as_ptr(),
            needs_len: needs.len(),
            haves: haves.as_ptr(),
            haves_len: haves.len(),
            changes: changes.as_ptr(),
            changes_len: changes.len(),
            read_only: has_flag(MessageFlags::READ_ONLY),
            reset: has_flag(MessageFlags::SYNC_RESET),
            owner: hm_owner::new((heads, needs, haves, last_syncs, changes, arena)),
        })
    }
}

/// Decodes a message for inspection. `hm_receive_sync_message` takes the bytes.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_message_decode(
    bytes: hm_span,
    message: Option<&mut MaybeUninit<Option<Box<hm_sync_message>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(message, None, "message")?;
        *out = Some(hm_sync_message::new(Message::decode(bytes.bytes("bytes")?)?));
        Ok(())
    })
}

/// Frees the contents of a message, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_message_free(message: Option<Box<hm_sync_message>>) {
    free(message);
}

/// Creates the state for an unknown peer.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_create(
    state: Option<&mut MaybeUninit<Option<Box<hm_sync_state>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        *slot(state, None, "state")? = Some(Box::new(hm_sync_state(State::new())));
        Ok(())
    })
}

/// Encodes the part of a state that is useful for the next connection.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_encode(
    state: Option<&hm_sync_state>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(bytes, None, "bytes")?;
        *out = Some(hm_bytes::new(given(state, "state")?.0.encode()));
        Ok(())
    })
}

/// Decodes the output of `hm_sync_state_encode`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_decode(
    bytes: hm_span,
    state: Option<&mut MaybeUninit<Option<Box<hm_sync_state>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(state, None, "state")?;
        let decoded = State::decode(bytes.bytes("bytes")?);
        let decoded = decoded.map_err(|error| hm_error::from_display(HM_MALFORMED, &error))?;
        *out = Some(Box::new(hm_sync_state(decoded)));
        Ok(())
    })
}

/// The heads of the changes that both have, as far as this side knows.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_shared_heads(
    state: Option<&hm_sync_state>,
    heads: Option<&mut MaybeUninit<Option<Box<hm_hashes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(heads, None, "heads")?;
        *out = Some(hm_hashes::new(given(state, "state")?.0.shared_heads()));
        Ok(())
    })
}

/// The heads in the last message to the peer.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_last_sent_heads(
    state: Option<&hm_sync_state>,
    heads: Option<&mut MaybeUninit<Option<Box<hm_hashes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(heads, None, "heads")?;
        *out = Some(hm_hashes::new(given(state, "state")?.0.last_sent_heads()));
        Ok(())
    })
}

/// The heads in the last message of the peer: NULL before its first message.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_their_heads(
    state: Option<&hm_sync_state>,
    heads: Option<&mut MaybeUninit<Option<Box<hm_hashes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(heads, None, "heads")?;
        *out = given(state, "state")?.0.their_heads().map(hm_hashes::new);
        Ok(())
    })
}

/// If true, changes of the peer are ignored, and messages tell the peer so.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_set_read_only(
    state: Option<&mut hm_sync_state>,
    read_only: bool,
) -> Option<Box<hm_error>> {
    call(|| {
        given(state, "state")?.0.set_read_only(read_only);
        Ok(())
    })
}

/// Whether the peer accepts no changes.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_is_peer_read_only(
    state: Option<&hm_sync_state>,
    read_only: Option<&mut MaybeUninit<bool>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(read_only, false, "read_only")?;
        *out = given(state, "state")?.0.is_peer_read_only();
        Ok(())
    })
}

/// The next message for the peer. NULL if both have the same heads, or while an answer is awaited.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_generate_sync_message(
    doc: Option<&mut hm_doc>,
    state: Option<&mut hm_sync_state>,
    message: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, state) = (slot(message, None, "message")?, given(state, "state")?);
        let message = edit(doc, |doc| Ok(doc.sync().generate_sync_message(&mut state.0)))?;
        *out = message.map(|message| hm_bytes::new(message.encode()));
        Ok(())
    })
}

/// Processes a message of the peer. If it cannot be read, document and state stay unchanged. A change that breaks a rule is
/// refused alone and not requested again; `refused`, unless it is NULL, has the hashes of such changes.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_receive_sync_message(
    doc: Option<&mut hm_doc>,
    state: Option<&mut hm_sync_state>,
    message: hm_span,
    refused: Option<&mut MaybeUninit<Option<Box<hm_hashes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, state) = (refused.map(|out| out.write(None)), given(state, "state")?);
        let message = Message::decode(message.bytes("message")?)?;
        let received = edit(doc, |doc| Ok(doc.sync().receive_sync_message(&mut state.0, message)?))?;
        if let Some(out) = out {
            let hashes: Vec<_> = received.refused.iter().map(|(hash, _)| *hash).collect();
            *out = Some(hm_hashes::new(&hashes));
        }
        Ok(())
    })
}

impl From<ReadMessageError> for hm_error {
    fn from(error: ReadMessageError) -> hm_error {
        match error {
            ReadMessageError::Limit(_) => hm_error::from_display(crate::hashmill::error::HM_LIMIT, &error),
            ReadMessageError::Format { offset, .. } => {
                hm_error::from_display(HM_MALFORMED, &error).at(offset as u64)
            }
            _ => hm_error::from_display(HM_MALFORMED, &error),
        }
    }
}

/// Frees a state, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_free(state: Option<Box<hm_sync_state>>) {
    free(state);
}
