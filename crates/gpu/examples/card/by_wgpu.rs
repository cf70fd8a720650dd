//! What the rows of a card mean by wgpu.
#![allow(clippy::duplicate_mod, reason = "each back end has the same rows, and names of its own")]

#[path = "rows.rs"]
mod rows;

pub(crate) use rows::SECTIONS;

use crate::{Bench, PIECE, Result, threads, timed};
use hashmill_gpu::wgpu::api::{self, Buffer};
use hashmill_gpu::wgpu::{Argon2, Blake3, Device, Nonces, Subtrees};
use hashmill_hash::argon2::Params;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hash, Plan};

pub(super) fn buffer(device: &Device, len: usize) -> Result<Buffer> {
    let usage = api::BufferUsages::STORAGE | api::BufferUsages::COPY_SRC | api::BufferUsages::COPY_DST;
    let size = len.next_multiple_of(16).max(16) as u64;
    let descriptor = api::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    Ok(device.raw().0.create_buffer(&descriptor))
}

/// Waits for all that was handed over, so that what nobody needs is given back.
pub(super) fn settle(device: &Device) -> Result<()> {
    device.raw().0.poll(api::PollType::wait_indefinitely())?;
    Ok(())
}

/// Fills so many bytes of a buffer with these, again and again if they are fewer.
pub(super) fn upload(device: &Device, buffer: &Buffer, bytes: &[u8], len: usize) -> Result<()> {
    let (mut at, queue) = (0, device.raw().1);
    while at < len {
        let from = at % (bytes.len() / PIECE * PIECE).max(1);
        let piece = (len - at).min(PIECE).min(bytes.len() - from).next_multiple_of(4);
        queue.write_buffer(buffer, at as u64, &bytes[from..from + piece]);
        queue.submit([]);
        at += piece;
    }
    settle(device)
}

/// Bytes of the host, where the back end brings them to the device by itself.
pub(super) fn by_itself(_: &Blake3, _: &[u8]) -> Option<Result<Hash>> {
    None
}

/// Bytes of the host that the device fetches where they lie.
pub(super) fn fetched(_: &Bench, _: &Device, _: &Blake3, _: &[u8], _: &Hash) -> Option<Result<String>> {
    None
}

/// How often as many as go side by side are wanted for a fair number.
pub(super) fn rounds(_: &Argon2) -> usize {
    1
}

pub(super) fn facts(bench: &Bench) -> Result<()> {
    let device = Device::best()?;
    let (raw, adapter) = (device.raw().0, device.raw().0.adapter_info());
    bench.say("fact features", &format_args!("{:?}", raw.features()));
    bench.say(
        "fact subgroup",
        &format_args!("{} to {}", adapter.subgroup_min_size, adapter.subgroup_max_size),
    );
    bench.say(
        "fact words of Argon2",
        &if raw.features().contains(api::Features::SHADER_INT64) { 64 } else { 32 },
    );
    let subgroups = adapter.subgroup_min_size >= 4 && raw.features().contains(api::Features::SUBGROUP);
    bench.say("fact quads of Argon2", &if subgroups { "by subgroups" } else { "by shared memory" });
    bench.say("fact limits", &format_args!("{:?}", raw.limits()));
    bench.say("fact host", &format_args!("{} threads, BLAKE3 {:?}", threads(), Plan::host()));
    bench.row("fact BLAKE3 compiled and tested", || {
        let (_, time) = timed(|| Ok(Blake3::new(&device, &Mode::Hash)?))?;
        Ok(format!("{:.0} ms", time * 1e3))
    });
    bench.row("fact Argon2 compiled and tested", || {
        let params = Params::new(64, 1, 1)?;
        let (_, time) = timed(|| Ok(Argon2::new(&device, params, 1)?))?;
        Ok(format!("{:.0} ms", time * 1e3))
    });
    Ok(())
}
