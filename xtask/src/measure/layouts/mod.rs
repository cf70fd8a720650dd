//! `cargo xtask layouts`: experiment on comparisons of builds. Link layout must not be reported as a difference in speed, and true
//! differences must be found.
//!
//! The program `probes/layouts.rs` is compared with itself many times: in other layouts, with changed dead code, with added dead code,
//! and with true extra work. Each comparison is one command of the lab, as a user types it, with its own inputs and layouts. Results are
//! appended to `target/layouts/results.jsonl`. The same command continues from there with the same lab, of which the folder has a copy.
//! Delete the folder to restart.

mod pairs;
mod summary;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use pairs::{EXTRA_WORK, Kind, Pair, pairs};
use summary::{ComparisonResult, Summary};

const SOURCE: &str = "xtask/probes/layouts.rs";

/// Options of the experiment.
pub(crate) struct LayoutsRequest {
    /// Time limit in seconds.
    pub(crate) seconds: u64,
}

/// Runs the missing comparisons and prints a summary; true if the hypotheses hold.
pub(crate) fn run(root: &Path, request: &LayoutsRequest) -> anyhow::Result<bool> {
    let experiment = Experiment::open(root)?;
    let deadline = Instant::now() + Duration::from_secs(request.seconds);
    let mut results = experiment.results()?;
    for pair in pairs() {
        if results.contains_key(&pair.id) {
            continue;
        }
        if Instant::now() >= deadline {
            println!("stopped after {} s; run the same command to continue", request.seconds);
            break;
        }
        let record = experiment.compare(&pair)?;
        experiment.append(&record)?;
        println!(
            "{:<15} {:<10} {:<13} {:.4}×  {} sessions",
            pair.id,
            pair.work,
            record["verdict"].as_str().unwrap_or_default(),
            record["ratio"].as_f64().unwrap_or(1.0),
            record["sessions"]
        );
        results.insert(pair.id, ComparisonResult::from_record(&record)?);
    }
    let summary = Summary::from_results(&results);
    print!("{}{}", summary.text(), experiment.conditions()?);
    Ok(summary.holds())
}

/// Folders of the experiment.
struct Experiment {
    folder: PathBuf,
}

impl Experiment {
    fn open(root: &Path) -> anyhow::Result<Self> {
        let folder = root.join("target/layouts");
        let source = folder.join("source");
        fs::create_dir_all(&source)?;
        let experiment = Experiment { folder };
        if !experiment.lab().is_file() {
            experiment.build_lab(root)?;
        }
        let git = |arguments: &[&str]| -> anyhow::Result<()> {
            let mut git = Command::new("git");
            git.arg("-C").arg(&source).args(["-c", "user.name=lab", "-c", "user.email=lab@localhost"]);
            output(git.args(arguments), "git").map(drop)
        };
        if !source.join(".git").is_dir() {
            fs::copy(root.join(SOURCE), source.join("main.rs")).context(SOURCE)?;
            git(&["init", "--quiet"])?;
            git(&["add", "--all"])?;
            git(&["commit", "--quiet", "-m", "The work"])?;
        }
        Ok(experiment)
    }

    fn lab(&self) -> PathBuf {
        self.folder.join("lab")
    }

