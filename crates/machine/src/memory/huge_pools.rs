//! Pools of reserved huge pages by memory node and size, and reservations in them that end with a value.

use crate::linux::children;
use std::fs::{read_to_string, write};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The huge pages of one size on one memory node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HugePool {
    /// The memory node.
    pub node: usize,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that are reserved.
    pub reserved: u64,
    /// Pages that no process uses.
    pub free: u64,
}

/// All pools, by node and size. Empty where the system has none.
///
/// # Errors
/// Errors of reading the system's files.
pub fn huge_pools() -> io::Result<Vec<HugePool>> {
    pools_below(Path::new("/"))
}

/// Makes at least `pages` pages of a pool free, besides those that mappings will get when they first touch them,
/// by reserving those that are missing. Needs the right to change the system's settings. The memory must not be
/// fragmented: pages of 1 GiB are often refused unless the machine has just started.
///
/// Threads of this process may reserve and give back at the same time. Another process that changes the
/// same pool at the same moment may undo the change, or have its own undone: the system has no way to add pages.
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
    /// Pages that this value has added to those that the pool keeps. Others may have changed it since.
    added: u64,
    set: SetCount,
}

/// Writes a number into a file of the system.
type SetCount = fn(&Path, u64) -> io::Result<()>;

/// Held from reading a setting to writing it: a change between both would be lost.
static SETTING: Mutex<()> = Mutex::new(());

impl HugePageReservation {
    /// The number of pages that were added to the pool: new ones, and surplus pages that it now keeps.
    #[must_use]
    pub fn added_pages(&self) -> u64 {
        self.added
    }

    /// Gives the pages back, with the system's answer.
    ///
    /// # Errors
    /// Errors of reading and writing the setting.
    pub fn release(mut self) -> io::Result<()> {
        self.give_back()
    }

