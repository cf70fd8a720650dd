//! Linux: everything from `/proc` and `/sys`.

use super::parse::{chosen, faults, field, number, physical_cores, pressure_us, reserved, stolen_ticks};
use super::{Load, Machine, Usage};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::fs::read_to_string;

fn read(path: &str) -> String {
    read_to_string(path).unwrap_or_default()
}

fn line(path: &str) -> Option<String> {
    read_to_string(path).ok().map(|text| text.trim().to_owned())
}

pub(super) fn machine() -> Machine {
    let cpuinfo = read("/proc/cpuinfo");
    let says = |name| field(&cpuinfo, name, ':');
    let model = ["cpu family", "model", "stepping", "CPU implementer", "CPU part", "CPU variant"];
    let model: Vec<&str> = model.iter().filter_map(|name| says(name)).collect();
    let memory_kib = number(&read("/proc/meminfo"), "MemTotal").unwrap_or(0);
    Machine {
        id: String::new(),
        cpu: says("model name").unwrap_or("unknown").to_owned(),
        model: model.join("-"),
        arch: std::env::consts::ARCH.to_owned(),
        logical_cores: logical_cores(),
        physical_cores: physical_cores(&cpuinfo),
        memory_gib: u32::try_from((memory_kib + (1 << 19)) >> 20).unwrap_or(u32::MAX),
        os: std::env::consts::OS.to_owned(),
        kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        virtualization: virtualization(says("flags").unwrap_or_default()),
        page_bytes: Some(rustix::param::page_size() as u64),
        huge_pages: chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled")).map(str::to_owned),
        aslr: line("/proc/sys/kernel/randomize_va_space").and_then(|text| text.parse().ok()),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        counters: counters(),
    }
}

fn logical_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

fn virtualization(flags: &str) -> String {
    let vendor = line("/sys/class/dmi/id/sys_vendor").filter(|vendor| !vendor.is_empty());
    match (flags.split_whitespace().any(|flag| flag == "hypervisor"), vendor) {
        (true, Some(vendor)) => vendor,
        (true, None) => "hypervisor".to_owned(),
        (false, _) if flags.is_empty() => "unknown".to_owned(),
        (false, _) => "none".to_owned(),
    }
}

/// The kernel lists a performance unit for the processor exactly when it can use it.
fn counters() -> String {
    let units = ["cpu", "cpu_core", "armv8_pmuv3_0", "armv8_pmuv3"];
    let found =
        units.iter().find(|unit| std::path::Path::new("/sys/bus/event_source/devices").join(unit).exists());
    match found {
        Some(unit) => (*unit).to_owned(),
        None => "none: the kernel offers no processor performance unit".to_owned(),
    }
}

pub(super) fn load() -> Load {
    // The tick of /proc/stat is USER_HZ, which is 100 on every architecture that Linux still supports.
    let stolen_ms = stolen_ticks(&read("/proc/stat")).map(|ticks| ticks * 10);
    Load {
        average: read("/proc/loadavg").split_whitespace().next().and_then(|text| text.parse().ok()),
        stolen_ms,
        cpu_pressure_us: pressure_us(&read("/proc/pressure/cpu")),
        memory_pressure_us: pressure_us(&read("/proc/pressure/memory")),
    }
}

pub(super) fn usage() -> Usage {
    let faults = faults(&read("/proc/self/stat"));
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let cpu_ns = u64::try_from(time.tv_sec).ok().map(|s| s * 1_000_000_000 + time.tv_nsec as u64);
    Usage {
        cpu_ns,
        minor_faults: faults.map(|(minor, _)| minor),
        major_faults: faults.map(|(_, major)| major),
        involuntary_switches: number(&read("/proc/self/status"), "nonvoluntary_ctxt_switches"),
    }
}

pub(super) fn huge_page_bytes() -> Option<u64> {
    bytes_in(&["AnonHugePages", "Private_Hugetlb", "Shared_Hugetlb"])
}

pub(super) fn reserved_bytes() -> Option<(u64, u64)> {
    Some(reserved(&read_to_string("/proc/self/smaps").ok()?))
}

pub(super) fn resident_bytes() -> Option<u64> {
    // Reserved pages are no part of what the kernel calls resident.
    bytes_in(&["Rss", "Private_Hugetlb", "Shared_Hugetlb"])
}

/// The sum of what this process has of the named kinds of memory; the first of them every kernel tells.
fn bytes_in(kinds: &[&str]) -> Option<u64> {
    let text = read("/proc/self/smaps_rollup");
    let kib = |name: &&str| number(&text, name);
    Some((kib(&kinds[0])? + kinds[1..].iter().filter_map(kib).sum::<u64>()) << 10)
}

pub(super) fn ask_for_huge_pages(map: &memmap2::MmapMut) {
    // A kernel without them refuses; the memory works all the same.
    map.advise(memmap2::Advice::HugePage).ok();
}

pub(super) fn pin(choice: u64) -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
    let cpu = *allowed.get((choice % allowed.len().max(1) as u64) as usize)?;
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).ok()?;
    Some(cpu)
}
