//! Claims: published numbers with a reference to the report that proves them.
//!
//! A file lists each claim with its case and its report. Documents mark the place of a number with `<!-- lab:claim ID
//! -->` before and `<!-- /lab -->` after it; the number is rendered from the report. A table of gate verdicts is
//! claimed in the same way.

use super::gate::{self, Demand, Gate, GateError};
use super::judge::{Judged, Verdict as GateVerdict, judge};
use crate::fingerprint::sha256_hex;
use crate::model::key::Key;
use crate::model::registry::Registry;
use crate::model::summary::Recorded;
use crate::report::check::{UNEQUAL, problems};
use crate::report::schema::{Comparison, Report, Role, Status, Verdict};
use crate::report::store::{self, ReadError};
use hashmill_machine::date::{now_seconds, parse_utc};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// File of claims.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claims {
    /// Documents with numbers, in the root folder of the file or below.
    #[serde(default)]
    pub(crate) documents: Vec<PathBuf>,
    /// Root of the file's paths, relative to its folder.
    #[serde(default)]
    pub(crate) root: PathBuf,
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
    #[serde(default)]
    pub(crate) table: Vec<VerdictTable>,
    #[serde(default)]
    pub(crate) list: Vec<RatioTable>,
}

/// The verdicts of a report on a file of gates, as a table in a document.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VerdictTable {
    pub(crate) id: String,
    /// File of gates.
    pub(crate) gates: PathBuf,
    /// Program that measured it, as typed.
    pub(crate) program: String,
    pub(crate) report: PathBuf,
    /// SHA-256 of the file.
    pub(crate) report_sha256: String,
    /// Last day on which it is valid, such as `2027-01-31`.
    pub(crate) expires: String,
    /// Source files that it depends on; without them it never becomes stale.
    #[serde(default)]
    pub(crate) sources: Sources,
}

/// Claims as a table of recorded ratios, for programs that show ratios without measuring them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RatioTable {
    pub(crate) id: String,
    /// Ids of the claims in order.
    pub(crate) claims: Vec<String>,
}

/// A published number: the other's time divided by ours.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    pub(crate) id: String,
    /// Our case.
    pub(crate) case: String,
    /// Engine to compare with.
    pub(crate) vs: String,
    /// Program that can measure it again, as typed.
    pub(crate) program: String,
    pub(crate) report: PathBuf,
    /// SHA-256 of the file.
    pub(crate) report_sha256: String,
    /// Last day on which it is valid, such as `2027-01-31`.
    pub(crate) expires: String,
    /// If true, the report need not prove a difference; the number is then shown with its interval.
    #[serde(default)]
    pub(crate) unproven: bool,
    /// Source files that it depends on; without them it never becomes stale.
    #[serde(default)]
    pub(crate) sources: Sources,
}

/// Source files that a number depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sources {
    /// Files and folders with all files in them.
    pub(crate) paths: Vec<PathBuf>,
    /// Their hash in the measured commit: see [`Sources::hash`].
    pub(crate) sha256: String,
}

/// A source cannot be read, so it is unknown whether it changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot read its source {}: {source}", path.display())]
pub(crate) struct SourceError {
    path: PathBuf,
    source: std::io::Error,
}

impl Sources {
    /// SHA-256 of the output of `sha256sum` for the files in the order of their paths.
    pub(crate) fn hash(&self, root: &Path) -> Result<String, SourceError> {
        let mut found = Vec::new();
        let mut open: Vec<PathBuf> = self.paths.clone();
        while let Some(path) = open.pop() {
            let full = root.join(&path);
            let unreadable = |source| SourceError { path: full.clone(), source };
            if full.is_dir() {
                for entry in full.read_dir().map_err(unreadable)? {
                    open.push(path.join(entry.map_err(unreadable)?.file_name()));
                }
            } else {
                let name = path.to_string_lossy().replace('\\', "/");
                let bytes = std::fs::read(&full).map_err(unreadable)?;
                let line = format!("{}  {name}\n", sha256_hex(&bytes));
                found.push((name, line));
            }
        }
        found.sort();
        let lines: String = found.into_iter().map(|(_, line)| line).collect();
        Ok(sha256_hex(lines.as_bytes()))
    }

