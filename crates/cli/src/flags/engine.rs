//! The flags that say who computes.

use super::Misuse;
use clap::{Args, ValueEnum};
use std::fmt;

/// Who computes.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EngineFlags {
    /// What computes: auto, cpu, cuda, wgpu [default: auto]
    ///
    /// auto is the processor, or for passwords a device that `hashmill tune` has measured to be faster; `hashmill info` says why. cuda is a device of NVIDIA's driver, wgpu one that speaks Vulkan, Metal
    /// or DirectX 12, in programs built with the feature gpu.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = "Speed",
        hide_short_help = true
    )]
    pub(crate) engine: EngineName,

    /// Which device of this engine: its number in `hashmill info`, or a part of its name
    #[arg(long, value_name = "DEVICE", help_heading = "Speed", hide_short_help = true)]
    pub(crate) device: Option<String>,
}

/// Engines by name.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum EngineName {
    #[default]
    Auto,
    Cpu,
    Cuda,
    Wgpu,
}

impl EngineName {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            EngineName::Auto => "auto",
            EngineName::Cpu => "cpu",
            EngineName::Cuda => "cuda",
            EngineName::Wgpu => "wgpu",
        }
    }
}

impl EngineFlags {
    /// Whether a device is asked for.
    pub(crate) fn is_device(&self) -> bool {
        matches!(self.engine, EngineName::Cuda | EngineName::Wgpu)
    }

    /// A device of no engine is none.
    pub(crate) fn check(&self) -> Result<(), Misuse> {
        match self.device {
            Some(_) if !self.is_device() => {
                Err(Misuse("--device goes with --engine cuda or --engine wgpu".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// The flags that asked.
impl fmt::Display for EngineFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--engine {}", self.engine.name())?;
        match &self.device {
            Some(device) => write!(f, " --device {device}"),
            None => Ok(()),
        }
    }
}
