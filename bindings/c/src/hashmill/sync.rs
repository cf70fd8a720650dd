//! Bringing documents in step with peers, over whatever carries messages.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::doc::{edit, hm_doc};
use super::error::{HM_MALFORMED, hm_error};
use super::pointers::{call, free, given, hm_bytes, hm_hashes, hm_span, slot};
use core::mem::MaybeUninit;
use hashmill_doc::sync::{Message, ReadMessageError, State, SyncDoc};

/// What is known of a peer, for one document: one for each connection.
#[derive(Debug)]
pub struct hm_sync_state(State);

/// A state for a peer of whom nothing is known.
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

/// What is worth keeping of a state until the next connection.
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

/// Reads what `hm_sync_state_encode` gave.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_decode(
    bytes: hm_span,
    state: Option<&mut MaybeUninit<Option<Box<hm_sync_state>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(state, None, "state")?;
        let decoded = State::decode(bytes.bytes("bytes")?);
        let decoded = decoded.map_err(|error| hm_error::of(HM_MALFORMED, &error))?;
        *out = Some(Box::new(hm_sync_state(decoded)));
        Ok(())
    })
}

/// Heads of what both have, as far as this side knows.
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

/// The next message for the peer. NULL when all is said, or while an answer is awaited.
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

/// Takes a message of the peer. When it cannot be read, document and state are as they were. A change that breaks a rule is left out
/// alone, and not asked for again; `refused`, unless it is NULL, has the hashes of those.
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
            ReadMessageError::Limit(_) => hm_error::of(super::error::HM_LIMIT, &error),
            ReadMessageError::Format { offset, .. } => hm_error::of(HM_MALFORMED, &error).at(offset as u64),
            _ => hm_error::of(HM_MALFORMED, &error),
        }
    }
}

/// Frees a state, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_state_free(state: Option<Box<hm_sync_state>>) {
    free(state);
}
