//! Available memory, by the system and by control groups.
//!
//! Linux overcommits memory and later kills a program. On other systems, and without readable files, the
//! amount is unknown.

pub(crate) mod huge_pools;
pub(crate) mod pages;
pub(crate) mod secret;
pub(crate) mod size;

use crate::linux::{self, number};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// KiB that can be used without swapping out other programs, by the system's counters and by the control
/// groups of this process. `None` if unknown.
#[must_use]
pub fn free_kib() -> Option<u64> {
    free_kib_below(Path::new("/"))
}

/// Bytes that this process may fill without swapping: the memory that is available by the system's counters and
/// by the control groups of this process, less `keep_free` bytes, and all [free huge pages](huge_pools::huge_pools)
/// that no mapping will get. For memory that is read at random for hours, which would make the machine unusable in
/// swap. `None` if unknown.
#[must_use]
pub fn unswapped_budget(keep_free: u64) -> Option<u64> {
    unswapped_budget_below(Path::new("/"), keep_free)
}

/// KiB of memory that this process may use at most: that of the machine, or the limit of one of its control groups. `None` if unknown.
#[must_use]
pub fn limit_kib() -> Option<u64> {
    limit_kib_below(Path::new("/"))
}

/// As [`limit_kib`], with the system's files below `root`.
fn limit_kib_below(root: &Path) -> Option<u64> {
    least_kib(root, |meminfo| number(meminfo, "MemTotal"), CgroupLayout::most)
}

/// Resident bytes of this process.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    linux::resident_bytes()
}

/// Peak resident bytes of this process. The peak of a child is never less than its parent's, even if it needs
/// less: the system also counts the time before `exec`.
#[must_use]
pub fn peak_bytes() -> Option<u64> {
    linux::peak_bytes()
}

/// As [`free_kib`], with the system's files below `root`.
fn free_kib_below(root: &Path) -> Option<u64> {
    free_kib_with(root, |meminfo| {
        Some(number(meminfo, "MemAvailable")? + number(meminfo, "SwapFree").unwrap_or(0))
    })
}

/// As [`unswapped_budget`], with the system's files below `root`.
fn unswapped_budget_below(root: &Path, keep_free: u64) -> Option<u64> {
    let available_kib = free_kib_with(root, |meminfo| number(meminfo, "MemAvailable"))?;
    // Pools that cannot be read make the sum unknown.
    let huge = huge_pools::available_bytes_below(root).ok()?;
    Some((available_kib * 1024).saturating_sub(keep_free) + huge)
}

/// KiB that the control groups of this process leave, or the system by its `meminfo`, whichever is less. `None`
/// if the system does not report its own amount: a group may have a limit beyond the memory of the machine.
fn free_kib_with(root: &Path, of_system: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    least_kib(root, of_system, CgroupLayout::left)
}

/// The least amount of the system and of the control groups of this process. `None` if that of the system is unknown.
fn least_kib(
    root: &Path,
    of_system: impl Fn(&str) -> Option<u64>,
    of_group: fn(&CgroupLayout, &Path) -> Option<u64>,
) -> Option<u64> {
    let system = of_system(&read_to_string(root.join("proc/meminfo")).ok()?)?;
    // Without it the topmost groups still count: in a container they are those of this process. The amount of the
    // system is a bound in any case, where `None` would be none.
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = CGROUP_LAYOUTS.iter().flat_map(|layout| layout.groups(root, &own, of_group));
    Some(groups.fold(system, u64::min))
}

/// Layout of a version of control groups: its folder, and the names of its files.
struct CgroupLayout {
    folder: &'static str,
    /// The controller in the line of `/proc/self/cgroup` whose group limits memory; the line ends with the
    /// path.
    controllers: &'static str,
    most: &'static str,
    used: &'static str,
    /// The field of `memory.stat` that counts cached files, which can be evicted.
    cached: &'static str,
}

/// Version 2, whose single line names no controller, and version 1, which has a tree for each.
const CGROUP_LAYOUTS: [CgroupLayout; 2] = [
    CgroupLayout {
        folder: "sys/fs/cgroup",
        controllers: "",
        most: "memory.max",
        used: "memory.current",
        cached: "inactive_file",
    },
    CgroupLayout {
        folder: "sys/fs/cgroup/memory",
        controllers: "memory",
        most: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        cached: "total_inactive_file",
    },
];

impl CgroupLayout {
    /// The amounts of this process's group and its ancestors. A container sees its own group as the topmost.
    fn groups(&self, root: &Path, own: &str, of_group: fn(&CgroupLayout, &Path) -> Option<u64>) -> Vec<u64> {
        // A process without a line for this layout is in its topmost group at most.
        let own = own.lines().find_map(|line| self.path_in(line)).unwrap_or_default();
        let below: Vec<&str> = own.split('/').filter(|name| !name.is_empty() && *name != "..").collect();
        let top = root.join(self.folder);
        let group = |count| below[..count].iter().fold(top.clone(), |path: PathBuf, name| path.join(name));
        (0..=below.len()).filter_map(|count| of_group(self, &group(count))).collect()
    }

