//! A child process from its start to its end: timed, drained, watched, and accounted for by the system that ran it.
//!
//! The time begins with the call that starts the process and ends when the system has said that it ended. Starting
//! goes through `posix_spawn`, so what it costs does not grow with the memory of this process. Everything that is
//! needed beside the child – pipes, the thread that empties them and watches the clock – is there before the time
//! begins.
//!
//! The child leads a process group of its own. When it has ended, what it left behind in that group is ended too. On
//! Linux so is a daemon that left the group: this process adopts the orphans of its children, and knows them by a word
//! in their environment.
#![allow(unsafe_code, reason = "the system tells what one child used through `wait4` alone")]

use std::io;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What one child used, with the descendants that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildUsage {
    /// Processor time in the program.
    pub user: Duration,
    /// Processor time in the system on its behalf.
    pub system: Duration,
    /// Most memory at once, in bytes. Never less than what the starting process had: see [`peak_bytes`](crate::peak_bytes).
    pub peak_bytes: u64,
    /// Pages that were given without reading.
    pub minor_faults: u64,
    /// Pages that had to be read.
    pub major_faults: u64,
    /// Blocks of 512 bytes read from a device.
    pub blocks_read: u64,
    /// Blocks of 512 bytes written to one.
    pub blocks_written: u64,
    /// Times that it gave the processor up.
    pub waits: u64,
    /// Times that the processor was taken from it.
    pub involuntary_switches: u64,
}

/// What takes the output of a child, piece by piece.
pub type Sink<'a> = dyn FnMut(&[u8]) + Send + 'a;

/// How a child is watched.
pub struct Watch<'a> {
    /// Longest time that it may take.
    pub limit: Option<Duration>,
    /// Whether to end it now; asked ten times a second.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// What is done with its standard output, in the order in which it comes; without it, whatever the command says.
    pub output: Option<&'a mut Sink<'a>>,
    /// Whether the end of its standard error is kept.
    pub words: bool,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildEnd {
    /// By itself, or by a signal from elsewhere.
    Ended(ExitStatus),
    /// It took longer than it may, and was ended.
    TooLong,
    /// It was ended because that was asked for.
    Stopped,
    /// It wanted something of the terminal that a process in the background does not get, and was ended.
    WantsTerminal,
}

/// One child, from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildRun {
    /// From the call that starts it until the system says that it ended.
    pub time: Duration,
    /// How it ended.
    pub end: ChildEnd,
    /// What it used; nothing where one cannot tell.
    pub usage: Option<ChildUsage>,
    /// Whether processes that it started were there after it, and were ended.
    pub left_behind: bool,
    /// The last kilobytes of its standard error, if they were wanted.
    pub last_words: Vec<u8>,
}

/// Runs a command once. On Linux this process adopts orphans of its descendants from now on.
///
/// # Errors
/// When it cannot be started or waited for, or what it writes cannot be read.
pub fn run_child(command: &mut Command, watch: Watch<'_>) -> io::Result<ChildRun> {
    system::run(command, watch)
}

/// The number of the signal that ended a process, if one did.
#[must_use]
pub fn ended_by_signal(status: ExitStatus) -> Option<i32> {
    system::signal(status)
}

/// Most of standard error that is kept.
const WORDS: usize = 4096;

