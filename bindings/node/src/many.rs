//! BLAKE3 of many small buffers.

use hashmill_hash::blake3::{Hash, OUT_LEN, batch};
use napi::bindgen_prelude::{AsyncTask, Buffer, Error, Result};
use napi_derive::napi;
use rayon::prelude::*;

use crate::error::Failure;
use crate::mode::Function;
use crate::work::{Stop, Work};

/// Number of messages that a thread takes at a time.
const GROUP: usize = 256;

/// The concatenated digests of messages, which are copied first.
#[napi(catch_unwind)]
pub fn hash_many(
    messages: Vec<&[u8]>,
    key: Option<&[u8]>,
    context: Option<String>,
    stop: &Stop,
) -> Result<AsyncTask<Work<Buffer>>> {
    let function = Function::from_args(key, context)?;
    let total = messages.iter().map(|message| message.len()).sum();
    let mut bytes = Vec::<u8>::new();
    let words = || format!("no memory for {total} bytes");
    bytes.try_reserve_exact(total).map_err(|_| Error::from_reason(words()))?;
    messages.iter().for_each(|message| bytes.extend_from_slice(message));
    let lengths: Vec<usize> = messages.iter().map(|message| message.len()).collect();
    let stop = stop.0.clone();
    Ok(AsyncTask::new(Work::new(move || {
        let mut rest = &bytes[..];
        let mut messages = Vec::with_capacity(lengths.len());
        for len in lengths {
            let (message, others) = rest.split_at(len);
            messages.push(message);
            rest = others;
        }
        let mut digests = vec![Hash::from_bytes([0; OUT_LEN]); messages.len()];
        messages.par_chunks(GROUP).zip(digests.par_chunks_mut(GROUP)).for_each(|(messages, digests)| {
            if !stop.is_set() {
                batch::hash_all(&function.mode(), messages, digests);
            }
        });
        if stop.is_set() {
            return Err(Failure::stopped());
        }
        Ok(Buffer::from(digests.iter().flat_map(|digest| *digest.as_bytes()).collect::<Vec<u8>>()))
    })))
}
