//! Facts from `/proc` and `/sys` of Linux. Without these files every fact is `None`.

mod parse;

pub(crate) use parse::number;

use crate::description::UNKNOWN;
use crate::os::{cpu_time, page_size};
use crate::processors::threads;
use crate::{Load, Machine, Usage};
use parse::{chosen, faults, field, physical_cores, pressure_us, reserved, stolen_ticks};
use std::fs::{read_dir, read_to_string};
use std::io;
use std::path::{Path, PathBuf};

/// The text of a file. An unreadable one has no text, and so none of the facts that it would have.
fn read(path: &str) -> String {
    read_to_string(path).unwrap_or_default()
}

/// The trimmed text of a file with one fact, if it can be read.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The paths in a folder.
pub(crate) fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let about = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
    read_dir(folder).map_err(about)?.map(|entry| Ok(entry.map_err(about)?.path())).collect()
}

impl Machine {
    /// Reads this machine.
    #[must_use]
    pub fn read() -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let cpu_field = |name| field(&cpuinfo, name, ':');
        let model = ["cpu family", "model", "stepping", "CPU implementer", "CPU part", "CPU variant"];
        let model: Vec<&str> = model.iter().filter_map(|name| cpu_field(name)).collect();
        let memory_kib = number(&read("/proc/meminfo"), "MemTotal").unwrap_or(0);
        let mut machine = Machine {
            id: String::new(),
            cpu: cpu_field("model name").unwrap_or(UNKNOWN).to_owned(),
            model: model.join("-"),
            arch: std::env::consts::ARCH.to_owned(),
            logical_cores: u32::try_from(threads()).unwrap_or(u32::MAX),
            physical_cores: physical_cores(&cpuinfo),
            memory_gib: u32::try_from((memory_kib + (1 << 19)) >> 20).unwrap_or(u32::MAX),
            os: std::env::consts::OS.to_owned(),
            kernel: line("/proc/sys/kernel/osrelease").unwrap_or_else(|| UNKNOWN.to_owned()),
            virtualization: virtualization(cpu_field("flags")),
            page_bytes: page_size().map(|size| size as u64),
            huge_pages: transparent_huge_pages(),
            aslr: line("/proc/sys/kernel/randomize_va_space").and_then(|text| text.parse().ok()),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            counters: counters(),
        };
        machine.id = machine.fingerprint();
        machine
    }
}

impl Load {
    /// Reads the load.
    #[must_use]
    pub fn read() -> Self {
        // The tick of /proc/stat is USER_HZ, which is 100 on every architecture that Linux still supports.
        let stolen_ms = stolen_ticks(&read("/proc/stat")).map(|ticks| ticks * 10);
        Load {
            average: read("/proc/loadavg").split_whitespace().next().and_then(|text| text.parse().ok()),
            stolen_ms,
            cpu_pressure_us: pressure_us(&read("/proc/pressure/cpu")),
            memory_pressure_us: pressure_us(&read("/proc/pressure/memory")),
        }
    }
}

impl Usage {
    /// Reads the usage of this process.
    #[must_use]
    pub fn read() -> Self {
        let faults = faults(&read("/proc/self/stat"));
        Usage {
            cpu: cpu_time(),
            minor_faults: faults.map(|(minor, _)| minor),
            major_faults: faults.map(|(_, major)| major),
            involuntary_switches: number(&read("/proc/self/status"), "nonvoluntary_ctxt_switches"),
        }
    }
}

/// The hypervisor, by the flags of a processor.
fn virtualization(flags: Option<&str>) -> String {
    let is_guest = flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    match is_guest {
        None => UNKNOWN.to_owned(),
        Some(false) => "none".to_owned(),
        Some(true) => line("/sys/class/dmi/id/sys_vendor")
            .filter(|vendor| !vendor.is_empty())
            .unwrap_or_else(|| "hypervisor".to_owned()),
    }
}

/// The kernel lists a performance unit of the processor exactly if it can use it.
fn counters() -> String {
    let units = ["cpu", "cpu_core", "armv8_pmuv3_0", "armv8_pmuv3"];
    let found = units.iter().find(|unit| Path::new("/sys/bus/event_source/devices").join(unit).exists());
    match found {
        Some(unit) => (*unit).to_owned(),
        None if cfg!(not(target_os = "linux")) => "none: not read on this system".to_owned(),
        None => "none: the kernel offers no processor performance unit".to_owned(),
    }
}

pub(crate) fn huge_page_bytes() -> Option<u64> {
    bytes_in(&["AnonHugePages", "Private_Hugetlb", "Shared_Hugetlb"])
}

pub(crate) fn reserved_bytes() -> Option<(u64, u64)> {
    Some(reserved(&read_to_string("/proc/self/smaps").ok()?))
}

pub(crate) fn resident_bytes() -> Option<u64> {
    // The kernel does not count reserved pages as resident.
    bytes_in(&["Rss", "Private_Hugetlb", "Shared_Hugetlb"])
}

pub(crate) fn peak_bytes() -> Option<u64> {
    Some(number(&read("/proc/self/status"), "VmHWM")? << 10)
}

/// The sum of these kinds of this process's memory; every kernel reports the first.
fn bytes_in(kinds: &[&str]) -> Option<u64> {
    let text = read("/proc/self/smaps_rollup");
    let kib = |name: &&str| number(&text, name);
    Some((kib(&kinds[0])? + kinds[1..].iter().filter_map(kib).sum::<u64>()) << 10)
}

/// Implementer, part and revision of the first processor as one number, on aarch64 Linux.
#[must_use]
pub fn midr() -> Option<String> {
    line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1")
}

pub(crate) fn transparent_huge_pages() -> Option<String> {
    chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_its_fingerprint() {
        let machine = Machine::read();
        assert_eq!(machine.id, machine.fingerprint());
        assert_eq!(machine.id.len(), 14);
    }

    #[test]
    fn unknown_facts_are_named_so() {
        assert_eq!(virtualization(None), UNKNOWN);
        assert_eq!(virtualization(Some("fpu vme")), "none");
        assert!(![UNKNOWN, "none", ""].contains(&virtualization(Some("fpu hypervisor")).as_str()));
        assert!(!Machine::read().kernel.is_empty());
    }

    #[test]
    fn usage_never_shrinks() {
        let before = Usage::read();
        let after = Usage::read();
        assert!(after.cpu >= before.cpu);
        assert!(after.minor_faults >= before.minor_faults);
    }
}
