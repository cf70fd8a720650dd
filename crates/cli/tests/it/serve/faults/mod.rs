//! Faults: full disks, cut networks, clocks that are set, and a server that is killed.

#[cfg(target_os = "linux")]
mod clock;
mod kills;
#[cfg(target_os = "linux")]
mod partitions;
mod storage;
