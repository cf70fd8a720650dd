//! GPU workloads, each back end beside all CPU threads. A row exists if there is a device.
//!
//! A class states where the input is when the clock starts. `kernel-effective` (elsewhere called resident or private): in device
//! memory, and the digest is waited for. `backend`: staged from host memory with reused buffers. `oneshot` also allocates the
//! buffers, and `end-to-end` also opens the device.

mod argon2;
mod blake3;
mod known_answers;
mod nonces;

use hashmill_gpu::{BackEnd, Device, Error, Fault, Selector, best};
use hashmill_lab::model::engine::CaseError;
use hashmill_lab::model::registry::Registry;

/// Registers the rows of present devices, or of all back ends unless `looks`.
pub(crate) fn register(registry: &mut Registry, looks: bool) {
    let absence = |back_end: BackEnd| if looks { absence(back_end) } else { None };
    let all: Vec<_> = BackEnd::ALL.iter().map(|back_end| (*back_end, absence(*back_end))).collect();
    if all.iter().all(|(_, reason)| reason.is_some()) {
        let reasons =
            all.iter().filter_map(|(back_end, reason)| Some(format!("{back_end}: {}", reason.as_ref()?)));
        let reason = format!("no device: {}", reasons.collect::<Vec<_>>().join("; "));
        return registry.absent("device-*", &reason);
    }
    blake3::register(registry);
    argon2::register(registry);
    nonces::register(registry);
    for (back_end, absence) in all {
        if let Some(reason) = absence {
            registry.absent(back_end.name(), &reason);
            continue;
        }
        registry.known_answers(back_end.name(), move || known_answers::check(back_end));
        blake3::add(registry, back_end);
        argon2::add(registry, back_end);
        nonces::add(registry, back_end);
    }
}

/// Why no device of this back end can be measured, or `None` if one can.
fn absence(back_end: BackEnd) -> Option<String> {
    match back_end.devices() {
        Err(error) => Some(error.to_string()),
        Ok(found) if best(&found).is_some() => None,
        Ok(found) if found.is_empty() => Some("no driver offers one".to_owned()),
        Ok(_) => Some("none can be used".to_owned()),
    }
}

/// Opens the best device.
fn open(back_end: BackEnd) -> Result<Device, Error> {
    Device::open(back_end, Selector::Best)
}

/// Device name and driver for reports.
fn description(device: &Device) -> String {
    let info = device.info();
    format!("{}, {}, {}", info.name, info.interface, info.driver)
}

/// A missing resource skips the row; any other error fails it.
fn case_error(error: Error) -> CaseError {
    match error.fault() {
        Fault::Machine => CaseError::unavailable(error),
        _ => CaseError::failed(error),
    }
}
