//! Cache folder of the lab.

use super::error::Error;
use std::env;
use std::path::PathBuf;

/// The lab's folder in the user's cache.
pub(crate) fn cache() -> Result<PathBuf, Error> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME")
        .or_else(|| set("LOCALAPPDATA"))
        .or_else(|| set("HOME").map(|home| home.join(".cache")));
    match base {
        Some(base) => Ok(base.join("lab")),
        None => Err(Error::Usage(
            "XDG_CACHE_HOME and HOME are not set; name a cache folder with --cache".to_owned(),
        )),
    }
}
