//! The tune file: what was measured and chosen for the CPU and for devices, in a file of the user.
//!
//! Digests do not depend on it, so a faulty file never fails a command; only `hashmill info` reports faults. It is valid for one
//! CPU, one version of the program and its kernels; elsewhere the built-in choices apply. An entry of a device is valid for its
//! name, memory and driver.

mod cpu_choice;
mod device_argon2;
mod error;
mod host;
mod tiles;

pub use cpu_choice::{Argon2Choice, Blake3Choice, Choice, Streams};
pub use device_argon2::TunedArgon2;
pub use error::TuneFileError;
pub use tiles::TunedTiles;

use hashmill_atomic_file::{Error, Expected, Refusal, Replacement, open_lock, open_regular};
use hashmill_hash::argon2;
use hashmill_hash::blake3::Plan;
use host::Host;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

/// The format of the file. An incompatible format gets another number.
const FORMAT: &str = "hashmill-tune/3";

/// Earlier formats, which are still read: without devices, and without a kernel for long inputs.
const EARLIER_FORMATS: [&str; 2] = ["hashmill-tune/1", "hashmill-tune/2"];

/// Longer files were not written by hashmill.
const MAX_BYTES: u64 = 64 << 10;

/// Maximum number of device entries, of some hundred bytes each.
const MAX_DEVICE_ENTRIES: usize = 64;

/// The file. Fields are in the order in which people read them. Device entries are parsed one by one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<D, F> {
    format: String,
    #[serde(rename = "place")]
    host: Host,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choice: Option<Choice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    devices: Vec<D>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<F>,
}

/// The choices of the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TunedChoices {
    /// For the CPU.
    pub choice: Option<Choice>,
    /// Argon2 on devices, the newest entry first.
    pub devices: Vec<TunedArgon2>,
    /// File tiles on devices, the newest entry first.
    pub files: Vec<TunedTiles>,
    /// Entries that are ignored, and why.
    pub faults: Vec<String>,
}

/// The part of the file that tells its format.
#[derive(Deserialize)]
struct FileHeader {
    format: String,
}

impl TunedChoices {
    /// The plan for Argon2. It lives as long as the program, so call this once.
    pub fn argon2(&self) -> argon2::Plan {
        self.choice.as_ref().map_or_else(argon2::Plan::host, Choice::argon2)
    }

    /// The plan for BLAKE3. It lives as long as the program, so call this once.
    pub fn blake3(&self) -> Plan {
        self.choice.as_ref().map_or_else(Plan::host, Choice::blake3)
    }

    /// The file tiles for a device of this model.
    #[cfg(feature = "gpu")]
    pub(crate) fn tiles(&self, engine: &str, model: &str) -> Option<hashmill_gpu::Tiles> {
        let tuned = self.files.iter().find(|tuned| tuned.is_for(engine, model))?;
        // `TunedTiles::parse` has checked the syntax. Tiles change no digest.
        tuned.tiles.parse().ok()
    }

    /// Inserts a measurement of Argon2 on a device. It replaces the entry for the same device and costs.
    pub fn insert_argon2(&mut self, new: TunedArgon2) {
        let is_old = |old: &TunedArgon2| old.is_for(&new.engine, &new.device) && old.costs() == new.costs();
        self.devices.retain(|old| !is_old(old));
        self.devices.insert(0, new);
    }

    /// Inserts a measurement of file tiles on a device. It replaces the entry for the same device.
    pub fn insert_tiles(&mut self, new: TunedTiles) {
        self.files.retain(|old| !old.is_for(&new.engine, &new.device));
        self.files.insert(0, new);
    }

    /// A fault that shows that this program did not write the file.
    fn fault(&self, host: &Host) -> Option<String> {
        let no_device = self.devices.is_empty() && self.files.is_empty();
        if self.choice.is_none() && no_device && self.faults.is_empty() {
            return Some("it has no entries".to_owned());
        }
        self.choice.as_ref().and_then(|choice| choice.fault(host))
    }
}

/// The file, by its path. Reading it changes nothing; without a file the cost is a failing `open`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TuneFile {
    path: PathBuf,
}

impl TuneFile {
    /// The file at this path, whether there is one or not.
    pub fn new(path: PathBuf) -> TuneFile {
        TuneFile { path }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the choices; `None` if there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is not valid on this host. The built-in choices apply then.
    pub fn read(&self) -> Result<Option<TunedChoices>, TuneFileError> {
        let Some(text) = read(&self.path)? else { return Ok(None) };
        parse(&text, &Host::current()).map(Some).map_err(|reason| TuneFileError::Invalid { reason })
    }

    /// Creates the folder and checks that the file can be written, before a measurement.
    ///
    /// # Errors
    /// The file could not be saved.
    pub fn prepare(&self) -> Result<(), TuneFileError> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        if self.path.is_dir() {
            return Err(TuneFileError::Directory);
        }
        read(&self.path)?;
        drop(Replacement::begin(&self.path).map_err(TuneFileError::Replace)?);
        Ok(())
    }