    /// Notice if the sources differ from the measured ones; none if no sources are listed.
    pub(crate) fn stale(&self, root: &Path, report: &Report) -> Result<Option<String>, SourceError> {
        if self.paths.is_empty() || self.hash(root)? == self.sha256 {
            return Ok(None);
        }
        let commit = report.builds.iter().rev().find_map(|build| build.commit.as_deref());
        let commit = commit.map_or("an unknown commit", |commit| commit.get(..8).unwrap_or(commit));
        let paths: Vec<String> = self.paths.iter().map(|path| format!("`{}`", path.display())).collect();
        Ok(Some(format!("Measured at {commit}; sources changed since: {}.", paths.join(", "))))
    }
}

/// Error in a file of claims or in a claim.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClaimError {
    #[error("{0}")]
    Syntax(String),
    #[error("two claims are called `{0}`")]
    Twice(String),
    #[error("there is no claim `{id}`{hint}")]
    Unknown { id: String, hint: String },
    #[error("claim `{id}`: {reason}")]
    Wrong { id: String, reason: String },
    #[error("claim `{id}`: {}: {source}", path.display())]
    Read { id: String, path: PathBuf, source: ReadError },
    #[error("claim `{id}`: {source}")]
    Source { id: String, source: SourceError },
}

/// Text of a claim or a table for documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) text: String,
    /// Notice that the sources changed. In a table it is part of the text.
    pub(crate) stale: Option<String>,
}

/// A claim with the numbers of its report, as the other's time divided by ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proven {
    pub(crate) ratio: f64,
    pub(crate) interval: [f64; 2],
}

impl Proven {
    pub(crate) fn text(&self) -> String {
        format!("{:.2}×", self.ratio)
    }

    fn from_comparison(comparison: &Comparison) -> Option<Self> {
        Some(Proven { ratio: comparison.ratio, interval: comparison.interval? })
    }
}

impl Claims {
    pub(crate) fn parse(text: &str) -> Result<Self, ClaimError> {
        let claims: Claims = toml_edit::de::from_str(text)
            .map_err(|error| ClaimError::Syntax(gate::one_line(&error.to_string())))?;
        let tables = claims.table.iter().map(|table| &table.id);
        let tables = tables.chain(claims.list.iter().map(|list| &list.id));
        let ids: Vec<&String> = claims.claim.iter().map(|claim| &claim.id).chain(tables).collect();
        match ids.iter().enumerate().find(|(index, id)| ids[..*index].contains(id)) {
            Some((_, id)) => Err(ClaimError::Twice((*id).clone())),
            None => Ok(claims),
        }
    }

    pub(crate) fn get(&self, id: &str) -> Result<&Claim, ClaimError> {
        self.claim.iter().find(|claim| claim.id == id).ok_or_else(|| self.unknown(id))
    }

    pub(crate) fn unknown(&self, id: &str) -> ClaimError {
        let known = self.claim.iter().map(|claim| claim.id.as_str());
        let tables = self.table.iter().map(|table| table.id.as_str());
        let tables = tables.chain(self.list.iter().map(|list| list.id.as_str()));
        ClaimError::Unknown { id: id.to_owned(), hint: crate::model::select::hint(id, known.chain(tables)) }
    }
}

/// Reads the report of a claim, and checks that it is the claimed one, correct and not expired.
fn evidence(id: &str, path: &Path, sha256: &str, expires: &str) -> Result<Report, ClaimError> {
    let wrong = |reason: String| ClaimError::Wrong { id: id.to_owned(), reason };
    let last = parse_utc(&format!("{expires}T23:59:59Z"));
    let last = last.ok_or_else(|| wrong(format!("`{expires}` is not a date like 2027-01-31")))?;
    if last < now_seconds() {
        return Err(wrong(format!("it expired on {expires}: measure it again")));
    }
    let failed = |source| ClaimError::Read { id: id.to_owned(), path: path.to_owned(), source };
    let bytes = store::read_bytes(path).map_err(failed)?;
    if sha256_hex(&bytes) != sha256 {
        return Err(wrong(format!("{} is not the claimed file", path.display())));
    }
    let report = store::parse(&bytes).map_err(failed)?;
    // Rows with unequal samples have no verdict and are shown as such; the others are valid.
    match problems(&report).into_iter().find(|problem| !problem.is_of_unequal_samples()) {
        Some(problem) => Err(wrong(format!("{}: {problem}", path.display()))),
        None => Ok(report),
    }
}

