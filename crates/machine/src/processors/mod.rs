//! Processors, and binding of threads to them.

pub(crate) mod thread_placement;
pub mod vectors;

use crate::os::affinity;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

/// A logical processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processor {
    /// Its number in the system.
    pub id: usize,
    /// Its relative speed: the system's capacity, or its highest clock. Equal for all if unknown.
    pub speed: u64,
    /// Its core: threads of one core share its caches and its miss buffers.
    pub core: usize,
    /// Its memory node.
    pub node: usize,
}

/// The number of threads of this process that may run at once; one if the system does not report it.
#[must_use]
pub fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// The processors that this thread may run on. Only Linux reports speeds, cores and memory nodes; elsewhere
/// all processors are equal.
#[must_use]
pub fn processors() -> Vec<Processor> {
    processors_below(Path::new("/"), &affinity::allowed())
}

/// As [`processors`], with the system's files below `root`.
fn processors_below(root: &Path, ids: &[usize]) -> Vec<Processor> {
    let devices = root.join("sys/devices");
    describe(ids, |name| fs::read_to_string(devices.join(name)).ok())
}

/// Binds the calling thread to one of the [`processors`]. Returns whether the system did so.
#[must_use]
pub fn bind(id: usize) -> bool {
    affinity::set(id)
}

/// Binds the calling thread to one of its allowed processors, and returns which.
#[must_use]
pub fn pin(choice: u64) -> Option<usize> {
    let ids = affinity::allowed();
    let index = choice.checked_rem(ids.len() as u64)?;
    let id = ids[index as usize];
    bind(id).then_some(id)
}

/// The processors `ids` as Linux describes them. `read` returns the content of a file below `/sys/devices`.
/// Without a file, and on other systems, processors are equal and each is a core of its own.
///
/// "Performance" and "efficiency" cores are distinguished by the lists of their counters (Intel), else by the
/// scheduler's capacity (Arm), the firmware's rating (AMD), or the highest clock: the first of these that all
/// processors have.
fn describe(ids: &[usize], read: impl Fn(&str) -> Option<String>) -> Vec<Processor> {
    let fact = |id: usize, name: &str| read(&format!("system/cpu/cpu{id}/{name}"));
    let number = |id: usize, name: &str| -> Option<u64> { fact(id, name)?.trim().parse().ok() };
    let of_all = |name: &str| ids.iter().map(|id| number(*id, name)).collect::<Option<Vec<u64>>>();
    let kinds = || {
        let (fast, slow) = (read("cpu_core/cpus")?, read("cpu_atom/cpus")?);
        let kind = |id: usize| has(&fast, id).then_some(1).or(has(&slow, id).then_some(0));
        ids.iter().map(|id| kind(*id)).collect::<Option<Vec<u64>>>()
    };
    let rated = ["cpu_capacity", "acpi_cppc/highest_perf", "cpufreq/cpuinfo_max_freq"];
    let speeds = kinds().or_else(|| rated.into_iter().find_map(of_all));
    // Without it all processors are on node 0, as on a kernel without nodes.
    let online = read("system/node/online").unwrap_or_default();
    let nodes: Vec<(usize, String)> = (0..MAX_NODES)
        .filter(|node| has(&online, *node))
        .filter_map(|node| Some((node, read(&format!("system/node/node{node}/cpulist"))?)))
        .collect();
    let core = |(index, id): (usize, &usize)| Processor {
        id: *id,
        speed: speeds.as_ref().map_or(0, |speeds| speeds[index]),
        // The first processor of the core: core numbers repeat from one package to the next.
        core: fact(*id, "topology/thread_siblings_list")
            .and_then(|list| ranges(&list).next())
            .map_or(*id, |(first, _)| first),
        node: nodes.iter().find(|(_, list)| has(list, *id)).map_or(0, |(node, _)| *node),
    };
    ids.iter().enumerate().map(core).collect()
}

/// More nodes than Linux supports.
const MAX_NODES: usize = 1024;

/// The ranges of a list such as `0-3,8`.
fn ranges(list: &str) -> impl Iterator<Item = (usize, usize)> {
    list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse().ok()?, last.parse().ok()?))
    })
}