    /// Applies `change` to the valid choices and replaces the file atomically. Invalid content is dropped, and so are the oldest entries
    /// of a file that would be too long to be read again.
    ///
    /// # Errors
    /// The file cannot be read or written. A file that cannot be read is not replaced. [`TuneFileError::TooLong`] if the newest entries
    /// alone are too long.
    pub fn save(&self, change: impl FnOnce(&mut TunedChoices)) -> Result<(), TuneFileError> {
        self.save_with(change, |mut new, text| {
            new.write_all(text)?;
            new.finish(Expected::Anything).map(drop)
        })
    }

    /// As [`save`](TuneFile::save). `write` writes the text and finishes the replacement, so that a program can hold back signals
    /// meanwhile.
    ///
    /// # Errors
    /// As for `save`.
    pub fn save_with(
        &self,
        change: impl FnOnce(&mut TunedChoices),
        write: impl FnOnce(Replacement, &[u8]) -> Result<(), Error>,
    ) -> Result<(), TuneFileError> {
        let current = Host::current();
        // Two runs that read and write at the same time would lose the measurements of one.
        let _lock = lock(&self.path)?;
        let mut choices = match read(&self.path)?.map(|text| parse(&text, &current)) {
            Some(Ok(choices)) => choices,
            // What was measured on another machine or by another version is of no use here: the new measurement replaces it.
            Some(Err(_)) | None => TunedChoices::default(),
        };
        change(&mut choices);
        let text = bounded_text(choices, current)?;
        let new = Replacement::begin(&self.path).map_err(TuneFileError::Replace)?;
        write(new, text.as_bytes()).map_err(TuneFileError::Replace)
    }

    /// Removes the file. Returns whether it was there.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self) -> Result<bool, TuneFileError> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The text of the file, without the oldest entries if it would be too long.
fn bounded_text(choices: TunedChoices, host: Host) -> Result<String, TuneFileError> {
    let TunedChoices { choice, mut devices, mut files, .. } = choices;
    devices.truncate(MAX_DEVICE_ENTRIES);
    files.truncate(MAX_DEVICE_ENTRIES);
    let mut content = Content { format: FORMAT.to_owned(), host, choice, devices, files };
    loop {
        let text = serde_json::to_string_pretty(&content).map_err(io::Error::from)? + "\n";
        if text.len() as u64 <= MAX_BYTES {
            return Ok(text);
        }
        // The newest entry of a section may be the one that is to be saved.
        match (content.devices.len(), content.files.len()) {
            (0 | 1, 0 | 1) => return Err(TuneFileError::TooLong),
            (devices, files) if devices >= files => content.devices.truncate(devices - 1),
            (_, files) => content.files.truncate(files - 1),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind())
}

/// Reads the text of the file; `None` if there is no file.
fn read(path: &Path) -> Result<Option<String>, TuneFileError> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(Error::Io(error)) if is_absent(&error) => return Ok(None),
        Err(Error::Refused(Refusal::NotAFile)) => return Err(TuneFileError::NotAFile),
        Err(error) => return Err(TuneFileError::Replace(error)),
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(TuneFileError::TooLong);
    }
    Ok(Some(text))
}

fn is_known(format: &str) -> bool {
    format == FORMAT || EARLIER_FORMATS.contains(&format)
}

/// Parses the file, or says why it is not valid on this host.
fn parse(text: &str, current: &Host) -> Result<TunedChoices, String> {
    let damaged = |error: &dyn std::fmt::Display| format!("it is damaged: {error}");
    let content = serde_json::from_str(text).map_err(|error| match serde_json::from_str(text) {
        Ok(FileHeader { format }) if !is_known(&format) => format!("its format is {format}, not {FORMAT}"),
        _ => damaged(&error),
    });
    let Content::<Value, Value> { format, host, choice, devices, files } = content?;
    if !is_known(&format) {
        return Err(format!("its format is {format}, not {FORMAT}"));
    }
    if let Some(why) = host.mismatch(current) {
        return Err(why);
    }
    let mut choices = TunedChoices { choice, ..TunedChoices::default() };
    for (number, entry) in (1..).zip(devices) {
        match TunedArgon2::parse(entry) {
            Ok(tuned) => choices.devices.push(tuned),
            Err(why) => choices.faults.push(format!("entry {number} of devices: {why}")),
        }
    }
    for (number, entry) in (1..).zip(files) {
        match TunedTiles::parse(entry) {
            Ok(tuned) => choices.files.push(tuned),
            Err(why) => choices.faults.push(format!("entry {number} of files: {why}")),
        }
    }
    choices.fault(current).map_or(Ok(choices), |why| Err(damaged(&why)))
}

