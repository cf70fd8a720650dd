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

/// Passing of the files to the programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ReadStrategy {
    /// Each file on the command line.
    Named,
    /// As `Named`, without mapping the files.
    Read,
    /// One file on standard input.
    Piped,
    /// The folder on Hashmill's command line. b3sum walks no folders: it gets the files, in as many processes as their names need.
    Walked,
}

const STRATEGIES: [(&str, ReadStrategy); 4] = [
    ("named", ReadStrategy::Named),
    ("read", ReadStrategy::Read),
    ("piped", ReadStrategy::Piped),
    ("walked", ReadStrategy::Walked),
];

/// Maximum bytes of a command line, each argument with its pointer: below the 2 MiB that Linux accepts with the environment.
const MAX_COMMAND_LINE: usize = 3 << 19;

pub(super) fn register(registry: &mut Registry) {
    let offer = || {
        EngineOffer::classes(&["end-to-end"])
            .threads(thread_counts())
            .knob("files", ["1", "2000", "20000"])
            .knob("holes", ["0", "1"])
            .knob("way", STRATEGIES.map(|(name, _)| name))
    };
    let files = registry.workload(Files, &[1 << 20]);
    files.engine("hashmill", process(true), offer()).engine("b3sum", process(false), offer());
}

/// One file, or a tree with a hundred files per folder. Files have random bytes, or only holes: then they may be larger than the disk.
struct Files;

