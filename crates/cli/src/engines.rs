//! Engines that the flags select, opened with what the tune file says, and notes about their failures.

#[cfg(not(feature = "gpu"))]
use crate::flags::missing_feature;
use crate::flags::{EngineFlags, EnginesFlags, UsageError};
use crate::output;
use crate::tune_file;
use anyhow::Result;
use hashmill_engines::{Budget, EngineEvent, EngineList, EngineSet, OpenError, RequestedEngine, TagEngine};
use hashmill_files::{Files, Function, OnEngineFailure, Options};
use std::sync::Arc;

/// The engine that computes Argon2 tags in place of the CPU: the requested one, or with `auto` one that was measured to be
/// faster. `None` is the CPU.
///
/// # Errors
/// [`UsageError`] if a requested engine is not available.
pub(crate) fn tag_engine(flags: &EnginesFlags) -> Result<Option<Box<dyn TagEngine>>> {
    Ok(open_engines(&flags.list()?)?.tags(Arc::new(print_event)))
}

/// The engine requested by name; `None` if that is the CPU alone.
///
/// # Errors
/// As [`tag_engine`].
pub(crate) fn requested_engine(flags: &EnginesFlags) -> Result<Option<Box<dyn RequestedEngine>>> {
    let list = flags.list()?;
    let is_cpu = matches!(&list.engines[..], [only] if !only.engine.is_device());
    let engines = open_engines(&list)?;
    Ok((!is_cpu).then(|| engines.batches(Arc::new(print_event))))
}

/// A file hasher that uses this engine.
pub(crate) fn files(flags: &EngineFlags, function: Function, options: Options) -> Result<Files> {
    let list = flags.list()?;
    if !flags.is_device() {
        // `auto` is the CPU here: a device hashes files no faster than its bus. `hashmill info` says more.
        return Ok(Files::new(function, options));
    }
    let unavailable = |error: &dyn std::fmt::Display| unavailable(&flags.to_string(), error);
    let mode = function.mode();
    match open_engines(&list)?.subtrees(mode.as_ref(), options.threads).map_err(open_error)? {
        None => Ok(Files::new(function, options)),
        Some(engine) => Files::with_engine(function, options, engine, OnEngineFailure::Error)
            .map_err(|error| unavailable(&error)),
    }
}

/// Opens the requested device.
///
/// # Errors
/// [`UsageError`] if it is not available; nothing was done yet.
#[cfg(feature = "gpu")]
pub(crate) fn open_device(flags: &EngineFlags) -> Result<hashmill_engines::OpenDevice> {
    let opened = hashmill_engines::OpenDevice::open(flags.engine, flags.device.as_deref());
    opened.map_err(|error| unavailable(&flags.to_string(), &error))
}

fn open_engines(list: &EngineList) -> Result<EngineSet> {
    let is_cpu = matches!(&list.engines[..], [only] if only.engine == hashmill_engines::EngineName::Cpu);
    let choices =
        if is_cpu { hashmill_engines::TunedChoices::default() } else { tune_file::find().choices() };
    EngineSet::open_list(list, choices, Budget::of_free_memory()).map_err(open_error)
}

/// The message for an error of opening engines.
fn open_error(error: OpenError) -> anyhow::Error {
    match error {
        #[cfg(not(feature = "gpu"))]
        OpenError::WithoutDevices { .. } => missing_feature("gpu"),
        OpenError::Unavailable { engine, error } => unavailable(&engine, &error),
        error => UsageError(error.to_string()).into(),
    }
}

/// The error for a requested device that is not available.
fn unavailable(engine: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
    UsageError(format!("{engine}: {error} (see hashmill info)")).into()
}

/// Prints a note about a failure that another engine makes good.
fn print_event(event: &EngineEvent) {
    output::print_note(&format!("note: {event}"));
}
