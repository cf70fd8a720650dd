//! What this machine is and how disturbed it is right now. Facts only; nobody here judges them.
//!
//! The readers differ by operating system and sit in one file each; what a system cannot say is `None`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
pub(crate) mod parse;
mod room;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;

use crate::fingerprint::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine as a report remembers it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Fingerprint of the stable fields, see [`Machine::fingerprint`].
    pub id: String,
    /// Processor as it names itself.
    pub cpu: String,
    /// Family, model and stepping, or the part number, as the system writes them.
    pub model: String,
    /// Instruction set of this program.
    pub arch: String,
    /// Processors that the scheduler sees.
    pub logical_cores: u32,
    /// Cores, where the system tells.
    pub physical_cores: Option<u32>,
    /// Memory in GiB, rounded: kernels keep varying amounts to themselves.
    pub memory_gib: u32,
    /// Operating system.
    pub os: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Name of the hypervisor, `none`, or `unknown`.
    pub virtualization: String,
    /// Bytes of an ordinary page of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Address space randomisation, as the kernel numbers it.
    pub aslr: Option<u32>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Whether hardware counters open, and why not.
    pub counters: String,
}

/// How busy the machine was at one moment. Two of them tell what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Load average of the last minute.
    pub average: Option<f64>,
    /// Time that the hypervisor gave to others, in milliseconds since start-up.
    pub stolen_ms: Option<u64>,
    /// Time that some task waited for a processor, in microseconds since start-up (PSI).
    pub cpu_pressure_us: Option<u64>,
    /// Time that some task waited for memory, in microseconds since start-up (PSI).
    pub memory_pressure_us: Option<u64>,
}

/// What the process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) minor_faults: Option<u64>,
    pub(crate) major_faults: Option<u64>,
    pub(crate) involuntary_switches: Option<u64>,
}

impl Machine {
    /// Reads this machine.
    #[must_use]
    pub fn read() -> Self {
        let mut machine = system::machine();
        machine.id = machine.fingerprint();
        machine
    }

    /// `m-` and twelve hexadecimal digits over the fields that do not change with a reboot, an update or the mood
    /// of the clock. Frequencies and calibration results stay out: a key with them never finds its records again.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let cores = (self.logical_cores, self.physical_cores.unwrap_or(0));
        let stable = format!(
            "{}\n{}\n{}\n{cores:?}\n{}\n{}",
            self.arch, self.cpu, self.model, self.memory_gib, self.virtualization
        );
        format!("m-{}", &sha256_hex(stable.as_bytes())[..12])
    }
}

impl Load {
    /// Reads the load.
    #[must_use]
    pub fn read() -> Self {
        system::load()
    }
}

impl Usage {
    pub(crate) fn read() -> Self {
        system::usage()
    }
}

/// Bytes of this process that lie in huge pages, joined by the system or reserved.
pub(crate) fn huge_page_bytes() -> Option<u64> {
    system::huge_page_bytes()
}

/// Bytes of this process in pages that were reserved as huge ones, and how many of these in pages of 1 GiB and more.
pub(crate) fn reserved_bytes() -> Option<(u64, u64)> {
    system::reserved_bytes()
}

/// Bytes of this process that lie in memory at all.
pub(crate) fn resident_bytes() -> Option<u64> {
    system::resident_bytes()
}

/// KiB that the system and the control groups of this process leave.
pub(crate) fn free_kib() -> Option<u64> {
    room::free_kib(std::path::Path::new("/"))
}

/// Keeps this process on one of its allowed processors, and says on which.
pub(crate) fn pin(choice: u64) -> Option<usize> {
    system::pin(choice)
}

/// Asks for huge pages under a mapping; whether they came is seen in [`huge_page_bytes`].
pub(crate) fn ask_for_huge_pages(map: &memmap2::MmapMut) {
    system::ask_for_huge_pages(map);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_ignores_what_drifts() {
        let machine = Machine::read();
        assert_eq!(machine.id, machine.fingerprint());
        assert_eq!(machine.id.len(), 14);
        let drifted = Machine {
            kernel: "another".into(),
            governor: Some("powersave".into()),
            clock_source: None,
            ..machine.clone()
        };
        assert_eq!(drifted.fingerprint(), machine.id);
        let grown = Machine { logical_cores: machine.logical_cores + 1, ..machine.clone() };
        assert_ne!(grown.fingerprint(), machine.id);
    }

    #[test]
    fn usage_never_shrinks() {
        let before = Usage::read();
        let after = Usage::read();
        assert!(after.cpu_ns >= before.cpu_ns);
        assert!(after.minor_faults >= before.minor_faults);
    }
}
