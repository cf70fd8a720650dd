//! Bringing documents in step with peers, over whatever carries messages.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::doc::{edit, hm_doc};
use super::error::{HM_MALFORMED, hm_error};
use super::pointers::{
    Arena, call, free, given, hm_bytes, hm_change_hash, hm_hashes, hm_owner, hm_span, slot,
};
use core::mem::MaybeUninit;
use hashmill_doc::ChangeHash;
use hashmill_doc::sync::{Have, Message, MessageFlags, ReadMessageError, State, SyncDoc};

/// What is known of a peer, for one document: one for each connection.
#[derive(Debug)]
pub struct hm_sync_state(State);

/// What a peer says it has since it was last in step.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_sync_have {
    /// The heads that both had then.
    last_sync: *const hm_change_hash,
    /// How many.
    last_sync_len: usize,
    /// The changes after them, as a Bloom filter.
    bloom: hm_span,
}

/// What a message says.
#[repr(C)]
#[derive(Debug)]
pub struct hm_sync_message {
    /// The heads of the sender.
    heads: *const hm_change_hash,
    /// How many.
    heads_len: usize,
    /// Changes that the sender asks for by name.
    needs: *const hm_change_hash,
    /// How many.
    needs_len: usize,
    /// What the sender has.
    haves: *const hm_sync_have,
    /// How many.
    haves_len: usize,
    /// Changes for the receiver, in chunks that follow each other, such as `hm_doc_load_incremental` takes.
    changes: *const hm_span,
    /// How many.
    changes_len: usize,
    /// Whether the sender takes no changes.
    read_only: bool,
    /// Whether the receiver is to forget what it has sent.
    reset: bool,
    /// The library's.
    owner: Option<Box<hm_owner>>,
}

fn list(hashes: &[ChangeHash]) -> Vec<hm_change_hash> {
    hashes.iter().map(hm_change_hash::of).collect()
}

impl hm_sync_message {
    fn new(message: Message) -> Box<hm_sync_message> {
        let (heads, needs, mut arena) = (list(&message.heads), list(&message.need), Arena::default());
        let last_syncs: Vec<_> = message.have.iter().map(|have| list(&have.last_sync)).collect();
        let have = |(have, last_sync): (&Have, &Vec<hm_change_hash>)| hm_sync_have {
            last_sync: last_sync.as_ptr(),
            last_sync_len: last_sync.len(),
            bloom: arena.show(have.bloom.to_bytes()),
        };
        let haves: Vec<_> = message.have.iter().zip(&last_syncs).map(have).collect();
        let changes: Vec<_> = message.changes.into_iter().map(|entry| arena.show(entry)).collect();
        let says = |flag| message.flags.is_some_and(|flags| flags.contains(flag));
        Box::new(hm_sync_message {
            heads: heads.as_ptr(),
            heads_len: heads.len(),
            needs: needs.as_ptr(),
            needs_len: needs.len(),
            haves: haves.as_ptr(),
            haves_len: haves.len(),
            changes: changes.as_ptr(),
            changes_len: changes.len(),
            read_only: says(MessageFlags::READ_ONLY),
            reset: says(MessageFlags::SYNC_RESET),
            owner: hm_owner::of((heads, needs, haves, last_syncs, changes, arena)),
        })
    }
}

/// Reads a message, for who looks at what peers say. `hm_receive_sync_message` takes the bytes.
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

/// Frees what a message says, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_sync_message_free(message: Option<Box<hm_sync_message>>) {
    free(message);
}

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

/// The heads that the peer was told last.
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

/// The heads that the peer named last: NULL before its first message.
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

/// Not false: changes of the peer are left alone, and it is told so.
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

/// Whether the peer said that it takes no changes.
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
