//! What is known of a device, and what follows from it: no device is touched here.

use crate::Error;
use std::fmt;

/// A device, as its driver describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Info {
    /// Its name.
    pub name: String,
    /// What tells it from every other, where the driver says so: `GPU-` and a UUID.
    pub id: Option<String>,
    /// Where it is plugged in, where the driver says so, as `0000:01:00.0`.
    pub bus: Option<String>,
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

impl Info {
    /// What measurements of it are kept under, on one line: equal for equal devices with the same driver.
    pub fn model(&self) -> String {
        let Info { name, interface, driver, memory, .. } = self;
        let memory =
            memory.map_or("memory of unknown size".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
        let line = format!("{name}, {memory}, {interface}, {driver}");
        // Whatever a driver says, it stays one line.
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }

    /// Whether both are one and the same, perhaps by another interface. Where neither says who it is, nobody knows: no.
    pub fn is_same(&self, other: &Info) -> bool {
        let both = |mine: &Option<String>, other: &Option<String>| Some(mine.as_ref()? == other.as_ref()?);
        both(&self.id, &other.id).or_else(|| both(&self.bus, &other.bus)).unwrap_or(false)
    }

    /// Whether these words, in small letters, are part of its name, the beginning of its id, or its place.
    fn is_meant_by(&self, words: &str) -> bool {
        let id = self.id.as_deref().map(str::to_lowercase).unwrap_or_default();
        let begins = |id: &str| words.len() >= LEAST_OF_ID && id.starts_with(words);
        begins(&id)
            || id.strip_prefix("gpu-").is_some_and(begins)
            || self.bus.as_deref() == Some(words)
            || self.name.to_lowercase().contains(words)
    }
}

/// Fewer letters are no beginning of an id: they may well be that of another, next time.
const LEAST_OF_ID: usize = 4;

/// The one device that is meant by its number, the whole of its name, the beginning of its id, its place, or a part of its name;
/// large and small letters are the same.
///
/// # Errors
/// [`Error::Which`] where no device is meant, or several are.
pub fn find(devices: &[Info], asked: &str) -> Result<usize, Error> {
    let (found, words) = (devices.len(), asked.trim().to_lowercase());
    if let Ok(number) = words.parse::<usize>() {
        let fits = usize::from(number < found);
        return if fits == 1 { Ok(number) } else { Err(which(asked, fits, found)) };
    }
    let numbers = |is: &dyn Fn(&Info) -> bool| -> Vec<usize> {
        (0..found).filter(|&number| is(&devices[number])).collect()
    };
    // A name may be the beginning of another.
    let whole = numbers(&|device| device.name.to_lowercase() == words);
    let fits = if whole.is_empty() && !words.is_empty() {
        numbers(&|device| device.is_meant_by(&words))
    } else {
        whole
    };
    match fits[..] {
        [number] => Ok(number),
        _ => Err(which(asked, fits.len(), found)),
    }
}

fn which(asked: &str, fits: usize, found: usize) -> Error {
    Error::Which { asked: asked.to_owned(), fits, found }
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
            "bytes reach a device over its bus: an H200 hashed 40 GB/s of them, the 16 processors beside it 60"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: Kind, lacks: Option<&str>) -> Info {
        Info {
            name: kind.to_string(),
            id: None,
            bus: None,
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

    fn named(name: &str, id: Option<&str>, bus: Option<&str>) -> Info {
        let (id, bus) = (id.map(str::to_owned), bus.map(str::to_owned));
        Info { name: name.to_owned(), id, bus, ..device(Kind::Discrete, None) }
    }

    #[test]
    fn a_device_is_found_by_whatever_tells_it_from_others() {
        let all = [
            named("Radeon 9070", None, Some("0000:03:00.0")),
            named("Radeon 9070 XT", None, Some("0000:0c:00.0")),
            named("NVIDIA H200", Some("GPU-8e2f0001-aaaa"), Some("0000:0a:00.0")),
            named("NVIDIA H200", Some("GPU-8e2f0002-bbbb"), Some("0000:0b:00.0")),
        ];
        for (asked, number) in [
            ("0", 0),
            (" 3 ", 3),
            ("radeon 9070", 0),
            ("9070 xt", 1),
            ("GPU-8e2f0002", 3),
            ("8E2F0001", 2),
            ("gpu-8e2f0001-aaaa", 2),
            ("0000:0b:00.0", 3),
        ] {
            assert_eq!(find(&all, asked), Ok(number), "{asked}");
        }
        for (asked, fits) in
            [("4", 0), ("", 0), ("  ", 0), ("RTX", 0), ("h200", 2), ("gpu-8e2f", 2), ("8e2", 0), ("-1", 0)]
        {
            let error = find(&all, asked).unwrap_err();
            assert_eq!(error, Error::Which { asked: asked.to_owned(), fits, found: 4 });
        }
        assert_eq!(find(&[], "0"), Err(Error::Which { asked: "0".to_owned(), fits: 0, found: 0 }));
        assert_eq!(
            find(&all, "h200").unwrap_err().to_string(),
            "2 devices have \"h200\" in their names or ids: choose by number"
        );
    }

    #[test]
    fn one_card_is_the_same_by_either_interface_and_no_other() {
        let [a, b] = ["GPU-1", "GPU-2"].map(|id| named("a card", Some(id), Some("0000:01:00.0")));
        let vulkan = named("a card (RADV)", None, Some("0000:01:00.0"));
        assert!(
            a.is_same(&a) && a.is_same(&vulkan) && vulkan.is_same(&b) && !a.is_same(&b),
            "parts of one card"
        );
        let unknown = named("a card", None, None);
        assert!(!unknown.is_same(&unknown));
    }

    #[test]
    fn measurements_are_kept_under_one_line_for_equal_devices() {
        let of = |driver: &str, memory| Info {
            driver: driver.to_owned(),
            memory,
            ..named("a card", Some("GPU-1"), None)
        };
        assert_eq!(of("one\ntwo", Some(3 << 20)).model(), "a card, 3 MiB, none, one two");
        assert_eq!(of("1", None).model(), "a card, memory of unknown size, none, 1");
        let other = Info { id: Some("GPU-2".to_owned()), ..of("1", None) };
        assert_eq!(of("1", None).model(), other.model());
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
