//! Device descriptions, and selection by name, id or kind. No device calls here.

use crate::Error;
use std::fmt;

/// A device as described by its driver.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Info {
    /// Its name.
    pub name: String,
    /// Its unique id, if the driver has one: `GPU-` and a UUID.
    pub id: Option<String>,
    /// Its bus address, if the driver reports it, as `0000:01:00.0`.
    pub bus: Option<String>,
    /// The kind of device.
    pub kind: Kind,
    /// The interface through which it is used: `Vulkan`, `Metal`, `DirectX 12`.
    pub interface: &'static str,
    /// The driver and its version.
    pub driver: String,
    /// Bytes of device-local memory, if the driver reports them.
    pub memory: Option<u64>,
    /// The most bytes that a kernel can address at a time.
    pub binding: u64,
    /// The most bytes of a buffer.
    pub buffer: u64,
    /// The most threads of a subgroup, which share their instructions.
    pub subgroup: u32,
    /// The missing feature, if it cannot be used.
    pub lacks: Option<String>,
}

impl Info {
    /// One-line key for stored measurements: equal for equal devices with the same driver.
    pub fn model(&self) -> String {
        let Info { name, interface, driver, memory, .. } = self;
        let memory =
            memory.map_or("memory of unknown size".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
        let line = format!("{name}, {memory}, {interface}, {driver}");
        // Control characters of a driver must not break the line.
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }

    /// Do both describe the same device, perhaps through different interfaces? `false` if neither the ids nor the bus
    /// addresses of both are known.
    pub fn is_same(&self, other: &Info) -> bool {
        let both = |own: &Option<String>, other: &Option<String>| Some(own.as_ref()? == other.as_ref()?);
        both(&self.id, &other.id).or_else(|| both(&self.bus, &other.bus)).unwrap_or(false)
    }

    /// Do these lower-case words match part of its name, the beginning of its id, or its bus address?
    fn is_named_by(&self, words: &str) -> bool {
        let begins = |id: &str| words.len() >= MIN_ID_PREFIX && id.starts_with(words);
        let id = self.id.as_deref().map(str::to_lowercase);
        id.is_some_and(|id| begins(&id) || id.strip_prefix("gpu-").is_some_and(begins))
            || self.bus.as_deref() == Some(words)
            || self.name.to_lowercase().contains(words)
    }
}

/// Shortest accepted beginning of an id: a shorter one could match a device that is added later.
const MIN_ID_PREFIX: usize = 4;

/// Selects one device of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Selector<'a> {
    /// The one that [`best`] returns.
    Best,
    /// The one with this index.
    Number(usize),
    /// The one with this number, full name, beginning of an id, bus address or part of a name, in upper or lower
    /// case.
    Name(&'a str),
    /// The first one with this [`Info::model`].
    Model(&'a str),
}

impl<'a> Selector<'a> {
    /// By this name, or else the best.
    pub fn from_name(name: Option<&'a str>) -> Selector<'a> {
        name.map_or(Selector::Best, Selector::Name)
    }

    /// The index of the selected device.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without a usable device or with an index beyond the end; [`Error::Selector`] if no
    /// device has this name or model, or several have this name.
    pub fn choose(self, devices: &[Info]) -> Result<usize, Error> {
        let found = devices.len();
        match self {
            Selector::Best => best(devices).ok_or(Error::NoDevice { found: 0 }),
            Selector::Number(number) if number < found => Ok(number),
            Selector::Number(_) => Err(Error::NoDevice { found }),
            Selector::Name(name) => find_by_name(devices, name),
            Selector::Model(model) => {
                let number = devices.iter().position(|device| device.model() == model);
                number.ok_or_else(|| selector_error(model, 0, found))
            }
        }
    }
}

fn find_by_name(devices: &[Info], requested: &str) -> Result<usize, Error> {
    let (found, words) = (devices.len(), requested.trim().to_lowercase());
    if let Ok(number) = words.parse::<usize>() {
        return if number < found { Ok(number) } else { Err(selector_error(requested, 0, found)) };
    }
    let numbers = |is_match: &dyn Fn(&Info) -> bool| -> Vec<usize> {
        (0..found).filter(|&number| is_match(&devices[number])).collect()
    };
    // First whole names: a name may be the beginning of another.
    let same_name = numbers(&|device| device.name.to_lowercase() == words);
    let matches = if same_name.is_empty() && !words.is_empty() {
        numbers(&|device| device.is_named_by(&words))
    } else {
        same_name
    };
    match matches[..] {
        [number] => Ok(number),
        _ => Err(selector_error(requested, matches.len(), found)),
    }
}

fn selector_error(requested: &str, matches: usize, found: usize) -> Error {
    Error::Selector { requested: requested.to_owned(), matches, found }
}

/// Kind of a device, the one likely to be fastest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A card with memory of its own.
    Discrete,
    /// A part of the processor, with the same memory.
    Integrated,
    /// A device that a host gives to a virtual machine.
    Virtual,
    /// Any other device.
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

/// The number of the default device: the first usable one of the best kind.
pub fn best(devices: &[Info]) -> Option<usize> {
    let usable = devices.iter().enumerate().filter(|(_, device)| device.lacks.is_none());
    usable.min_by_key(|(_, device)| device.kind).map(|(number, _)| number)
}

/// Reason why the processor hashes bytes in host memory or files unless a device is requested.
pub fn reason_for_processor(devices: &[Info]) -> &'static str {
    match best(devices).map(|number| devices[number].kind) {
        None => "there is no device",
        Some(Kind::Software) => "the only device is the processor itself",
        Some(Kind::Integrated) => {
            "it shares its memory with the device, and no measurement shows that the device is faster"
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
    fn the_default_is_the_first_usable_device_of_the_best_kind() {
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
    fn a_device_is_found_by_number_name_id_or_bus_address() {
        let all = [
            named("Radeon 9070", None, Some("0000:03:00.0")),
            named("Radeon 9070 XT", None, Some("0000:0c:00.0")),
            named("NVIDIA H200", Some("GPU-8e2f0001-aaaa"), Some("0000:0a:00.0")),
            named("NVIDIA H200", Some("GPU-8e2f0002-bbbb"), Some("0000:0b:00.0")),
        ];
        for (requested, number) in [
            ("0", 0),
            (" 3 ", 3),
            ("radeon 9070", 0),
            ("9070 xt", 1),
            ("GPU-8e2f0002", 3),
            ("8E2F0001", 2),
            ("gpu-8e2f0001-aaaa", 2),
            ("0000:0b:00.0", 3),
        ] {
            assert_eq!(find_by_name(&all, requested), Ok(number), "{requested}");
        }
        for (requested, matches) in
            [("4", 0), ("", 0), ("  ", 0), ("RTX", 0), ("h200", 2), ("gpu-8e2f", 2), ("8e2", 0), ("-1", 0)]
        {
            let error = find_by_name(&all, requested).unwrap_err();
            assert_eq!(error, selector_error(requested, matches, 4));
        }
        assert_eq!(Selector::Number(3).choose(&all), Ok(3));
        assert_eq!(Selector::Number(4).choose(&all), Err(Error::NoDevice { found: 4 }));
        assert_eq!(Selector::Best.choose(&all), Ok(0));
        assert_eq!(Selector::Best.choose(&[]), Err(Error::NoDevice { found: 0 }));
        assert_eq!(Selector::Model(&all[3].model()).choose(&all), Ok(2), "the first of equal ones");
        let error = Selector::Model("NVIDIA H200").choose(&all);
        assert_eq!(error, Err(selector_error("NVIDIA H200", 0, 4)));
        assert_eq!(find_by_name(&[], "0"), Err(selector_error("0", 0, 0)));
        assert_eq!(
            find_by_name(&all, "h200").unwrap_err().to_string(),
            "2 devices have \"h200\" in their names or ids: choose by number"
        );
    }

    #[test]
    fn one_card_is_recognised_through_both_interfaces() {
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
    fn equal_devices_have_the_same_one_line_model() {
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
        let reason = |kind| reason_for_processor(&[device(kind, None)]);
        assert_eq!(reason_for_processor(&[]), "there is no device");
        assert!(reason(Kind::Software).contains("processor itself"));
        assert!(reason(Kind::Integrated).contains("shares"));
        assert!(reason(Kind::Discrete).contains("bus"));
    }
}
