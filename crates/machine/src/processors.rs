//! The processors, and which of them a thread runs on.

use crate::system;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

/// A processor as the system counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processor {
    /// The system's number for it.
    pub id: usize,
    /// How fast it is beside the others: the system's capacity, or its highest clock. Equal for all where they are.
    pub speed: u64,
    /// Which core it is part of: threads of one core share its caches and its miss buffers.
    pub core: usize,
    /// Which memory is near.
    pub node: usize,
}

/// How many threads of this process may run at once; one where the system does not tell.
#[must_use]
pub fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// Maker, part and revision of the first processor in one number, where it is of aarch64 and Linux tells.
#[must_use]
pub fn midr() -> Option<String> {
    system::midr()
}

/// The processors that this thread may run on. Which of them are fast, share a core or a memory is known on Linux alone;
/// elsewhere they are all alike.
#[must_use]
pub fn processors() -> Vec<Processor> {
    processors_below(Path::new("/"), &allowed())
}

/// The same with the files of the system below `root`.
fn processors_below(root: &Path, ids: &[usize]) -> Vec<Processor> {
    let devices = root.join("sys/devices");
    describe(ids, |name| fs::read_to_string(devices.join(name)).ok())
}

/// The system's numbers for them.
fn allowed() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|found| found.id).collect()
}

/// Keeps the calling thread on one of the [`processors`]. Whether the system did so.
#[must_use]
pub fn bind(id: usize) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id })
}

/// Keeps the calling thread on one of the processors that it may run on, and says on which.
#[must_use]
pub fn pin(choice: u64) -> Option<usize> {
    let ids = allowed();
    let index = choice.checked_rem(ids.len() as u64)?;
    let id = ids[index as usize];
    bind(id).then_some(id)
}

/// The processors `ids` as Linux describes them. `read` gives the content of a file below `/sys/devices`; what it does not
/// have, and everything on other systems, leaves processors equal and each a core of its own.
///
/// "Performance" and "efficiency" cores are told apart by the lists of their counters (Intel), else by the scheduler's
/// capacity (Arm), the firmware's rating (AMD), or the highest clock: by the first of these that all of them have.
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
    let online = read("system/node/online").unwrap_or_default();
    let nodes: Vec<(usize, String)> = (0..MAX_NODES)
        .filter(|node| has(&online, *node))
        .filter_map(|node| Some((node, read(&format!("system/node/node{node}/cpulist"))?)))
        .collect();
    let core = |(index, id): (usize, &usize)| Processor {
        id: *id,
        speed: speeds.as_ref().map_or(0, |speeds| speeds[index]),
        // The first of those that share it: numbers of cores repeat from one package to the next.
        core: fact(*id, "topology/thread_siblings_list")
            .and_then(|list| ranges(&list).next())
            .map_or(*id, |(first, _)| first),
        node: nodes.iter().find(|(_, list)| has(list, *id)).map_or(0, |(node, _)| *node),
    };
    ids.iter().enumerate().map(core).collect()
}

/// More than Linux can be built for.
const MAX_NODES: usize = 1024;

/// The parts of a list such as `0-3,8`.
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
    use crate::places;
    use std::collections::HashMap;

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
        assert_eq!(places(&cores, 4), [0, 2, 3, 1]);
    }

    #[test]
    fn threads_stay_where_they_are_bound() {
        let cores = processors();
        for id in places(&cores, cores.len()) {
            let seen = std::thread::spawn(move || (bind(id), processors()));
            let (bound, left) = seen.join().expect("no panic");
            // Systems that only take hints say so by refusing.
            assert!(!bound || left.iter().map(|core| core.id).eq([id]), "{id}: {left:?}");
        }
    }

    fn core(id: usize, speed: u64, core: usize, node: usize) -> Processor {
        Processor { id, speed, core, node }
    }

    /// What Linux says: `cpu0/…` and so on, with the other files in full.
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
        assert_eq!(places(&cores, 6), [0, 2, 4, 5, 1, 3]);
        // A process that may use only some of them.
        assert_eq!(places(&described(&[1, 4, 5], &files), 3), [1, 4, 5]);
    }

    #[test]
    fn capacity_rating_and_clock_stand_in_where_all_have_them() {
        let big_little =
            [("cpu0/cpu_capacity", "446"), ("cpu1/cpu_capacity", "1024"), ("cpu2/cpu_capacity", "446")];
        assert_eq!(places(&described(&[0, 1, 2], &big_little), 3), [1, 0, 2]);
        let rated = [("cpu0/acpi_cppc/highest_perf", "166"), ("cpu1/acpi_cppc/highest_perf", "231")];
        assert_eq!(places(&described(&[0, 1], &rated), 2), [1, 0]);
        // A clock that only one of them tells is no comparison; the rating that both have is none either if it is text.
        let half = [("cpu1/cpufreq/cpuinfo_max_freq", "5000000"), ("cpu0/acpi_cppc/highest_perf", "high")];
        assert_eq!(places(&described(&[0, 1], &half), 2), [0, 1]);
        let clocks =
            [("cpu0/cpufreq/cpuinfo_max_freq", "3100000"), ("cpu1/cpufreq/cpuinfo_max_freq", "5000000")];
        assert_eq!(places(&described(&[0, 1], &clocks), 2), [1, 0]);
    }

    #[test]
    fn packages_are_nodes_and_nothing_is_said_of_other_systems() {
        let files = [
            ("system/node/online", "0,2"),
            ("system/node/node0/cpulist", "0-1"),
            ("system/node/node2/cpulist", "2-3"),
            ("cpu3/topology/thread_siblings_list", "3"),
        ];
        let cores = described(&[0, 1, 2, 3], &files);
        assert_eq!(cores, [core(0, 0, 0, 0), core(1, 0, 1, 0), core(2, 0, 2, 2), core(3, 0, 3, 2)]);
        assert_eq!(places(&cores, 4), [0, 2, 1, 3]);
        assert_eq!(described(&[7, 3], &[]), [core(7, 0, 7, 0), core(3, 0, 3, 0)]);
        // Nonsense is nothing, and takes no time.
        let far = format!("-,x-3,0-{}", usize::MAX);
        let nonsense = [("cpu_core/cpus", far.as_str()), ("cpu_atom/cpus", "")];
        assert_eq!(described(&[5], &nonsense), [core(5, 1, 5, 0)]);
    }
}
