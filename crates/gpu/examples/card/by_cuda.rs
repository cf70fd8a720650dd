//! What the rows of a card mean by NVIDIA's driver.
#![allow(clippy::duplicate_mod, reason = "each back end has the same rows, and names of its own")]

#[path = "rows.rs"]
mod rows;

pub(crate) use rows::SECTIONS;

use crate::{Bench, PIECE, Result, same, speed, timed};
use hashmill_gpu::cuda::{Argon2, Blake3, Buffer, Device, Driver, Nonces, Registered, Subtrees};
use hashmill_hash::argon2::{Params, Stop};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;

pub(super) fn buffer(device: &Device, len: usize) -> Result<Buffer> {
    Ok(device.buffer(len as u64)?)
}

/// Nothing is given back later.
pub(super) fn settle(_: &Device) -> Result<()> {
    Ok(())
}

/// Fills so many bytes of a buffer with these, again and again if they are fewer.
pub(super) fn upload(_: &Device, buffer: &Buffer, bytes: &[u8], len: usize) -> Result<()> {
    let mut at = 0;
    while at < len {
        let from = at % (bytes.len() / PIECE * PIECE).max(1);
        let piece = (len - at).min(PIECE).min(bytes.len() - from);
        buffer.write(at as u64, &bytes[from..from + piece])?;
        at += piece;
    }
    Ok(())
}

/// Bytes of the host, where the back end brings them to the device by itself.
pub(super) fn by_itself(blake3: &Blake3, bytes: &[u8]) -> Option<Result<Hash>> {
    Some(blake3.hash_bytes(bytes).map_err(Into::into))
}

/// Bytes of the host that the device fetches where they lie: made known to the driver each time, and known before.
pub(super) fn fetched(
    bench: &Bench,
    device: &Device,
    blake3: &Blake3,
    bytes: &[u8],
    right: &Hash,
) -> Option<Result<String>> {
    let never = Stop::new();
    let measure = || {
        let run = || Ok(device.registered(bytes, |known| blake3.hash_registered(known, &never))??);
        same(&run()?, right)?;
        let each = speed(&bench.times(run)?, bytes.len());
        let again = |known: &Registered<'_>| bench.times(|| Ok(blake3.hash_registered(known, &never)?));
        let before = device.registered(bytes, again)??;
        Ok(format!("{each}; known before {}", speed(&before, bytes.len())))
    };
    Some(measure())
}

/// How often as many as go side by side are wanted for a fair number: those that grow begin one after another.
pub(super) fn rounds(argon2: &Argon2) -> usize {
    if argon2.grows() { 4 } else { 1 }
}

pub(super) fn facts(bench: &Bench) -> Result<()> {
    bench.say("fact driver", &format_args!("{:?}", Driver::load()?));
    bench.row("fact device opened, kernels taken", || {
        let (_, time) = timed(|| Ok(Device::best()?))?;
        Ok(format!("{:.0} ms", time * 1e3))
    });
    let device = Device::best()?;
    bench.say("fact memory that nobody has", &format_args!("{} MiB", device.free_memory()? >> 20));
    bench.row("fact BLAKE3 tested", || {
        let (_, time) = timed(|| Ok(Blake3::new(&device, &Mode::Hash)?))?;
        Ok(format!("{:.0} ms", time * 1e3))
    });
    bench.row("fact Argon2 tested", || {
        let params = Params::new(64, 1, 1)?;
        let (_, time) = timed(|| Ok(Argon2::new(&device, params, 1)?))?;
        Ok(format!("{:.0} ms", time * 1e3))
    });
    Ok(())
}
