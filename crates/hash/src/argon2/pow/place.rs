//! Where threads should run, from facts that somebody else has read. Pure.

/// A processor as the system counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Core {
    /// The system's number for it.
    pub id: usize,
    /// How fast it is beside the others: the system's capacity, or its highest clock. Equal for all where they are.
    pub speed: u64,
    /// Which core it is part of: threads of one core share its caches and its miss buffers.
    pub core: usize,
    /// Which memory is near.
    pub node: usize,
}

/// The processors for `threads` threads, best first; fewer if there are fewer.
///
/// Fast cores before slow ones ("performance" before "efficiency"), every core once before any a second time, and nodes
/// in turns, because the speed of memory is what these hashes wait for.
pub fn places(cores: &[Core], threads: usize) -> Vec<usize> {
    let mut ranked: Vec<(usize, u64, usize, Core)> = Vec::with_capacity(cores.len());
    let mut sorted = cores.to_vec();
    sorted.sort_by_key(|core| core.id);
    for core in sorted {
        let sibling = ranked.iter().filter(|(_, _, _, other)| other.core == core.core).count();
        let before = |other: &Core| other.node == core.node && other.speed == core.speed;
        let turn = ranked.iter().filter(|(s, _, _, other)| *s == sibling && before(other)).count();
        ranked.push((sibling, u64::MAX - core.speed, turn, core));
    }
    ranked.sort_by_key(|&(sibling, slowness, turn, core)| (sibling, slowness, turn, core.node, core.id));
    ranked.into_iter().take(threads).map(|(_, _, _, core)| core.id).collect()
}

/// The processors `ids` as Linux describes them. `read` gives the content of a file below `/sys/devices`; what it does not
/// have, and everything on other systems, leaves processors equal and each a core of its own.
///
/// "Performance" and "efficiency" cores are told apart by the lists of their counters (Intel), else by the scheduler's
/// capacity (Arm), the firmware's rating (AMD), or the highest clock: by the first of these that all of them have.
pub fn describe(ids: &[usize], read: impl Fn(&str) -> Option<String>) -> Vec<Core> {
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
    let core = |(index, id): (usize, &usize)| Core {
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
    use std::collections::HashMap;

    fn core(id: usize, speed: u64, core: usize, node: usize) -> Core {
        Core { id, speed, core, node }
    }

    #[test]
    fn fast_cores_come_first_and_siblings_last() {
        // Two fast cores with two threads each, two slow ones with one.
        let cores = [
            core(0, 1024, 0, 0),
            core(1, 1024, 0, 0),
            core(2, 1024, 1, 0),
            core(3, 1024, 1, 0),
            core(4, 600, 2, 0),
            core(5, 600, 3, 0),
        ];
        assert_eq!(places(&cores, 6), [0, 2, 4, 5, 1, 3]);
        assert_eq!(places(&cores, 2), [0, 2]);
        assert_eq!(places(&cores, 99).len(), 6);
        assert!(places(&[], 3).is_empty());
    }

    /// What Linux says: `cpu0/…` and so on, with the other files in full.
    fn described(ids: &[usize], files: &[(&str, &str)]) -> Vec<Core> {
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

    #[test]
    fn nodes_take_turns() {
        let cores = [core(0, 1, 0, 0), core(1, 1, 1, 0), core(2, 1, 2, 1), core(3, 1, 3, 1)];
        assert_eq!(places(&cores, 4), [0, 2, 1, 3]);
    }
}