impl VerdictTable {
    /// One line per gate in the report: its ratios, its threshold and the verdict.
    pub(crate) fn prove(&self, root: &Path, registry: &Registry) -> Result<String, ClaimError> {
        let report = evidence(&self.id, &root.join(&self.report), &self.report_sha256, &self.expires)?;
        let path = root.join(&self.gates);
        let wrong = |reason: &dyn std::fmt::Display| ClaimError::Wrong {
            id: self.id.clone(),
            reason: format!("{}: {reason}", path.display()),
        };
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        let gates = gate::parse(&text).map_err(|error| wrong(&error))?;
        let mut demands = demands_on(&report, &gates.gate, registry).map_err(|error| wrong(&error))?;
        for demand in &mut demands {
            // A threshold for other machines does not apply, so only the number is shown.
            demand.must = demand.must.filter(|_| gates.gate[demand.gate].holds_for(&report.machine));
        }
        let reports = [report];
        let mut table = String::from("\n| workload | ratio | goal | |\n|---|---|---|---|\n");
        let judged = judge(&demands.iter().collect::<Vec<_>>(), &reports);
        for (index, gate) in gates.gate.iter().enumerate() {
            let of_gate = demands.iter().zip(&judged).filter(|(demand, _)| demand.gate == index);
            let (demands, judged): (Vec<&Demand>, Vec<&Judged>) = of_gate.unzip();
            table.extend(line(gate, &demands, &judged));
        }
        let stale = self.sources.stale(root, &reports[0]);
        let stale = stale.map_err(|source| ClaimError::Source { id: self.id.clone(), source })?;
        if let Some(message) = stale {
            table += &format!("\n{message}\n");
        }
        Ok(table)
    }
}

impl RatioTable {
    /// The table, if every claim holds.
    pub(crate) fn prove(&self, root: &Path, claims: &Claims) -> Result<String, ClaimError> {
        let lines = self.claims.iter().map(|id| claims.get(id)?.recorded(root));
        Ok(Recorded::table(&lines.collect::<Result<Vec<_>, _>>()?))
    }
}

/// Demands of gates on a report. Kernels differ between processors: a gate for a kernel that this processor lacks may
/// be skipped if the report, possibly from another processor, does not contain it.
fn demands_on(report: &Report, gates: &[Gate], registry: &Registry) -> Result<Vec<Demand>, GateError> {
    let mut demands = Vec::new();
    for (index, gate) in gates.iter().enumerate() {
        match gate.demands(index, registry) {
            Ok(of_gate) => demands.extend(of_gate),
            Err(error) if error.is_about_the_processor() && !gate.is_in(report)? => {}
            Err(error) => return Err(error),
        }
    }
    Ok(demands)
}

/// A line of the table; none for gates that were not measured. A ratio without an interval is no evidence, and left out.
fn line(gate: &Gate, demands: &[&Demand], judged: &[&Judged]) -> Option<String> {
    let ratios = judged.iter().filter(|judged| judged.interval.is_some()).filter_map(|judged| judged.ratio);
    let (low, high) = ratios.fold((f64::INFINITY, 0.0_f64), |(low, high), r| (low.min(r), high.max(r)));
    let left_out = [
        ("samples of unequal length", judged.iter().filter(|j| j.verdict == GateVerdict::Unequal).count()),
        ("too few sessions", judged.iter().filter(|j| j.ratio.is_some() && j.interval.is_none()).count()),
    ];
    let left_out = left_out.iter().filter(|(_, count)| *count > 0);
    let left_out = left_out.map(|(reason, count)| format!("{count} of {} left out: {reason}", judged.len()));
    let left_out: Vec<String> = left_out.collect();
    if high == 0.0 {
        return (!left_out.is_empty()).then(|| format!("| {} | | | {} |\n", gate.name, left_out.join("; ")));
    }
    let range = |low: f64, high: f64| match (format!("{low:.2}"), format!("{high:.2}")) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    let bars = demands.iter().filter_map(|demand| demand.must);
    let (least, most) = bars.fold((f64::INFINITY, 0.0_f64), |(low, high), b| (low.min(b), high.max(b)));
    let goal = if most == 0.0 { String::new() } else { range(least, most) };
    let any = |wanted: fn(&GateVerdict) -> bool| judged.iter().any(|judged| wanted(&judged.verdict));
    let word = match () {
        () if any(|verdict| matches!(verdict, GateVerdict::Missing(_) | GateVerdict::Unfinished)) => {
            "not measured completely"
        }
        () if any(|verdict| *verdict == GateVerdict::Fail) => "not reached",
        () if any(|verdict| *verdict == GateVerdict::Unproven) => "unproven",
        () if any(|verdict| *verdict == GateVerdict::Pass) => "reached",
        () => "",
    };
    let words: Vec<&str> = [word]
        .into_iter()
        .chain(left_out.iter().map(String::as_str))
        .filter(|words| !words.is_empty())
        .collect();
    Some(format!("| {} | {} | {goal} | {} |\n", gate.name, range(low, high), words.join("; ")))
}

