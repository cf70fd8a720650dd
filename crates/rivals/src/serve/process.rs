//! Processor time and memory of a server, of this program and of the whole machine.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// Ticks per second in the files of `/proc`. Linux scales its own clock to this number for programs.
const TICKS_PER_SECOND: u64 = 100;

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) resident_bytes: u64,
    /// The largest number of resident bytes so far.
    pub(super) peak_bytes: u64,
}

/// Processor time of a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) elapsed: Duration,
    pub(super) server: Duration,
    /// This program.
    pub(super) bots: Duration,
    /// All other processes of the machine.
    pub(super) others: Duration,
}

/// The start of a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsageStart {
    pid: u32,
    at: Instant,
    server: Duration,
    bots: Duration,
    machine: Duration,
}

impl UsageStart {
    pub(super) fn now(pid: u32) -> anyhow::Result<UsageStart> {
        Ok(UsageStart {
            pid,
            at: Instant::now(),
            server: cpu_time(pid)?,
            bots: own_cpu_time()?,
            machine: machine_time()?,
        })
    }

    pub(super) fn started(&self) -> Instant {
        self.at
    }

    /// The usage since then.
    pub(super) fn usage(&self) -> anyhow::Result<Usage> {
        let now = UsageStart::now(self.pid)?;
        let (server, bots) = (now.server - self.server, now.bots - self.bots);
        let machine = now.machine.saturating_sub(self.machine);
        Ok(Usage {
            elapsed: now.at - self.at,
            server,
            bots,
            others: machine.saturating_sub(server).saturating_sub(bots),
        })
    }
}

impl Usage {
    /// Processors that a processor time of this period kept busy.
    pub(super) fn cores(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.elapsed.as_secs_f64()
    }
}

pub(super) fn memory(pid: u32) -> anyhow::Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse_status(&text).with_context(|| format!("{path} names no memory"))
}

/// Number of open files of a process, sockets among them.
pub(super) fn open_files(pid: u32) -> anyhow::Result<usize> {
    let path = format!("/proc/{pid}/fd");
    Ok(fs::read_dir(&path).with_context(|| path.clone())?.count())
}

fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse_stat(&text).with_context(|| format!("{path} names no processor time"))
}

fn own_cpu_time() -> anyhow::Result<Duration> {
    hashmill_machine::cpu_time().context("the system does not tell the processor time of this program")
}

/// Time that all processors together were busy.
fn machine_time() -> anyhow::Result<Duration> {
    let text = fs::read_to_string("/proc/stat").context("/proc/stat")?;
    parse_machine(&text).context("/proc/stat names no processor time")
}

fn parse_status(text: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib << 10)
    };
    Some(Memory { resident_bytes: bytes("VmRSS:")?, peak_bytes: bytes("VmHWM:")? })
}

/// The time in user mode and in the kernel, of all threads that a process has or had.
fn parse_stat(text: &str) -> Option<Duration> {
    // The name of the program may contain anything but ends with the last parenthesis.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(from_ticks(ticks()? + ticks()?))
}

/// Of the ten kinds of time, those that are not idle, without the two of guests that user time contains.
fn parse_machine(text: &str) -> Option<Duration> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _waiting, interrupt, soft_interrupt, ..] = ticks[..] else { return None };
    Some(from_ticks(user + nice + system + interrupt + soft_interrupt))
}

fn from_ticks(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// Fails if this system has no `/proc`, before servers are built and started.
pub(super) fn check_supported() -> anyhow::Result<()> {
    let own = memory(std::process::id()).context("servers can be measured on Linux alone")?;
    ensure!(own.resident_bytes > 0, "/proc tells no memory of this program");
    machine_time().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_memory_come_from_the_texts_of_the_kernel() {
        let stat =
            "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 150 25 9 9 20 0 3 0 500 1000 200 18446744073709551615";
        assert_eq!(parse_stat(stat), Some(Duration::from_millis(1750)));
        assert_eq!(parse_stat("7 (a) S 1 7"), None);
        let status = "Name:\tnode\nVmHWM:\t    3000 kB\nVmRSS:\t    2000 kB\nThreads:\t1\n";
        let memory = Memory { resident_bytes: 2000 << 10, peak_bytes: 3000 << 10 };
        assert_eq!(parse_status(status), Some(memory));
        assert_eq!(parse_status("Name:\tnode\nVmRSS:\t1 kB\n"), None);
        let machine = "cpu  100 20 30 9999 88 4 6 77 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(parse_machine(machine), Some(Duration::from_millis(1600)));
        assert_eq!(parse_machine("cpu  1 2 3\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn work_of_this_process_is_counted() {
        check_supported().expect("Linux");
        let start = UsageStart::now(std::process::id()).expect("this process");
        let mut sum = 0_u64;
        let used = loop {
            sum = (0..1_000_000).fold(sum, u64::wrapping_add);
            let usage = start.usage().expect("this process");
            if usage.server >= Duration::from_millis(50) {
                break usage;
            }
        };
        assert!(used.cores(used.server) > 0.0 && sum > 0);
    }
}
