//! Who computes: the processor, or a device that was asked for.

#[cfg(feature = "gpu")]
mod auto;
#[cfg(feature = "gpu")]
pub(crate) mod device;
#[cfg(feature = "gpu")]
mod several;
#[cfg(feature = "gpu")]
mod tags;

use crate::flags::{EngineFlags, EnginesFlags};
use anyhow::Result;
use hashmill_files::{Files, Function, Options};
use hashmill_hash::argon2::{Job, Params};
use serde::Serialize;

/// Who computes tags of Argon2 in the processor's place.
pub(crate) trait Computer {
    /// Whether so many hashes belong here.
    fn takes(&self, params: Params, count: usize) -> bool;

    /// All of these, or why not.
    fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String>;

    /// Somebody needs the memory of the host that it holds for further hashes. A card has its own.
    fn give_back(&self) {}

    /// That it was found out to be wrong.
    fn wrong(&self) -> String;

    /// It failed, and why. Whether the processor is to go on in its place, as nobody asked for this one.
    fn yields(&self, why: &str) -> bool;

    /// What each of several has computed so far; nothing where there is only one.
    fn shares(&self) -> Vec<Share> {
        Vec::new()
    }
}

/// Who was asked for by name.
pub(crate) trait Asked: Computer {
    /// How many of at most so many hashes go side by side.
    ///
    /// # Errors
    /// As for [`compute`](Computer::compute).
    fn width(&self, params: Params, most: usize) -> Result<usize, String>;

    /// Its engine, or all of them, and its devices.
    fn names(&self) -> (String, String);
}

/// What one of several engines has computed. The names of the fields are those of the JSON.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    pub(crate) engine: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<String>,
    /// Those that were computed a second time count again.
    pub(crate) hashes: u64,
    /// Why it fell out, or had no part in hashes of some costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}

/// What flags, or measurements that were kept, put in the processor's place.
///
/// # Errors
/// [`Misuse`](crate::flags::Misuse) where what was asked for is not there.
pub(crate) fn computer(flags: &EnginesFlags) -> Result<Option<Box<dyn Computer>>> {
    let asked = asked(flags)?;
    #[cfg(feature = "gpu")]
    if matches!(flags.engine[..], [] | [crate::flags::EngineName::Auto]) {
        return Ok(auto::Auto::find().map(|auto| Box::new(auto) as Box<dyn Computer>));
    }
    Ok(asked.map(|asked| asked as Box<dyn Computer>))
}

/// Who was asked for by name, if that is not the processor alone.
///
/// # Errors
/// As there.
pub(crate) fn asked(flags: &EnginesFlags) -> Result<Option<Box<dyn Asked>>> {
    let each = flags.each()?;
    #[cfg(feature = "gpu")]
    return match &each[..] {
        [one] => Ok(tags::Tags::open(one)?.map(|tags| Box::new(tags) as Box<dyn Asked>)),
        each => Ok(Some(Box::new(several::Several::open(flags.to_string(), each)?))),
    };
    #[cfg(not(feature = "gpu"))]
    match each.iter().any(EngineFlags::is_device) {
        true => Err(crate::flags::absent("gpu")),
        false => Ok(None),
    }
}

/// A hasher of files with this engine.
pub(crate) fn files(flags: &EngineFlags, function: Function, options: Options) -> Result<Files> {
    flags.check()?;
    if !flags.is_device() {
        // What a device makes of files is no faster than its bus: `hashmill info` says more.
        return Ok(Files::new(function, options));
    }
    #[cfg(feature = "gpu")]
    return device::files(flags, function, options);
    #[cfg(not(feature = "gpu"))]
    Err(crate::flags::absent("gpu"))
}
