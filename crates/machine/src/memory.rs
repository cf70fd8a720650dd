//! How much memory there is to take.
//!
//! Linux grants more than it has and ends some program later. Elsewhere, and where nothing can be read, nothing is known.

use crate::parse::number;
use crate::system;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// KiB that can be taken without pushing other programs out, by the system and by the control groups of this process.
/// `None` where nobody tells.
#[must_use]
pub fn free_kib() -> Option<u64> {
    free_kib_below(Path::new("/"))
}

/// Bytes of this process that lie in memory at all.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    system::resident_bytes()
}

/// Most bytes of this process that lay in memory at once. A child is told to have had as many, even if it needs fewer:
/// the system counts what it was before it became a program of its own.
#[must_use]
pub fn peak_bytes() -> Option<u64> {
    system::peak_bytes()
}

/// The same as [`free_kib`] with the files of the system below `root`.
fn free_kib_below(root: &Path) -> Option<u64> {
    let system = read_to_string(root.join("proc/meminfo")).ok().and_then(|text| of_system(&text));
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = HIERARCHIES.iter().flat_map(|hierarchy| hierarchy.groups(root, &own));
    groups.chain(system).min()
}

/// Memory that can be had without pushing other programs out, and swap.
fn of_system(meminfo: &str) -> Option<u64> {
    Some(number(meminfo, "MemAvailable")? + number(meminfo, "SwapFree").unwrap_or(0))
}

/// A version of control groups: where they are, and the names of its files.
struct Hierarchy {
    folder: &'static str,
    /// Whether a line of `/proc/self/cgroup` names the group that limits memory; its end is the path.
    controllers: &'static str,
    most: &'static str,
    used: &'static str,
    /// The field of `memory.stat` that counts cached files, which give way.
    cached: &'static str,
}

/// The one of today, whose single line names no controller, and the one before, which has a tree for each.
const HIERARCHIES: [Hierarchy; 2] = [
    Hierarchy {
        folder: "sys/fs/cgroup",
        controllers: "",
        most: "memory.max",
        used: "memory.current",
        cached: "inactive_file",
    },
    Hierarchy {
        folder: "sys/fs/cgroup/memory",
        controllers: "memory",
        most: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        cached: "total_inactive_file",
    },
];

impl Hierarchy {
    /// What the group of this process and those that it is in leave. A container sees its own group as the topmost.
    fn groups(&self, root: &Path, own: &str) -> Vec<u64> {
        let own = own.lines().find_map(|line| self.path_in(line)).unwrap_or_default();
        let below: Vec<&str> = own.split('/').filter(|name| !name.is_empty() && *name != "..").collect();
        let top = root.join(self.folder);
        let group = |count| below[..count].iter().fold(top.clone(), |path: PathBuf, name| path.join(name));
        (0..=below.len()).filter_map(|count| self.left(&group(count))).collect()
    }

    /// The path of the group in a line such as `4:cpu,memory:/a`, if the line is of this hierarchy.
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

    fn free(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        free_kib_below(root.path())
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
}