fn has(list: &str, number: usize) -> bool {
    ranges(list).any(|(first, last)| (first..=last).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use thread_placement::place_threads;

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
        let cores = processors_below(root.path(), &[0, 1, 2, 3]);
        let facts: Vec<_> = cores.iter().map(|core| (core.id, core.speed, core.core, core.node)).collect();
        assert_eq!(facts, [(0, 1, 0, 0), (1, 1, 0, 0), (2, 0, 2, 0), (3, 0, 3, 1)]);
        assert_eq!(place_threads(&cores, 4), [0, 2, 3, 1]);
    }

    #[test]
    fn threads_stay_where_they_are_bound() {
        let cores = processors();
        for id in place_threads(&cores, cores.len()) {
            let thread = std::thread::spawn(move || (bind(id), processors()));
            let (bound, left) = thread.join().expect("no panic");
            // Systems that treat binding as a hint refuse it.
            assert!(!bound || left.iter().map(|core| core.id).eq([id]), "{id}: {left:?}");
        }
    }

    fn core(id: usize, speed: u64, core: usize, node: usize) -> Processor {
        Processor { id, speed, core, node }
    }

    /// Linux's files: `cpu0/…` and so on, with the other files in full.
    fn described(ids: &[usize], files: &[(&str, &str)]) -> Vec<Processor> {
        let files: HashMap<String, String> = files
            .iter()
            .map(|(name, text)| {
                let prefix =
                    if name.starts_with("cpu_") || name.starts_with("system") { "" } else { "system/cpu/" };
                (format!("{prefix}{name}"), format!("{text}\n"))
            })
            .collect();
        describe(ids, |name| files.get(name).cloned())
    }

    #[test]
    fn performance_cores_are_found_by_their_counters() {
        // Two fast cores with two threads each and two slow ones. A fast one may clock a little higher than the other,
        // which must not put its second thread before anything.
        let files = [
            ("cpu_core/cpus", "0-3"),
            ("cpu_atom/cpus", "4-5"),
            ("cpu0/topology/thread_siblings_list", "0-1"),
            ("cpu1/topology/thread_siblings_list", "0-1"),
            ("cpu2/topology/thread_siblings_list", "2,3"),
            ("cpu3/topology/thread_siblings_list", "2,3"),
            ("cpu4/topology/thread_siblings_list", "4"),
            ("cpu5/topology/thread_siblings_list", "5"),
        ];
        let cores = described(&[0, 1, 2, 3, 4, 5], &files);
        let expected = [core(0, 1, 0, 0), core(1, 1, 0, 0), core(2, 1, 2, 0), core(3, 1, 2, 0)];
        assert_eq!(cores[..4], expected);
        assert_eq!(cores[4..], [core(4, 0, 4, 0), core(5, 0, 5, 0)]);
        assert_eq!(place_threads(&cores, 6), [0, 2, 4, 5, 1, 3]);
        // A process with only some of them allowed.
        assert_eq!(place_threads(&described(&[1, 4, 5], &files), 3), [1, 4, 5]);
    }

    #[test]
    fn capacity_rating_and_clock_stand_in_where_all_have_them() {
        let big_little =
            [("cpu0/cpu_capacity", "446"), ("cpu1/cpu_capacity", "1024"), ("cpu2/cpu_capacity", "446")];
        assert_eq!(place_threads(&described(&[0, 1, 2], &big_little), 3), [1, 0, 2]);
        let rated = [("cpu0/acpi_cppc/highest_perf", "166"), ("cpu1/acpi_cppc/highest_perf", "231")];
        assert_eq!(place_threads(&described(&[0, 1], &rated), 2), [1, 0]);
        // A clock that only one processor reports is no comparison, nor is a rating that is text.
        let half = [("cpu1/cpufreq/cpuinfo_max_freq", "5000000"), ("cpu0/acpi_cppc/highest_perf", "high")];
        assert_eq!(place_threads(&described(&[0, 1], &half), 2), [0, 1]);
        let clocks =
            [("cpu0/cpufreq/cpuinfo_max_freq", "3100000"), ("cpu1/cpufreq/cpuinfo_max_freq", "5000000")];
        assert_eq!(place_threads(&described(&[0, 1], &clocks), 2), [1, 0]);
    }

    #[test]
    fn packages_are_nodes_and_other_systems_report_none() {
        let files = [
            ("system/node/online", "0,2"),
            ("system/node/node0/cpulist", "0-1"),
            ("system/node/node2/cpulist", "2-3"),
            ("cpu3/topology/thread_siblings_list", "3"),
        ];
        let cores = described(&[0, 1, 2, 3], &files);
        assert_eq!(cores, [core(0, 0, 0, 0), core(1, 0, 1, 0), core(2, 0, 2, 2), core(3, 0, 3, 2)]);
        assert_eq!(place_threads(&cores, 4), [0, 2, 1, 3]);
        assert_eq!(described(&[7, 3], &[]), [core(7, 0, 7, 0), core(3, 0, 3, 0)]);
        // Invalid lists are ignored, and take no time.
        let far = format!("-,x-3,0-{}", usize::MAX);
        let nonsense = [("cpu_core/cpus", far.as_str()), ("cpu_atom/cpus", "")];
        assert_eq!(described(&[5], &nonsense), [core(5, 1, 5, 0)]);
    }
}
