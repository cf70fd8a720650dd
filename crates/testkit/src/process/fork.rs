//! Work in a forked child of a process with threads.
#![allow(unsafe_code, reason = "a child process that is a copy")]

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

/// End of a child process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Child {
    /// Its work gave `true`.
    Agreed,
    /// Its work gave `false`.
    Refused,
    /// Its work panicked.
    Panicked,
    /// It was still at work after [`PATIENCE`] seconds, and was killed.
    Hung,
    /// It died of something else: the number of the signal, or its unknown exit code.
    Died(i32),
}

/// Timeout of a child in seconds. The work of children takes milliseconds.
pub const PATIENCE: u32 = 300;

/// Whether a program with threads forks here. Emulators of programs end themselves instead: qemu 7.2 with a failed
/// assertion as soon as the child makes a thread.
pub fn forks() -> bool {
    cfg!(unix) && !crate::process::emulated::emulated()
}

/// Lock that excludes the other forking tests of this program; `None` if forking with threads is not supported, and `what` is
/// reported as skipped.
pub fn alone(what: &str) -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if !forks() {
        crate::skip(what, "no program with threads forks here");
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Does `work` in a process that has done nothing before: this program is started again with the test `name` alone, which
/// comes here once more.
///
/// # Panics
/// When the program cannot be started again, or the test fails there.
pub fn in_fresh_process(name: &str, work: impl FnOnce()) {
    const FRESH: &str = "HASHMILL_TEST_FRESH_PROCESS";
    if std::env::var_os(FRESH).is_some() {
        return work();
    }
    let program = std::env::current_exe().expect("where this program is");
    let mut command = Command::new(program);
    let output = crate::process::wait::output(command.args(["--exact", name]).env(FRESH, "1"))
        .expect("the same program");
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && words.contains("1 passed"), "{words}");
}

/// Forks, does `work` in the child alone, and tells how that ended. The child has this thread and no other, and ends
/// without unwinding or running destructors outside of `work`.
///
/// No other thread of the program should hold a lock that `work` takes: tests that fork have a program of their own
/// and run one by one.
///
/// # Panics
/// When the system refuses a process.
#[cfg(unix)]
pub fn in_child(work: impl FnOnce() -> bool) -> Child {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    const AGREED: i32 = 70;
    const REFUSED: i32 = 71;
    const PANICKED: i32 = 72;
    // SAFETY: the child goes on with memory as it is now and leaves by `_exit`, so that nothing of the parent is run
    // twice. Locks that other threads hold stay locked in it: the caller's business, see above.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no further process");
    if child == 0 {
        // SAFETY: a plain system call. The signal's default action ends the process.
        unsafe { libc::alarm(PATIENCE) };
        let code = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(true) => AGREED,
            Ok(false) => REFUSED,
            Err(_) => PANICKED,
        };
        // SAFETY: ends the child here.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    loop {
        // SAFETY: our own child, and a place for its status.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if ended == child {
            break;
        }
        let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        assert!(interrupted, "waiting for the child");
    }
    match (libc::WIFSIGNALED(status), libc::WTERMSIG(status), libc::WEXITSTATUS(status)) {
        (true, libc::SIGALRM, _) => Child::Hung,
        (true, signal, _) => Child::Died(signal),
        (false, _, AGREED) => Child::Agreed,
        (false, _, REFUSED) => Child::Refused,
        (false, _, PANICKED) => Child::Panicked,
        (false, _, code) => Child::Died(code),
    }
}

/// Does `then` while three other threads do work of their own over and over, each of which has done it once before.
///
/// A thread that starts or ends holds a lock of the standard library for a moment (that of the list of stacks, for its
/// handler of overflows). A process that forks in that moment leaves it locked in the child, which waits without end as soon as
/// it starts a thread. So `then` runs only after all threads have started.
pub fn beside<W: FnMut(), T>(work: impl Fn() -> W + Sync, then: impl FnOnce() -> T) -> T {
    /// Tells the threads, even when `then` panics.
    struct Done<'d>(&'d AtomicBool);

    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    const THREADS: usize = 3;
    let done = AtomicBool::new(false);
    let (started, starts) = mpsc::channel();
    std::thread::scope(|scope| {
        let end = Done(&done);
        for started in vec![started; THREADS] {
            let (work, done) = (&work, &done);
            scope.spawn(move || {
                let mut work = work();
                work();
                started.send(()).expect("who waits for it");
                drop(started);
                while !done.load(Ordering::Relaxed) {
                    work();
                }
            });
        }
        (0..THREADS).for_each(|_| starts.recv().expect("threads that work"));
        let value = then();
        drop(end);
        value
    })
}

/// Not supported on this system: see [`forks`].
#[cfg(not(unix))]
pub fn in_child(_: impl FnOnce() -> bool) -> Child {
    unreachable!("tests that fork ask `forks` first")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ends_are_distinguished() {
        assert_eq!(in_child(|| true), Child::Agreed);
        assert_eq!(in_child(|| false), Child::Refused);
        // A panic with the usual words would take the lock of standard error, which another test may hold.
        assert_eq!(in_child(|| std::panic::resume_unwind(Box::new(()))), Child::Panicked);
        // SAFETY: a plain system call in the child.
        assert_eq!(in_child(|| unsafe { libc::raise(libc::SIGKILL) } == 1), Child::Died(libc::SIGKILL));
        // SAFETY: as above: what the patience ends with.
        assert_eq!(in_child(|| unsafe { libc::raise(libc::SIGALRM) } == 1), Child::Hung);
    }
}
