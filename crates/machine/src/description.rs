//! Description and fingerprint of the machine.

use sha2::{Digest, Sha256};

/// Description of the machine, as in reports.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Machine {
    /// Fingerprint of the stable fields, see [`Machine::fingerprint`].
    pub id: String,
    /// Name of the processor.
    pub cpu: String,
    /// Family, model and stepping, or the part number, in the system's form.
    pub model: String,
    /// Instruction set of this program.
    pub arch: String,
    /// Logical processors.
    pub logical_cores: u32,
    /// Cores, if the system reports them.
    pub physical_cores: Option<u32>,
    /// Memory in GiB, rounded: kernels reserve varying amounts.
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
    /// Address space randomisation, as the kernel's number.
    pub aslr: Option<u32>,
    /// Frequency governor.
    pub governor: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// The usable hardware counters, or the reason why there are none.
    pub counters: String,
}

impl Machine {
    /// `m-` and twelve hexadecimal digits, from the fields that do not change with a reboot, an update or the
    /// clock. Frequencies and calibration results are excluded: a key with them would never match earlier
    /// records.
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

    /// A folder name for this kind of machine: equal for machines with the same processor and number of
    /// threads.
    #[must_use]
    pub fn slug(&self) -> String {
        format!("{}-{}t", self.processor(), self.logical_cores)
    }

    /// The kind of processor as a slug: name, family and model, such as `amd-epyc-f25m1`.
    #[must_use]
    pub fn processor(&self) -> String {
        let name = if self.cpu == UNKNOWN { &self.arch } else { &self.cpu };
        let mut numbers = self.model.split('-').map_while(|word| word.parse::<u32>().ok());
        let model = numbers.next().zip(numbers.next()).map(|(family, model)| format!(" f{family}m{model}"));
        // Systems that give no family and model as numbers have the name alone.
        slug(&format!("{name}{}", model.unwrap_or_default()))
    }
}

/// Placeholder of an unknown name.
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
        assert_eq!(xeon.processor(), "intel-xeon-processor-f6m207");
        let arm = Machine { cpu: UNKNOWN.into(), arch: "aarch64".into(), model: "0x41-0xd0c".into(), ..xeon };
        assert_eq!(arm.slug(), "aarch64-2t");
    }
}
