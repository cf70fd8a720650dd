//! The flags that select engines.

use crate::flags::usage_error::UsageError;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hashmill_engines::{EngineList, EngineName, EngineSpec};
use std::fmt;

/// One engine.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EngineFlags {
    /// Engine: auto, cpu, cuda, wgpu [default: auto]
    ///
    /// auto is the CPU, or for passwords a device that `hashmill tune` has measured to be faster; `hashmill info` says why. cuda is
    /// a device of NVIDIA's driver, wgpu one with Vulkan, Metal or DirectX 12, in programs built with the feature gpu.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = engine_parser(),
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = "Speed",
        hide_short_help = true
    )]
    pub(crate) engine: EngineName,

    /// Device of this engine: its number in `hashmill info`, or a part of its name
    #[arg(long, value_name = "DEVICE", help_heading = "Speed", hide_short_help = true)]
    pub(crate) device: Option<String>,
}

/// The parser of engine names.
fn engine_parser() -> impl TypedValueParser<Value = EngineName> {
    PossibleValuesParser::new(EngineName::ALL.map(EngineName::name))
        .try_map(|name| name.parse::<EngineName>())
}

impl EngineFlags {
    /// Whether the engine is a device.
    pub(crate) fn is_device(&self) -> bool {
        self.engine.is_device()
    }

    /// Refuses `--device` without an engine that has devices.
    pub(crate) fn check(&self) -> Result<(), UsageError> {
        match self.device {
            Some(_) if !self.is_device() => {
                Err(UsageError("--device needs --engine cuda or --engine wgpu".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// The engine, named in messages as on the command line.
    fn spec(&self) -> EngineSpec {
        EngineSpec::new(self.engine, self.device.clone()).with_label(self.to_string())
    }

    /// The engine as a list of one.
    pub(crate) fn list(&self) -> Result<EngineList, UsageError> {
        self.check()?;
        engine_list(vec![self.spec()], self.to_string())
    }
}

fn engine_list(engines: Vec<EngineSpec>, label: String) -> Result<EngineList, UsageError> {
    EngineList::new(engines, label).map_err(|error| UsageError(error.to_string()))
}

/// As on the command line.
impl fmt::Display for EngineFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--engine {}", self.engine.name())?;
        match &self.device {
            Some(device) => write!(f, " --device {device}"),
            None => Ok(()),
        }
    }
}

/// One engine for Argon2, or several that share a batch.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EnginesFlags {
    /// Engine: auto, cpu, cuda, wgpu, or several together, as cpu,cuda [default: auto]
    ///
    /// auto is the CPU, or a device that `hashmill tune` has measured to be faster; `hashmill info` says why. cuda is a device of
    /// NVIDIA's driver, wgpu one with Vulkan, Metal or DirectX 12, in programs built with the feature gpu. Several engines share
    /// the hashes of a batch and the free memory; if one fails, the others take over.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = engine_parser(),
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "Speed",
        hide_short_help = true
    )]
    pub(crate) engine: Vec<EngineName>,

    /// Device of this engine: its number in `hashmill info`, or a part of its name; may be repeated
    ///
    /// With both cuda and wgpu: as cuda:0, or wgpu:1.
    #[arg(long, value_name = "DEVICE", help_heading = "Speed", hide_short_help = true)]
    pub(crate) device: Vec<String>,
}

impl EnginesFlags {
    /// The requested engines, each with at most one device; the default engine if none is requested.
    fn each(&self) -> Result<Vec<EngineFlags>, UsageError> {
        let none = EngineFlags::default();
        let engines = if self.engine.is_empty() { &[none.engine] } else { &self.engine[..] };
        let mut devices: Vec<(EngineName, &str)> = Vec::new();
        for requested in &self.device {
            let device = engine_of_device(engines, requested)?;
            if devices.contains(&device) {
                return Err(UsageError(format!("--device {requested}: the same device twice")));
            }
            devices.push(device);
        }
        let mut each = Vec::new();
        for (index, &engine) in engines.iter().enumerate() {
            let name = engine.name();
            if engine == EngineName::Auto && engines.len() > 1 {
                return Err(UsageError("--engine auto cannot be combined with other engines".to_owned()));
            }
            if engines[..index].contains(&engine) {
                let message = format!("--engine names {name} twice: give one --device per device");
                return Err(UsageError(message));
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

    /// The requested engines, named in messages as on the command line.
    pub(crate) fn list(&self) -> Result<EngineList, UsageError> {
        engine_list(self.each()?.iter().map(EngineFlags::spec).collect(), self.to_string())
    }
}

/// The engine that a device argument belongs to.
fn engine_of_device<'a>(
    engines: &[EngineName],
    device: &'a str,
) -> Result<(EngineName, &'a str), UsageError> {
    let mut with_devices =
        engines.iter().copied().filter(|engine| EngineFlags { engine: *engine, device: None }.is_device());
    let named = with_devices.clone().find_map(|engine| {
        let device = device.strip_prefix(engine.name())?.strip_prefix(':')?;
        Some((engine, device))
    });
    match (named, with_devices.next(), with_devices.next()) {
        (Some(named), ..) => Ok(named),
        (None, Some(engine), None) => Ok((engine, device)),
        (None, None, _) => Err(UsageError("--device needs --engine cuda or --engine wgpu".to_owned())),
        (None, Some(_), Some(_)) => {
            Err(UsageError(format!("--device {device}: name its engine, as cuda:{device} or wgpu:{device}")))
        }
    }
}

/// As on the command line.
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
            Err(UsageError(words)) => Err(words),
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
            // A PCI address has colons, too.
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
    fn rejects_ambiguous_flags() {
        type Case<'a> = (&'a [EngineName], &'a [&'a str], &'a str);
        let cases: [Case<'_>; 6] = [
            (&[Auto, Cpu], &[], "--engine auto cannot be combined"),
            (&[Cpu, Cpu], &[], "--engine names cpu twice"),
            (&[], &["0"], "--device needs --engine cuda or --engine wgpu"),
            (&[Cpu], &["cuda:0"], "--device needs"),
            (&[Cuda], &["0", "cuda:0"], "--device cuda:0: the same device twice"),
            (&[Cuda, Wgpu], &["0"], "--device 0: name its engine, as cuda:0 or wgpu:0"),
        ];
        for (engines, devices, reason) in cases {
            let message = each(engines, devices).expect_err("bad flags");
            assert!(message.starts_with(reason), "{message}");
        }
    }
}