/// Paths of the files, and how the programs are called.
struct Input {
    files: Vec<String>,
    tree: String,
    holes: bool,
    strategy: ReadStrategy,
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
        let strategy = match spec.knobs.get("way") {
            None => ReadStrategy::Named,
            Some(value) => {
                let known = STRATEGIES.iter().find(|(name, _)| name == value).map(|(_, strategy)| *strategy);
                let names = STRATEGIES.map(|(name, _)| name).join(", ");
                known.ok_or_else(|| CaseError::failed(format!("way={value}: write one of {names}")))?
            }
        };
        if strategy == ReadStrategy::Piped && count != 1 {
            return Err(CaseError::failed("only one file can be piped"));
        }
        let size = usize::try_from(spec.size).map_err(CaseError::failed)?;
        let input = Input::new(count, size, number(spec, "holes", 0)? == 1, strategy);
        input.write_files(&data(), size).map_err(CaseError::failed)?;
        Ok(input)
    }

    /// The list that both must print, by the official crate.
    fn reference(&self, _: &Spec, input: &Input) -> Result<Digest, CaseError> {
        let mut list = String::new();
        for path in &input.files {
            let mut hasher = blake3::Hasher::new();
            hasher.update_mmap_rayon(data().join(path)).map_err(CaseError::failed)?;
            let name = if input.strategy == ReadStrategy::Piped { "-" } else { path };
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
    fn new(count: usize, size: usize, holes: bool, strategy: ReadStrategy) -> Self {
        let kind = if holes { "holes-" } else { "" };
        let tree = format!("{kind}tree-{count}x{size}");
        let files = match count {
            1 => vec![format!("{kind}file-{size}")],
            _ => (0..count).map(|i| format!("{tree}/{:05}/{i:07}", i / 100)).collect(),
        };
        Self { files, tree, holes, strategy }
    }

    /// Writes missing files.
    fn write_files(&self, folder: &Path, size: usize) -> io::Result<()> {
        let paths = || self.files.iter().map(|path| folder.join(path));
        let parents: BTreeSet<PathBuf> = paths().filter_map(|path| Some(path.parent()?.to_owned())).collect();
        parents.iter().try_for_each(fs::create_dir_all)?;
        for (path, seed) in paths().zip(0..) {
            if fs::metadata(&path).is_ok_and(|metadata| metadata.len() == size as u64) {
                continue;
            }
            match self.holes {
                true => File::create(path)?.set_len(size as u64)?,
                false => write_random(&path, size, seed)?,
            }
        }
        Ok(())
    }

    /// The arguments of each process.
    fn arguments(&self, is_hashmill: bool, threads: u32) -> Vec<Vec<&str>> {
        let mut options = Vec::new();
        options.extend(is_hashmill.then_some("sum"));
        options.extend((threads == 1).then_some("--num-threads=1"));
        match self.strategy {
            ReadStrategy::Piped => return vec![options],
            ReadStrategy::Walked if is_hashmill => {
                options.extend(["--recursive", &self.tree]);
                return vec![options];
            }
            ReadStrategy::Read => options.push("--no-mmap"),
            ReadStrategy::Named | ReadStrategy::Walked => {}
        }
        // All files of a tree have names of one length.
        let max_files = MAX_COMMAND_LINE / (self.files[0].len() + 1 + size_of::<usize>());
        let names = self.files.chunks(max_files).map(|files| files.iter().map(String::as_str));
        names.map(|names| options.iter().copied().chain(names).collect()).collect()
    }
}

fn write_random(path: &Path, size: usize, seed: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut rng = Rng::new(seed);
    let mut left = size;
    while left > 0 {
        let bytes = rng.bytes(left.min(1 << 20));
        file.write_all(&bytes)?;
        left -= bytes.len();
    }
    Ok(())
}

/// The version of a program, and the start of the digest of its file: the report identifies only the program of the lab, and its
/// kernels are not those of this program.
fn identity(program: &Path) -> io::Result<String> {
    let version = Command::new(program).arg("--version").output()?.stdout;
    let digest = blake3::Hasher::new().update_mmap(program)?.finalize();
    Ok(format!("{}, program {}", String::from_utf8_lossy(&version).trim(), &digest.to_hex()[..12]))
}

/// One of the two programs.
fn process(is_hashmill: bool) -> impl Engine<Input = Input> {
    let init = move |spec: &Spec| {
        if spec.threads != 1 && spec.threads != all_threads() {
            return Err(CaseError::unavailable("the programs use one thread or all"));
        }
        let program = if is_hashmill { programs::hashmill() } else { programs::b3sum() };
        match program.is_file() {
            true => Ok((program, spec.threads)),
            false => Err(CaseError::unavailable(format!(
                "there is no {}; `cargo rivals b3sum --build-only` builds it",
                program.display()
            ))),
        }
    };
    let name = |(program, _): &(PathBuf, u32)| {
        identity(program).unwrap_or_else(|error| format!("{}: {error}", program.display()))
    };
    let run = move |(program, threads): &mut (PathBuf, u32), input: &Input| {
        let mut list = Vec::new();
        for arguments in input.arguments(is_hashmill, *threads) {
            let stdin = match input.strategy {
                ReadStrategy::Piped => {
                    File::open(data().join(&input.files[0])).map_err(CaseError::failed)?.into()
                }
                ReadStrategy::Named | ReadStrategy::Read | ReadStrategy::Walked => Stdio::null(),
            };
            let output = Command::new(&*program)
                .args(arguments)
                .current_dir(data())
                .stdin(stdin)
                .stderr(Stdio::inherit())
                .output()
                .map_err(CaseError::failed)?;
            if !output.status.success() {
                return Err(CaseError::failed(format!("the program failed: {}", output.status)));
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
        let command_line = |count, strategy, is_hashmill, threads| {
            let input = Input::new(count, 7, false, strategy);
            let processes = input.arguments(is_hashmill, threads);
            assert_eq!(processes.len(), 1);
            processes[0].join(" ")
        };
        assert_eq!(command_line(1, ReadStrategy::Named, false, 2), "file-7");
        assert_eq!(command_line(1, ReadStrategy::Named, true, 1), "sum --num-threads=1 file-7");
        assert_eq!(command_line(1, ReadStrategy::Piped, true, 2), "sum");
        let files = "tree-2x7/00000/0000000 tree-2x7/00000/0000001";
        assert_eq!(command_line(2, ReadStrategy::Named, true, 2), format!("sum {files}"));
        assert_eq!(command_line(2, ReadStrategy::Walked, true, 2), "sum --recursive tree-2x7");
        assert_eq!(command_line(2, ReadStrategy::Walked, false, 2), files);
        assert_eq!(command_line(2, ReadStrategy::Read, false, 2), format!("--no-mmap {files}"));
        assert_eq!(Input::new(1, 7, true, ReadStrategy::Named).arguments(false, 2), [["holes-file-7"]]);
    }

    #[test]
    fn more_names_than_fit_a_command_line_need_several_processes() {
        let input = Input::new(100_000, 4096, false, ReadStrategy::Walked);
        let processes = input.arguments(false, 1);
        assert!(processes.len() > 1 && processes.iter().all(|arguments| arguments[0] == "--num-threads=1"));
        let bytes =
            |arguments: &Vec<&str>| arguments.iter().map(|argument| argument.len() + 9).sum::<usize>();
        assert!(processes.iter().all(|arguments| bytes(arguments) < 2 << 20));
        assert!(
            processes.iter().flat_map(|arguments| &arguments[1..]).eq(&input.files),
            "each once, in order"
        );
        assert_eq!(input.arguments(true, 2).len(), 1, "Hashmill walks the folder");
    }

    #[test]
    fn a_file_of_holes_has_its_size_at_once() {
        let folder = std::env::temp_dir().join(format!("rivals-holes-{}", std::process::id()));
        let input = Input::new(1, 1 << 36, true, ReadStrategy::Named);
        input.write_files(&folder, 1 << 36).expect("a temporary folder");
        let metadata = fs::metadata(folder.join(&input.files[0])).expect("it was written");
        assert_eq!(metadata.len(), 1 << 36);
        fs::remove_dir_all(&folder).expect("the folder of this test");
    }

    #[test]
    fn a_tree_is_written_once_and_its_paths_are_sorted() {
        let folder = std::env::temp_dir().join(format!("rivals-tree-{}", std::process::id()));
        let tree = Input::new(205, 10, false, ReadStrategy::Named);
        tree.write_files(&folder, 10).expect("a temporary folder");
        assert!(tree.files.is_sorted());
        let first = folder.join(&tree.files[0]);
        assert_eq!(fs::read(&first).expect("it was written").len(), 10);
        fs::write(&first, [0; 10]).expect("it can be changed");
        tree.write_files(&folder, 10).expect("it is there");
        assert_eq!(fs::read(&first).expect("it is there"), [0; 10], "not written twice");
        fs::remove_dir_all(&folder).expect("the folder of this test");
    }
}
