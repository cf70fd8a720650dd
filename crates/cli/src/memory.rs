//! How much memory there is to take, so that too much is refused with a reason instead of ending the program.
//!
//! Linux grants more than it has and ends some program later. Elsewhere, and where nothing can be read, nothing is known.

use crate::flags::Misuse;
use anyhow::{Result, bail};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Refuses what does not fit into the memory that is free.
pub(crate) fn check(needed_kib: u64) -> Result<()> {
    match free_kib(Path::new("/")) {
        Some(free) if free < needed_kib => bail!(Misuse(format!(
            "{needed_kib} KiB of memory are needed, and about {free} KiB are free here: choose a smaller memory cost"
        ))),
        _ => Ok(()),
    }
}

/// What the system and the control groups of this process leave, with the files of the system below `root`.
fn free_kib(root: &Path) -> Option<u64> {
    let system = read_to_string(root.join("proc/meminfo")).ok().and_then(|text| of_system(&text));
    groups(root).into_iter().filter_map(|group| of_group(&group)).chain(system).min()
}

/// Memory that can be had without pushing other programs out, and swap.
fn of_system(meminfo: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line?.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some(field("MemAvailable")? + field("SwapFree").unwrap_or(0))
}

/// The group of this process and those that it is in. A container sees its own group as the topmost.
fn groups(root: &Path) -> Vec<PathBuf> {
    let top = root.join("sys/fs/cgroup");
    let own = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let below: Vec<&str> = own.split('/').filter(|name| !name.is_empty() && *name != "..").collect();
    (0..=below.len())
        .map(|count| below[..count].iter().fold(top.clone(), |path, name| path.join(name)))
        .collect()
}

/// What a group's limit leaves, if it has one. Cached files give way.
fn of_group(group: &Path) -> Option<u64> {
    let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let most = number("memory.max")?;
    let stat = read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.parse::<u64>().ok());
    let used = number("memory.current")?.saturating_sub(cached.unwrap_or(0));
    Some(most.saturating_sub(used) / 1024)
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
        free_kib(root.path())
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
        let top = [("sys/fs/cgroup/memory.max", "4096\n"), ("sys/fs/cgroup/memory.current", "8192\n")];
        assert_eq!(free(&[&[SYSTEM], &top[..]].concat()), Some(0), "a container");
    }
}
