//! Supervisor of the jobs of a search: sums their counts, kills jobs that hang, and reproduces crashes.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::child::{Part, keep};
use super::{Finding, Tally, Target};

/// Timeout of a block. A block takes milliseconds; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// A search.
#[derive(Clone, Debug)]
pub struct Request {
    /// Targets, in order.
    pub targets: Vec<&'static Target>,
    /// Duration for each target.
    pub seconds: u64,
    /// Number of concurrent processes.
    pub jobs: u64,
    /// Seed of all inputs.
    pub seed: u64,
    /// Folder for findings.
    pub out: PathBuf,
    /// A table to which a row is added for each target.
    pub record: Option<PathBuf>,
}

/// Results of one target.
#[derive(Debug, Default)]
struct Report {
    tally: Tally,
    /// Number of findings of each kind, by file.
    kinds: BTreeMap<PathBuf, u64>,
}

/// Runs a search. Was nothing found?
pub fn search(request: &Request) -> io::Result<bool> {
    let commit = commit();
    let mut clean = true;
    let row = |cells: [&str; 9]| format!("| {} |\n", cells.join(" | "));
    let head =
        row(["target", "executions", "accepted", "refused", "findings", "seconds", "jobs", "seed", "commit"])
            + &row(["---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "---"]);
    print!("{head}");
    for target in &request.targets {
        let start = Instant::now();
        let report = target_search(request, target)?;
        let Tally { executions, accepted, refused, findings } = report.tally;
        let seconds = start.elapsed().as_secs();
        let numbers = [executions, accepted, refused, findings, seconds, request.jobs, request.seed];
        let words = numbers.map(|number| number.to_string());
        let [executions, accepted, refused, findings, seconds, jobs, seed] =
            words.each_ref().map(String::as_str);
        let line =
            row([target.name, executions, accepted, refused, findings, seconds, jobs, seed, commit.as_str()]);
        print!("{line}");
        io::stdout().flush()?;
        for (file, count) in &report.kinds {
            clean = false;
            eprintln!("{count} times: {}", file.display());
        }
        if let Some(record) = &request.record {
            let new = !record.exists();
            let mut file = fs::File::options().create(true).append(true).open(record)?;
            file.write_all(if new { head.clone() + &line } else { line }.as_bytes())?;
        }
    }
    Ok(clean)
}

/// The commit of the search, marked if the work tree differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let out = Command::new("git").current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output();
        out.ok()
            .filter(|out| out.status.success())
            .map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain", "--", "..", ":!../bench"]);
    match (git(&["rev-parse", "--short=12", "HEAD"]), changed) {
        (Some(commit), Some(changed)) if changed.is_empty() => commit,
        (Some(commit), _) => commit + "+",
        (None, _) => "unknown".to_owned(),
    }
}

fn target_search(request: &Request, target: &'static Target) -> io::Result<Report> {
    let end = Instant::now() + Duration::from_secs(request.seconds);
    let job = |first| job_search(request, target, first, end);
    let reports: Vec<io::Result<Report>> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..request.jobs).map(|first| scope.spawn(move || job(first))).collect();
        jobs.into_iter().map(|job| job.join().expect("a job that only watches")).collect()
    });
    let mut all = Report::default();
    for report in reports {
        let report = report?;
        all.tally += report.tally;
        report.kinds.into_iter().for_each(|(file, count)| *all.kinds.entry(file).or_default() += count);
    }
    Ok(all)
}

fn job_search(request: &Request, target: &'static Target, first: u64, end: Instant) -> io::Result<Report> {
    let mut report = Report::default();
    let mut part = Part {
        target,
        seed: request.seed,
        first,
        step: request.jobs,
        time: Some(Duration::from_secs(request.seconds)),
        out: request.out.clone(),
    };
    loop {
        let reason = match watch(&part, &mut report)? {
            Ended::Well => return Ok(report),
            Ended::Hanging { block } => (block, "it does not end"),
            Ended::Dead { block } => (block, "the process died: of memory, of its stack, or by a signal"),
        };
        // Again, alone, with each input written before it runs.
        let (block, what) = reason;
        let slow = Part { first: block, time: None, ..part.clone() };
        fs::create_dir_all(&slow.out)?;
        let again = watch(&slow, &mut Report::default())?;
        let location = if matches!(again, Ended::Well) { "not again" } else { "again" };
        let finding = Finding { location: location.to_owned(), message: what.to_owned() };
        let input = fs::read(slow.last()).unwrap_or_default();
        let origin = format!("seed {}, block {block}", part.seed);
        let file = keep(&part.out, target, &input, &finding, &origin)?;
        *report.kinds.entry(file).or_default() += 1;
        report.tally.findings += 1;
        report.tally.executions += 1;
        part.first = block + part.step;
        let now = Instant::now();
        if now >= end {
            return Ok(report);
        }
        part.time = Some(end - now);
    }
}

enum Ended {
    Well,
    Hanging { block: u64 },
    Dead { block: u64 },
}

/// Follows one job to its end.
fn watch(part: &Part, report: &mut Report) -> io::Result<Ended> {
    let program = env::current_exe()?;
    let mut child = Command::new(program)
        .args(["--part", &part.argument()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let lines = lines_of(&mut child);
    let mut block = part.first;
    let ended = loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
                let numbers: Vec<u64> = rest.split(' ').map_while(|word| word.parse().ok()).collect();
                match (word, numbers.as_slice()) {
                    ("block", [number]) => block = *number,
                    ("done", &[executions, accepted, refused, findings]) => {
                        report.tally += Tally { executions, accepted, refused, findings };
                    }
                    ("finding", [count]) => {
                        let file = rest.split_once(' ').map_or("", |(_, file)| file);
                        *report.kinds.entry(Path::new(file).to_owned()).or_default() += count;
                    }
                    ("end", _) => break Ended::Well,
                    _ => {}
                }
            }
            Err(RecvTimeoutError::Timeout) => break Ended::Hanging { block },
            Err(RecvTimeoutError::Disconnected) => break Ended::Dead { block },
        }
    };
    if !matches!(ended, Ended::Well) {
        // The job may have ended already.
        let _ = child.kill();
    }
    child.wait()?;
    Ok(ended)
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (send, lines) = channel();
    let out = child.stdout.take();
    thread::spawn(move || {
        let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines());
        // Ends when the receiver is dropped.
        lines.map_while(Result::ok).take_while(|line| send.send(line.clone()).is_ok()).for_each(drop);
    });
    lines
}
