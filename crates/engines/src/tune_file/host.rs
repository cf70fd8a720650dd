//! CPU and program that a tune file is valid for.

use hashmill_hash::argon2;
use hashmill_hash::blake3::Kernel;
use hashmill_hash::isa::{Cpu, Vendor};
use hashmill_machine as machine;
use serde::{Deserialize, Serialize};

/// The CPU and program that the file is valid for.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Host {
    hashmill: String,
    processor: String,
    vendor: String,
    family: u32,
    model: u32,
    stepping: u32,
    features: Vec<String>,
    /// The available kernels.
    pub(super) blake3: Vec<String>,
    pub(super) argon2: Vec<String>,
}

impl Host {
    /// This CPU and this program.
    pub(super) fn current() -> Host {
        let cpu = Cpu::detect();
        let vendor = match cpu.vendor {
            Vendor::Amd => "AMD",
            Vendor::Intel => "Intel",
            Vendor::Arm => "Arm",
            Vendor::Apple => "Apple",
            _ => "other",
        };
        // For a CPU without a name, the system may have an identification number. Without both, vendor, family, model, stepping and
        // features tell it apart.
        let name = Some(cpu.brand().to_owned()).filter(|name| !name.is_empty());
        Host {
            hashmill: env!("CARGO_PKG_VERSION").to_owned(),
            processor: name.or_else(machine::midr).unwrap_or_default(),
            vendor: vendor.to_owned(),
            family: cpu.family,
            // With mixed core types this depends on the core that runs this thread; the name above is that of the first core.
            model: if cfg!(target_arch = "aarch64") { 0 } else { cpu.model },
            stepping: cpu.stepping,
            features: cpu.features.iter().map(|feature| feature.name().to_owned()).collect(),
            blake3: Kernel::all().map(|kernel| kernel.name().to_owned()).collect(),
            argon2: argon2::Kernel::all().map(|kernel| kernel.name().to_owned()).collect(),
        }
    }

    /// Why a choice for this host is not valid on `current`, if so.
    pub(super) fn mismatch(&self, current: &Host) -> Option<String> {
        if self.hashmill != current.hashmill {
            return Some(format!("it was measured by hashmill {}", self.hashmill));
        }
        let processor =
            Host { blake3: current.blake3.clone(), argon2: current.argon2.clone(), ..self.clone() };
        if processor != *current {
            let name = if self.processor.is_empty() { &self.vendor } else { &self.processor };
            return Some(format!(
                "it was measured on another processor, {name} ({}-{}-{})",
                self.family, self.model, self.stepping
            ));
        }
        (self != current).then(|| "it was measured with other kernels".to_owned())
    }
}
