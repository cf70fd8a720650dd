//! Check of process ids in `/proc`.

use std::path::Path;

/// Whether `/proc` has the ids of this process's namespace: in a container it may show those of the host.
pub fn processes_are_listed() -> bool {
    std::fs::read_link("/proc/self").is_ok_and(|link| link == Path::new(&std::process::id().to_string()))
}
