//! Pools of reserved huge pages by memory node and size, and reservations in them that end with a value.

use std::fs::{read_dir, read_to_string, write};
use std::io;
use std::path::{Path, PathBuf};

/// The huge pages of one size on one memory node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HugePool {
    /// The memory node.
    pub node: usize,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that are reserved.
    pub reserved: u64,
    /// Those of them that no process uses.
    pub free: u64,
}

/// All pools, by node and size. Empty where the system reports none.
#[must_use]
pub fn huge_pools() -> Vec<HugePool> {
    pools_below(Path::new("/"))
}

/// Makes at least `pages` pages of a pool free, by reserving those that are missing. Needs the right to
/// change the system's settings. The memory must not be fragmented: pages of 1 GiB are often refused unless
/// the machine has just started.
///
/// # Errors
/// No such pool; no right to change it; or fewer pages than asked for, of which none are kept.
pub fn reserve_huge_pages(node: usize, page_bytes: u64, pages: u64) -> io::Result<HugePageReservation> {
    reserve_below(Path::new("/"), node, page_bytes, pages, write_count)
}

/// Huge pages that were reserved by [`reserve_huge_pages`]. Its drop gives them back; pages that are in use
/// then become free when their process frees them.
#[derive(Debug)]
#[must_use = "its drop gives the pages back"]
pub struct HugePageReservation {
    folder: PathBuf,
    /// Pages that this value has added to the pool, which others may have changed meanwhile.
    added: u64,
}

impl HugePageReservation {
    /// The number of pages that were added to the pool.
    #[must_use]
    pub fn added_pages(&self) -> u64 {
        self.added
    }

    /// Gives the pages back, with the system's answer.
    ///
    /// # Errors
    /// Those of reading and writing the setting.
    pub fn release(mut self) -> io::Result<()> {
        self.give_back()
    }

    fn give_back(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.added) {
            0 => Ok(()),
            added => {
                let now = read_count(&self.folder.join(RESERVED))?;
                write_count(&self.folder.join(RESERVED), now.saturating_sub(added))
            }
        }
    }
}

impl Drop for HugePageReservation {
    fn drop(&mut self) {
        // The setting was changed by this process before; `release` reports an error.
        self.give_back().ok();
    }
}

const RESERVED: &str = "nr_hugepages";
const FREE: &str = "free_hugepages";

/// As [`huge_pools`], with the system's files below `root`.
pub(super) fn pools_below(root: &Path) -> Vec<HugePool> {
    let pool = |node: usize, folder: &Path| {
        let page_bytes = page_bytes(folder)?;
        let [reserved, free] = [RESERVED, FREE].map(|name| read_count(&folder.join(name)).ok());
        Some(HugePool { node, page_bytes, reserved: reserved?, free: free? })
    };
    let of_node = |(node, folder): (usize, PathBuf)| {
        children(&folder).into_iter().filter_map(move |folder| pool(node, &folder)).collect::<Vec<_>>()
    };
    let mut pools: Vec<_> = node_folders(root).into_iter().flat_map(of_node).collect();
    pools.sort_unstable();
    pools
}

/// Folders of pools by node. A kernel without nodes has one for all.
fn node_folders(root: &Path) -> Vec<(usize, PathBuf)> {
    let number = |folder: PathBuf| {
        let node = folder.file_name()?.to_str()?.strip_prefix("node")?.parse().ok()?;
        Some((node, folder.join("hugepages")))
    };
    let folders: Vec<_> =
        children(&root.join("sys/devices/system/node")).into_iter().filter_map(number).collect();
    if folders.is_empty() { vec![(0, root.join("sys/kernel/mm/hugepages"))] } else { folders }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    read_dir(folder)
        .map_or_else(|_| Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
}

/// The size of pages in the name of a pool's folder.
fn page_bytes(folder: &Path) -> Option<u64> {
    let name = folder.file_name()?.to_str()?;
    let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
    kib.checked_mul(1024)
}

fn read_count(path: &Path) -> io::Result<u64> {
    let text = read_to_string(path).map_err(|error| about(path, &error))?;
    text.trim().parse().map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {text:?} is no number", path.display()))
    })
}