impl Claim {
    fn wrong(&self, reason: impl Into<String>) -> ClaimError {
        ClaimError::Wrong { id: self.id.clone(), reason: reason.into() }
    }

    /// Text of the number in a document.
    pub(crate) fn text(&self, proven: &Proven) -> String {
        let [low, high] = proven.interval;
        let interval = if self.unproven { format!(" ({low:.2} to {high:.2})") } else { String::new() };
        proven.text() + &interval
    }

    /// The number, if its whole evidence is valid.
    pub(crate) fn prove(&self, root: &Path) -> Result<Proven, ClaimError> {
        self.find(&self.evidence(root)?)
    }

    /// Text for documents, if the report and all sources can be read.
    pub(crate) fn number(&self, root: &Path) -> Result<Number, ClaimError> {
        let report = self.evidence(root)?;
        let text = self.text(&self.find(&report)?);
        let stale = self.sources.stale(root, &report);
        let stale = stale.map_err(|source| ClaimError::Source { id: self.id.clone(), source })?;
        Ok(Number { text, stale })
    }

    /// Its report, if valid.
    pub(crate) fn evidence(&self, root: &Path) -> Result<Report, ClaimError> {
        let Claim { id, report, report_sha256, expires, .. } = self;
        evidence(id, &root.join(report), report_sha256, expires)
    }

    /// The claim with the processor and the date of its report.
    fn recorded(&self, root: &Path) -> Result<Recorded, ClaimError> {
        let report = self.evidence(root)?;
        let proven = self.find(&report)?;
        let [own, rival] = self.keys()?;
        Ok(Recorded {
            case: own.to_string(),
            engine: rival.engine,
            processor: report.machine.processor(),
            date: report.created.split('T').next().unwrap_or_default().to_owned(),
            ratio: proven.ratio,
            interval: proven.interval,
            report: self.report.to_string_lossy().replace('\\', "/"),
        })
    }

    /// Conditions of the measurement in a report; none if the report does not contain it.
    pub(crate) fn conditions(&self, report: &Report) -> Option<Conditions> {
        let row = report.rows.iter().find(|row| row.sides.iter().any(|side| side.key == self.case))?;
        let own = row.sides.iter().find(|side| side.key == self.case)?;
        let kernels = [&own.kernel, &row.sides[0].kernel].map(String::clone);
        let machine = &report.machine;
        let load = [report.quality.before.average, report.quality.after.average];
        let load = load.into_iter().flatten().reduce(f64::max);
        Some(Conditions {
            processor: format!("{} ({})", machine.cpu, machine.model),
            kernels,
            load,
            cores: machine.logical_cores,
        })
    }

