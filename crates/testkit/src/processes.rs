//! Whether numbers of processes can be looked up here.

use std::path::Path;

/// Whether `/proc` numbers processes as they number themselves: in a container it may show those of its host.
pub fn processes_are_listed() -> bool {
    std::fs::read_link("/proc/self").is_ok_and(|link| link == Path::new(&std::process::id().to_string()))
}
