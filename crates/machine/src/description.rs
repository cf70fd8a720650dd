//! What this machine is.

use sha2::{Digest, Sha256};

/// The machine as a report remembers it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
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
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
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

impl Machine {
    /// `m-` and twelve hexadecimal digits over the fields that do not change with a reboot, an update or the mood
    /// of the clock. Frequencies and calibration results stay out: a key with them never finds its records again.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let cores = (self.logical_cores, self.physical_cores.unwrap_or(0));
        let stable = format!(
            "{}\n{}\n{}\n{cores:?}\n{}\n{}",
            self.arch, self.cpu, self.model, self.memory_gib, self.virtualization
        );
        let digest = Sha256::digest(stable.as_bytes());
        digest[..6].iter().fold("m-".to_owned(), |id, byte| format!("{id}{byte:02x}"))
    }

    /// A folder name for this kind of machine: the same for all with this processor and as many of them.
    #[must_use]
    pub fn slug(&self) -> String {
        let name = if self.cpu == UNKNOWN { &self.arch } else { &self.cpu };
        let mut numbers = self.model.split('-').map_while(|word| word.parse::<u32>().ok());
        let model = numbers.next().zip(numbers.next()).map(|(family, model)| format!(" f{family}m{model}"));
        slug(&format!("{name}{} {}t", model.unwrap_or_default(), self.logical_cores))
    }
}

/// What stands for a name that the system does not tell.
pub(crate) const UNKNOWN: &str = "unknown";

fn slug(words: &str) -> String {
    let words = words.replace("(R)", "").replace("(TM)", "").to_ascii_lowercase();
    let parts = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_ignores_what_drifts() {
        let machine = Machine { cpu: "Scripted 1".into(), logical_cores: 2, ..Machine::default() };
        let drifted = Machine {
            kernel: "another".into(),
            governor: Some("powersave".into()),
            clock_source: None,
            ..machine.clone()
        };
        assert_eq!(drifted.fingerprint(), machine.fingerprint());
        let grown = Machine { logical_cores: machine.logical_cores + 1, ..machine.clone() };
        assert_ne!(grown.fingerprint(), machine.fingerprint());
    }

    #[test]
    fn a_slug_is_a_plain_folder_name() {
        let xeon = Machine {
            cpu: "Intel(R) Xeon(R) Processor".into(),
            model: "6-207-2".into(),
            logical_cores: 2,
            ..Machine::default()
        };
        assert_eq!(xeon.slug(), "intel-xeon-processor-f6m207-2t");
        let arm = Machine { cpu: UNKNOWN.into(), arch: "aarch64".into(), model: "0x41-0xd0c".into(), ..xeon };
        assert_eq!(arm.slug(), "aarch64-2t");
    }
}
