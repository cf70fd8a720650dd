//! `hashmill sum` beside the real `b3sum`: whole processes, from start to exit, files in the page cache.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_testkit::Rng;
use hashmill_workloads::{all_threads, number, thread_counts};

use crate::programs;

/// How the programs get at what they hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ReadStrategy {
    /// Each file on the command line.
    Named,
    /// The same, without mapping them.
    Read,
    /// The one file on standard input.
    Piped,
    /// The folder on our command line; b3sum, which walks none, gets the files, in as many starts as their names need.
    Walked,
}

const WAYS: [(&str, ReadStrategy); 4] = [
    ("named", ReadStrategy::Named),
    ("read", ReadStrategy::Read),
    ("piped", ReadStrategy::Piped),
    ("walked", ReadStrategy::Walked),
];

/// What a command line may have, each word with its pointer: less than the 2 MiB that Linux takes beside the environment.
const LINE: usize = 3 << 19;

pub(super) fn register(registry: &mut Registry) {
    let offer = || {
        EngineOffer::classes(&["end-to-end"])
            .threads(thread_counts())
            .knob("files", ["1", "2000", "20000"])
            .knob("holes", ["0", "1"])
            .knob("way", WAYS.map(|(name, _)| name))
    };
    let files = registry.workload(Files, &[1 << 20]);
    files.engine("hashmill", process(true), offer()).engine("b3sum", process(false), offer());
}

/// One file, or a tree of them, a hundred to a folder; of random bytes, or of holes: then a file may be larger than the disk.
struct Files;

/// Where they are, and how the programs are called.
struct Input {
    files: Vec<String>,
    tree: String,
    holes: bool,
    way: ReadStrategy,
}

impl Workload for Files {
    type Input = Input;

    fn name(&self) -> &'static str {
        "sum"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size * number(spec, "files", 1).map_or(1, |count| count as u64))
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<Input, CaseError> {
        let count = number(spec, "files", 1)?;
        let way = match spec.knobs.get("way") {
            None => ReadStrategy::Named,
            Some(word) => {
                let known = WAYS.iter().find(|(name, _)| name == word).map(|(_, way)| *way);
                let names = WAYS.map(|(name, _)| name).join(", ");
                known.ok_or_else(|| CaseError::failed(format!("way={word}: write one of {names}")))?
            }
        };
        if way == ReadStrategy::Piped && count != 1 {
            return Err(CaseError::failed("one file can be piped"));
        }
        let size = usize::try_from(spec.size).map_err(CaseError::failed)?;
        let input = Input::of(count, size, number(spec, "holes", 0)? == 1, way);
        input.make(&data(), size).map_err(CaseError::failed)?;
        Ok(input)
    }

    /// The list that both must print, by the official crate.
    fn reference(&self, _: &Spec, input: &Input) -> Result<Digest, CaseError> {
        let mut list = String::new();
        for path in &input.files {
            let mut hasher = blake3::Hasher::new();
            hasher.update_mmap_rayon(data().join(path)).map_err(CaseError::failed)?;
            let name = if input.way == ReadStrategy::Piped { "-" } else { path };
            writeln!(list, "{}  {name}", hasher.finalize()).map_err(CaseError::failed)?;
        }
        Ok(digest(list.as_bytes()))
    }
}

fn digest(list: &[u8]) -> Digest {
    Digest::new(blake3::hash(list).as_bytes())
}

fn data() -> PathBuf {
    programs::folder().join("data")
}

impl Input {
    fn of(count: usize, size: usize, holes: bool, way: ReadStrategy) -> Self {
        let kind = if holes { "holes-" } else { "" };
        let tree = format!("{kind}tree-{count}x{size}");
        let files = match count {
            1 => vec![format!("{kind}file-{size}")],
            _ => (0..count).map(|i| format!("{tree}/{:05}/{i:07}", i / 100)).collect(),
        };
        Self { files, tree, holes, way }
    }

    /// Writes what is not there yet.
    fn make(&self, folder: &Path, size: usize) -> io::Result<()> {
        let paths = || self.files.iter().map(|path| folder.join(path));
        let parents: BTreeSet<PathBuf> = paths().filter_map(|path| Some(path.parent()?.to_owned())).collect();
        parents.iter().try_for_each(fs::create_dir_all)?;
        for (path, seed) in paths().zip(0..) {
            if fs::metadata(&path).is_ok_and(|facts| facts.len() == size as u64) {
                continue;
            }
            match self.holes {
                true => File::create(path)?.set_len(size as u64)?,
                false => write(&path, size, seed)?,
            }
        }
        Ok(())
    }

    /// The words after the program, for each of its starts.
    fn starts(&self, ours: bool, threads: u32) -> Vec<Vec<&str>> {
        let mut words = Vec::new();
        words.extend(ours.then_some("sum"));
        words.extend((threads == 1).then_some("--num-threads=1"));
        match self.way {
            ReadStrategy::Piped => return vec![words],
            ReadStrategy::Walked if ours => {
                words.extend(["--recursive", &self.tree]);
                return vec![words];
            }
            ReadStrategy::Read => words.push("--no-mmap"),
            ReadStrategy::Named | ReadStrategy::Walked => {}
        }
        // All files of a tree have names of one length.
        let most = LINE / (self.files[0].len() + 1 + size_of::<usize>());
        let names = self.files.chunks(most).map(|some| some.iter().map(String::as_str));
        names.map(|names| words.iter().copied().chain(names).collect()).collect()
    }
}

