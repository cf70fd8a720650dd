//! `hashmill sum` beside the real `b3sum`: whole processes, warm page cache.

pub mod job;
pub mod programs;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hashmill_testkit::Rng;

use crate::gates::Gate;
use crate::host::Host;
use crate::judge::{self, Measured};
use crate::report::{Report, SCHEMA};
use crate::timer::{self, Side, SystemClock, Timer};
use job::Job;
use programs::Programs;

/// The real b3sum, built by cargo from the registry.
const RIVAL: &str = "b3sum 1.8.7";

/// Measures every job of `gates` whose name contains `filter`, `pairs` pairs of processes each, no more than
/// `budget` for one job.
pub fn compare(
    gates: &[Gate],
    filter: &str,
    pairs: usize,
    budget: Duration,
    seed: u64,
    mut progress: impl FnMut(&str),
) -> anyhow::Result<Report> {
    let programs = Programs::build()?;
    let folder = programs::folder().join("data");
    let host = Host::read();
    let mut rng = Rng::new(seed);
    let mut reports = Vec::new();
    for gate in gates {
        let mut rows = Vec::new();
        for name in &gate.rows {
            let job: Job = name.parse().with_context(|| format!("gate {:?}", gate.name))?;
            if gate.name.contains(filter) || name.contains(filter) {
                progress(name);
                let data = job.data();
                data.make(&folder)?;
                let timer = Timer { pairs, sample: Duration::ZERO, budget };
                rows.push(measure(&job, &programs, &folder, timer, &mut rng)?);
            }
        }
        if !rows.is_empty() {
            reports.push(judge::gate(gate, &rows.iter().collect::<Vec<_>>()));
        }
    }
    ensure!(!reports.is_empty(), "no gate and no row contains {filter:?}");
    Ok(Report {
        schema: SCHEMA,
        created: hashmill_machine::date::now_utc(),
        command: std::env::args().collect(),
        rival: RIVAL.to_owned(),
        method: format!(
            "up to {pairs} pairs of processes in alternating order, from start to exit, files in the page cache; \
             Hodges–Lehmann median of their ratios, 99 % exact"
        ),
        host,
        seed,
        gates: reports,
    })
}

fn measure(
    job: &Job,
    programs: &Programs,
    folder: &Path,
    timer: Timer,
    rng: &mut Rng,
) -> anyhow::Result<Measured> {
    let [rival, ours] = job.commands(programs);
    let outputs = [run_once(&rival, folder)?, run_once(&ours, folder)?];
    ensure!(outputs[0] == outputs[1], "{job}: the two programs print different lines; nothing was timed");
    let side = |command: &Invocation| {
        let command = command.clone();
        Side::new(move |calls, _| {
            for _ in 0..calls {
                // The same command has just succeeded; a failure now would show as a wild sample, not as a wrong one.
                let _ = command.start(folder, Stdio::null()).and_then(|mut child| child.wait());
            }
        })
    };
    let samples = timer::measure(&mut SystemClock::default(), side(&rival), side(&ours), timer, 1, rng);
    let mut measured = Measured {
        row: job.to_string(),
        bytes: job.data().bytes(),
        how: ours.words(),
        ..Measured::default()
    };
    // Both processes of a pair are fresh, so that each pair is a session of its own.
    for pair in samples.pairs {
        measured.add("process", samples.calls, vec![pair]);
    }
    Ok(measured)
}

/// A program, its arguments, and what it reads.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// A file for its standard input; otherwise that is empty.
    pub stdin: Option<PathBuf>,
}

impl Invocation {
    fn start(&self, folder: &Path, stdout: Stdio) -> std::io::Result<std::process::Child> {
        let stdin = match &self.stdin {
            Some(path) => File::open(folder.join(path))?.into(),
            None => Stdio::null(),
        };
        Command::new(&self.program)
            .args(&self.args)
            .current_dir(folder)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::null())
            .spawn()
    }

    /// The first few arguments, which say how it was called.
    fn words(&self) -> String {
        let shown: Vec<&str> = self.args.iter().take(4).map(String::as_str).collect();
        format!("{}{}", shown.join(" "), if self.args.len() > 4 { " …" } else { "" })
    }
}

