//! Child process: timed run, output, limits, and resource usage.
//!
//! The time begins with the call that starts the process and ends when the system reports its end. Starting
//! uses `posix_spawn`, so its cost does not grow with the memory of this process. Pipes, and the thread that
//! empties them and watches the clock, are created before the time begins.
//!
//! The child leads a process group of its own. After its end, processes left in that group are killed. On
//! Linux so is a daemon that left the group: this process adopts the orphans of its children, and identifies
//! them by a variable in their environment.
#![allow(unsafe_code, reason = "the system tells what one child used through `wait4` alone")]

use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Resource usage of one child, with the descendants that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildUsage {
    /// User time.
    pub user: Duration,
    /// System time.
    pub system: Duration,
    /// Peak memory in bytes. Never less than that of the starting process: see
    /// [`peak_bytes`](crate::peak_bytes).
    pub peak_bytes: u64,
    /// Page faults without a read.
    pub minor_faults: u64,
    /// Page faults with a read.
    pub major_faults: u64,
    /// Blocks of 512 bytes read from a device.
    pub blocks_read: u64,
    /// Blocks of 512 bytes written to one.
    pub blocks_written: u64,
    /// Voluntary context switches.
    pub waits: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
}

/// Receiver of a child's output, piece by piece.
pub type Sink<'a> = dyn FnMut(&[u8]) + Send + 'a;

/// Limits and outputs of a child.
pub struct Watch<'a> {
    /// Time limit.
    pub limit: Option<Duration>,
    /// Returns whether to stop it now; called ten times a second.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Receiver of its standard output, in order; without it, the command's own setting applies.
    pub output: Option<&'a mut Sink<'a>>,
    /// Keep the end of its standard error?
    pub words: bool,
}

/// End of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildEnd {
    /// It ended by itself, or by a signal of another process.
    Ended(ExitStatus),
    /// It exceeded the time limit and was killed.
    TooLong,
    /// It was killed on request.
    Stopped,
    /// It needed the terminal, which a process in the background does not get, and was killed.
    WantsTerminal,
}

/// Result of running a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildRun {
    /// The time from the call that starts it until the system reports its end.
    pub time: Duration,
    /// How it ended.
    pub end: ChildEnd,
    /// Its resource usage, if the system reports it.
    pub usage: Option<ChildUsage>,
    /// Did it leave processes behind? They were killed.
    pub left_behind: bool,
    /// The last kilobytes of its standard error, if requested.
    pub last_words: Vec<u8>,
}

/// Runs a command once. On Linux this process adopts orphans of its descendants from now on.
///
/// # Errors
/// When it cannot be started or waited for, or its output cannot be read.
pub fn run_child(command: &mut Command, watch: Watch<'_>) -> io::Result<ChildRun> {
    system::run(command, watch)
}

/// The number of the signal that ended a process, if one did.
#[must_use]
pub fn ended_by_signal(status: ExitStatus) -> Option<i32> {
    system::signal(status)
}

/// Maximum length of the tail of standard error.
const TAIL_BYTES: usize = 4096;

fn keep_tail(tail: &mut Vec<u8>, more: &[u8]) {
    tail.extend_from_slice(&more[more.len().saturating_sub(TAIL_BYTES)..]);
    let excess = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..excess);
}

