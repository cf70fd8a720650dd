//! Memory with an unreadable page on both sides: a kernel that touches one byte too many dies on the spot.
//!
//! Masked loads are the reason. They promise not to touch the lanes that the mask leaves out, and only memory that
//! cannot be touched can check the promise.
#![allow(unsafe_code, reason = "memory that faults when a kernel reads past its input")]

pub use system::Guarded;

#[cfg(unix)]
mod system {
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
    use std::ffi::c_void;
    use std::{ptr, slice};

    /// A writable buffer between two pages that fault on any access.
    #[derive(Debug)]
    pub struct Guarded {
        /// Start of the mapping: the first guard page.
        base: *mut c_void,
        page: usize,
        /// Bytes between the guards, a whole number of pages.
        capacity: usize,
    }

    // SAFETY: the mapping belongs to this value alone; nothing about it is tied to a thread.
    unsafe impl Send for Guarded {}

    impl Guarded {
        /// Whether this system has guard pages. Where it has none the buffer still works, but proves nothing.
        pub const EFFECTIVE: bool = true;

        /// A zeroed buffer of at least `len` bytes.
        ///
        /// # Panics
        /// When the system refuses the mapping.
        pub fn new(len: usize) -> Self {
            let page = rustix::param::page_size();
            let capacity = len.max(1).next_multiple_of(page);
            let whole = capacity + 2 * page;
            // SAFETY: a fresh anonymous mapping at an address of the system's choice disturbs no other memory.
            let base = unsafe {
                mmap_anonymous(ptr::null_mut(), whole, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
            }
            .expect("anonymous memory");
            let guarded = Self { base, page, capacity };
            for offset in [0, page + capacity] {
                // SAFETY: both pages lie inside the mapping above, and no reference to it exists yet.
                unsafe { mprotect(base.byte_add(offset), page, MprotectFlags::empty()) }
                    .expect("a guard page");
            }
            guarded
        }

        /// The last `len` bytes: one byte further faults.
        ///
        /// # Panics
        /// When the buffer is shorter than `len`.
        pub fn at_end(&mut self, len: usize) -> &mut [u8] {
            let start = self.capacity.checked_sub(len).expect("the buffer is long enough");
            &mut self.data()[start..]
        }

        /// The first `len` bytes: one byte before them faults.
        ///
        /// # Panics
        /// When the buffer is shorter than `len`.
        pub fn at_start(&mut self, len: usize) -> &mut [u8] {
            &mut self.data()[..len]
        }

        fn data(&mut self) -> &mut [u8] {
            // SAFETY: the bytes between the guards are mapped, readable, writable and zeroed from the start; they
            // live as long as `self`, which the returned borrow holds exclusively.
            unsafe { slice::from_raw_parts_mut(self.base.byte_add(self.page).cast(), self.capacity) }
        }
    }

    impl Drop for Guarded {
        fn drop(&mut self) {
            // SAFETY: the mapping was made by `new` with this length, and all borrows of it have ended.
            let unmapped = unsafe { munmap(self.base, self.capacity + 2 * self.page) };
            debug_assert!(unmapped.is_ok(), "{unmapped:?}");
        }
    }
}

#[cfg(not(unix))]
mod system {
    /// A plain buffer: this system's guard pages are not wired up, and [`Guarded::EFFECTIVE`] says so.
    #[derive(Debug)]
    pub struct Guarded(Vec<u8>);

    impl Guarded {
        /// Whether this system has guard pages. Where it has none the buffer still works, but proves nothing.
        pub const EFFECTIVE: bool = false;

        /// A zeroed buffer of `len` bytes.
        pub fn new(len: usize) -> Self {
            Self(vec![0; len])
        }

        /// The last `len` bytes.
        pub fn at_end(&mut self, len: usize) -> &mut [u8] {
            let start = self.0.len().checked_sub(len).expect("the buffer is long enough");
            &mut self.0[start..]
        }

        /// The first `len` bytes.
        pub fn at_start(&mut self, len: usize) -> &mut [u8] {
            &mut self.0[..len]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Guarded;

    #[test]
    fn both_ends_are_usable_to_the_last_byte() {
        let mut guarded = Guarded::new(5000);
        guarded.at_start(5000).fill(1);
        assert_eq!(guarded.at_start(5000), [1; 5000]);
        guarded.at_end(5000).fill(2);
        assert_eq!(guarded.at_end(5000), [2; 5000]);
        assert!(guarded.at_end(0).is_empty());
    }

    /// The guards must really fault, or every test that leans on them proves nothing. Faults end the process, so a
    /// child makes them: this test starts itself again with the wish in its environment.
    #[cfg(unix)]
    #[test]
    fn one_byte_too_many_ends_the_process() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::{Command, Stdio};
        const WISH: &str = "HASHMILL_GUARD_PROBE";
        if let Ok(side) = std::env::var(WISH) {
            let mut guarded = Guarded::new(100);
            let outside = match side.as_str() {
                "before" => guarded.at_start(100).as_ptr().wrapping_sub(1),
                _ => guarded.at_end(100).as_ptr().wrapping_add(100),
            };
            // SAFETY: none; the fault is the point, and it is all that this child process is for.
            let byte = unsafe { outside.read_volatile() };
            unreachable!("read {byte} through a guard page");
        }
        for side in ["before", "after"] {
            let child = Command::new(std::env::current_exe().expect("this test's own path"))
                .args(["--exact", "memory::guard::tests::one_byte_too_many_ends_the_process"])
                .env(WISH, side)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .expect("this test can start itself");
            assert!(child.signal().is_some(), "{side}: the child should have died of a fault, not {child}");
        }
    }
}
