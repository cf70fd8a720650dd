//! What `hashmill tune` chose for this processor, and for devices beside it: a file of the user's.
//!
//! Digests do not depend on it, so nothing fails because of it, and what is wrong with it only `hashmill info` says. It holds
//! for one processor, one version of the program and the kernels that it had there: elsewhere, what is built in is used. What it
//! says of a device holds for its name, memory and driver.

mod tiles;

pub(crate) use tiles::TunedTiles;

use crate::os::{self, Hold};
use crate::out::shown;
use crate::replace::{explain, put};
use anyhow::{Context, Result, bail};
use hashmill_atomic_file::{Expected, Replacement, open_lock};
use hashmill_hash::argon2;
use hashmill_hash::blake3::{Kernel, Plan, Role, Tuning};
use hashmill_hash::isa::{Cpu, Vendor};
use hashmill_machine as machine;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

/// The first line of the file. Another format would have another number.
const FORMAT: &str = "hashmill-tune/2";

/// The same without devices.
const FORMER: &str = "hashmill-tune/1";

/// Of this program no file is as long.
const MOST_BYTES: u64 = 64 << 10;

/// Costs of devices, each of which takes some hundred bytes.
const MOST_DEVICES: usize = 64;

/// What plans say of where they come from.
const BASIS: &str = "measured here by hashmill tune";

/// With this value, the file is not looked at.
const SWITCH: (&str, &str) = ("HASHMILL_TUNE", "off");

/// The file, in the order in which people read it. Entries of devices are understood one by one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<D, F> {
    format: String,
    place: Place,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choice: Option<Choice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    devices: Vec<D>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<F>,
}

/// What was chosen, as far as somebody asked.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Kept {
    /// Of the processor.
    pub(crate) choice: Option<Choice>,
    /// The newest first.
    pub(crate) devices: Vec<Tuned>,
    /// How files are cut for them, the newest first.
    pub(crate) files: Vec<TunedTiles>,
    /// Entries of devices that hold nothing, and why.
    pub(crate) faults: Vec<String>,
}

/// How Argon2 of these costs is laid out on a device, and how fast it is there.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tuned {
    pub(crate) measured: String,
    /// As in `--engine`.
    pub(crate) engine: String,
    /// Its name, memory and driver.
    pub(crate) device: String,
    /// What kind of device that is. Empty where nobody said so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) kind: String,
    pub(crate) memory_kib: u32,
    pub(crate) passes: u32,
    pub(crate) lanes: u32,
    pub(crate) tuning: String,
    pub(crate) hashes_per_second: f64,
    /// The same of all threads of the processor.
    pub(crate) of_processor: f64,
}

/// As much of it as says whether the rest can be understood.
#[derive(Deserialize)]
struct Head {
    format: String,
}

/// Where a choice holds.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    hashmill: String,
    processor: String,
    vendor: String,
    family: u32,
    model: u32,
    stepping: u32,
    features: Vec<String>,
    /// The kernels that there are.
    blake3: Vec<String>,
    argon2: Vec<String>,
}

/// What was chosen, and when.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    pub(crate) measured: String,
    pub(crate) blake3: Blake3,
    pub(crate) argon2: Argon2,
}

/// A kernel for each role, and from how many bytes on a second thread pays.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Blake3 {
    pub(crate) block: String,
    pub(crate) chunk: String,
    pub(crate) many: String,
    pub(crate) xof: String,
    pub(crate) parallel_from: u64,
}

/// A kernel, and how many streams a thread interleaves.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Argon2 {
    pub(crate) kernel: String,
    pub(crate) lanes: Vec<Streams>,
    pub(crate) hashes: Vec<Streams>,
}

/// An entry of a table: the first whose memory is not less counts.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Streams {
    pub(crate) up_to_kib: u32,
    pub(crate) streams: usize,
}

