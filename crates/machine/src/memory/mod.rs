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
/// by the control groups of this process, less `keep_free` bytes, and all [free huge pages](huge_pools::huge_pools).
/// For memory that is read at random for hours, which would make the machine unusable in swap. `None` if
/// unknown.
#[must_use]
pub fn unswapped_budget(keep_free: u64) -> Option<u64> {
    unswapped_budget_below(Path::new("/"), keep_free)
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
    let huge: u64 = huge_pools::pools_below(root).iter().map(|pool| pool.free * pool.page_bytes).sum();
    Some((available_kib * 1024).saturating_sub(keep_free) + huge)
}

/// KiB that the control groups of this process leave, or the system by its `meminfo`, whichever is less.
fn free_kib_with(root: &Path, of_system: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let system = read_to_string(root.join("proc/meminfo")).ok().and_then(|text| of_system(&text));
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = CGROUP_LAYOUTS.iter().flat_map(|layout| layout.groups(root, &own));
    groups.chain(system).min()
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
    /// The memory that the limits of this process's group and its ancestors leave. A container sees its own
    /// group as the topmost.
    fn groups(&self, root: &Path, own: &str) -> Vec<u64> {
        let own = own.lines().find_map(|line| self.path_in(line)).unwrap_or_default();
        let below: Vec<&str> = own.split('/').filter(|name| !name.is_empty() && *name != "..").collect();
        let top = root.join(self.folder);
        let group = |count| below[..count].iter().fold(top.clone(), |path: PathBuf, name| path.join(name));
        (0..=below.len()).filter_map(|count| self.left(&group(count))).collect()
    }

    /// The path of the group in a line such as `4:cpu,memory:/a`, if the line belongs to this layout.
    fn path_in<'a>(&self, line: &'a str) -> Option<&'a str> {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == self.controllers).then_some(path)
    }

    /// KiB that a group's limit leaves, if it has one.
    fn left(&self, group: &Path) -> Option<u64> {
        let bytes = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let most = bytes(self.most)?;
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
    fn a_budget_without_swap_has_free_huge_pages_and_keeps_some_memory() {
        let budget = |files: &[(&str, &str)], keep| unswapped_budget_below(machine(files).path(), keep);
        assert_eq!(budget(&[], 0), None, "another system");
        assert_eq!(budget(&[SYSTEM], 0), Some(500 << 10), "without swap");
        assert_eq!(budget(&[SYSTEM], 100 << 10), Some(400 << 10));
        assert_eq!(budget(&[SYSTEM], u64::MAX), Some(0));
        let pages = [
            ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "9\n"),
            ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "3\n"),
        ];
        assert_eq!(budget(&[&[SYSTEM], &pages[..]].concat(), u64::MAX), Some(6 << 20));
        let limited =
            [("sys/fs/cgroup/memory.max", "409600\n"), ("sys/fs/cgroup/memory.current", "204800\n")];
        assert_eq!(budget(&[&[SYSTEM], &limited[..]].concat(), 0), Some(200 << 10));
    }
}