    /// Finds the comparison of the claim in a valid report.
    pub(crate) fn find(&self, report: &Report) -> Result<Proven, ClaimError> {
        let [own, rival] = self.keys()?.map(|key| key.to_string());
        let found = report.rows.iter().find_map(|row| {
            let comparison = row.comparisons.iter().find(|comparison| {
                let side = &row.sides[comparison.side];
                side.role == Role::Candidate && side.key == own && row.sides[0].key == rival
            });
            Some((row, comparison?))
        });
        let Some((row, comparison)) = found else {
            return Err(self.wrong(format!("its report does not compare {own} with {rival}")));
        };
        if row.status != Status::Ok {
            return Err(self.wrong(format!("{} was not measured completely", row.title)));
        }
        if row.is_unequal(comparison.side) {
            return Err(self.wrong(UNEQUAL));
        }
        if comparison.verdict == Verdict::Inconclusive && !self.unproven {
            return Err(self.wrong("its report proves nothing: the verdict is inconclusive"));
        }
        Proven::from_comparison(comparison)
            .ok_or_else(|| self.wrong("its report has too few sessions for an interval"))
    }

    /// Our key and the rival's.
    pub(crate) fn keys(&self) -> Result<[Key; 2], ClaimError> {
        let own: Key =
            self.case.parse().map_err(|error: crate::model::key::KeyError| self.wrong(error.to_string()))?;
        let rival = Key { engine: self.vs.clone(), ..own.clone() };
        Ok([own, rival])
    }
}

/// Conditions that affect a number besides the code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conditions {
    pub(crate) processor: String,
    /// Kernels that ran: ours and the other's.
    pub(crate) kernels: [String; 2],
    /// The higher of the load averages before and after, if the system reports them.
    pub(crate) load: Option<f64>,
    pub(crate) cores: u32,
}

impl Conditions {
    /// Whether other processes were running.
    pub(crate) fn is_busy(&self) -> bool {
        self.load.is_some_and(|load| load > f64::from(self.cores) / 2.0)
    }

    pub(crate) fn words(&self) -> String {
        let [own, other] = &self.kernels;
        let load = self.load.map_or_else(|| "load unknown".to_owned(), |load| format!("load {load:.1}"));
        format!("{}, kernels {own} and {other}, {load} on {} processors", self.processor, self.cores)
    }

    /// Explains to a reader how the conditions or the code differ from the claimed ones.
    pub(crate) fn apart(&self, claimed: &Self) -> Option<String> {
        let differ = |which: usize| self.kernels[which] != claimed.kernels[which];
        let runs = match (differ(0), differ(1)) {
            (false, false) => "",
            (true, false) => "another kernel of ours runs",
            (false, true) => "another kernel of the other engine runs",
            (true, true) => "both engines run other kernels",
        };
        let (processor, there) = (&self.processor, &claimed.processor);
        let what = match (processor == there, runs) {
            (true, "") => return None,
            (true, runs) => format!("this processor is like that of the claim, but {runs}"),
            (false, "") => format!("this is not the machine of the claim: its processor is not {there}"),
            (false, runs) => {
                format!("this is not the machine of the claim: its processor is not {there}, and {runs}")
            }
        };
        Some(format!("{what}. The claim need not hold here, and this result does not refute it there"))
    }
}

/// Result of a claim on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalClaim {
    /// At least as claimed, within the intervals.
    Holds,
    /// In the claimed direction, but proven to be less.
    Weaker,
    /// Not in the claimed direction.
    Not,
    /// Too noisy to decide.
    Open,
}