    fn give_back(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.added) {
            0 => Ok(()),
            added => {
                let _setting = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
                let persistent = PageCounts::read(&self.folder)?.persistent();
                (self.set)(&self.folder.join(RESERVED), persistent.saturating_sub(added))
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
const SURPLUS: &str = "surplus_hugepages";
/// Free pages that mappings will get when they first touch them. Counted for all nodes together.
const COMMITTED: &str = "resv_hugepages";

/// The folder of a kernel without memory nodes, and of counts for all nodes together.
pub(super) const ALL_NODES: &str = "sys/kernel/mm/hugepages";

/// Numbers of pages of one pool.
pub(super) struct PageCounts {
    all: u64,
    free: u64,
    surplus: u64,
}

impl PageCounts {
    pub(super) fn read(folder: &Path) -> io::Result<PageCounts> {
        let [all, free, surplus] = [RESERVED, FREE, SURPLUS].map(|name| read_count(&folder.join(name)));
        Ok(PageCounts { all: all?, free: free?, surplus: surplus? })
    }

    /// The number of pages that the pool keeps when they are free. The file that sets this number reads as the
    /// number of all pages, surplus pages included.
    pub(super) fn persistent(&self) -> u64 {
        self.all.saturating_sub(self.surplus)
    }
}

/// As [`huge_pools`], with the system's files below `root`.
pub(super) fn pools_below(root: &Path) -> io::Result<Vec<HugePool>> {
    let mut pools = Vec::new();
    for (node, folder) in node_folders(root)? {
        for (page_bytes, folder) in size_folders(&folder)? {
            let counts = PageCounts::read(&folder)?;
            pools.push(HugePool { node, page_bytes, reserved: counts.persistent(), free: counts.free });
        }
    }
    pools.sort_unstable();
    Ok(pools)
}

/// Bytes of all free huge pages that are not committed to a mapping, with the system's files below `root`.
pub(super) fn available_bytes_below(root: &Path) -> io::Result<u64> {
    let mut bytes: u64 = 0;
    let pools = pools_below(root)?;
    for (page_bytes, _) in size_folders(&root.join(ALL_NODES))? {
        let free: u64 = pools.iter().filter(|pool| pool.page_bytes == page_bytes).map(|pool| pool.free).sum();
        let available = free.saturating_sub(committed_pages(root, page_bytes)?);
        bytes = bytes.saturating_add(available.saturating_mul(page_bytes));
    }
    Ok(bytes)
}

/// Free pages of all nodes that mappings will get when they first touch them.
fn committed_pages(root: &Path, page_bytes: u64) -> io::Result<u64> {
    read_count(&root.join(ALL_NODES).join(format!("hugepages-{}kB", page_bytes / 1024)).join(COMMITTED))
}

/// Folders of pools by node. A kernel without nodes has one for all.
fn node_folders(root: &Path) -> io::Result<Vec<(usize, PathBuf)>> {
    let number = |folder: PathBuf| {
        let node = folder.file_name()?.to_str()?.strip_prefix("node")?.parse().ok()?;
        Some((node, folder.join("hugepages")))
    };
    match children(&root.join("sys/devices/system/node")) {
        Ok(folders) => Ok(folders.into_iter().filter_map(number).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![(0, root.join(ALL_NODES))]),
        Err(error) => Err(error),
    }
}

/// The folders in `folder` with their sizes of pages. None if the kernel has no huge pages.
pub(super) fn size_folders(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    match children(folder) {
        Ok(folders) => {
            Ok(folders.into_iter().filter_map(|folder| Some((page_bytes(&folder)?, folder))).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
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
    set: SetCount,
) -> io::Result<HugePageReservation> {
    let of_node = node_folders(root)?.into_iter().find(|(number, _)| *number == node);
    let sizes = of_node.map_or_else(|| Ok(Vec::new()), |(_, folder)| size_folders(&folder))?;
    let Some((_, folder)) = sizes.into_iter().find(|(bytes, _)| *bytes == page_bytes) else {
        let reason = format!("memory node {node} has no pages of {page_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    };
    let mut reservation = HugePageReservation { folder, added: 0, set };
    let (wanted, missing, grown) = {
        let _setting = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = PageCounts::read(&reservation.folder)?;
        // Committed pages may be on any node: as if all were on this one.
        let available = before.free.saturating_sub(committed_pages(root, page_bytes)?);
        let missing = pages.saturating_sub(available);
        if missing == 0 {
            return Ok(reservation);
        }
        // The system first keeps its surplus pages, which are in use, and then adds new ones.
        let wanted = before.surplus.saturating_add(missing);
        set(&reservation.folder.join(RESERVED), before.persistent().saturating_add(wanted))?;
        // What cannot be read is given back as a whole.
        reservation.added = wanted;
        (
            wanted,
            missing,
            PageCounts::read(&reservation.folder)
                .map(|after| after.persistent().saturating_sub(before.persistent())),
        )
    };
    // Pages that others add at the same time are not this reservation's.
    reservation.added = grown?.min(wanted);
    if reservation.added < wanted {
        let granted = missing.saturating_sub(wanted - reservation.added);
        reservation.release()?;
        let reason = format!(
            "memory node {node} granted {granted} of {missing} pages of {page_bytes} bytes: reserve them \
             soon after the machine has started"
        );
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, reason));
    }
    Ok(reservation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    const MIB: u64 = 1 << 20;

    /// Pools as Linux shows them: node, KiB of a page, reserved, free. There are no surplus and no committed pages.
    fn machine(folders: &str, pools: &[(usize, u64, &str, &str)]) -> TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (node, kib, reserved, free) in pools {
            let folder = folders.replace('#', &node.to_string());
            let folder = root.path().join(folder).join(format!("hugepages-{kib}kB"));
            fs::create_dir_all(&folder).expect("folders");
            write(folder.join(RESERVED), reserved).expect("a file");
            write(folder.join(FREE), free).expect("a file");
            write(folder.join(SURPLUS), "0\n").expect("a file");
            let of_all_nodes = root.path().join(ALL_NODES).join(format!("hugepages-{kib}kB"));
            fs::create_dir_all(&of_all_nodes).expect("folders");
            write(of_all_nodes.join(COMMITTED), "0\n").expect("a file");
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
        // Others in the folder.
        fs::create_dir_all(root.path().join("sys/devices/system/node/power")).expect("a folder");
        let pools = |root: &Path| pools_below(root).expect("files that can be read");
        let pool = |node, page_bytes, reserved, free| HugePool { node, page_bytes, reserved, free };
        let right = [pool(0, 2 * MIB, 5, 5), pool(0, 1024 * MIB, 2, 0), pool(1, 2 * MIB, 8, 3)];
        assert_eq!(pools(root.path()), right);
        let without_nodes = machine(ALL_NODES, &[(0, 2048, "7\n", "1\n")]);
        assert_eq!(pools(without_nodes.path()), [pool(0, 2 * MIB, 7, 1)]);
        assert_eq!(pools(Path::new("/nowhere")), []);
    }

    /// The counts of all nodes together are no substitute for those of nodes.
    #[test]
    fn what_cannot_be_read_is_an_error_and_no_other_pool() {
        let nodes = Path::new("sys/devices/system/node");
        let unreadable = machine(ALL_NODES, &[(0, 2048, "7\n", "1\n")]);
        fs::create_dir_all(unreadable.path().join(nodes).parent().expect("a parent")).expect("folders");
        write(unreadable.path().join(nodes), "no folder").expect("a file");
        pools_below(unreadable.path()).expect_err("nodes that cannot be listed");
        reserve_below(unreadable.path(), 0, 2 * MIB, 3, write_count)
            .expect_err("nodes that cannot be listed");
        let all = PageCounts::read(&unreadable.path().join(ALL_NODES).join("hugepages-2048kB"));
        assert_eq!(all.expect("counts").all, 7, "nothing was reserved elsewhere");
        let without_pools = machine(ALL_NODES, &[(0, 2048, "7\n", "1\n")]);
        fs::create_dir_all(without_pools.path().join(nodes).join("node0")).expect("folders");
        assert_eq!(pools_below(without_pools.path()).expect("a node without pools"), []);
        let broken = two_nodes();
        let file = "node1/hugepages/hugepages-2048kB/nr_hugepages";
        write(broken.path().join(nodes).join(file), "many").expect("a file");
        let error = pools_below(broken.path()).expect_err("no number");
        assert!(error.to_string().contains(file), "{error}");
    }

    /// The most pages that the simulated kernel has memory for.
    const MOST_PAGES: u64 = 8;

    /// Sets the number of persistent pages as Linux does. It first makes surplus pages persistent, and then
    /// allocates new ones while there is memory. It frees only free pages that are not committed; others become
    /// surplus pages.
    fn simulated_kernel(path: &Path, count: u64) -> io::Result<()> {
        let folder = path.parent().expect("a folder");
        let mut counts = PageCounts::read(folder)?;
        let persistent = counts.persistent();
        if count > persistent {
            let newly_persistent = counts.surplus.min(count - persistent);
            counts.surplus -= newly_persistent;
            let new = (count - persistent - newly_persistent).min(MOST_PAGES.saturating_sub(counts.all));
            (counts.all, counts.free) = (counts.all + new, counts.free + new);
        } else {
            let committed = read_count(&folder.join(COMMITTED))?;
            let freed = (counts.free - committed).min(persistent - count);
            (counts.all, counts.free) = (counts.all - freed, counts.free - freed);
            counts.surplus += persistent - count - freed;
        }
        write_counts(folder, [counts.all, counts.free, counts.surplus]);
        Ok(())
    }

    fn write_counts(folder: &Path, counts: [u64; 3]) {
        for (name, count) in [RESERVED, FREE, SURPLUS].into_iter().zip(counts) {
            write(folder.join(name), format!("{count}\n")).expect("a file");
        }
    }

    fn counts(folder: &Path) -> [u64; 3] {
        let PageCounts { all, free, surplus } = PageCounts::read(folder).expect("counts");
        [all, free, surplus]
    }

    /// All, free, surplus and committed pages of each pool with at most `most`. Linux frees a page that becomes
    /// free while there are surplus pages, so a pool with these has no free page that is not committed.
    fn every_pool(most: u64) -> Vec<[u64; 4]> {
        let up_to = |most: u64| 0..=most;
        let free = up_to(most).flat_map(|all| up_to(all).map(move |free| [all, free]));
        let surplus = free.flat_map(|[all, free]| up_to(all).map(move |surplus| [all, free, surplus]));
        let committed = surplus.flat_map(|[all, free, surplus]| {
            up_to(free).map(move |committed| [all, free, surplus, committed])
        });
        committed.filter(|[_, free, surplus, committed]| *surplus == 0 || free == committed).collect()
    }

    #[test]
    fn every_pool_is_as_before_after_a_reservation_surplus_pages_included() {
        let root = machine(ALL_NODES, &[(0, 2048, "0", "0")]);
        let folder = root.path().join(ALL_NODES).join("hugepages-2048kB");
        let (mut granted, mut refused) = (0, 0);
        for [all, free, surplus, committed] in every_pool(3) {
            write(folder.join(COMMITTED), committed.to_string()).expect("a file");
            for pages in 0..=MOST_PAGES + 1 {
                let before = [all, free, surplus];
                let what = format!("{pages} of {before:?}, {committed} committed");
                write_counts(&folder, before);
                let missing = pages.saturating_sub(free - committed);
                match reserve_below(root.path(), 0, 2 * MIB, pages, simulated_kernel) {
                    Ok(reservation) => {
                        assert!(counts(&folder)[1] >= pages + committed, "{what}: as many are free");
                        let newly_persistent = if missing == 0 { 0 } else { surplus };
                        assert_eq!(reservation.added_pages(), missing + newly_persistent, "{what}");
                        granted += 1;
                    }
                    Err(error) => {
                        assert!(all + missing > MOST_PAGES, "{what}: {error}");
                        let few = format!("granted {} of {missing} pages", MOST_PAGES - all);
                        assert!(error.to_string().contains(&few), "{what}: {error}");
                        refused += 1;
                    }
                }
                assert_eq!(counts(&folder), before, "{what}");
            }
        }
        assert_eq!((granted, refused), (280, 120), "cases");
    }

    #[test]
    fn pages_added_by_other_programs_stay() {
        /// Another program adds two pages as soon as ours were added.
        fn with_others(path: &Path, count: u64) -> io::Result<()> {
            let before = PageCounts::read(path.parent().expect("a folder"))?.persistent();
            simulated_kernel(path, if count > before { count + 2 } else { count })
        }
        let root = machine(ALL_NODES, &[(0, 2048, "1\n", "1\n")]);
        let folder = root.path().join(ALL_NODES).join("hugepages-2048kB");
        let three = reserve_below(root.path(), 0, 2 * MIB, 4, with_others).expect("memory");
        assert_eq!((three.added_pages(), counts(&folder)), (3, [6, 6, 0]));
        drop(three);
        assert_eq!(counts(&folder), [3, 3, 0]);
    }

    #[test]
    fn threads_that_reserve_and_give_back_lose_no_page() {
        let root = machine(ALL_NODES, &[(0, 2048, "2\n", "1\n")]);
        let folder = root.path().join(ALL_NODES).join("hugepages-2048kB");
        std::thread::scope(|scope| {
            for pages in 2..=MOST_PAGES - 1 {
                let root = root.path();
                scope.spawn(move || {
                    for _ in 0..100 {
                        let reserved = reserve_below(root, 0, 2 * MIB, pages, simulated_kernel);
                        reserved.expect("memory").release().expect("files that can be written");
                    }
                });
            }
        });
        assert_eq!(counts(&folder), [2, 1, 0]);
    }

    #[test]
    fn a_reservation_adds_what_is_missing_and_gives_it_back() {
        let root = two_nodes();
        let reserved = |node: usize| {
            let pools = pools_below(root.path()).expect("files that can be read");
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
        let granted: SetCount = |path, count| write_count(path, count.min(10));
        let refused = reserve_below(root.path(), 1, 2 * MIB, 9, granted).expect_err("too many");
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
        assert!(refused.to_string().contains("granted 2 of 6 pages"), "{refused}");
        assert_eq!(pools_below(root.path()).expect("files that can be read")[2].reserved, 8);
        for (node, page_bytes) in [(2, 2 * MIB), (1, 1024 * MIB), (1, 2 * MIB + 1)] {
            let refused = reserve_below(root.path(), node, page_bytes, 1, write_count).expect_err("no pool");
            assert_eq!(refused.kind(), io::ErrorKind::NotFound, "{refused}");
        }
        let denied: SetCount = |_, _| Err(io::ErrorKind::PermissionDenied.into());
        let refused = reserve_below(root.path(), 1, 2 * MIB, 9, denied).expect_err("no right");
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        let file = root.path().join("sys/devices/system/node/node1/hugepages/hugepages-2048kB").join(FREE);
        write(file, "some\n").expect("a file");
        let refused = reserve_below(root.path(), 1, 2 * MIB, 9, write_count).expect_err("no number");
        assert!(refused.to_string().contains("free_hugepages"), "{refused}");
    }
}