fn keep_tail(kept: &mut Vec<u8>, more: &[u8]) {
    kept.extend_from_slice(&more[more.len().saturating_sub(WORDS)..]);
    let excess = kept.len().saturating_sub(WORDS);
    kept.drain(..excess);
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
            let companion = Companion { streams, over, group: &group, limit, begin, stop };
            let companion = scope.spawn(move || companion.work());
            let ended = time(command, &group);
            // The companion looks once more at the pipes, and ends.
            drop::<PipeWriter>(at_end);
            let (seen, cut) = companion.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (time, status, usage, stopped, left_behind) = ended?;
            let left_behind = orphans::end(&mark) || left_behind;
            let last_words = seen?;
            let end = match cut {
                _ if stopped => ChildEnd::WantsTerminal,
                Some(Cut::Limit) => ChildEnd::TooLong,
                Some(Cut::Asked) => ChildEnd::Stopped,
                None => ChildEnd::Ended(status),
            };
            Ok(ChildRun { time, end, usage: Some(usage), left_behind, last_words })
        })
    }

    type Timed = (Duration, ExitStatus, ChildUsage, bool, bool);

    /// What is timed, and nothing else.
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
            // What has ended already was not left running.
            orphans::reap_group(id);
            let left_behind = end_group(id, Signal::KILL);
            return Ok((time, status, usage, stopped, left_behind));
        }
    }

    /// Waits until the child has ended or was stopped.
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

    /// Sends a signal to everyone in the group; whether somebody was there.
    fn end_group(id: i32, signal: Signal) -> bool {
        Pid::from_raw(id).is_some_and(|id| kill_process_group(id, signal).is_ok())
    }

    /// Processes whose parents have ended, which Linux gives to this one.
    #[cfg(target_os = "linux")]
    mod orphans {
        use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process};
        use rustix::process::{set_child_subreaper, waitpgid, waitpid};
        use std::fmt::Display;
        use std::fs::{read, read_dir, read_link, read_to_string};
        use std::process::Command;
        use std::sync::Once;
        use std::sync::atomic::{AtomicU32, Ordering};

        /// Puts a word into the environment of a child that no other child has, always as long.
        pub(super) fn mark(command: &mut Command) -> String {
            static ADOPT: Once = Once::new();
            static COUNT: AtomicU32 = AtomicU32::new(0);
            ADOPT.call_once(|| {
                // A system without it leaves daemons alone.
                set_child_subreaper(Some(getpid())).ok();
            });
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let word = format!("{:010}-{count:010}", std::process::id());
            command.env("HASHMILL_CHILD", &word);
            format!("HASHMILL_CHILD={word}")
        }

        /// Asks for the end of those of a group that have ended.
        pub(super) fn reap_group(id: i32) {
            let Some(id) = Pid::from_raw(id) else { return };
            while let Ok(Some(_)) = waitpgid(id, WaitOptions::NOHANG) {}
        }

        /// Ends every orphan with the word; whether there was one. Those that ended by themselves are let go.
        pub(super) fn end(mark: &str) -> bool {
            let mut found = false;
            // One that is ended can leave another.
            loop {
                let own = own();
                for id in own.iter().filter(|id| is_spent(**id)) {
                    waitpid(Some(*id), WaitOptions::NOHANG).ok();
                }
                let marked: Vec<Pid> = own.into_iter().filter(|id| is_marked(*id, mark)).collect();
                if marked.is_empty() {
                    return found;
                }
                found = true;
                for id in marked {
                    kill_process(id, Signal::KILL).ok();
                    waitpid(Some(id), WaitOptions::empty()).ok();
                }
            }
        }

        /// Whether somebody has ended whom nobody waits for: in a session of its own or in a group that it does not lead.
        /// What this program starts and waits for is in its session, and in its group or at the head of another.
        fn is_spent(id: Pid) -> bool {
            let (Some(it), Some(own)) = (State::of(&id.as_raw_nonzero()), State::of(&"self")) else {
                // Who is not there any more has been let go, and who cannot be looked up is left to others.
                return false;
            };
            let is_waited_for =
                it.session == own.session && (it.group == own.group || it.group == id.as_raw_pid());
            it.has_ended && !is_waited_for
        }

        /// What Linux says about a process. A group and a session are numbers here and no [`Pid`]: 0 stands for one that
        /// was begun outside of the processes that a container sees.
        struct State {
            has_ended: bool,
            group: i32,
            session: i32,
        }

        impl State {
            fn of(id: &dyn Display) -> Option<Self> {
                let stat = read_to_string(format!("/proc/{id}/stat")).ok()?;
                // The name before may hold anything.
                let mut fields = stat.rsplit(')').next()?.split_whitespace();
                let has_ended = fields.next()? == "Z";
                let mut numbers = fields.skip(1).map_while(|field| field.parse().ok());
                Some(Self { has_ended, group: numbers.next()?, session: numbers.next()? })
            }
        }

        /// The children of all threads of this process, unless the `/proc` that is mounted numbers processes as somebody
        /// outside of a container sees them: the number of a child is that of a stranger then, and daemons are left alone.
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

        fn is_marked(id: Pid, mark: &str) -> bool {
            let environment = read(format!("/proc/{}/environ", id.as_raw_nonzero())).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
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

    enum Cut {
        Limit,
        Asked,
    }

    /// What the child writes to, seen from the other end.
    struct Streams<'a> {
        output: Option<PipeReader>,
        sink: Option<&'a mut Sink<'a>>,
        errors: Option<PipeReader>,
        words: Vec<u8>,
        /// Why a stream could not be read to its end.
        failed: Option<io::Error>,
    }

    impl Streams<'_> {
        /// Takes what is there, of each stream at most `most` bytes.
        fn drain(&mut self, buffer: &mut [u8], most: usize) {
            let Streams { output, sink, errors, words, failed } = self;
            let taken = take(output, buffer, most, |bytes| sink.iter_mut().for_each(|sink| sink(bytes)));
            let taken = taken.and(take(errors, buffer, most, |bytes| keep_tail(words, bytes)));
            *failed = failed.take().or(taken.err());
        }
    }

    /// Reads until nothing is there; a stream that has ended, or cannot be read, is no longer asked.
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

    /// Between polite and final.
    const GRACE: Duration = Duration::from_millis(500);

    /// What runs beside a child: empties its pipes, and ends it when it must be ended.
    struct Companion<'a, 's> {
        streams: Streams<'s>,
        /// Closed when the child has ended.
        over: PipeReader,
        group: &'a AtomicI32,
        limit: Option<Duration>,
        begin: Instant,
        stop: &'a (dyn Fn() -> bool + Sync),
    }

    impl Companion<'_, '_> {
        /// The last words, and whether the child was ended.
        fn work(mut self) -> (io::Result<Vec<u8>>, Option<Cut>) {
            let mut buffer = vec![0; 64 << 10];
            let mut cut: Option<(Cut, Instant)> = None;
            loop {
                let is_over = self.sleep();
                // Whoever writes on after the child has no end; a pipe holds no more than this.
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
                        let why = if limit { Some(Cut::Limit) } else { (self.stop)().then_some(Cut::Asked) };
                        if let Some(why) = why {
                            end_group(group, Signal::TERM);
                            cut = Some((why, Instant::now()));
                        }
                    }
                    _ => {}
                }
            }
        }

        /// Until something is to be read, a tenth of a second has passed, or the child has ended: then this is true.
        fn sleep(&self) -> bool {
            let left = self.limit.map_or(Duration::MAX, |limit| limit.saturating_sub(self.begin.elapsed()));
            let nap = left.clamp(Duration::from_millis(1), Duration::from_millis(100));
            let nap = Timespec { tv_sec: 0, tv_nsec: nap.subsec_nanos().into() };
            let mut fds = vec![PollFd::new(&self.over, PollFlags::IN)];
            let pipes = self.streams.output.iter().chain(&self.streams.errors);
            fds.extend(pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut fds, Some(&nap)) {
                Ok(_) | Err(Errno::INTR) => !fds[0].revents().is_empty(),
                // Without a way to wait, this is still no reason to turn in a circle.
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
            let said = scope.spawn(move || {
                let mut kept = Vec::new();
                match stderr {
                    Some(pipe) => drain(pipe, &mut |bytes| keep_tail(&mut kept, bytes)).map(|()| kept),
                    None => Ok(kept),
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
            let last_words = said.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
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
    use hashmill_testkit::skip;
    use std::path::Path;
    use std::time::Instant;

    fn shell(text: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", text]).stdin(std::process::Stdio::null());
        shell
    }

    /// Runs a line of shell; what it wrote, and how it went.
    fn run(text: &str, limit: Option<Duration>, stop: &(dyn Fn() -> bool + Sync)) -> (Vec<u8>, ChildRun) {
        let mut written = Vec::new();
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
        assert_eq!(run.last_words.len(), WORDS);
        assert!(run.last_words.ends_with(b"eeend"));
    }

    #[test]
    fn what_cannot_be_read_is_no_end() {
        let folder = std::fs::File::open("/").expect("a folder, which is no stream");
        let mut pipe = Some(io::PipeReader::from(std::os::fd::OwnedFd::from(folder)));
        assert!(system::take(&mut pipe, &mut [0; 8], 64, |_| ()).is_err() && pipe.is_none());
    }

    #[test]
    fn a_child_that_hangs_is_ended_even_if_it_does_not_listen() {
        let begin = Instant::now();
        let limit = Some(Duration::from_millis(100));
        let (_, run) = run("trap '' TERM; while :; do sleep 1000; done", limit, &|| false);
        assert_eq!(run.end, ChildEnd::TooLong);
        assert!(begin.elapsed() < Duration::from_secs(100), "and nobody waited for its sleep");
    }

    #[test]
    fn a_child_is_ended_when_that_is_asked() {
        let (_, run) = run("sleep 1000", None, &|| true);
        assert_eq!(run.end, ChildEnd::Stopped);
    }

    /// Whether the end of a process that is not a child can be seen here.
    fn can_look_up(what: &str) -> bool {
        let can = !cfg!(target_os = "linux") || hashmill_testkit::processes_are_listed();
        if !can {
            skip(what, "/proc does not show the processes of this container");
        }
        can
    }

    #[test]
    fn what_a_child_leaves_running_is_ended_and_said() {
        // The one that is left holds the pipe open, and nobody waits for it.
        let (written, run) = run("sleep 1000 & echo $!", None, &|| false);
        assert_eq!(code(&run), Some(0));
        assert!(run.left_behind);
        if can_look_up("the end of what a child leaves running") {
            assert_gone(&written);
        }
        let (_, run) = self::run("sh -c 'true & exit'; sleep 0.05", None, &|| false);
        assert!(!run.left_behind, "it had ended");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_daemon_is_ended_and_said() {
        if !can_look_up("daemons that run") {
            return;
        }
        let (written, run) =
            run("setsid sh -c 'sh -c \"sleep 1000 & echo \\$!\" &' && sleep 0.1", None, &|| false);
        assert_eq!(code(&run), Some(0));
        assert!(run.left_behind);
        assert_gone(&written);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_daemon_that_has_ended_is_let_go() {
        if !can_look_up("daemons that have ended") {
            return;
        }
        let (written, run) = run("(setsid sh -c 'echo $$' &); sleep 0.1", None, &|| false);
        assert!(!run.left_behind);
        let id = String::from_utf8_lossy(&written);
        assert!(id.trim().parse::<u32>().is_ok(), "{id}");
        assert!(!Path::new(&format!("/proc/{}", id.trim())).exists(), "nobody has asked how it ended");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_session_that_began_outside_of_a_container_has_no_number_and_changes_nothing() {
        let outside = |command: &mut Command| command.env("HASHMILL_OUTSIDE", "yes").output();
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

    /// Fails unless the process whose number was written ends soon.
    fn assert_gone(written: &[u8]) {
        let id = String::from_utf8_lossy(written);
        let ended = |stat: io::Result<String>| {
            stat.map_or(true, |stat| {
                stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
            })
        };
        assert!(id.trim().parse::<u32>().is_ok(), "{id}");
        let gone = (0..10_000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            ended(std::fs::read_to_string(format!("/proc/{}/stat", id.trim())))
        });
        assert!(gone, "{id}");
    }

    #[test]
    fn a_signal_is_told_and_what_does_not_exist_does_not_start() {
        let (_, run) = run("kill -9 $$", None, &|| false);
        let ChildEnd::Ended(status) = run.end else { panic!("{run:?}") };
        assert_eq!((status.code(), ended_by_signal(status)), (None, Some(9)));
        let watch = Watch { limit: None, stop: &|| false, output: None, words: false };
        let error = run_child(&mut Command::new("/nowhere/program"), watch).expect_err("does not exist");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