impl LocalClaim {
    pub(crate) fn judge(claimed: &Proven, here: Option<&Proven>, verdict: Verdict) -> Self {
        // A claim may also limit a cost: then a smaller advantage still confirms it.
        let Some(here) = here else { return LocalClaim::Open };
        if here.interval[0] >= claimed.interval[0]
            || here.interval[1] >= claimed.ratio && verdict != Verdict::Inconclusive
        {
            return LocalClaim::Holds;
        }
        match verdict {
            Verdict::Inconclusive => LocalClaim::Open,
            Verdict::Faster if claimed.ratio > 1.0 => LocalClaim::Weaker,
            _ => LocalClaim::Not,
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            LocalClaim::Holds => "holds",
            LocalClaim::Weaker => "weaker",
            LocalClaim::Not => "does not hold here",
            LocalClaim::Open => "undecided here",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::engine::{Digest, function};
    use crate::model::registry::EngineOffer;

    const CLAIM: &str = "[[claim]]\nid = \"a\"\ncase = \"lab.cpu/probe/kernel/64/t1\"\nvs = \"rival\"\nprogram = \"lab\"\n\
                         report = \"r.json\"\nreport_sha256 = \"00\"\nexpires = \"2999-01-31\"\n";

    fn problem(text: &str) -> String {
        let claims = match Claims::parse(text) {
            Ok(claims) => claims,
            Err(error) => return error.to_string(),
        };
        claims.claim[0].prove(Path::new("/nowhere")).expect_err("a bad claim").to_string()
    }

    #[test]
    fn bad_claims_take_one_line_each() {
        for (text, words) in [
            (CLAIM.replace("vs =", "versus ="), "versus"),
            (CLAIM.repeat(2), "two claims are called `a`"),
            (CLAIM.replace("2999", "1999"), "claim `a`: it expired on 1999-01-31: measure it again"),
            (CLAIM.replace("2999-01-31", "soon"), "claim `a`: `soon` is not a date like 2027-01-31"),
            (CLAIM.to_owned(), "claim `a`: /nowhere/r.json: cannot read /nowhere/r.json"),
        ] {
            let found = problem(&text);
            assert!(found.contains(words), "{found}");
            assert_eq!(found.lines().count(), 1, "{found}");
        }
        let unknown = Claims::parse(CLAIM).expect("claims").get("b").expect_err("unknown").to_string();
        assert_eq!(unknown, "there is no claim `b` (did you mean `a`?)");
    }

    #[test]
    fn unproven_claims_are_refused_or_shown_with_their_interval() {
        let mut report = crate::report::tests::report();
        report.rows.retain(|row| row.title.starts_with("open"));
        let text = CLAIM.replace("lab.cpu/probe/kernel/64/t1", "hash/ours/kernel/4KiB/t1");
        let claim = |text: &str| Claims::parse(text).expect("a claim").claim.remove(0);
        let refused = claim(&text).find(&report).expect_err("inconclusive").to_string();
        assert!(refused.contains("its report proves nothing"), "{refused}");
        let claim = claim(&(text + "unproven = true\n"));
        let proven = claim.find(&report).expect("numbers");
        let [low, high] = proven.interval;
        assert!(low < 1.0 && 1.0 < high, "{proven:?}");
        assert_eq!(claim.text(&proven), format!("{:.2}× ({low:.2} to {high:.2})", proven.ratio));
    }

    #[test]
    fn missing_kernels_do_not_hide_lines_of_a_report() {
        let gate = "[[gate]]\nname = \"x\"\ncases = [\"lab.cpu/ours/kernel/*/t1/avx9\"]\nmust = { 64 = 1 }\n";
        let gates = gate::parse(gate).expect("gates").gate;
        let mut registry = Registry::new();
        let engine = function("avx2", |number: &u64| *number, |number| Digest::new(&number.to_le_bytes()));
        let offer = EngineOffer::classes(&["kernel"]).kernels(["avx2"]);
        registry.more_engines::<u64>("lab.cpu").engine("ours", engine, offer);
        let mut report = crate::report::tests::report();
        assert_eq!(demands_on(&report, &gates, &registry).expect("nothing to say"), []);
        for (case, is_there) in
            [("lab.cpu/ours/kernel/64/t1/avx9", true), ("lab.cpu/ours/kernel/65/t1/avx9", false)]
        {
            case.clone_into(&mut report.rows[0].sides[1].key);
            let found = demands_on(&report, &gates, &registry).map_err(|error| error.to_string());
            assert_eq!(found.is_err(), is_there, "{found:?}");
        }
    }

    #[test]
    fn a_ratio_without_an_interval_is_in_no_range() {
        let gates = gate::parse(
            "[[gate]]\nname = \"x\"\ncases = [\"lab.cpu/ours/kernel/64/t1\"]\nmust = { 64 = 1 }\n",
        );
        let gate = &gates.expect("a gate").gate[0];
        let sound = Judged { verdict: GateVerdict::Pass, ratio: Some(1.25), interval: Some([1.2, 1.3]) };
        let few = Judged { verdict: GateVerdict::Unproven, ratio: Some(9.0), interval: None };
        let both = line(gate, &[], &[&sound, &few]).expect("a line");
        assert_eq!(both, "| x | 1.25 |  | unproven; 1 of 2 left out: too few sessions |\n");
        let alone = line(gate, &[], &[&few]).expect("a line");
        assert_eq!(alone, "| x | | | 1 of 1 left out: too few sessions |\n");
    }

    #[test]
    fn names_changed_sources() {
        let there = Conditions {
            processor: "Zen 4".into(),
            kernels: ["avx512".into(), "avx512".into()],
            load: Some(0.4),
            cores: 2,
        };
        assert!(there.apart(&there).is_none() && !there.is_busy());
        let here = Conditions {
            processor: "Zen 5".into(),
            kernels: ["avx2".into(), "avx512".into()],
            load: Some(1.1),
            cores: 2,
        };
        let need_not = ". The claim need not hold here, and this result does not refute it there";
        let message = |here: &Conditions, words: &str| {
            assert_eq!(here.apart(&there).as_deref(), Some(&*format!("{words}{need_not}")));
        };
        let other = "this is not the machine of the claim: its processor is not Zen 4";
        message(&here, &format!("{other}, and another kernel of ours runs"));
        message(&Conditions { kernels: there.kernels.clone(), ..here.clone() }, other);
        let forced = Conditions { processor: "Zen 4".into(), ..here.clone() };
        message(&forced, "this processor is like that of the claim, but another kernel of ours runs");
        let both = Conditions { kernels: ["avx2".into(), "avx2".into()], ..forced };
        message(&both, "this processor is like that of the claim, but both engines run other kernels");
        assert!(here.is_busy());
        assert!(!Conditions { load: None, ..here }.is_busy(), "what is not known is not held against it");
    }

    #[test]
    fn intervals_decide_claims_on_other_machines() {
        let proven = |low: f64, ratio: f64, high: f64| Proven { ratio, interval: [low, high] };
        let claimed = proven(1.4, 1.5, 1.6);
        for (here, verdict, expected) in [
            (Some(proven(1.45, 1.5, 1.55)), Verdict::Faster, LocalClaim::Holds),
            (Some(proven(1.2, 1.45, 1.7)), Verdict::Faster, LocalClaim::Holds),
            (Some(proven(1.1, 1.2, 1.3)), Verdict::Faster, LocalClaim::Weaker),
            (Some(proven(0.99, 1.0, 1.01)), Verdict::Same, LocalClaim::Not),
            (Some(proven(0.8, 0.85, 0.9)), Verdict::Slower, LocalClaim::Not),
            (Some(proven(0.9, 1.1, 1.3)), Verdict::Inconclusive, LocalClaim::Open),
            (None, Verdict::Inconclusive, LocalClaim::Open),
        ] {
            assert_eq!(LocalClaim::judge(&claimed, here.as_ref(), verdict), expected, "{here:?}");
        }
    }
}

#[cfg(test)]
mod source_tests {
    use super::*;

    #[test]
    fn a_number_is_stale_once_a_source_changed_came_or_went() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::create_dir_all(root.join("src/deep")).expect("folders");
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).expect("a file");
        write("src/deep/b.rs", "b");
        write("src/a.rs", "a");
        let line = |text: &str, name: &str| format!("{}  {name}\n", sha256_hex(text.as_bytes()));
        let sha256 = sha256_hex((line("a", "src/a.rs") + &line("b", "src/deep/b.rs")).as_bytes());
        let sources = Sources { paths: vec![PathBuf::from("src")], sha256 };
        let report = crate::report::tests::report();
        let stale = || sources.stale(root, &report).expect("readable");
        assert_eq!(stale(), None);
        for (name, text) in [("src/a.rs", "other"), ("src/deep/b.rs", "a"), ("src/new.rs", "")] {
            let before = std::fs::read(root.join(name)).ok();
            write(name, text);
            assert!(
                stale().is_some_and(|message| message.ends_with("sources changed since: `src`.")),
                "{name}"
            );
            match before {
                Some(before) => std::fs::write(root.join(name), before).expect("a file"),
                None => std::fs::remove_file(root.join(name)).expect("a file"),
            }
        }
        std::fs::remove_file(root.join("src/a.rs")).expect("a file");
        assert!(stale().is_some());
        assert_eq!(Sources::default().stale(root, &report).expect("nothing is read"), None);
    }
}