fn write_count(path: &Path, count: u64) -> io::Result<()> {
    write(path, count.to_string()).map_err(|error| about(path, &error))
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn reserve_below(
    root: &Path,
    node: usize,
    page_bytes: u64,
    pages: u64,
    set: impl Fn(&Path, u64) -> io::Result<()>,
) -> io::Result<HugePageReservation> {
    let folder = node_folders(root).into_iter().find(|(number, _)| *number == node);
    let folder = folder.map(|(_, folder)| folder.join(format!("hugepages-{}kB", page_bytes / 1024)));
    let Some(folder) = folder.filter(|folder| page_bytes.is_multiple_of(1024) && folder.is_dir()) else {
        let reason = format!("memory node {node} has no pages of {page_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    };
    let (before, free) = (read_count(&folder.join(RESERVED))?, read_count(&folder.join(FREE))?);
    let missing = pages.saturating_sub(free);
    let mut reservation = HugePageReservation { folder, added: 0 };
    if missing > 0 {
        let path = reservation.folder.join(RESERVED);
        set(&path, before.saturating_add(missing))?;
        reservation.added = read_count(&path)?.saturating_sub(before);
        if reservation.added < missing {
            let granted = reservation.added;
            reservation.release()?;
            let reason = format!(
                "memory node {node} granted {granted} of {missing} pages of {page_bytes} bytes: reserve them \
                 soon after the machine has started"
            );
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, reason));
        }
    }
    Ok(reservation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    const MIB: u64 = 1 << 20;

    /// Pools as Linux shows them: node, KiB of a page, reserved, free.
    fn machine(folders: &str, pools: &[(usize, u64, &str, &str)]) -> TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (node, kib, reserved, free) in pools {
            let folder = folders.replace('#', &node.to_string());
            let folder = root.path().join(folder).join(format!("hugepages-{kib}kB"));
            fs::create_dir_all(&folder).expect("folders");
            write(folder.join(RESERVED), reserved).expect("a file");
            write(folder.join(FREE), free).expect("a file");
        }
        root
    }

    const NODES: &str = "sys/devices/system/node/node#/hugepages";

    fn two_nodes() -> TempDir {
        let large = 1 << 20;
        let pools = [(1, 2048, "8\n", "3\n"), (0, 2048, "5\n", "5\n"), (0, large, "2\n", "0\n")];
        machine(NODES, &pools)
    }

    #[test]
    fn pools_are_listed_by_node_and_size() {
        let root = two_nodes();
        // Others in the folder, and a file that is no number.
        fs::create_dir_all(root.path().join("sys/devices/system/node/power")).expect("a folder");
        let broken = root.path().join("sys/devices/system/node/node1/hugepages/hugepages-64kB");
        fs::create_dir_all(&broken).expect("a folder");
        write(broken.join(RESERVED), "many").expect("a file");
        let pool = |node, page_bytes, reserved, free| HugePool { node, page_bytes, reserved, free };
        let right = [pool(0, 2 * MIB, 5, 5), pool(0, 1024 * MIB, 2, 0), pool(1, 2 * MIB, 8, 3)];
        assert_eq!(pools_below(root.path()), right);
        let without_nodes = machine("sys/kernel/mm/hugepages", &[(0, 2048, "7\n", "1\n")]);
        assert_eq!(pools_below(without_nodes.path()), [pool(0, 2 * MIB, 7, 1)]);
        assert_eq!(pools_below(Path::new("/nowhere")), []);
    }

    #[test]
    fn a_reservation_adds_what_is_missing_and_gives_it_back() {
        let root = two_nodes();
        let reserved = |node: usize| {
            let pools = pools_below(root.path());
            pools
                .iter()
                .find(|pool| (pool.node, pool.page_bytes) == (node, 2 * MIB))
                .map(|pool| pool.reserved)
        };
        let reserve = |node, pages| reserve_below(root.path(), node, 2 * MIB, pages, write_count);
        let nothing = reserve(0, 5).expect("all are free");
        assert_eq!((nothing.added_pages(), reserved(0)), (0, Some(5)));
        let four = reserve(1, 7).expect("a file that can be written");
        assert_eq!((four.added_pages(), reserved(1)), (4, Some(12)));
        // Another program adds two meanwhile: they stay.
        write(four.folder.join(RESERVED), "14\n").expect("a file");
        drop(four);
        assert_eq!(reserved(1), Some(10));
        reserve(1, 4).expect("a file").release().expect("a file");
        assert_eq!(reserved(1), Some(10));
        // Removed by the administrator meanwhile.
        let gone = reserve(1, 4).expect("a file");
        write(gone.folder.join(RESERVED), "0\n").expect("a file");
        drop(gone);
        assert_eq!(reserved(1), Some(0));
    }

    #[test]
    fn a_refused_reservation_is_an_error_and_changes_nothing() {
        let root = two_nodes();
        // The system grants two pages at most.
        let granted = |path: &Path, count: u64| write_count(path, count.min(10));
        let refused = reserve_below(root.path(), 1, 2 * MIB, 9, granted).expect_err("too many");
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
        assert!(refused.to_string().contains("granted 2 of 6 pages"), "{refused}");
        assert_eq!(pools_below(root.path())[2].reserved, 8);
        for (node, page_bytes) in [(2, 2 * MIB), (1, 1024 * MIB), (1, 2 * MIB + 1)] {
            let refused = reserve_below(root.path(), node, page_bytes, 1, write_count).expect_err("no pool");
            assert_eq!(refused.kind(), io::ErrorKind::NotFound, "{refused}");
        }
        let denied = |_: &Path, _| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let refused = reserve_below(root.path(), 1, 2 * MIB, 9, denied).expect_err("no right");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        let file = root.path().join("sys/devices/system/node/node1/hugepages/hugepages-2048kB").join(FREE);
        write(file, "some\n").expect("a file");
        let refused = reserve_below(root.path(), 1, 2 * MIB, 9, write_count).expect_err("no number");
        assert!(refused.to_string().contains("free_hugepages"), "{refused}");
    }
}