#[cfg(unix)]
mod system {
    use super::{ChildEnd, ChildRun, ChildUsage, Sink, Watch, keep_tail};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::{Errno, ioctl_fionbio};
    use rustix::process::{Pid, Signal, kill_process_group};
    use std::io::{self, PipeReader, PipeWriter, Read};
    use std::mem::MaybeUninit;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, ExitStatus};
    use std::sync::atomic::{AtomicI32, Ordering};
    use std::time::{Duration, Instant};

    pub(super) fn signal(status: ExitStatus) -> Option<i32> {
        status.signal()
    }

    pub(super) fn run(command: &mut Command, watch: Watch<'_>) -> io::Result<ChildRun> {
        let Watch { limit, stop, output, words } = watch;
        command.process_group(0);
        let mark = orphans::mark(command);
        let mut streams =
            Streams { output: None, sink: output, errors: None, words: Vec::new(), failed: None };
        if streams.sink.is_some() {
            let (reader, writer) = pipe()?;
            command.stdout(writer);
            streams.output = Some(reader);
        }
        if words {
            let (reader, writer) = pipe()?;
            command.stderr(writer);
            streams.errors = Some(reader);
        }
        let (over, at_end) = io::pipe()?;
        let group = AtomicI32::new(0);
        let begin = Instant::now();
        std::thread::scope(|scope| {
            let monitor = ChildMonitor { streams, over, group: &group, limit, begin, stop };
            let monitor = scope.spawn(move || monitor.work());
            let ended = time(command, &group);
            // The monitor reads the pipes once more, and ends.
            drop::<PipeWriter>(at_end);
            let (stderr_tail, cut) = monitor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (time, status, usage, stopped, left_behind) = ended?;
            let left_behind = orphans::end(&mark) || left_behind;
            let last_words = stderr_tail?;
            let end = match cut {
                _ if stopped => ChildEnd::WantsTerminal,
                Some(KillReason::Limit) => ChildEnd::TooLong,
                Some(KillReason::StopRequested) => ChildEnd::Stopped,
                None => ChildEnd::Ended(status),
            };
            Ok(ChildRun { time, end, usage: Some(usage), left_behind, last_words })
        })
    }

    type Timed = (Duration, ExitStatus, ChildUsage, bool, bool);

    /// The timed section.
    fn time(command: &mut Command, group: &AtomicI32) -> io::Result<Timed> {
        let start = Instant::now();
        let child = command.spawn()?;
        let id = child.id().cast_signed();
        group.store(id, Ordering::Relaxed);
        let mut stopped = false;
        loop {
            let (status, usage) = wait(id)?;
            let time = start.elapsed();
            let status = ExitStatus::from_raw(status);
            if status.stopped_signal().is_some() {
                stopped = true;
                end_group(id, Signal::KILL);
                continue;
            }
            group.store(0, Ordering::Relaxed);
            // Processes that have ended already do not count as left behind.
            orphans::reap_group(id);
            let left_behind = end_group(id, Signal::KILL);
            return Ok((time, status, usage, stopped, left_behind));
        }
    }

    /// Waits until the child ends or is stopped.
    fn wait(id: i32) -> io::Result<(i32, ChildUsage)> {
        let mut status = 0;
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        loop {
            // SAFETY: the call writes to two places that are there for it.
            let waited = unsafe { libc::wait4(id, &raw mut status, libc::WUNTRACED, usage.as_mut_ptr()) };
            if waited == id {
                // SAFETY: numbers alone, which were zero before the call wrote them.
                return Ok((status, usage_of(&unsafe { usage.assume_init() })));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    #[allow(clippy::unnecessary_cast, reason = "the types differ by system")]
    fn usage_of(usage: &libc::rusage) -> ChildUsage {
        let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
        let time = |time: libc::timeval| {
            Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
                + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
        };
        let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        ChildUsage {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            peak_bytes: count(usage.ru_maxrss as libc::c_long) * unit,
            minor_faults: count(usage.ru_minflt as libc::c_long),
            major_faults: count(usage.ru_majflt as libc::c_long),
            blocks_read: count(usage.ru_inblock as libc::c_long),
            blocks_written: count(usage.ru_oublock as libc::c_long),
            waits: count(usage.ru_nvcsw as libc::c_long),
            involuntary_switches: count(usage.ru_nivcsw as libc::c_long),
        }
    }

    /// Sends a signal to the group; returns whether it had a process.
    fn end_group(id: i32, signal: Signal) -> bool {
        Pid::from_raw(id).is_some_and(|id| kill_process_group(id, signal).is_ok())
    }

    /// Orphans, which Linux reparents to this process.
    #[cfg(target_os = "linux")]
    mod orphans {
        use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process};
        use rustix::process::{set_child_subreaper, waitpgid, waitpid};
        use std::fmt::Display;
        use std::fs::{read, read_dir, read_link, read_to_string};
        use std::process::Command;
        use std::sync::Once;
        use std::sync::atomic::{AtomicU32, Ordering};
        use std::thread::sleep;
        use std::time::Duration;

        /// Adds a unique word of fixed length to the environment of a child.
        pub(super) fn mark(command: &mut Command) -> String {
            static ADOPT: Once = Once::new();
            static COUNT: AtomicU32 = AtomicU32::new(0);
            ADOPT.call_once(|| {
                // Without this feature, daemons are not found.
                set_child_subreaper(Some(getpid())).ok();
            });
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let word = format!("{:010}-{count:010}", std::process::id());
            command.env("HASHMILL_CHILD", &word);
            format!("HASHMILL_CHILD={word}")
        }

        /// Reaps the ended processes of a group.
        pub(super) fn reap_group(id: i32) {
            let Some(id) = Pid::from_raw(id) else { return };
            while let Ok(Some(_)) = waitpgid(id, WaitOptions::NOHANG) {}
        }

        /// Kills every orphan with the word; returns whether there was one. Reaps orphans that ended by
        /// themselves.
        pub(super) fn end(mark: &str) -> bool {
            let mut found = false;
            // A process's orphans are listed after its end, not while it ends, so the list is complete only
            // when all entries have settled.
            loop {
                let mut is_settled = true;
                for id in own() {
                    match Orphan::classify(id, mark) {
                        Orphan::Other => {}
                        Orphan::Unsettled => {
                            is_settled = false;
                            sleep(Duration::from_millis(1));
                        }
                        Orphan::Ended => {
                            is_settled = false;
                            waitpid(Some(id), WaitOptions::NOHANG).ok();
                        }
                        Orphan::Marked => {
                            (found, is_settled) = (true, false);
                            kill_process(id, Signal::KILL).ok();
                            waitpid(Some(id), WaitOptions::empty()).ok();
                        }
                    }
                }
                if is_settled {
                    return found;
                }
            }
        }

        /// Relation of a child of this process to the finished run.
        enum Orphan {
            /// A child without the word, or one that this program waits for.
            Other,
            /// It has the word.
            Marked,
            /// It is starting another program, or ending: it has no environment at that moment.
            Unsettled,
            /// It has ended, and this program does not wait for it: an unreaped child.
            Ended,
        }

        impl Orphan {
            fn classify(id: Pid, mark: &str) -> Orphan {
                // Empty if unreadable: a process of another user has no word of this program.
                let read = |name| read(format!("/proc/{}/{name}", id.as_raw_nonzero())).unwrap_or_default();
                let (Some(it), Some(own)) = (State::read(&id.as_raw_nonzero()), State::read(&"self")) else {
                    // It has been reaped, or cannot be examined and is left alone.
                    return Orphan::Other;
                };
                // Children that this program waits for are in its session, and in its group or lead another.
                let is_waited_for =
                    it.session == own.session && (it.group == own.group || it.group == id.as_raw_pid());
                let mut environment = read("environ");
                if environment.is_empty() && !is_waited_for {
                    if it.has_ended {
                        return Orphan::Ended;
                    }
                    if read("cmdline").is_empty() {
                        return Orphan::Unsettled;
                    }
                    environment = read("environ");
                }
                let is_marked = environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
                if is_marked { Orphan::Marked } else { Orphan::Other }
            }
        }

        /// State of a process from Linux. A group and a session are numbers here and no [`Pid`]: 0 denotes
        /// one outside of the container's processes.
        struct State {
            has_ended: bool,
            group: i32,
            session: i32,
        }

        impl State {
            fn read(id: &dyn Display) -> Option<Self> {
                let stat = read_to_string(format!("/proc/{id}/stat")).ok()?;
                // The preceding name may contain any character.
                let mut fields = stat.rsplit(')').next()?.split_whitespace();
                let has_ended = fields.next()? == "Z";
                let mut numbers = fields.skip(1).map_while(|field| field.parse().ok());
                Some(Self { has_ended, group: numbers.next()?, session: numbers.next()? })
            }
        }

        /// The children of all threads of this process; empty if the mounted `/proc` numbers processes as
        /// outside of the container: a child's number could then be that of an unrelated process, and daemons
        /// are left alone.
        fn own() -> Vec<Pid> {
            let own = getpid().as_raw_nonzero().to_string();
            if !read_link("/proc/self").is_ok_and(|link| link.as_os_str() == own.as_str()) {
                return Vec::new();
            }
            let tasks = read_dir("/proc/self/task").into_iter().flatten().flatten();
            let lists = tasks.filter_map(|task| read_to_string(task.path().join("children")).ok());
            let of = |list: String| -> Vec<Pid> {
                list.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
            };
            lists.flat_map(of).collect()
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod orphans {
        pub(super) fn mark(_: &mut std::process::Command) -> String {
            String::new()
        }

        pub(super) fn reap_group(_: i32) {}

        pub(super) fn end(_: &str) -> bool {
            false
        }
    }

    fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        ioctl_fionbio(&reader, true)?;
        Ok((reader, writer))
    }

    enum KillReason {
        Limit,
        StopRequested,
    }

    /// Read ends of the child's output.
    struct Streams<'a> {
        output: Option<PipeReader>,
        sink: Option<&'a mut Sink<'a>>,
        errors: Option<PipeReader>,
        words: Vec<u8>,
        /// The error that ended a stream early.
        failed: Option<io::Error>,
    }

    impl Streams<'_> {
        /// Reads available bytes, of each stream at most `most`.
        fn drain(&mut self, buffer: &mut [u8], most: usize) {
            let Streams { output, sink, errors, words, failed } = self;
            let taken = take(output, buffer, most, |bytes| sink.iter_mut().for_each(|sink| sink(bytes)));
            let taken = taken.and(take(errors, buffer, most, |bytes| keep_tail(words, bytes)));
            *failed = failed.take().or(taken.err());
        }
    }

    /// Reads until no data is available; a stream that has ended or failed is closed.
    pub(super) fn take(
        pipe: &mut Option<PipeReader>,
        buffer: &mut [u8],
        most: usize,
        mut to: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut taken = 0;
        while let Some(reader) = pipe.as_mut().filter(|_| taken < most) {
            match reader.read(buffer) {
                Ok(n @ 1..) => {
                    to(&buffer[..n]);
                    taken += n;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(_) => *pipe = None,
                Err(error) => {
                    *pipe = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Time between SIGTERM and SIGKILL.
    const GRACE: Duration = Duration::from_millis(500);

    /// Monitor of a child: empties its pipes, and kills it when necessary.
    struct ChildMonitor<'a, 's> {
        streams: Streams<'s>,
        /// Closed when the child has ended.
        over: PipeReader,
        group: &'a AtomicI32,
        limit: Option<Duration>,
        begin: Instant,
        stop: &'a (dyn Fn() -> bool + Sync),
    }

    impl ChildMonitor<'_, '_> {
        /// Returns the end of standard error, and why the child was killed, if it was.
        fn work(mut self) -> (io::Result<Vec<u8>>, Option<KillReason>) {
            let mut buffer = vec![0; 64 << 10];
            let mut cut: Option<(KillReason, Instant)> = None;
            loop {
                let is_over = self.sleep();
                // A process that continues to write after the child has no end; a pipe holds no more than
                // this.
                self.streams.drain(&mut buffer, 1 << 20);
                if is_over {
                    let Streams { words, failed, .. } = self.streams;
                    return (failed.map_or(Ok(words), Err), cut.map(|(cut, _)| cut));
                }
                let group = self.group.load(Ordering::Relaxed);
                match &cut {
                    Some((_, since)) if since.elapsed() > GRACE && group != 0 => {
                        end_group(group, Signal::KILL);
                    }
                    None if group != 0 => {
                        let limit = self.limit.is_some_and(|limit| self.begin.elapsed() >= limit);
                        let reason = if limit {
                            Some(KillReason::Limit)
                        } else {
                            (self.stop)().then_some(KillReason::StopRequested)
                        };
                        if let Some(reason) = reason {
                            end_group(group, Signal::TERM);
                            cut = Some((reason, Instant::now()));
                        }
                    }
                    _ => {}
                }
            }
        }

        /// Waits for output, for a tenth of a second, or for the end of the child. Returns whether it has
        /// ended.
        fn sleep(&self) -> bool {
            let left = self.limit.map_or(Duration::MAX, |limit| limit.saturating_sub(self.begin.elapsed()));
            let nap = left.clamp(Duration::from_millis(1), Duration::from_millis(100));
            let nap = Timespec { tv_sec: 0, tv_nsec: nap.subsec_nanos().into() };
            let mut fds = vec![PollFd::new(&self.over, PollFlags::IN)];
            let pipes = self.streams.output.iter().chain(&self.streams.errors);
            fds.extend(pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut fds, Some(&nap)) {
                Ok(_) | Err(Errno::INTR) => !fds[0].revents().is_empty(),
                // Avoid a busy loop if waiting fails.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    false
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::{ChildEnd, ChildRun, Watch, keep_tail};
    use std::io::{self, Read};
    use std::process::{Command, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    pub(super) fn signal(_: ExitStatus) -> Option<i32> {
        None
    }

    pub(super) fn run(command: &mut Command, watch: Watch<'_>) -> io::Result<ChildRun> {
        let Watch { limit, stop, output, words } = watch;
        if output.is_some() {
            command.stdout(Stdio::piped());
        }
        if words {
            command.stderr(Stdio::piped());
        }
        let start = Instant::now();
        let mut child = command.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            let printed = scope.spawn(move || match stdout.zip(output) {
                Some((pipe, sink)) => drain(pipe, sink),
                None => Ok(()),
            });
            let stderr_reader = scope.spawn(move || {
                let mut tail = Vec::new();
                match stderr {
                    Some(pipe) => drain(pipe, &mut |bytes| keep_tail(&mut tail, bytes)).map(|()| tail),
                    None => Ok(tail),
                }
            });
            let mut cut = None;
            let status = loop {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
                if cut.is_none() && limit.is_some_and(|limit| start.elapsed() >= limit) {
                    cut = Some(ChildEnd::TooLong);
                    child.kill()?;
                } else if cut.is_none() && stop() {
                    cut = Some(ChildEnd::Stopped);
                    child.kill()?;
                }
                std::thread::sleep(Duration::from_millis(1));
            };
            let time = start.elapsed();
            printed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let last_words = stderr_reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let end = cut.unwrap_or(ChildEnd::Ended(status));
            Ok(ChildRun { time, end, usage: None, left_behind: false, last_words })
        })
    }

    fn drain(mut pipe: impl Read, sink: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => sink(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use hashmill_testkit::{skip, wait};
    use std::path::Path;

    /// Shell code that waits until the process `$id` has ended. Its state stays until its parent reaps it.
    const UNTIL_ENDED: &str =
        "while read -r _ _ state _ </proc/$id/stat && test \"$state\" != Z; do sleep 0.01; done 2>/dev/null";

    fn shell(text: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", text]).stdin(std::process::Stdio::null());
        shell
    }

    /// Runs a line of shell; returns its output and result.
    fn run(text: &str, limit: Option<Duration>, stop: &(dyn Fn() -> bool + Sync)) -> (Vec<u8>, ChildRun) {
        let mut written = Vec::new();
        let _limit = wait::limit(format!("the end of `{text}`"));
        let mut sink = |bytes: &[u8]| written.extend_from_slice(bytes);
        let watch = Watch { limit, stop, output: Some(&mut sink), words: true };
        let run = run_child(&mut shell(text), watch).expect("sh starts");
        (written, run)
    }

    fn code(run: &ChildRun) -> Option<i32> {
        match run.end {
            ChildEnd::Ended(status) => status.code(),
            _ => None,
        }
    }

    #[test]
    fn a_child_is_read_to_its_end_and_its_use_is_its_own() {
        let (written, run) = run("printf 12345; echo why >&2; exit 3", None, &|| false);
        assert_eq!((&written[..], &run.last_words[..], code(&run)), (&b"12345"[..], &b"why\n"[..], Some(3)));
        assert!(!run.left_behind);
        let usage = run.usage.expect("this system tells");
        assert!(usage.peak_bytes > 100 << 10, "{usage:?}");
        assert!(usage.minor_faults > 0, "{usage:?}");
    }

    #[test]
    fn much_output_passes_through_and_errors_leave_their_tail() {
        let text = "head -c 3000000 /dev/zero; head -c 100000 /dev/zero | tr '\\0' e >&2; printf end >&2";
        let (written, run) = run(text, None, &|| false);
        assert_eq!(written.len(), 3_000_000);
        assert_eq!(run.last_words.len(), TAIL_BYTES);
        assert!(run.last_words.ends_with(b"eeend"));
    }

    #[test]
    fn read_errors_are_not_the_end() {
        let folder = std::fs::File::open("/").expect("a folder, which is no stream");
        let mut pipe = Some(io::PipeReader::from(std::os::fd::OwnedFd::from(folder)));
        assert!(system::take(&mut pipe, &mut [0; 8], 64, |_| ()).is_err() && pipe.is_none());
    }

    #[test]
    fn a_child_that_hangs_is_ended_even_if_it_does_not_listen() {
        let limit = Some(Duration::from_millis(100));
        // A run that waited for the `sleep` would exceed the test's limit.
        let (_, run) = run("trap '' TERM; while :; do sleep 1000; done", limit, &|| false);
        assert_eq!(run.end, ChildEnd::TooLong);
    }

    #[test]
    fn a_child_is_ended_on_request() {
        let (_, run) = run("sleep 1000", None, &|| true);
        assert_eq!(run.end, ChildEnd::Stopped);
    }

    /// Can the end of a process that is not a child be observed here?
    fn can_look_up(what: &str) -> bool {
        let can = !cfg!(target_os = "linux") || hashmill_testkit::processes_are_listed();
        if !can {
            skip(what, "/proc does not show the processes of this container");
        }
        can
    }

    #[test]
    fn left_behind_processes_are_killed_and_reported() {
        // The remaining process keeps the pipe open, and nothing waits for it.
        let (written, run) = run("sleep 1000 & echo $!", None, &|| false);
        assert_eq!(code(&run), Some(0));
        assert!(run.left_behind);
        if can_look_up("the end of what a child leaves running") {
            assert_gone(&written);
        }
        if cfg!(target_os = "linux") && hashmill_testkit::processes_are_listed() {
            let text = format!("id=$(sh -c 'true >&- & echo $!'); {UNTIL_ENDED}");
            let (_, run) = self::run(&text, None, &|| false);
            assert!(!run.left_behind, "it had ended");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_daemon_is_ended_and_reported() {
        if !can_look_up("daemons that run") {
            return;
        }
        // The shell ends when it has the number of the daemon, and the daemon closes that pipe.
        let text = "id=$(setsid sh -c 'sh -c \"sleep 1000 >&- & echo \\$!\" &'); echo $id";
        // In some rounds the parent of the daemon ends after the shell.
        for _ in 0..20 {
            let (written, run) = run(text, None, &|| false);
            assert_eq!(code(&run), Some(0));
            assert!(run.left_behind, "{}", String::from_utf8_lossy(&written));
            assert_gone(&written);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_daemon_that_has_ended_is_let_go() {
        if !can_look_up("daemons that have ended") {
            return;
        }
        let text = format!("id=$( (setsid sh -c 'echo $$' &) ); {UNTIL_ENDED}; echo $id");
        let (written, run) = run(&text, None, &|| false);
        assert!(!run.left_behind);
        let id = String::from_utf8_lossy(&written);
        assert!(id.trim().parse::<u32>().is_ok(), "{id}");
        assert!(!Path::new(&format!("/proc/{}", id.trim())).exists(), "the daemon is not reaped");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_session_that_began_outside_of_a_container_has_no_number_and_changes_nothing() {
        let outside = |command: &mut Command| wait::output(command.env("HASHMILL_OUTSIDE", "yes"));
        let inside = |args: &[&std::ffi::OsStr]| {
            outside(Command::new("unshare").args(["-rpf", "--mount-proc"]).args(args))
        };
        if std::env::var_os("HASHMILL_OUTSIDE").is_some() {
            return;
        }
        if !inside(&["true".as_ref()]).is_ok_and(|output| output.status.success()) {
            return skip("children in a container", "no containers here: unshare -rpf --mount-proc");
        }
        let own = std::env::current_exe().expect("tests are a file");
        let output = inside(&[own.as_ref(), "child::tests".as_ref()]).expect("unshare starts");
        assert!(output.status.success(), "{output:?}");
    }

    /// Fails unless the process with the written number ends soon.
    fn assert_gone(written: &[u8]) {
        let id = String::from_utf8_lossy(written);
        let ended = |stat: io::Result<String>| {
            stat.map_or(true, |stat| {
                stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
            })
        };
        assert!(id.trim().parse::<u32>().is_ok(), "{id}");
        wait::until("the end of a process that was left running", || {
            ended(std::fs::read_to_string(format!("/proc/{}/stat", id.trim())))
        });
    }

    #[test]
    fn a_signal_is_reported_and_a_missing_program_does_not_start() {
        let (_, run) = run("kill -9 $$", None, &|| false);
        let ChildEnd::Ended(status) = run.end else { panic!("{run:?}") };
        assert_eq!((status.code(), ended_by_signal(status)), (None, Some(9)));
        let watch = Watch { limit: None, stop: &|| false, output: None, words: false };
        let error = run_child(&mut Command::new("/nowhere/program"), watch).expect_err("does not exist");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
