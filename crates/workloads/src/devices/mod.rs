//! Devices as engines of the lab, each back end beside all threads of the processor: rows that are there where a device is.
//!
//! A class says where bytes are when the clock starts. `kernel-effective` is what others call resident or private: the input lies
//! on the device, and the digest is waited for. `backend` is staged: the input lies in the memory of the host, and buffers are
//! kept. `oneshot` makes buffers, too, and `end-to-end` opens the device.

mod answers;
mod argon2;
mod back_end;
mod blake3;
mod cuda;
mod nonces;
mod wgpu;

use back_end::BackEnd;
use hashmill_gpu::Error;
use hashmill_lab::model::engine::Fault;
use hashmill_lab::model::registry::Registry;

/// Those that are here, or all of them if nobody `looks`.
pub(crate) fn register(registry: &mut Registry, looks: bool) {
    let (cuda, wgpu) =
        if looks { (no_cuda(), absence(&hashmill_gpu::wgpu::devices())) } else { (None, None) };
    if let (Some(no_cuda), Some(no_wgpu)) = (&cuda, &wgpu) {
        let why = format!("no device: cuda: {no_cuda}; wgpu: {no_wgpu}");
        return registry.absent("device-*", &why);
    }
    blake3::register(registry);
    argon2::register(registry);
    nonces::register(registry);
    if cuda.is_none() {
        blake3::add_of_cuda(registry);
    }
    add::<cuda::Cuda>(registry, cuda);
    add::<wgpu::Wgpu>(registry, wgpu);
}

fn no_cuda() -> Option<String> {
    match hashmill_gpu::cuda::devices() {
        Ok(found) => absence(&found),
        Err(error) => Some(error.to_string()),
    }
}

/// Why none of these devices can be measured, if so.
fn absence(found: &[hashmill_gpu::Info]) -> Option<String> {
    match hashmill_gpu::best(found) {
        Some(_) => None,
        None if found.is_empty() => Some("no driver offers one".to_owned()),
        None => Some("none can be used".to_owned()),
    }
}

/// The rows of a back end, or why there are none.
fn add<B: BackEnd>(registry: &mut Registry, absence: Option<String>) {
    if let Some(why) = absence {
        registry.absent(B::NAME, &why);
        return;
    }
    registry.known_answers(B::NAME, answers::check::<B>);
    blake3::add::<B>(registry);
    argon2::add::<B>(registry);
    nonces::add::<B>(registry);
}

/// What the machine lacks makes a row skipped, all else broken.
fn fault(error: Error) -> Fault {
    match error {
        Error::NoDriver { .. } | Error::NoDevice { .. } | Error::Unfit { .. } | Error::OutOfMemory { .. } => {
            Fault::unavailable(error)
        }
        error => Fault::failed(error),
    }
}