impl Place {
    /// This processor, and this program.
    pub(crate) fn here() -> Place {
        let cpu = Cpu::detect();
        let vendor = match cpu.vendor {
            Vendor::Amd => "AMD",
            Vendor::Intel => "Intel",
            Vendor::Arm => "Arm",
            Vendor::Apple => "Apple",
            _ => "other",
        };
        // Where the processor has no name, the system may have a number for it.
        let name = Some(cpu.brand().to_owned()).filter(|name| !name.is_empty());
        Place {
            hashmill: env!("CARGO_PKG_VERSION").to_owned(),
            processor: name.or_else(machine::midr).unwrap_or_default(),
            vendor: vendor.to_owned(),
            family: cpu.family,
            // Where large cores and small ones are mixed, this is of whichever asks; the number above is of the first.
            model: if cfg!(target_arch = "aarch64") { 0 } else { cpu.model },
            stepping: cpu.stepping,
            features: cpu.features.iter().map(|feature| feature.name().to_owned()).collect(),
            blake3: Kernel::all().map(|kernel| kernel.name().to_owned()).collect(),
            argon2: argon2::Kernel::all().map(|kernel| kernel.name().to_owned()).collect(),
        }
    }

    /// Why what was chosen there does not hold here, if so.
    fn differs(&self, here: &Place) -> Option<String> {
        if self.hashmill != here.hashmill {
            return Some(format!("it was measured by hashmill {}", self.hashmill));
        }
        let processor = Place { blake3: here.blake3.clone(), argon2: here.argon2.clone(), ..self.clone() };
        if processor != *here {
            let name = if self.processor.is_empty() { &self.vendor } else { &self.processor };
            return Some(format!(
                "it was measured on another processor, {name} ({}-{}-{})",
                self.family, self.model, self.stepping
            ));
        }
        (self != here).then(|| "it was measured with other kernels".to_owned())
    }
}

impl Kept {
    /// How Argon2 is computed here. The plan stays for as long as the program runs, so whoever wants one asks once.
    pub(crate) fn argon2(&self) -> argon2::Plan {
        self.choice.as_ref().map_or_else(argon2::Plan::host, Choice::argon2)
    }

    /// Takes what was measured of a device in the place of what was measured of it before.
    #[cfg(feature = "gpu")]
    pub(crate) fn take(&mut self, new: Tuned) {
        let is_old = |old: &Tuned| old.is_for(&new.engine, &new.device) && old.costs() == new.costs();
        self.devices.retain(|old| !is_old(old));
        self.devices.insert(0, new);
    }

    /// The same of what was measured of files.
    #[cfg(feature = "gpu")]
    pub(crate) fn take_tiles(&mut self, new: TunedTiles) {
        self.files.retain(|old| !old.is_for(&new.engine, &new.device));
        self.files.insert(0, new);
    }

    /// What this program would not have written, if anything.
    fn fault(&self, place: &Place) -> Option<String> {
        let no_device = self.devices.is_empty() && self.files.is_empty();
        if self.choice.is_none() && no_device && self.faults.is_empty() {
            return Some("it says nothing".to_owned());
        }
        self.choice.as_ref().and_then(|choice| choice.fault(place))
    }
}

