//! Lists of engines by name, as `cpu,cuda:1`.

use std::fmt;
use std::str::FromStr;

/// Engines by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum EngineName {
    /// The CPU, or a device that was measured to be faster.
    #[default]
    Auto,
    /// All threads of the processor.
    Cpu,
    /// A device of NVIDIA's driver.
    Cuda,
    /// A device with Vulkan, Metal or DirectX 12.
    Wgpu,
}

impl EngineName {
    /// All names, in the order in which people read them.
    pub const ALL: [EngineName; 4] = [EngineName::Auto, EngineName::Cpu, EngineName::Cuda, EngineName::Wgpu];

    /// The name as people write it.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Auto => "auto",
            EngineName::Cpu => "cpu",
            EngineName::Cuda => "cuda",
            EngineName::Wgpu => "wgpu",
        }
    }

    /// Whether the engine is a device.
    pub fn is_device(self) -> bool {
        matches!(self, EngineName::Cuda | EngineName::Wgpu)
    }

    /// The name that `word` is most likely a misspelling of.
    fn nearest(word: &str) -> Option<EngineName> {
        let word = word.to_lowercase();
        let distances =
            EngineName::ALL.into_iter().map(|engine| (edit_distance(&word, engine.name()), engine));
        let (distance, engine) = distances.min_by_key(|(distance, _)| *distance)?;
        // Two edits turn any word of two letters into any other.
        (distance <= 2 && distance < word.chars().count()).then_some(engine)
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineName {
    type Err = EngineListError;

    fn from_str(word: &str) -> Result<EngineName, EngineListError> {
        let known = EngineName::ALL.into_iter().find(|engine| engine.name() == word);
        known.ok_or_else(|| EngineListError::Unknown {
            part: word.to_owned(),
            nearest: EngineName::nearest(word),
        })
    }
}

/// Insertions, deletions and replacements that turn one word into the other.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for column in 0..other.len() {
            let replaced = diagonal + usize::from(letter != other[column]);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// One engine, with the device that it is to use.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineSpec {
    /// The engine.
    pub engine: EngineName,
    /// The number of its device, a part of its name, id or bus address; `None` is the best one.
    pub device: Option<String>,
    /// Its name in messages.
    pub label: String,
}

impl EngineSpec {
    /// An engine with this device, whose name in messages is that in lists.
    pub fn new(engine: EngineName, device: Option<String>) -> EngineSpec {
        let label = match &device {
            Some(device) => format!("{engine}:{device}"),
            None => engine.to_string(),
        };
        EngineSpec { engine, device, label }
    }

    /// The same engine with another name in messages.
    #[must_use]
    pub fn with_label(self, label: String) -> EngineSpec {
        EngineSpec { label, ..self }
    }
}

impl FromStr for EngineSpec {
    type Err = EngineListError;

    /// Parses `ENGINE` or `ENGINE:DEVICE`.
    fn from_str(part: &str) -> Result<EngineSpec, EngineListError> {
        let part = part.trim();
        let (name, device) =
            part.split_once(':').map_or((part, None), |(name, device)| (name, Some(device.trim())));
        let name = name.trim();
        if part.is_empty() {
            return Err(EngineListError::Empty);
        }
        let engine = name.parse().map_err(|error| match error {
            EngineListError::Unknown { nearest, .. } => {
                EngineListError::Unknown { part: part.to_owned(), nearest }
            }
            error => error,
        })?;
        match device {
            Some(_) if !EngineName::is_device(engine) => {
                Err(EngineListError::NoDevices { part: part.to_owned() })
            }
            Some("") => Err(EngineListError::NoDeviceNamed { part: part.to_owned() }),
            device => Ok(EngineSpec::new(engine, device.map(str::to_owned))),
        }
    }
}

/// Engines that work together, and the name of all in messages.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineList {
    /// The engines, in the order of the request.
    pub engines: Vec<EngineSpec>,
    /// Their common name in messages.
    pub label: String,
}

