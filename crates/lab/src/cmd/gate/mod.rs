//! `lab gate`: is what must be true of this machine true?

mod scope;

use super::args::Measuring;
use super::contests::{duel, wants_control};
use super::error::Error;
use super::measure::{Job, exit_of, measure, other_program, own_program};
use super::{Console, Exit, Mount};
use crate::campaign::Contest;
use crate::gate::judge::{Judged, Verdict, confirmed, judge};
use crate::gate::{Demand, Gates, Pair, Unproven, parse, ratchet};
use crate::plan::Plan;
use crate::report::check::problems;
use crate::report::schema::{Build, Kind, Report};
use crate::report::text::lay_out;
use crate::report::view::{Line, Table, Tone, View, machine_facts};
use crate::report::{html, markdown, store};
use crate::session::process::Program;
use clap::Args;
use hashmill_machine::Machine;
use scope::{Elsewhere, Scope};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct GateArgs {
    /// File of gates.
    #[arg(default_value = "bench/gates.toml")]
    file: PathBuf,
    /// Judge these reports instead of measuring.
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
    /// Only gates whose name, or cases that contain this; of several, all must be contained.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Measure nothing: print what is demanded.
    #[arg(long, conflicts_with_all = ["report", "ratchet"])]
    list: bool,
    /// Raise every bar to what this run proves, and write the file.
    #[arg(long)]
    ratchet: bool,
    #[command(flatten)]
    measuring: Measuring,
}

pub(super) fn main(mount: &Mount<'_>, args: &GateArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Error::Usage(format!("cannot read {}: {error}", args.file.display())))?;
    let wrong = |error| Error::Usage(format!("{}: {error}", args.file.display()));
    let gates = parse(&text).map_err(wrong)?;
    let machine = Machine::read();
    let Scope { demands, elsewhere } = Scope::of(mount, args, &gates, &machine).map_err(wrong)?;
    if demands.is_empty() {
        let what = scope::nothing(&gates, &args.filter, &elsewhere);
        return Err(Error::Usage(format!("{}: {what}", args.file.display())));
    }
    if !args.measuring.json {
        for Elsewhere { gate, why } in &elsewhere {
            writeln!(console.out, "not judged here  {gate}: {why}")?;
        }
    }
    if args.list {
        console.out.write_all(lay_out(&demanded(&gates, &demands), console.colour).as_bytes())?;
        return Ok(Exit::Ok);
    }
    let measured = match args.report.is_empty() {
        true => Some(by_measuring(mount, args, &gates, &demands)?),
        false => None,
    };
    let (judged, exit, folder) = match measured {
        Some(measured) => (measured.judged, measured.exit, Some(measured.folder)),
        None => {
            let reports = read_all(&args.report, &machine)?;
            (demands.iter().map(|demand| judge(demand, &reports)).collect(), Exit::Ok, None)
        }
    };
    let judged: Vec<(Demand, Judged)> = demands.into_iter().zip(judged).collect();
    if let Some(folder) = &folder {
        write_pages(folder, &machine, &args.file, table(&gates, &judged))?;
    }
    if args.measuring.json {
        let lines: Vec<Wire<'_>> = judged.iter().map(|(d, j)| Wire::new(&gates, d, j)).collect();
        console.out.write_all(store::pretty(&lines).as_bytes())?;
    } else {
        console.out.write_all(lay_out(&table(&gates, &judged), console.colour).as_bytes())?;
        if let Some(folder) = folder {
            writeln!(console.out, "gates  {}", folder.join("gates.html").display())?;
            writeln!(console.out, "report {}", folder.join("report.html").display())?;
        }
    }
    if args.ratchet {
        raise(&text, &args.file, &gates, &judged, console)?;
    }
    Ok(worst(exit, outcome(&judged, gates.defaults.unproven, args.measuring.strict)))
}

fn demanded(gates: &Gates, demands: &[Demand]) -> Table {
    let bar = |bar: Option<f64>| bar.map_or_else(|| "–".to_owned(), |bar| format!("{bar:.2}"));
    let line = |demand: &Demand, pair: &Pair| {
        let rival = pair.rival.as_ref().map_or_else(|| "the build before".to_owned(), ToString::to_string);
        let gate = gates.gate[demand.gate].name.clone();
        let cells = vec![gate, pair.ours.to_string(), rival, bar(demand.must), bar(demand.aim)];
        Line { cells, tone: Tone::Plain }
    };
    let of_demand = |demand: &Demand| demand.pairs.iter().map(|p| line(demand, p)).collect::<Vec<_>>();
    let rows = demands.iter().flat_map(of_demand).collect();
    Table { caption: String::new(), columns: vec!["gate", "case", "rival", "must", "aim"], rows }
}

