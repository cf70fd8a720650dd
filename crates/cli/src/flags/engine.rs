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

/// Who computes tags of Argon2: one, or several that share a list.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EnginesFlags {
    /// What computes: auto, cpu, cuda, wgpu, or several together, as cpu,cuda [default: auto]
    ///
    /// auto is the processor, or a device that `hashmill tune` has measured to be faster; `hashmill info` says why. cuda is a device of NVIDIA's driver, wgpu one that speaks Vulkan, Metal
    /// or DirectX 12, in programs built with the feature gpu. Several share the hashes of a list, and the memory that is free; where one fails, the others go on.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "Speed",
        hide_short_help = true
    )]
    pub(crate) engine: Vec<EngineName>,

    /// Which device of this engine: its number in `hashmill info`, or a part of its name; once for each of several
    ///
    /// With both cuda and wgpu: as cuda:0, or wgpu:1.
    #[arg(long, value_name = "DEVICE", help_heading = "Speed", hide_short_help = true)]
    pub(crate) device: Vec<String>,
}

impl EnginesFlags {
    /// Each that is asked for, with one device at most; one of them if nothing is.
    pub(crate) fn each(&self) -> Result<Vec<EngineFlags>, Misuse> {
        let none = EngineFlags::default();
        let engines = if self.engine.is_empty() { &[none.engine] } else { &self.engine[..] };
        let mut devices: Vec<(EngineName, &str)> = Vec::new();
        for asked in &self.device {
            let device = of_engine(engines, asked)?;
            if devices.contains(&device) {
                return Err(Misuse(format!("--device {asked}: the same device twice")));
            }
            devices.push(device);
        }
        let mut each = Vec::new();
        for (place, &engine) in engines.iter().enumerate() {
            let name = engine.name();
            if engine == EngineName::Auto && engines.len() > 1 {
                return Err(Misuse("--engine auto chooses by itself: name no other beside it".to_owned()));
            }
            if engines[..place].contains(&engine) {
                let words = format!("--engine names {name} twice: several devices have a --device each");
                return Err(Misuse(words));
            }
            let own = devices.iter().filter(|(of, _)| *of == engine);
            let own = own.map(|(_, device)| EngineFlags { engine, device: Some((*device).to_owned()) });
            let before = each.len();
            each.extend(own);
            if each.len() == before {
                each.push(EngineFlags { engine, device: None });
            }
        }
        Ok(each)
    }
}

/// Whose device is meant.
fn of_engine<'a>(engines: &[EngineName], asked: &'a str) -> Result<(EngineName, &'a str), Misuse> {
    let mut with_devices =
        engines.iter().copied().filter(|engine| EngineFlags { engine: *engine, device: None }.is_device());
    let named = with_devices.clone().find_map(|engine| {
        let device = asked.strip_prefix(engine.name())?.strip_prefix(':')?;
        Some((engine, device))
    });
    match (named, with_devices.next(), with_devices.next()) {
        (Some(named), ..) => Ok(named),
        (None, Some(engine), None) => Ok((engine, asked)),
        (None, None, _) => Err(Misuse("--device goes with --engine cuda or --engine wgpu".to_owned())),
        (None, Some(_), Some(_)) => {
            Err(Misuse(format!("--device {asked}: say of which engine, as cuda:{asked} or wgpu:{asked}")))
        }
    }
}

/// The flags that asked.
impl fmt::Display for EnginesFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.engine.iter().map(|engine| engine.name()).collect();
        write!(f, "--engine {}", names.join(","))?;
        self.device.iter().try_for_each(|device| write!(f, " --device {device}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EngineName::{Auto, Cpu, Cuda, Wgpu};

    fn each(engines: &[EngineName], devices: &[&str]) -> Result<Vec<String>, String> {
        let device = devices.iter().map(|&device| device.to_owned()).collect();
        let flags = EnginesFlags { engine: engines.to_vec(), device };
        match flags.each() {
            Ok(each) => Ok(each.iter().map(ToString::to_string).collect()),
            Err(Misuse(words)) => Err(words),
        }
    }

    #[test]
    fn each_engine_has_its_devices() {
        type Case<'a> = (&'a [EngineName], &'a [&'a str], &'a [&'a str]);
        let cases: [Case<'_>; 6] = [
            (&[], &[], &["--engine auto"]),
            (&[Wgpu], &["wgpu:a, b"], &["--engine wgpu --device a, b"]),
            (&[Cpu, Wgpu], &[], &["--engine cpu", "--engine wgpu"]),
            (
                &[Cuda, Cpu],
                &["1", "cuda:0"],
                &["--engine cuda --device 1", "--engine cuda --device 0", "--engine cpu"],
            ),
            // A place has colons, too.
            (&[Cuda], &["0000:0b:00.0"], &["--engine cuda --device 0000:0b:00.0"]),
            (
                &[Cuda, Wgpu],
                &["wgpu:1", "cuda:h200"],
                &["--engine cuda --device h200", "--engine wgpu --device 1"],
            ),
        ];
        for (engines, devices, right) in cases {
            assert_eq!(each(engines, devices).expect("good flags"), right);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        type Case<'a> = (&'a [EngineName], &'a [&'a str], &'a str);
        let cases: [Case<'_>; 6] = [
            (&[Auto, Cpu], &[], "--engine auto chooses by itself"),
            (&[Cpu, Cpu], &[], "--engine names cpu twice"),
            (&[], &["0"], "--device goes with --engine cuda or --engine wgpu"),
            (&[Cpu], &["cuda:0"], "--device goes with"),
            (&[Cuda], &["0", "cuda:0"], "--device cuda:0: the same device twice"),
            (&[Cuda, Wgpu], &["0"], "--device 0: say of which engine, as cuda:0 or wgpu:0"),
        ];
        for (engines, devices, why) in cases {
            let words = each(engines, devices).expect_err("bad flags");
            assert!(words.starts_with(why), "{words}");
        }
    }
}