impl EngineList {
    /// Combines engines.
    ///
    /// # Errors
    /// No engines, the same engine twice, or `auto` beside others.
    pub fn new(engines: Vec<EngineSpec>, label: String) -> Result<EngineList, EngineListError> {
        if engines.is_empty() {
            return Err(EngineListError::Empty);
        }
        for (index, spec) in engines.iter().enumerate() {
            let part = || spec.label.clone();
            if spec.engine == EngineName::Auto && engines.len() > 1 {
                return Err(EngineListError::AutoWithOthers { part: part() });
            }
            let is_same = |other: &EngineSpec| (other.engine, &other.device) == (spec.engine, &spec.device);
            if engines[..index].iter().any(is_same) {
                return Err(EngineListError::Twice { part: part() });
            }
        }
        Ok(EngineList { engines, label })
    }
}

impl FromStr for EngineList {
    type Err = EngineListError;

    /// Parses engines separated by commas, as `cpu,cuda:1`.
    fn from_str(text: &str) -> Result<EngineList, EngineListError> {
        let engines = text.split(',').map(str::parse).collect::<Result<Vec<EngineSpec>, _>>()?;
        EngineList::new(engines, text.trim().to_owned())
    }
}

/// Error of a list of engines: always the caller's, with the faulty part.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EngineListError {
    /// An empty list, or an empty part of one.
    Empty,
    /// A name that no engine has.
    Unknown {
        /// The part of the list.
        part: String,
        /// The most similar name.
        nearest: Option<EngineName>,
    },
    /// A device of an engine that has none.
    NoDevices {
        /// The part of the list.
        part: String,
    },
    /// A colon without a device.
    NoDeviceNamed {
        /// The part of the list.
        part: String,
    },
    /// The same engine twice.
    Twice {
        /// The second of both.
        part: String,
    },
    /// `auto` beside other engines.
    AutoWithOthers {
        /// The part of the list.
        part: String,
    },
}

impl fmt::Display for EngineListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineListError::Empty => {
                f.write_str("an engine without a name: use auto, cpu, cuda or wgpu, or several as cpu,cuda:1")
            }
            EngineListError::Unknown { part, nearest: Some(nearest) } => {
                write!(f, "no engine is called {part:?}: did you mean {nearest}?")
            }
            EngineListError::Unknown { part, nearest: None } => {
                write!(f, "no engine is called {part:?}: use auto, cpu, cuda or wgpu")
            }
            EngineListError::NoDevices { part } => {
                write!(f, "{part:?}: only cuda and wgpu have devices")
            }
            EngineListError::NoDeviceNamed { part } => {
                write!(f, "{part:?}: name a device by its number or a part of its name, as {part}0")
            }
            EngineListError::Twice { part } => {
                write!(f, "{part:?} is in the list twice: name a different device for each")
            }
            EngineListError::AutoWithOthers { part } => {
                write!(f, "{part:?} cannot be combined with other engines")
            }
        }
    }
}

impl std::error::Error for EngineListError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parsed_part_by_part() {
        let list: EngineList = " cpu, cuda:1,wgpu:0000:0b:00.0 ".parse().expect("a list");
        let parts: Vec<_> = list.engines.iter().map(|spec| (spec.engine, spec.device.as_deref())).collect();
        let expected = [
            (EngineName::Cpu, None),
            (EngineName::Cuda, Some("1")),
            (EngineName::Wgpu, Some("0000:0b:00.0")),
        ];
        assert_eq!(parts, expected);
        assert_eq!(list.engines[1].label, "cuda:1");
        for engine in EngineName::ALL {
            assert_eq!(engine.name().parse(), Ok(engine));
        }
    }

    #[test]
    fn errors_name_the_part_and_the_nearest_name() {
        for (text, message) in [
            ("", "an engine without a name"),
            ("cpu,", "an engine without a name"),
            ("cpu,cuad:1", "no engine is called \"cuad:1\": did you mean cuda?"),
            ("CPU", "no engine is called \"CPU\": did you mean cpu?"),
            ("gpu", "no engine is called \"gpu\": did you mean"),
            ("vulkan", "no engine is called \"vulkan\": use auto, cpu, cuda or wgpu"),
            ("cpu:0", "\"cpu:0\": only cuda and wgpu have devices"),
            ("auto:1", "\"auto:1\": only cuda"),
            ("cuda:", "\"cuda:\": name a device by its number"),
            ("cuda:1,cpu,cuda:1", "\"cuda:1\" is in the list twice"),
            ("cpu,auto", "\"auto\" cannot be combined"),
        ] {
            let error = text.parse::<EngineList>().expect_err(text).to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
