//! The processors of this machine, read for whoever decides where threads run.

use hashmill_hash::argon2::pow::{Core, describe};
use std::fs;
use std::path::Path;

/// The processors that this thread may run on. Which of them are fast, share a core or a memory is known on Linux alone;
/// elsewhere they are all alike.
#[must_use]
pub fn cores() -> Vec<Core> {
    let ids = core_affinity::get_core_ids().unwrap_or_default();
    let ids: Vec<usize> = ids.into_iter().map(|found| found.id).collect();
    cores_below(Path::new("/"), &ids)
}

/// The same with the files of the system below `root`.
fn cores_below(root: &Path, ids: &[usize]) -> Vec<Core> {
    let devices = root.join("sys/devices");
    describe(ids, |name| fs::read_to_string(devices.join(name)).ok())
}

/// Keeps the calling thread on one of the [`cores`]. Whether the system did so.
#[must_use]
pub(crate) fn bind(id: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::pow::places;

    /// A machine with a fast core of two threads, two slow cores, and two memories.
    #[test]
    fn a_hybrid_machine_is_read_from_its_files() {
        let root = tempfile::tempdir().expect("a directory");
        for (name, text) in [
            ("cpu_core/cpus", "0-1"),
            ("cpu_atom/cpus", "2-3"),
            ("system/cpu/cpu0/topology/thread_siblings_list", "0-1"),
            ("system/cpu/cpu1/topology/thread_siblings_list", "0-1"),
            ("system/cpu/cpu2/topology/thread_siblings_list", "2"),
            ("system/cpu/cpu3/topology/thread_siblings_list", "3"),
            ("system/node/online", "0-1"),
            ("system/node/node0/cpulist", "0-2"),
            ("system/node/node1/cpulist", "3"),
        ] {
            let path = root.path().join("sys/devices").join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, format!("{text}\n")).expect("a file");
        }
        let cores = cores_below(root.path(), &[0, 1, 2, 3]);
        let facts: Vec<_> = cores.iter().map(|core| (core.id, core.speed, core.core, core.node)).collect();
        assert_eq!(facts, [(0, 1, 0, 0), (1, 1, 0, 0), (2, 0, 2, 0), (3, 0, 3, 1)]);
        assert_eq!(places(&cores, 4), [0, 2, 3, 1]);
    }

    #[test]
    fn threads_stay_where_they_are_bound() {
        let cores = cores();
        for id in places(&cores, cores.len()) {
            let seen = std::thread::spawn(move || (bind(id), super::cores()));
            let (bound, left) = seen.join().expect("no panic");
            // Systems that only take hints say so by refusing.
            assert!(!bound || left.iter().map(|core| core.id).eq([id]), "{id}: {left:?}");
        }
    }
}
