//! Where the lab keeps what outlives a command.

use super::error::Error;
use std::env;
use std::path::PathBuf;

/// The lab's folder in the user's cache.
pub(super) fn cache() -> Result<PathBuf, Error> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME")
        .or_else(|| set("LOCALAPPDATA"))
        .or_else(|| set("HOME").map(|home| home.join(".cache")));
    match base {
        Some(base) => Ok(base.join("lab")),
        None => Err(Error::Usage(
            "neither XDG_CACHE_HOME nor HOME says where a cache may be; name a folder with --cache"
                .to_owned(),
        )),
    }
}