/// What the program prints. Also brings its files into the page cache.
fn run_once(command: &Invocation, folder: &Path) -> anyhow::Result<Vec<u8>> {
    let name = command.program.display();
    let mut child = command.start(folder, Stdio::piped()).with_context(|| format!("starting {name}"))?;
    let mut output = Vec::new();
    child.stdout.take().context("its standard output")?.read_to_end(&mut output)?;
    let status = child.wait().with_context(|| format!("waiting for {name}"))?;
    ensure!(status.success(), "{name} {} failed: {status}", command.words());
    Ok(output)
}

/// Files to hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Data {
    /// One file.
    File(usize),
    /// That many files of that length, a hundred to a folder.
    Tree(usize, usize),
}

impl Data {
    /// Bytes in all.
    pub fn bytes(self) -> usize {
        match self {
            Self::File(len) => len,
            Self::Tree(count, len) => count * len,
        }
    }

    /// The file, or the folder of the tree, relative to the data folder.
    pub fn name(self) -> String {
        match self {
            Self::File(len) => format!("file-{len}"),
            Self::Tree(count, len) => format!("tree-{count}x{len}"),
        }
    }

    /// Every file of it in the byte order of paths, relative to the data folder.
    pub fn paths(self) -> Vec<String> {
        match self {
            Self::File(_) => vec![self.name()],
            Self::Tree(count, _) => {
                (0..count).map(|i| format!("{}/{:05}/{i:07}", self.name(), i / 100)).collect()
            }
        }
    }

    /// Writes what is not there yet.
    fn make(self, folder: &Path) -> anyhow::Result<()> {
        let len = match self {
            Self::File(len) | Self::Tree(_, len) => len,
        };
        let paths = self.paths();
        let parents: BTreeSet<PathBuf> =
            paths.iter().filter_map(|path| Some(folder.join(path).parent()?.to_owned())).collect();
        for parent in parents {
            fs::create_dir_all(&parent).with_context(|| format!("making {}", parent.display()))?;
        }
        for (path, seed) in paths.iter().zip(0..) {
            let path = folder.join(path);
            let there = fs::metadata(&path).is_ok_and(|metadata| metadata.len() == len as u64);
            if !there {
                write(&path, len, seed).with_context(|| format!("writing {}", path.display()))?;
            }
        }
        Ok(())
    }
}

fn write(path: &Path, len: usize, seed: u64) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let mut rng = Rng::new(seed);
    let mut left = len;
    while left > 0 {
        let piece = rng.bytes(left.min(1 << 20));
        file.write_all(&piece)?;
        left -= piece.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_committed_gates_means_something() {
        let gates = crate::gates::parse(include_str!("../../../../bench/gates.toml")).expect("valid").b3sum;
        assert!(!gates.is_empty());
        for row in gates.iter().flat_map(|gate| &gate.rows) {
            assert_eq!(row.parse::<Job>().map(|job| job.to_string()).as_ref(), Ok(row));
        }
    }

    #[test]
    fn a_tree_is_made_once_and_its_paths_are_sorted() {
        let folder = std::env::temp_dir().join(format!("rivals-tree-{}", std::process::id()));
        let tree = Data::Tree(205, 10);
        tree.make(&folder).expect("a temporary folder");
        let paths = tree.paths();
        assert!(paths.is_sorted());
        let first = fs::read(folder.join(&paths[0])).expect("it was made");
        assert_eq!(first.len(), 10);
        fs::write(folder.join(&paths[0]), [0; 10]).expect("it can be changed");
        tree.make(&folder).expect("it is there");
        assert_eq!(fs::read(folder.join(&paths[0])).expect("it is there"), [0; 10], "not made twice");
        assert_eq!(tree.bytes(), 2050);
        fs::remove_dir_all(&folder).expect("it was made here");
    }
}