/// Waits for other runs that write the file. Locks a file beside it, as the file itself is replaced.
fn lock(path: &Path) -> Result<File, TuneFileError> {
    let file = open_lock(&path.with_extension("lock")).map_err(TuneFileError::Replace)?;
    match file.lock() {
        // Some file systems have no locks.
        Err(error) if error.kind() != ErrorKind::Unsupported => Err(error.into()),
        _ => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::cpu_choice::BASIS;
    use super::*;
    use hashmill_hash::blake3::{Kernel, Role};
    use serde_json::json;

    fn choice(kernel: &str) -> Choice {
        let name = || kernel.to_owned();
        let table =
            |streams| vec![Streams { up_to_kib: 4096, streams: 2 }, Streams { up_to_kib: u32::MAX, streams }];
        Choice {
            measured: "2026-11-26T12:00:00Z".to_owned(),
            blake3: Blake3Choice {
                block: name(),
                chunk: name(),
                many: name(),
                long: Some(name()),
                xof: name(),
                parallel_from: 4096,
            },
            argon2: Argon2Choice { kernel: name(), lanes: table(1), hashes: table(3) },
        }
    }

    fn content(choice: Choice) -> Value {
        let (choice, devices, files) = (Some(choice), Vec::<TunedArgon2>::new(), Vec::<TunedTiles>::new());
        let content = Content { format: FORMAT.to_owned(), host: Host::current(), choice, devices, files };
        serde_json::to_value(&content).expect("plain data")
    }

    #[test]
    fn saved_choices_are_used() {
        let tuned = parse(&content(choice("portable")).to_string(), &Host::current()).expect("valid here");
        let saved = tuned.choice.expect("for the CPU");
        assert_eq!((&saved, saved.date()), (&choice("portable"), "2026-11-26"));
        let plan = saved.blake3();
        assert!(Role::ALL.into_iter().all(|role| plan.kernel(role) == Kernel::portable()));
        assert_eq!((plan.parallel_from(), plan.basis(), plan.is_measured()), (4096, BASIS, true));
        let plan = saved.argon2();
        let params = |kib| argon2::Params::new(kib, 1, 1).expect("costs");
        assert_eq!((plan.kernel(), plan.basis()), (argon2::Kernel::portable(), BASIS));
        assert_eq!((plan.width(params(4096)), plan.width(params(4097))), (2, 1));
        assert_eq!(argon2::batch_width(plan, params(4097)), 3);
    }

    /// A device entry.
    fn device(name: &str) -> Value {
        json!({
            "measured": "2026-11-26T12:00:00Z", "engine": "cuda", "device": name, "memory_kib": 64, "passes": 1, "lanes": 1,
            "tuning": "hashes=4 strip-us=4000 ahead=0 grow=yes pairs=no shared=no", "hashes_per_second": 2.5, "of_processor": 1.0,
        })
    }

    #[test]
    fn parses_devices_with_and_without_a_cpu_choice() {
        let mut file = content(choice("portable"));
        file["devices"] = json!([device("a card")]);
        let tuned = parse(&file.to_string(), &Host::current()).expect("valid here");
        assert_eq!((tuned.choice, tuned.devices.len()), (Some(choice("portable")), 1));
        file.as_object_mut().expect("an object").remove("choice");
        let tuned = parse(&file.to_string(), &Host::current()).expect("valid here");
        assert_eq!((tuned.choice, tuned.devices[0].hashes_per_second), (None, 2.5));
        file["devices"] = json!([]);
        let error = parse(&file.to_string(), &Host::current()).expect_err("empty");
        assert_eq!(error, "it is damaged: it has no entries");
    }

    #[test]
    fn faulty_device_entries_are_reported_and_skipped() {
        let faults = [
            ("passes", json!(0), "its costs are invalid"),
            ("measured", json!("tomorrow"), "its date is invalid"),
            ("of_processor", json!(-1.0), "its hashes per second are not a valid number"),
            ("lanes", json!("two"), "invalid type: string \"two\", expected u32"),
            #[cfg(feature = "gpu")]
            ("tuning", json!("whatever"), "no tuning of a device: hashes is missing"),
        ];
        for (field, value, why) in faults {
            let mut file = content(choice("portable"));
            file["devices"] = json!([device("a"), device("b"), device("c")]);
            file["devices"][1][field] = value;
            let tuned = parse(&file.to_string(), &Host::current()).expect("valid here");
            assert_eq!(tuned.faults, [format!("entry 2 of devices: {why}")]);
            let names: Vec<&str> = tuned.devices.iter().map(|tuned| &*tuned.device).collect();
            assert_eq!((names, tuned.choice.is_some()), (vec!["a", "c"], true));
        }
    }

    #[test]
    fn accepts_earlier_formats() {
        for format in EARLIER_FORMATS {
            let mut file = content(choice("portable"));
            file["format"] = json!(format);
            file["choice"]["blake3"].as_object_mut().expect("an object").remove("long");
            let tuned = parse(&file.to_string(), &Host::current()).expect("valid here");
            let choice = tuned.choice.expect("for the CPU");
            assert_eq!(choice.blake3.long, None);
            assert_eq!(choice.blake3().kernel(Role::Long), Kernel::portable());
        }
    }

    #[test]
    fn new_measurements_replace_old_ones() {
        let tuned = |device: &str, memory_kib, hashes_per_second| TunedArgon2 {
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
        let mut choices = TunedChoices::default();
        for (device, memory_kib, rate) in [("a", 64, 1.0), ("b", 64, 2.0), ("a", 128, 3.0), ("a", 64, 4.0)] {
            choices.insert_argon2(tuned(device, memory_kib, rate));
        }
        let rates: Vec<f64> = choices.devices.iter().map(|tuned| tuned.hashes_per_second).collect();
        assert_eq!(rates, [4.0, 3.0, 2.0]);
    }

    #[test]
    fn files_of_other_hosts_are_ignored_with_a_reason() {
        let file = content(choice("portable"));
        for (field, value, why) in [
            ("hashmill", json!("0.0.9"), "it was measured by hashmill 0.0.9"),
            ("stepping", json!(99), "it was measured on another processor, "),
            ("processor", json!("Scripted 1"), "it was measured on another processor, Scripted 1 ("),
            ("features", json!(["MMX"]), "it was measured on another processor, "),
            ("blake3", json!(["portable", "abacus"]), "it was measured with other kernels"),
            ("argon2", json!([]), "it was measured with other kernels"),
        ] {
            let mut other = file.clone();
            other["place"][field] = value;
            let error = parse(&other.to_string(), &Host::current()).expect_err(field);
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn damaged_files_are_ignored_with_a_reason() {
        let file = content(choice("portable"));
        let text = file.to_string();
        for end in 0..text.len() {
            let error = parse(&text[..end], &Host::current()).expect_err("a part");
            assert!(error.starts_with("it is damaged: "), "{error}");
        }
        for (pointer, value, why) in [
            ("/format", json!("hashmill-tune/4"), "its format is hashmill-tune/4, not hashmill-tune/3"),
            ("/choice/blake3/many", json!("abacus"), "it is damaged: no kernel of BLAKE3 is called abacus"),
            ("/choice/argon2/kernel", json!(""), "it is damaged: no kernel of Argon2 is called "),
            ("/choice/argon2/lanes", json!([]), "it is damaged: its table of streams is invalid"),
            ("/choice/argon2/hashes/0/streams", json!(5), "it is damaged: its table of streams is invalid"),
            ("/choice/argon2/hashes/1/streams", json!(0), "it is damaged: its table of streams is invalid"),
            (
                "/choice/argon2/lanes/1/up_to_kib",
                json!(4096),
                "it is damaged: its table of streams is invalid",
            ),
            ("/choice/measured", json!("yesterday"), "it is damaged: its date is invalid"),
            ("/choice/blake3/parallel_from", json!(-1), "it is damaged: invalid value"),
        ] {
            let mut other = file.clone();
            *other.pointer_mut(pointer).expect(pointer) = value;
            let error = parse(&other.to_string(), &Host::current()).expect_err(pointer);
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn reads_only_short_text_files() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        assert!(read(&path).expect("nothing").is_none());
        assert!(read(&path.join("below")).expect("nothing").is_none());
        fs::write(&path, "text").expect("a file");
        assert_eq!(read(&path).expect("a file").as_deref(), Some("text"));
        assert!(read(&path.join("below")).expect("a file is no directory").is_none());
        fs::write(&path, vec![b' '; MAX_BYTES as usize + 1]).expect("a file");
        assert_eq!(read(&path).expect_err("too long").to_string(), "it is too long");
        fs::write(&path, [0xff]).expect("a file");
        let error = read(&path).expect_err("no text");
        assert!(
            matches!(&error, TuneFileError::Io(error) if error.kind() == ErrorKind::InvalidData),
            "{error}"
        );
        let error = read(folder.path()).expect_err("a directory");
        assert!(matches!(error, TuneFileError::NotAFile), "{error}");
    }

    #[test]
    fn concurrent_saves_leave_a_whole_file() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        let here = Host::current();
        std::thread::scope(|scope| {
            for from in 0..8 {
                let (path, here) = (&path, &here);
                scope.spawn(move || {
                    let mut own_choice = choice("portable");
                    own_choice.blake3.parallel_from = from;
                    for _ in 0..20 {
                        let change = |choices: &mut TunedChoices| choices.choice = Some(own_choice.clone());
                        TuneFile::new(path.clone()).save(change).expect("a folder that takes files");
                        let text = read(path).expect("a file").expect("it is there");
                        let saved = parse(&text, here).expect("a complete file").choice.expect("for the CPU");
                        assert!(saved.blake3.parallel_from < 8);
                    }
                });
            }
        });
        let left = fs::read_dir(folder.path()).expect("a directory").count();
        assert_eq!(left, 2, "only the file and its lock are left");
    }

    #[test]
    fn concurrent_saves_keep_all_entries() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..8 {
                        let tuned =
                            TunedArgon2::parse(device(&format!("{thread} {number}"))).expect("an entry");
                        let change = |choices: &mut TunedChoices| choices.devices.push(tuned);
                        TuneFile::new(path.clone()).save(change).expect("a folder that takes files");
                    }
                });
            }
        });
        let text = read(&path).expect("a file").expect("it is there");
        assert_eq!(parse(&text, &Host::current()).expect("file").devices.len(), 32);
    }

    #[test]
    fn unreadable_files_are_not_replaced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("tune.json");
        fs::write(&path, vec![b' '; MAX_BYTES as usize + 1]).expect("a file");
        let change = |choices: &mut TunedChoices| choices.choice = Some(choice("portable"));
        let error = TuneFile::new(path.clone()).save(change).expect_err("it may hold other entries");
        assert!(matches!(error, TuneFileError::TooLong), "{error}");
        assert_eq!(fs::metadata(&path).expect("a file").len(), MAX_BYTES + 1);
    }

    #[test]
    fn a_missing_folder_is_made_and_the_file_removed() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = TuneFile::new(folder.path().join("new").join("tune.json"));
        assert_eq!(file.read().expect("no file"), None);
        file.prepare().expect("a folder");
        file.save(|choices| choices.choice = Some(choice("portable"))).expect("a folder that takes files");
        assert_eq!(file.read().expect("valid here").expect("a file").choice, Some(choice("portable")));
        assert!(file.remove().expect("a file") && !file.remove().expect("none"));
    }

    #[test]
    fn a_saved_file_can_be_read_again_however_long_its_entries_are() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = TuneFile::new(folder.path().join("tune.json"));
        let name = |number: usize, len: usize| format!("{number} {}", "\u{1}é\"".repeat(len));
        let tiles = |number, len| TunedTiles {
            measured: "2026-11-27T12:00:00Z".to_owned(),
            engine: "cuda".to_owned(),
            device: name(number, len),
            tiles: "bytes=4194304 count=8".to_owned(),
            bytes_per_second: 2e9,
            of_processor: 1e9,
        };
        for len in [0, 10, 100, 1000, 2500] {
            let mut choices = TunedChoices::default();
            for number in 0..80 {
                choices.insert_argon2(TunedArgon2::parse(device(&name(number, len))).expect("an entry"));
                choices.insert_tiles(tiles(number, len));
                let text = bounded_text(choices.clone(), Host::current()).expect("it is bounded");
                assert!(text.len() as u64 <= MAX_BYTES, "{} bytes", text.len());
                choices = parse(&text, &Host::current()).expect("valid here");
                let newest = [&choices.devices[0].device, &choices.files[0].device];
                assert_eq!(newest, [&name(number, len); 2]);
                assert!(choices.faults.is_empty());
            }
            file.save(|saved| *saved = choices.clone()).expect("it is bounded");
            assert_eq!(file.read().expect("it can be read"), Some(choices));
        }
        // An entry that is too long by itself is refused, and the file stays.
        let before = read(file.path()).expect("a file");
        let error = file.save(|choices| choices.insert_tiles(tiles(0, 20_000))).expect_err("too long");
        assert!(matches!(error, TuneFileError::TooLong), "{error}");
        assert_eq!(read(file.path()).expect("a file"), before);
    }
}