    /// Copies the lab, so that a change of the tree does not replace it during the experiment.
    fn build_lab(&self, root: &Path) -> anyhow::Result<()> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root).args([
            "build",
            "--quiet",
            "-p",
            "hashmill-lab",
            "--features",
            "full",
            "--example",
            "lab",
        ]);
        output(&mut cargo, "the example `lab`")?;
        let mut git = Command::new("git");
        git.arg("-C").arg(root).args(["describe", "--always", "--dirty", "--abbrev=12"]);
        let commit = output(&mut git, "git").unwrap_or_else(|_| "without a repository".to_owned());
        fs::write(self.folder.join("commit"), commit)?;
        fs::copy(root.join("target/debug/examples/lab"), self.lab()).context("a copy of the lab").map(drop)
    }

    fn results_path(&self) -> PathBuf {
        self.folder.join("results.jsonl")
    }

    fn records(&self) -> anyhow::Result<Vec<Value>> {
        let text = match fs::read_to_string(self.results_path()) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.with_context(|| self.results_path().display().to_string())?,
        };
        complete_records(&text)
    }

    /// Results of earlier runs.
    fn results(&self) -> anyhow::Result<BTreeMap<String, ComparisonResult>> {
        let descriptions: BTreeMap<String, String> =
            pairs().iter().map(|pair| (pair.id.clone(), pair.description())).collect();
        let id_and_result = |record: &Value| {
            let id = record["id"].as_str().context("a record has an id")?;
            let is_same = record["of"].as_str() == descriptions.get(id).map(String::as_str);
            ensure!(
                is_same,
                "{id} is a result of another comparison: remove {} to restart",
                self.folder.display()
            );
            Ok((id.to_owned(), ComparisonResult::from_record(record)?))
        };
        self.records()?.iter().map(id_and_result).collect()
    }

    fn append(&self, record: &Value) -> anyhow::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.results_path())?;
        // A truncated line is ignored by the reader, so the next record starts a new line.
        let is_truncated = fs::read(self.results_path())?.last().is_some_and(|last| *last != b'\n');
        Ok(writeln!(file, "{}{record}", if is_truncated { "\n" } else { "" })?)
    }

    /// Runs one comparison: one command of the lab.
    fn compare(&self, pair: &Pair) -> anyhow::Result<Value> {
        let start = Instant::now();
        let build = |side: usize| {
            format!(
                "build=rustc --edition 2024 -O -C codegen-units=1 -C linker=\"$LAB_LINKER\" {} main.rs -o \"$LAB_PROGRAM\"",
                pair.flags[side]
            )
        };
        let last = self.folder.join("last");
        let mut lab = Command::new(self.lab());
        lab.current_dir(self.folder.join("source")).args(["compare", "HEAD", "HEAD", "--cases", pair.work]);
        lab.args([
            "--baseline-set",
            &build(0),
            "--candidate-set",
            &build(1),
            "--seed",
            &pair.seed.to_string(),
        ]);
        // The noise of memory varies between rounds, that of other work between sessions and their links.
        let rounds = if pair.work == "memory" { "40" } else { "12" };
        lab.args(["--rounds", rounds, "--warm-ups", "1", "--control", "off", "--json"]);
        lab.arg("--cache").arg(self.folder.join("cache")).arg("--out").arg(&last);
        if pair.kind == Kind::OneLink {
            lab.arg("--one-link");
        }
        if !EXTRA_WORK.contains(&pair.kind) {
            lab.arg("--no-count");
        }
        let report: Value = serde_json::from_str(&output(&mut lab, &pair.id)?).context("a report")?;
        let expected = if pair.kind == Kind::OneLink { "fixed" } else { "shuffled" };
        let layout = &report["builds"][0]["layout"];
        ensure!(layout["is"] == expected, "{}: {layout} instead of {expected}", pair.id);
        let row = &report["rows"][0];
        let comparison = &row["comparisons"][0];
        let mut record = json!({ "id": pair.id, "work": pair.work, "of": pair.description() });
        record["deltas"] = row["sides"][1]["deltas"].clone();
        for name in ["verdict", "ratio", "interval", "p_family", "sessions", "spread"] {
            record[name] = comparison[name].clone();
        }
        record["sees"] =
            json!(sensitivity(&fs::read_to_string(last.join("report.md")).context("report.md")?));
        let count = |side: usize| row["instructions"][side]["of"]["per_iteration"].as_f64();
        record["instructions"] =
            json!(count(0).zip(count(1)).map(|(baseline, candidate)| baseline / candidate));
        record["load"] = json!(load());
        record["seconds"] = json!(start.elapsed().as_secs());
        Ok(record)
    }

    /// Conditions of the experiment for its record: commit of the lab, duration, load.
    fn conditions(&self) -> anyhow::Result<String> {
        let commit = fs::read_to_string(self.folder.join("commit")).unwrap_or_default();
        let records = self.records()?;
        let mut loads: Vec<f64> = records.iter().filter_map(|record| record["load"].as_f64()).collect();
        loads.sort_by(f64::total_cmp);
        let [lowest, median, highest] = [0, loads.len() / 2, loads.len().saturating_sub(1)]
            .map(|index| loads.get(index).copied().unwrap_or_default());
        let seconds: u64 = records.iter().filter_map(|record| record["seconds"].as_u64()).sum();
        Ok(format!(
            "lab {}; {} minutes of comparing; load average {lowest:.1} to {highest:.1}, median {median:.1}\n",
            commit.trim(),
            seconds / 60
        ))
    }
}

/// Records, one per line. A truncated record is ignored, so its comparison is repeated.
fn complete_records(text: &str) -> anyhow::Result<Vec<Value>> {
    let complete = text.lines().filter(|line| line.ends_with('}'));
    complete.map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

/// The load average of the last minute, if the system has one.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Output of a command, if it succeeds.
fn output(command: &mut Command, name: &str) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{}", command.get_program().display()))?;
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The percentage after "sees" in an inconclusive verdict, as a ratio.
fn sensitivity(report: &str) -> Option<f64> {
    let (_, percentage) = report.split_once("(sees ")?;
    Some(percentage.split(' ').next()?.parse::<f64>().ok()? / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_record_is_ignored_and_a_malformed_one_is_an_error() {
        let read = |text: &str| complete_records(text).map(|records| records.len()).ok();
        assert_eq!(read(""), Some(0));
        assert_eq!(read("{\"id\":1}\n{\"id\n{\"id\":2}\n{\"i"), Some(2));
        assert_eq!(read("{\"id\":1}\n{\"id}\n"), None);
    }

    #[test]
    fn the_sensitivity_is_read_from_a_report() {
        assert_eq!(
            sensitivity("| sort | +0.3 % | inconclusive (sees 1.5 % and more, needs ~90) |"),
            Some(0.015)
        );
        assert_eq!(sensitivity("| sort | +0.3 % | slower |"), None);
    }
}
