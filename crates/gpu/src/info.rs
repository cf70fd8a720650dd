//! What is known of a device, and what follows from it: no device is touched here.

use std::fmt;

/// A device, as its driver describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Info {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// By what it is spoken to: `Vulkan`, `Metal`, `DirectX 12`.
    pub interface: &'static str,
    /// The driver and its version.
    pub driver: String,
    /// Bytes of memory that are near to it, where the driver says so.
    pub memory: Option<u64>,
    /// The most bytes that a kernel sees at a time.
    pub binding: u64,
    /// The most bytes of a buffer.
    pub buffer: u64,
    /// The widest group of threads that share their instructions.
    pub subgroup: u32,
    /// Why it cannot be used, if so.
    pub lacks: Option<String>,
}

/// What a device is. Those that are likely to be fastest come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A card with memory of its own.
    Discrete,
    /// A part of the processor, with the same memory.
    Integrated,
    /// What a host gives to a virtual machine.
    Virtual,
    /// Something else.
    Other,
    /// The processor itself: for tests.
    Software,
}

impl Kind {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Discrete => "discrete",
            Kind::Integrated => "integrated",
            Kind::Virtual => "virtual",
            Kind::Other => "other",
            Kind::Software => "software",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of the device that would be used: the first of the best kind.
pub fn best(devices: &[Info]) -> Option<usize> {
    let usable = devices.iter().enumerate().filter(|(_, device)| device.lacks.is_none());
    usable.min_by_key(|(_, device)| device.kind).map(|(number, _)| number)
}

/// Why bytes that lie in the memory of the host, or in files, are hashed by the processor if nobody asks for a device.
pub fn why_processor(devices: &[Info]) -> &'static str {
    match best(devices).map(|number| devices[number].kind) {
        None => "there is no device",
        Some(Kind::Software) => "the only device is the processor itself",
        Some(Kind::Integrated) => {
            "it shares its memory with the device, and nobody has measured the device to be faster"
        }
        // bench/records/intel-xeon-processor-f6m207-16t-h200.
        Some(_) => {
            "bytes reach a device over its bus: an H200 hashed 19 GB/s of them, the 16 processors beside it 60"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: Kind, lacks: Option<&str>) -> Info {
        Info {
            name: kind.to_string(),
            kind,
            interface: "none",
            driver: String::new(),
            memory: None,
            binding: 0,
            buffer: 0,
            subgroup: 0,
            lacks: lacks.map(str::to_owned),
        }
    }

    #[test]
    fn the_first_of_the_best_kind_that_works_is_taken() {
        let all = [
            device(Kind::Software, None),
            device(Kind::Discrete, Some("everything")),
            device(Kind::Integrated, None),
            device(Kind::Integrated, None),
        ];
        assert_eq!(best(&all), Some(2));
        assert_eq!(best(&all[..2]), Some(0));
        assert_eq!(best(&all[1..2]), None);
    }

    #[test]
    fn every_kind_has_its_reason() {
        let why = |kind| why_processor(&[device(kind, None)]);
        assert_eq!(why_processor(&[]), "there is no device");
        assert!(why(Kind::Software).contains("processor itself"));
        assert!(why(Kind::Integrated).contains("shares"));
        assert!(why(Kind::Discrete).contains("bus"));
    }
}
