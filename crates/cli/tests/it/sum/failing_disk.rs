//! A FUSE file system with one file that has unreadable ranges. Programs see the failures of a broken disk: large reads that
//! fail as a whole, `EIO`, `SIGBUS`.

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::cell::Cell;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

/// Supported operations, by the kernel's numbers (`include/uapi/linux/fuse.h`).
mod op {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const BATCH_FORGET: u32 = 42;
}

const EIO: i32 = 5;
const ENOENT: i32 = 2;
const ENOSYS: i32 = 38;

/// Length of the header of every request.
const HEADER: usize = 40;
const ROOT: u64 = 1;
const FILE: u64 = 2;

/// The file system is mounted while this lives.
pub(crate) struct FailingDisk {
    dir: tempfile::TempDir,
    server: Option<JoinHandle<()>>,
}

impl FailingDisk {
    /// A file system with the file `f`, of which these ranges are unreadable. Fails if mounting is not permitted.
    pub(crate) fn new(bytes: &[u8], bad: &[Range<u64>]) -> io::Result<FailingDisk> {
        FailingDisk::healing(bytes, bad, u64::MAX)
    }

    /// As `new`, but after this number of failed reads everything is readable.
    pub(crate) fn healing(bytes: &[u8], bad: &[Range<u64>], failures: u64) -> io::Result<FailingDisk> {
        let dir = tempfile::tempdir()?;
        let fuse = File::options().read(true).write(true).open("/dev/fuse")?;
        let data = format!("fd={},rootmode=40000,user_id=0,group_id=0", fuse.as_raw_fd());
        let data = CString::new(data).expect("no NUL");
        mount("failing-disk", dir.path(), "fuse", MountFlags::NODEV | MountFlags::NOSUID, Some(&*data))?;
        let medium = Medium { bytes: bytes.to_vec(), bad: bad.to_vec(), failures: failures.into() };
        let server = Some(thread::spawn(move || medium.serve(fuse)));
        Ok(FailingDisk { dir, server })
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("f")
    }
}

impl Drop for FailingDisk {
    fn drop(&mut self) {
        // The server ends when the file system is unmounted.
        if unmount(self.dir.path(), UnmountFlags::DETACH).is_ok()
            && let Some(server) = self.server.take()
        {
            let _ = server.join();
        }
    }
}

struct Medium {
    bytes: Vec<u8>,
    bad: Vec<Range<u64>>,
    /// Number of reads of the bad ranges that will still fail.
    failures: Cell<u64>,
}

impl Medium {
    fn serve(&self, mut fuse: File) {
        let mut request = vec![0; 256 * 1024];
        loop {
            let len = match fuse.read(&mut request) {
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let request = &request[..len];
            let Some(answer) = self.answer(request) else { continue };
            let (error, body) = match answer {
                Ok(body) => (0, body),
                Err(error) => (-error, Vec::new()),
            };
            let len = 16 + body.len() as u32;
            let header = [&len.to_le_bytes()[..], &error.to_le_bytes(), &request[8..16]].concat();
            // An interrupted request accepts no answer.
            let _ = fuse.write(&[header, body].concat());
        }
    }

    /// `None` for requests without an answer.
    fn answer(&self, request: &[u8]) -> Option<Result<Vec<u8>, i32>> {
        let u32_at = |at: usize| u32::from_le_bytes(request[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().expect("eight bytes"));
        let (body, node) = (HEADER, u64_at(16));
        Some(Ok(match u32_at(4) {
            op::INIT => {
                // Version 7.31, the kernel's read-ahead, small writes.
                let mut init: Vec<u8> =
                    [7, 31, u32_at(body + 8), 0, 0, 4096].into_iter().flat_map(u32::to_le_bytes).collect();
                init.resize(64, 0);
                init
            }
            op::LOOKUP if &request[body..] == b"f\0" => {
                let entry = [FILE, 0, 1000, 1000, 0];
                [entry.into_iter().flat_map(u64::to_le_bytes).collect(), self.attributes(FILE)].concat()
            }
            op::LOOKUP => return Some(Err(ENOENT)),
            op::GETATTR => {
                [[1000, 0].into_iter().flat_map(u64::to_le_bytes).collect(), self.attributes(node)].concat()
            }
            op::OPEN => vec![0; 16],
            op::READ => {
                let offset = u64_at(body + 8).min(self.bytes.len() as u64);
                let end = (offset + u64::from(u32_at(body + 16))).min(self.bytes.len() as u64);
                let left = self.failures.get();
                if left > 0 && self.bad.iter().any(|bad| bad.start < end && offset < bad.end) {
                    self.failures.set(left - 1);
                    return Some(Err(EIO));
                }
                self.bytes[offset as usize..end as usize].to_vec()
            }
            op::RELEASE | op::FLUSH => Vec::new(),
            op::FORGET | op::BATCH_FORGET | op::INTERRUPT => return None,
            _ => return Some(Err(ENOSYS)),
        }))
    }

    fn attributes(&self, node: u64) -> Vec<u8> {
        let (mode, size) =
            if node == ROOT { (0o040_755_u32, 0) } else { (0o100_644, self.bytes.len() as u64) };
        let long = [node, size, size.div_ceil(512), 0, 0, 0];
        let short = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0];
        long.into_iter()
            .flat_map(u64::to_le_bytes)
            .chain(short.into_iter().flat_map(u32::to_le_bytes))
            .collect()
    }
}
