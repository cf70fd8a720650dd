//! Faults of the machine: full disks, cut networks, clocks that are set.

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod partitions;
mod storage;
