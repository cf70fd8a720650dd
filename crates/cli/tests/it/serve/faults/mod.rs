//! Faults: full disks, cut networks, clocks that are set, and servers that are killed, alone or beside others.

#[cfg(target_os = "linux")]
mod clock;
mod kills;
#[cfg(feature = "cluster")]
mod nodes;
#[cfg(target_os = "linux")]
mod partitions;
mod storage;