    /// The path of the group in a line such as `4:cpu,memory:/a`, if the line belongs to this layout.
    fn path_in<'a>(&self, line: &'a str) -> Option<&'a str> {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == self.controllers).then_some(path)
    }

    /// KiB of a group's limit, if it has one that can be read.
    fn most(&self, group: &Path) -> Option<u64> {
        let most = read_to_string(group.join(self.most)).ok()?.trim().parse::<u64>().ok()?;
        Some(most / 1024)
    }

    /// KiB that a group's limit leaves, if it has one that can be read.
    fn left(&self, group: &Path) -> Option<u64> {
        let bytes = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let most = bytes(self.most)?;
        // Without it no cache counts as free: less than is free, never more.
        let stat = read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(self.cached)?.trim().parse::<u64>().ok());
        let used = bytes(self.used)?.saturating_sub(cached.unwrap_or(0));
        Some(most.saturating_sub(used) / 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        root
    }

    fn free(files: &[(&str, &str)]) -> Option<u64> {
        free_kib_below(machine(files).path())
    }

    const SYSTEM: (&str, &str) =
        ("proc/meminfo", "MemTotal:  900 kB\nMemAvailable:   500 kB\nSwapFree:        20 kB\n");

    #[test]
    fn the_smallest_limit_counts() {
        assert_eq!(free(&[]), None, "another system");
        assert_eq!(free(&[SYSTEM]), Some(520));
        let own = ("proc/self/cgroup", "12:pids:/x\n0::/a/b\n");
        let unlimited = [("sys/fs/cgroup/a/memory.max", "max\n"), ("sys/fs/cgroup/a/memory.current", "9\n")];
        assert_eq!(free(&[&[SYSTEM, own], &unlimited[..]].concat()), Some(520));
        let limited =
            [("sys/fs/cgroup/a/memory.max", "409600\n"), ("sys/fs/cgroup/a/memory.current", "204800\n")];
        assert_eq!(free(&[&[SYSTEM, own], &limited[..]].concat()), Some(200), "a group above");
        let stat = ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 102400\n");
        assert_eq!(free(&[&[SYSTEM, own, stat], &limited[..]].concat()), Some(300));
        let before = [
            ("proc/self/cgroup", "4:cpu,memory:/a\n1:cpu:/\n0::/\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "409600\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "204800\n"),
            ("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 7\ntotal_inactive_file 102400\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "204800\n"),
        ];
        assert_eq!(free(&[&[SYSTEM], &before[..]].concat()), Some(300), "the first version");
        let top = [("sys/fs/cgroup/memory.max", "4096\n"), ("sys/fs/cgroup/memory.current", "8192\n")];
        assert_eq!(free(&[&[SYSTEM], &top[..]].concat()), Some(0), "a container");
    }

    #[test]
    fn the_limit_is_that_of_the_machine_or_of_a_group() {
        let limit = |files: &[(&str, &str)]| limit_kib_below(machine(files).path());
        assert_eq!(limit(&[]), None);
        assert_eq!(limit(&[SYSTEM]), Some(900));
        let group = |most| [SYSTEM, ("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", most)];
        assert_eq!(limit(&group("max\n")), Some(900));
        assert_eq!(limit(&group("409600\n")), Some(400));
        assert_eq!(limit(&group("4096000\n")), Some(900));
    }

    /// A limit alone says nothing about the memory of the machine.
    #[test]
    fn limits_of_groups_do_not_stand_in_for_the_amount_of_the_system() {
        let limited =
            [("sys/fs/cgroup/memory.max", "409600\n"), ("sys/fs/cgroup/memory.current", "204800\n")];
        for meminfo in [None, Some("MemTotal:  900 kB\n"), Some("MemAvailable: many kB\n"), Some("")] {
            let files = meminfo.map(|text| ("proc/meminfo", text)).into_iter().chain(limited);
            let files: Vec<_> = files.collect();
            assert_eq!(free(&files), None, "{meminfo:?}");
            assert_eq!(unswapped_budget_below(machine(&files).path(), 0), None, "{meminfo:?}");
        }
    }

    #[test]
    fn a_budget_without_swap_has_free_huge_pages_and_keeps_some_memory() {
        let budget = |files: &[(&str, &str)], keep| unswapped_budget_below(machine(files).path(), keep);
        assert_eq!(budget(&[], 0), None, "another system");
        assert_eq!(budget(&[SYSTEM], 0), Some(500 << 10), "without swap");
        assert_eq!(budget(&[SYSTEM], 100 << 10), Some(400 << 10));
        assert_eq!(budget(&[SYSTEM], u64::MAX), Some(0));
        let pages = |committed| {
            [
                ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "9\n"),
                ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "3\n"),
                ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/surplus_hugepages", "0\n"),
                ("sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "2\n"),
                ("sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "2\n"),
                ("sys/devices/system/node/node1/hugepages/hugepages-2048kB/surplus_hugepages", "1\n"),
                ("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", committed),
            ]
        };
        let with_pages = |committed| budget(&[&[SYSTEM], &pages(committed)[..]].concat(), u64::MAX);
        assert_eq!(with_pages("0\n"), Some(10 << 20));
        assert_eq!(with_pages("1\n"), Some(8 << 20), "mappings will get one when they touch it");
        assert_eq!(with_pages("4\n"), Some(2 << 20), "pages of both nodes");
        assert_eq!(with_pages("7\n"), Some(0), "never less than nothing");
        assert_eq!(with_pages("many\n"), None, "unknown");
        let limited =
            [("sys/fs/cgroup/memory.max", "409600\n"), ("sys/fs/cgroup/memory.current", "204800\n")];
        assert_eq!(budget(&[&[SYSTEM], &limited[..]].concat(), 0), Some(200 << 10));
    }
}