fn write(path: &Path, size: usize, seed: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut rng = Rng::new(seed);
    let mut left = size;
    while left > 0 {
        let piece = rng.bytes(left.min(1 << 20));
        file.write_all(&piece)?;
        left -= piece.len();
    }
    Ok(())
}

/// What a program says that it is, and the beginning of the digest of its file: the report knows that of the lab's alone, and
/// the kernels of the lab's library are not those that run here.
fn identity(program: &Path) -> io::Result<String> {
    let version = Command::new(program).arg("--version").output()?.stdout;
    let digest = blake3::Hasher::new().update_mmap(program)?.finalize();
    Ok(format!("{}, program {}", String::from_utf8_lossy(&version).trim(), &digest.to_hex()[..12]))
}

/// One of the two programs.
fn process(ours: bool) -> impl Engine<Input = Input> {
    let init = move |spec: &Spec| {
        if spec.threads != 1 && spec.threads != all_threads() {
            return Err(CaseError::unavailable("the programs take one thread or all"));
        }
        let program = if ours { programs::hashmill() } else { programs::b3sum() };
        match program.is_file() {
            true => Ok((program, spec.threads)),
            false => Err(CaseError::unavailable(format!(
                "there is no {}; `cargo rivals b3sum --build-only` makes it",
                program.display()
            ))),
        }
    };
    let name = |(program, _): &(PathBuf, u32)| {
        identity(program).unwrap_or_else(|error| format!("{}: {error}", program.display()))
    };
    let run = move |(program, threads): &mut (PathBuf, u32), input: &Input| {
        let mut list = Vec::new();
        for words in input.starts(ours, *threads) {
            let stdin = match input.way {
                ReadStrategy::Piped => {
                    File::open(data().join(&input.files[0])).map_err(CaseError::failed)?.into()
                }
                ReadStrategy::Named | ReadStrategy::Read | ReadStrategy::Walked => Stdio::null(),
            };
            let output = Command::new(&*program)
                .args(words)
                .current_dir(data())
                .stdin(stdin)
                .stderr(Stdio::inherit())
                .output()
                .map_err(CaseError::failed)?;
            if !output.status.success() {
                return Err(CaseError::failed(format!("it failed: {}", output.status)));
            }
            list.extend(output.stdout);
        }
        Ok(list)
    };
    Routine::new(init, name, run, |list: &Vec<u8>| digest(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_command_lines() {
        let words = |count, way, ours, threads| {
            let input = Input::of(count, 7, false, way);
            let starts = input.starts(ours, threads);
            assert_eq!(starts.len(), 1);
            starts[0].join(" ")
        };
        assert_eq!(words(1, ReadStrategy::Named, false, 2), "file-7");
        assert_eq!(words(1, ReadStrategy::Named, true, 1), "sum --num-threads=1 file-7");
        assert_eq!(words(1, ReadStrategy::Piped, true, 2), "sum");
        let files = "tree-2x7/00000/0000000 tree-2x7/00000/0000001";
        assert_eq!(words(2, ReadStrategy::Named, true, 2), format!("sum {files}"));
        assert_eq!(words(2, ReadStrategy::Walked, true, 2), "sum --recursive tree-2x7");
        assert_eq!(words(2, ReadStrategy::Walked, false, 2), files);
        assert_eq!(words(2, ReadStrategy::Read, false, 2), format!("--no-mmap {files}"));
        assert_eq!(Input::of(1, 7, true, ReadStrategy::Named).starts(false, 2), [["holes-file-7"]]);
    }

    #[test]
    fn more_names_than_a_command_line_takes_are_several_starts() {
        let input = Input::of(100_000, 4096, false, ReadStrategy::Walked);
        let starts = input.starts(false, 1);
        assert!(starts.len() > 1 && starts.iter().all(|words| words[0] == "--num-threads=1"));
        let bytes = |words: &Vec<&str>| words.iter().map(|word| word.len() + 9).sum::<usize>();
        assert!(starts.iter().all(|words| bytes(words) < 2 << 20));
        assert!(starts.iter().flat_map(|words| &words[1..]).eq(&input.files), "each once, in order");
        assert_eq!(input.starts(true, 2).len(), 1, "ours walks");
    }

    #[test]
    fn a_file_of_holes_has_its_size_at_once() {
        let folder = std::env::temp_dir().join(format!("rivals-holes-{}", std::process::id()));
        let input = Input::of(1, 1 << 36, true, ReadStrategy::Named);
        input.make(&folder, 1 << 36).expect("a temporary folder");
        let facts = fs::metadata(folder.join(&input.files[0])).expect("it was made");
        assert_eq!(facts.len(), 1 << 36);
        fs::remove_dir_all(&folder).expect("it was made here");
    }

    #[test]
    fn a_tree_is_made_once_and_its_paths_are_sorted() {
        let folder = std::env::temp_dir().join(format!("rivals-tree-{}", std::process::id()));
        let tree = Input::of(205, 10, false, ReadStrategy::Named);
        tree.make(&folder, 10).expect("a temporary folder");
        assert!(tree.files.is_sorted());
        let first = folder.join(&tree.files[0]);
        assert_eq!(fs::read(&first).expect("it was made").len(), 10);
        fs::write(&first, [0; 10]).expect("it can be changed");
        tree.make(&folder, 10).expect("it is there");
        assert_eq!(fs::read(&first).expect("it is there"), [0; 10], "not made twice");
        fs::remove_dir_all(&folder).expect("it was made here");
    }
}