impl Tuned {
    /// The day.
    pub(crate) fn date(&self) -> &str {
        self.measured.get(..10).unwrap_or_default()
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn is_for(&self, engine: &str, model: &str) -> bool {
        self.engine == engine && self.device == model
    }

    /// Whether the device computed more of them in a second than the processor beside it.
    #[cfg(feature = "gpu")]
    pub(crate) fn is_faster(&self) -> bool {
        self.hashes_per_second > self.of_processor
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn has_costs(&self, params: argon2::Params) -> bool {
        self.costs() == (params.memory_kib(), params.passes(), params.lanes())
    }

    #[cfg(feature = "gpu")]
    fn costs(&self) -> (u32, u32, u32) {
        (self.memory_kib, self.passes, self.lanes)
    }

    fn fault(&self) -> Option<String> {
        let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
        if !is_rate(self.hashes_per_second) || !is_rate(self.of_processor) {
            return Some("its hashes in a second are no number".to_owned());
        }
        if argon2::Params::new(self.memory_kib, self.passes, self.lanes).is_err() {
            return Some("it has costs that no hash can have".to_owned());
        }
        #[cfg(feature = "gpu")]
        if let Err(error) = self.tuning.parse::<hashmill_gpu::Tuning>() {
            return Some(error.to_string());
        }
        machine::date::parse_utc(&self.measured).is_none().then(|| "its date is none".to_owned())
    }

    /// An entry of a device, or why it is none.
    fn read(entry: Value) -> Result<Tuned, String> {
        let tuned: Tuned = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        tuned.fault().map_or(Ok(tuned), Err)
    }
}

impl Choice {
    /// The day.
    pub(crate) fn date(&self) -> &str {
        self.measured.get(..10).unwrap_or_default()
    }

    /// The plan for BLAKE3. It stays for as long as the program runs, so whoever wants one asks once.
    pub(crate) fn blake3(&self) -> Plan {
        let Blake3 { block, chunk, many, xof, parallel_from } = &self.blake3;
        let kernels: Vec<Kernel> = Kernel::all().collect();
        let names = Role::ALL.into_iter().zip([block, chunk, many, xof]);
        let found = names.filter_map(|(role, name)| {
            kernels.iter().find(|kernel| kernel.name() == *name).map(|kernel| (role, *kernel))
        });
        let tuning =
            found.fold(Tuning::of(Plan::host()), |tuning, (role, kernel)| tuning.kernel(role, kernel));
        let from = usize::try_from(*parallel_from).unwrap_or(usize::MAX);
        Box::leak(Box::new(tuning.parallel_from(from).measured(BASIS))).plan()
    }

    /// The plan for Argon2, to which the same applies.
    pub(crate) fn argon2(&self) -> argon2::Plan {
        let Argon2 { kernel, lanes, hashes } = &self.argon2;
        let table = |entries: &[Streams]| -> argon2::Streams {
            entries.iter().map(|entry| (entry.up_to_kib, entry.streams)).collect::<Vec<_>>().leak()
        };
        let plan = argon2::Kernel::by_name(kernel).map_or_else(argon2::Plan::host, argon2::Plan::of);
        plan.measured(BASIS, table(lanes), table(hashes))
    }

    /// What this program would not have written, if anything.
    fn fault(&self, place: &Place) -> Option<String> {
        let Blake3 { block, chunk, many, xof, .. } = &self.blake3;
        if let Some(name) = [block, chunk, many, xof].into_iter().find(|name| !place.blake3.contains(name)) {
            return Some(format!("no kernel of BLAKE3 is called {name}"));
        }
        let Argon2 { kernel, lanes, hashes } = &self.argon2;
        if !place.argon2.contains(kernel) {
            return Some(format!("no kernel of Argon2 is called {kernel}"));
        }
        let is_table = |table: &[Streams]| {
            table.last().is_some_and(|last| last.up_to_kib == u32::MAX)
                && table.is_sorted_by(|one, next| one.up_to_kib < next.up_to_kib)
                && table.iter().all(|entry| (1..=argon2::MAX_BATCH).contains(&entry.streams))
        };
        if !is_table(lanes) || !is_table(hashes) {
            return Some("its streams are no table".to_owned());
        }
        machine::date::parse_utc(&self.measured).is_none().then(|| "its date is none".to_owned())
    }
}

/// What there is.
#[allow(clippy::large_enum_variant, reason = "there is one, and it does not stay")]
pub(crate) enum Found {
    Nothing,
    /// Nobody looked.
    Off,
    /// A file that holds nothing for here, and why.
    Ignored(PathBuf, String),
    Kept(PathBuf, Kept),
}

/// Looks for the file. For whoever never tuned that is an `open` that fails.
pub(crate) fn find() -> Found {
    if std::env::var_os(SWITCH.0).is_some_and(|value| value == SWITCH.1) {
        return Found::Off;
    }
    let Some(path) = path() else { return Found::Nothing };
    let text = match read(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return Found::Nothing,
        Err(error) => return Found::Ignored(path, error.to_string()),
    };
    match judge(&text, &Place::here()) {
        Ok(kept) => Found::Kept(path, kept),
        Err(why) => Found::Ignored(path, why),
    }
}

impl Found {
    /// What holds here.
    pub(crate) fn kept(self) -> Kept {
        match self {
            Found::Kept(_, kept) => kept,
            _ => Kept::default(),
        }
    }
}

/// How BLAKE3 is computed here.
pub(crate) fn blake3() -> Plan {
    find().kept().choice.map_or_else(Plan::host, |choice| choice.blake3())
}

/// How Argon2 is computed here.
pub(crate) fn argon2() -> argon2::Plan {
    find().kept().argon2()
}

/// How files are cut for a device of this model.
#[cfg(feature = "gpu")]
pub(crate) fn tiles(engine: &str, model: &str) -> Option<hashmill_gpu::Tiles> {
    let tuned = find().kept().files.into_iter().find(|tuned| tuned.is_for(engine, model))?;
    // What is no such line was not kept.
    tuned.tiles.parse().ok()
}

/// Not among what may be thrown away at any time: it took a minute to find out, and nobody would notice that it is gone.
fn path() -> Option<PathBuf> {
    os::state_folder().map(|folder| folder.join("hashmill").join("tune.json"))
}

/// The text of the file, if there is one.
fn read(path: &std::path::Path) -> io::Result<Option<String>> {
    let file = match os::open_at_once(path) {
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(None);
        }
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it is too long"));
    }
    Ok(Some(text))
}

fn is_known(format: &str) -> bool {
    [FORMAT, FORMER].contains(&format)
}

/// What a file says, or why it says nothing for here.
fn judge(text: &str, here: &Place) -> Result<Kept, String> {
    let damaged = |error: &dyn std::fmt::Display| format!("it is damaged: {error}");
    let content = serde_json::from_str(text).map_err(|error| match serde_json::from_str(text) {
        Ok(Head { format }) if !is_known(&format) => format!("its format is {format}, not {FORMAT}"),
        _ => damaged(&error),
    });
    let Content::<Value, Value> { format, place, choice, devices, files } = content?;
    if !is_known(&format) {
        return Err(format!("its format is {format}, not {FORMAT}"));
    }
    if let Some(why) = place.differs(here) {
        return Err(why);
    }
    let mut kept = Kept { choice, ..Kept::default() };
    for (number, entry) in (1..).zip(devices) {
        match Tuned::read(entry) {
            Ok(tuned) => kept.devices.push(tuned),
            Err(why) => kept.faults.push(format!("entry {number} of devices: {why}")),
        }
    }
    for (number, entry) in (1..).zip(files) {
        match TunedTiles::read(entry) {
            Ok(tuned) => kept.files.push(tuned),
            Err(why) => kept.faults.push(format!("entry {number} of files: {why}")),
        }
    }
    kept.fault(here).map_or(Ok(kept), |why| Err(damaged(&why)))
}

/// Where a choice will be kept.
pub(crate) struct Target(PathBuf);

impl Target {
    /// Makes the folder, and finds out whether a file can be written there before anybody measures for it.
    pub(crate) fn prepare() -> Result<Target> {
        let Some(path) = path() else {
            bail!(
                "nothing says where the choice could be kept, neither XDG_STATE_HOME nor HOME: see --dry-run"
            );
        };
        let name = || format!("{}: the choice could not be kept there", shown(&path));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(name)?;
        }
        if path.is_dir() {
            bail!("{}: a directory is in its place", name());
        }
        read(&path).with_context(name)?;
        let _hold = Hold::ending().context("signals")?;
        drop(Replacement::begin(&path).with_context(name)?);
        Ok(Target(path))
    }