/// Reports that are true, and of this machine: a bar says nothing about another one.
fn read_all(files: &[PathBuf], machine: &Machine) -> Result<Vec<Report>, Error> {
    let read = |path: &PathBuf| {
        let report = store::read(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        if let Some(problem) = problems(&report).into_iter().next() {
            return Err(Error::Refused(format!("{}: {problem}", path.display())));
        }
        if report.machine.id != machine.id {
            let (theirs, ours) = (&report.machine.id, &machine.id);
            return Err(Error::Refused(format!(
                "{}: it was measured on machine {theirs}, this is {ours}; a gate is judged where it was measured",
                path.display()
            )));
        }
        Ok(report)
    };
    files.iter().map(read).collect()
}

/// What measuring gave, demand by demand.
struct Gauged {
    judged: Vec<Judged>,
    exit: Exit,
    folder: PathBuf,
}

fn by_measuring(
    mount: &Mount<'_>,
    args: &GateArgs,
    gates: &Gates,
    demands: &[Demand],
) -> Result<Gauged, Error> {
    let builds = Builds::gather(mount, gates, demands)?;
    let all: Vec<&Demand> = demands.iter().collect();
    let (report, folder) = builds.compare(mount, &args.measuring, gates, &all, None)?;
    let mut exit = exit_of(&report, false);
    let reports = [report];
    let mut judged: Vec<Judged> = demands.iter().map(|demand| judge(demand, &reports)).collect();
    for run in 1..=gates.defaults.confirm {
        let failed = demands.iter().zip(&judged).filter(|(_, judged)| judged.verdict == Verdict::Fail);
        let failed: Vec<&Demand> = failed.map(|(demand, _)| demand).collect();
        if failed.is_empty() || exit != Exit::Ok {
            break;
        }
        let (again, _) = builds.compare(mount, &args.measuring, gates, &failed, Some(run))?;
        exit = worst(exit, exit_of(&again, false));
        let again = [again];
        for (demand, first) in demands.iter().zip(&mut judged) {
            *first = confirmed(first.clone(), &judge(demand, &again));
        }
    }
    Ok(Gauged { judged, exit, folder })
}

/// This program, and its other builds that the gates ask for.
struct Builds {
    builds: Vec<Build>,
    programs: Vec<Program>,
}

impl Builds {
    fn gather(mount: &Mount<'_>, gates: &Gates, demands: &[Demand]) -> Result<Self, Error> {
        let (build, program) = own_program(mount)?;
        let mut builds = Builds { builds: vec![build], programs: vec![program] };
        for name in demands.iter().flat_map(|demand| &gates.gate[demand.gate].builds) {
            if builds.builds.iter().all(|known| known.label != *name) {
                let (build, program) = other_program(mount, name)?;
                builds.builds.push(build);
                builds.programs.push(program);
            }
        }
        Ok(builds)
    }

    /// Measures the demands in pairs; `again` numbers the runs that repeat.
    fn compare(
        &self,
        mount: &Mount<'_>,
        measuring: &Measuring,
        gates: &Gates,
        demands: &[&Demand],
        again: Option<usize>,
    ) -> Result<(Report, PathBuf), Error> {
        let mut plan = measuring.plan();
        let mut measuring = measuring.clone();
        if let Some(run) = again {
            // Other inputs and other orders, beside the first report.
            plan.seed = plan.seed.wrapping_add(run as u64);
            measuring.out = measuring.out.map(|out| out.join(format!("confirm-{run}")));
        }
        let contests = self.contests(&plan, gates, demands)?;
        let (builds, programs) = (self.builds.clone(), self.programs.clone());
        let job = Job { kind: Kind::Duel, contests, builds, programs, plan, same_code: false };
        measure(mount, &measuring, job)
    }

    fn contests(&self, plan: &Plan, gates: &Gates, demands: &[&Demand]) -> Result<Vec<Contest>, Error> {
        let mut contests: Vec<Contest> = Vec::new();
        for demand in demands {
            let asked = &gates.gate[demand.gate].builds;
            let here = self.builds.iter().enumerate().filter(|(index, build)| match &asked[..] {
                [] => *index == 0,
                asked => asked.contains(&build.label),
            });
            for (index, build) in here {
                for Pair { ours, rival } in &demand.pairs {
                    let Some(rival) = rival else { continue };
                    let mut contest = duel(ours, rival, wants_control(plan.control, contests.len()))?;
                    if index > 0 {
                        contest = contest.in_build(index, &build.label);
                    }
                    // Two gates may ask for the same comparison.
                    if contests.iter().all(|known| known.title != contest.title) {
                        contests.push(contest);
                    }
                }
            }
        }
        Ok(contests)
    }
}

/// A verdict for programs.
#[derive(Serialize)]
struct Wire<'a> {
    gate: &'a str,
    cases: Vec<String>,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    must: Option<f64>,
    aim: Option<f64>,
    verdict: String,
}