    /// Puts what was chosen there, beside what holds already: whole or not at all. What does not hold goes.
    pub(crate) fn keep(self, change: impl FnOnce(&mut Kept)) -> Result<PathBuf> {
        let Target(path) = self;
        let here = Place::here();
        let name = || format!("{}: nothing was kept", shown(&path));
        // Two that read and write at the same time would lose what one of them has measured.
        let _turn = turn(&path).with_context(name)?;
        let before = read(&path).with_context(name)?.and_then(|text| judge(&text, &here).ok());
        let mut kept = before.unwrap_or_default();
        change(&mut kept);
        let Kept { choice, mut devices, mut files, .. } = kept;
        devices.truncate(MOST_DEVICES);
        files.truncate(MOST_DEVICES);
        let content = Content { format: FORMAT.to_owned(), place: here, choice, devices, files };
        let text = serde_json::to_string_pretty(&content)? + "\n";
        let mut hold = Hold::ending().context("signals")?;
        Replacement::begin(&path)
            .and_then(|new| put(new, text.as_bytes(), Expected::Anything, &mut hold))
            .map_err(|error| explain(error, &shown(&path), &name()))?;
        Ok(path)
    }
}

/// Waits for everybody who writes the file now. The lock is of another file, as this one is replaced.
fn turn(path: &std::path::Path) -> io::Result<File> {
    let file = open_lock(&path.with_extension("lock"))?;
    match file.lock() {
        // Some file systems have none.
        Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
        _ => Ok(file),
    }
}

/// Takes the file away. Where it was, if it was there.
pub(crate) fn forget() -> Result<Option<PathBuf>> {
    let Some(path) = path() else { return Ok(None) };
    match fs::remove_file(&path) {
        Ok(()) => Ok(Some(path)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(None),
        Err(error) => Err(error).with_context(|| shown(&path).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choice(kernel: &str) -> Choice {
        let name = || kernel.to_owned();
        let table =
            |streams| vec![Streams { up_to_kib: 4096, streams: 2 }, Streams { up_to_kib: u32::MAX, streams }];
        Choice {
            measured: "2026-11-26T12:00:00Z".to_owned(),
            blake3: Blake3 { block: name(), chunk: name(), many: name(), xof: name(), parallel_from: 4096 },
            argon2: Argon2 { kernel: name(), lanes: table(1), hashes: table(3) },
        }
    }

    fn content(choice: Choice) -> Value {
        let (choice, devices, files) = (Some(choice), Vec::<Tuned>::new(), Vec::<TunedTiles>::new());
        let content = Content { format: FORMAT.to_owned(), place: Place::here(), choice, devices, files };
        serde_json::to_value(&content).expect("plain data")
    }

    #[test]
    fn what_was_kept_is_what_is_used() {
        let kept = judge(&content(choice("portable")).to_string(), &Place::here()).expect("of here");
        let kept = kept.choice.expect("of the processor");
        assert_eq!((&kept, kept.date()), (&choice("portable"), "2026-11-26"));
        let plan = kept.blake3();
        assert!(Role::ALL.into_iter().all(|role| plan.kernel(role) == Kernel::portable()));
        assert_eq!((plan.parallel_from(), plan.basis(), plan.is_measured()), (4096, BASIS, true));
        let plan = kept.argon2();
        let params = |kib| argon2::Params::new(kib, 1, 1).expect("costs");
        assert_eq!((plan.kernel(), plan.basis()), (argon2::Kernel::portable(), BASIS));
        assert_eq!((plan.width(params(4096)), plan.width(params(4097))), (2, 1));
        assert_eq!(argon2::batch_width(plan, params(4097)), 3);
    }

    /// What was measured of a device, as the file has it.
    fn device(name: &str) -> Value {
        json!({
            "measured": "2026-11-26T12:00:00Z", "engine": "cuda", "device": name, "memory_kib": 64, "passes": 1, "lanes": 1,
            "tuning": "hashes=4 strip-us=4000 ahead=0 grow=yes pairs=no shared=no", "hashes_per_second": 2.5, "of_processor": 1.0,
        })
    }

    #[test]
    fn devices_are_kept_beside_the_processor_and_without_it() {
        let mut whole = content(choice("portable"));
        whole["devices"] = json!([device("a card")]);
        let kept = judge(&whole.to_string(), &Place::here()).expect("of here");
        assert_eq!((kept.choice, kept.devices.len()), (Some(choice("portable")), 1));
        whole.as_object_mut().expect("an object").remove("choice");
        let kept = judge(&whole.to_string(), &Place::here()).expect("of here");
        assert_eq!((kept.choice, kept.devices[0].hashes_per_second), (None, 2.5));
        whole["devices"] = json!([]);
        let error = judge(&whole.to_string(), &Place::here()).expect_err("empty");
        assert_eq!(error, "it is damaged: it says nothing");
    }

    #[test]
    fn a_faulty_entry_of_a_device_says_why_and_leaves_the_others() {
        let faults = [
            ("passes", json!(0), "it has costs that no hash can have"),
            ("measured", json!("tomorrow"), "its date is none"),
            ("of_processor", json!(-1.0), "its hashes in a second are no number"),
            ("lanes", json!("two"), "invalid type: string \"two\", expected u32"),
            #[cfg(feature = "gpu")]
            ("tuning", json!("whatever"), "no tuning of a device: hashes is missing"),
        ];
        for (field, value, why) in faults {
            let mut whole = content(choice("portable"));
            whole["devices"] = json!([device("a"), device("b"), device("c")]);
            whole["devices"][1][field] = value;
            let kept = judge(&whole.to_string(), &Place::here()).expect("of here");
            assert_eq!(kept.faults, [format!("entry 2 of devices: {why}")]);
            let names: Vec<&str> = kept.devices.iter().map(|tuned| &*tuned.device).collect();
            assert_eq!((names, kept.choice.is_some()), (vec!["a", "c"], true));
        }
    }

    #[test]
    fn what_an_earlier_program_kept_is_used() {
        let mut whole = content(choice("portable"));
        whole["format"] = json!("hashmill-tune/1");
        let kept = judge(&whole.to_string(), &Place::here()).expect("of here");
        assert_eq!(kept.choice, Some(choice("portable")));
    }

    #[test]
    #[cfg(feature = "gpu")]
    fn what_was_measured_again_takes_the_place_of_what_was() {
        let tuned = |device: &str, memory_kib, hashes_per_second| Tuned {
            measured: String::new(),
            engine: "wgpu".to_owned(),
            device: device.to_owned(),
            kind: String::new(),
            memory_kib,
            passes: 1,
            lanes: 1,
            tuning: String::new(),
            hashes_per_second,
            of_processor: 0.0,
        };
        let mut kept = Kept::default();
        for (device, memory_kib, rate) in [("a", 64, 1.0), ("b", 64, 2.0), ("a", 128, 3.0), ("a", 64, 4.0)] {
            kept.take(tuned(device, memory_kib, rate));
        }
        let rates: Vec<f64> = kept.devices.iter().map(|tuned| tuned.hashes_per_second).collect();
        assert_eq!(rates, [4.0, 3.0, 2.0]);
    }

    #[test]
    fn a_file_of_elsewhere_is_ignored_and_says_why() {
        let whole = content(choice("portable"));
        for (field, value, why) in [
            ("hashmill", json!("0.0.9"), "it was measured by hashmill 0.0.9"),
            ("stepping", json!(99), "it was measured on another processor, "),
            ("processor", json!("Scripted 1"), "it was measured on another processor, Scripted 1 ("),
            ("features", json!(["MMX"]), "it was measured on another processor, "),
            ("blake3", json!(["portable", "abacus"]), "it was measured with other kernels"),
            ("argon2", json!([]), "it was measured with other kernels"),
        ] {
            let mut other = whole.clone();
            other["place"][field] = value;
            let error = judge(&other.to_string(), &Place::here()).expect_err(field);
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn a_damaged_file_is_ignored_and_says_why() {
        let whole = content(choice("portable"));
        let text = whole.to_string();
        for end in 0..text.len() {
            let error = judge(&text[..end], &Place::here()).expect_err("a part");
            assert!(error.starts_with("it is damaged: "), "{error}");
        }
        for (pointer, value, why) in [
            ("/format", json!("hashmill-tune/3"), "its format is hashmill-tune/3, not hashmill-tune/2"),
            ("/choice/blake3/many", json!("abacus"), "it is damaged: no kernel of BLAKE3 is called abacus"),
            ("/choice/argon2/kernel", json!(""), "it is damaged: no kernel of Argon2 is called "),
            ("/choice/argon2/lanes", json!([]), "it is damaged: its streams are no table"),
            ("/choice/argon2/hashes/0/streams", json!(5), "it is damaged: its streams are no table"),
            ("/choice/argon2/hashes/1/streams", json!(0), "it is damaged: its streams are no table"),
            ("/choice/argon2/lanes/1/up_to_kib", json!(4096), "it is damaged: its streams are no table"),
            ("/choice/measured", json!("yesterday"), "it is damaged: its date is none"),
            ("/choice/blake3/parallel_from", json!(-1), "it is damaged: invalid value"),
        ] {
            let mut other = whole.clone();
            *other.pointer_mut(pointer).expect(pointer) = value;
            let error = judge(&other.to_string(), &Place::here()).expect_err(pointer);
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn only_a_short_file_of_text_is_read() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        assert!(read(&path).expect("nothing").is_none());
        assert!(read(&path.join("below")).expect("nothing").is_none());
        fs::write(&path, "text").expect("a file");
        assert_eq!(read(&path).expect("a file").as_deref(), Some("text"));
        assert!(read(&path.join("below")).expect("a file is no directory").is_none());
        fs::write(&path, vec![b' '; MOST_BYTES as usize + 1]).expect("a file");
        assert_eq!(read(&path).expect_err("too long").to_string(), "it is too long");
        fs::write(&path, [0xff]).expect("a file");
        assert_eq!(read(&path).expect_err("no text").kind(), ErrorKind::InvalidData);
        let error = read(folder.path()).expect_err("a directory");
        assert!(error.kind() != ErrorKind::NotFound, "{error}");
    }

    #[test]
    fn whoever_keeps_at_the_same_time_leaves_one_whole_choice() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        let here = Place::here();
        std::thread::scope(|scope| {
            for from in 0..8 {
                let (path, here) = (&path, &here);
                scope.spawn(move || {
                    let mut mine = choice("portable");
                    mine.blake3.parallel_from = from;
                    for _ in 0..20 {
                        let keep = |kept: &mut Kept| kept.choice = Some(mine.clone());
                        Target(path.clone()).keep(keep).expect("a folder that takes files");
                        let text = read(path).expect("a file").expect("it is there");
                        let kept = judge(&text, here).expect("whole").choice.expect("of the processor");
                        assert!(kept.blake3.parallel_from < 8);
                    }
                });
            }
        });
        let left = fs::read_dir(folder.path()).expect("a directory").count();
        assert_eq!(left, 2, "nothing is left behind but the file and its lock");
    }

    #[test]
    fn nobody_loses_what_others_keep_at_the_same_time() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..8 {
                        let tuned = Tuned::read(device(&format!("{thread} {number}"))).expect("an entry");
                        let keep = |kept: &mut Kept| kept.devices.push(tuned);
                        Target(path.clone()).keep(keep).expect("a folder that takes files");
                    }
                });
            }
        });
        let text = read(&path).expect("a file").expect("it is there");
        assert_eq!(judge(&text, &Place::here()).expect("whole").devices.len(), 32);
    }

    #[test]
    fn what_cannot_be_read_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        fs::write(&path, vec![b' '; MOST_BYTES as usize + 1]).expect("a file");
        let keep = |kept: &mut Kept| kept.choice = Some(choice("portable"));
        let error = Target(path.clone()).keep(keep).expect_err("it may hold what others kept");
        assert!(format!("{error:#}").ends_with("nothing was kept: it is too long"), "{error:#}");
        assert_eq!(fs::metadata(&path).expect("a file").len(), MOST_BYTES + 1);
    }
}