impl<'a> Wire<'a> {
    fn new(gates: &'a Gates, demand: &Demand, judged: &Judged) -> Self {
        Wire {
            gate: &gates.gate[demand.gate].name,
            cases: demand.pairs.iter().map(|pair| pair.ours.to_string()).collect(),
            ratio: judged.ratio,
            interval: judged.interval,
            must: demand.must,
            aim: demand.aim,
            verdict: word(demand, judged).0,
        }
    }
}

/// The verdict in a word or with its reason.
fn word(demand: &Demand, judged: &Judged) -> (String, Tone) {
    let beyond = |aim: f64| judged.interval.is_some_and(|[low, _]| low >= aim);
    match &judged.verdict {
        Verdict::Pass if demand.aim.is_some_and(beyond) => ("aim".to_owned(), Tone::Good),
        Verdict::Pass => ("pass".to_owned(), Tone::Good),
        Verdict::Fail => ("FAIL".to_owned(), Tone::Bad),
        Verdict::Unproven => ("unproven".to_owned(), Tone::Dim),
        Verdict::Open => ("–".to_owned(), Tone::Dim),
        Verdict::Unfinished => ("unfinished".to_owned(), Tone::Dim),
        Verdict::Missing(why) => (format!("MISSING: {why}"), Tone::Bad),
    }
}

fn table(gates: &Gates, judged: &[(Demand, Judged)]) -> Table {
    let line = |(demand, judged): &(Demand, Judged)| {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
        let interval =
            judged.interval.map_or_else(|| "–".to_owned(), |[low, high]| format!("[{low:.3}, {high:.3}]"));
        // What is missing to the rival, as a share of its time: the number that seed gates speak of.
        let need =
            judged.ratio.map_or_else(|| "–".to_owned(), |ratio| crate::model::units::percent(1.0 / ratio));
        let (word, tone) = word(demand, judged);
        let bar = |bar: Option<f64>| bar.map_or_else(|| "–".to_owned(), |bar| format!("{bar:.2}"));
        let cells = vec![
            gates.gate[demand.gate].name.clone(),
            demand.about(),
            need,
            number(judged.ratio),
            interval,
            bar(demand.must),
            bar(demand.aim),
            word,
        ];
        Line { cells, tone }
    };
    let columns = vec!["gate", "case", "need", "ratio", "99 % interval", "must", "aim", "verdict"];
    Table { caption: String::new(), columns, rows: judged.iter().map(line).collect() }
}

/// The verdicts beside the report that they were drawn from.
fn write_pages(folder: &Path, machine: &Machine, gates: &Path, table: Table) -> Result<(), Error> {
    let mut facts = machine_facts(machine);
    facts.push(("gates", gates.display().to_string()));
    facts.push(("evidence", "report.json, report.html".to_owned()));
    let notes = vec![
        "ratio: the rival's time over ours; a gate passes where the whole interval is at or above its bar"
            .to_owned(),
    ];
    let view = View { title: "lab gate".to_owned(), banner: Vec::new(), facts, tables: vec![table], notes };
    let pages = [("gates.html", html::page(&view, "", "")), ("gates.md", markdown::lay_out_view(&view))];
    for (name, text) in pages {
        let path = folder.join(name);
        store::write_atomically(&path, &text).map_err(|source| Error::Write { path, source })?;
    }
    Ok(())
}

fn raise(
    text: &str,
    path: &Path,
    gates: &Gates,
    judged: &[(Demand, Judged)],
    console: &mut Console<'_>,
) -> Result<(), Error> {
    let (text, moved) = ratchet::tighten(text, &gates.gate, judged);
    if moved.is_empty() {
        writeln!(console.out, "no bar can be raised by what was proven")?;
        return Ok(());
    }
    store::write_atomically(path, &text).map_err(|source| Error::Write { path: path.to_owned(), source })?;
    for ratchet::Moved { gate, size, from, to } in moved {
        let size = size.map(|size| format!(", {size}")).unwrap_or_default();
        writeln!(console.out, "raised  {gate}{size}: {from} to {to}")?;
    }
    Ok(())
}

fn outcome(judged: &[(Demand, Judged)], unproven: Unproven, strict: bool) -> Exit {
    let any = |wanted: fn(&Verdict) -> bool| judged.iter().any(|(_, judged)| wanted(&judged.verdict));
    let open = any(|verdict| *verdict == Verdict::Unproven);
    if any(|verdict| matches!(verdict, Verdict::Fail | Verdict::Missing(_)))
        || open && unproven == Unproven::Fail
    {
        Exit::Failed
    } else if any(|verdict| *verdict == Verdict::Unfinished) || open && strict {
        Exit::Inconclusive
    } else {
        Exit::Ok
    }
}

/// An interrupted or invalid run says more than any gate of it.
fn worst(run: Exit, gates: Exit) -> Exit {
    if run == Exit::Ok { gates } else { run }
}
