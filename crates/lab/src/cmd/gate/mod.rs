//! `lab gate`: checks requirements on this machine.

mod gate_table;
mod scope;

use super::context::files;
use super::github::{StepSummary, of_banner};
use super::measuring::{Job, measure};
use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::Measuring;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::outcome::exit_of;
use crate::cmd::measuring::pairings::{alone, duel, wants_control};
use crate::cmd::measuring::programs::{other_program, own_program};
use crate::measure::campaign::CaseGroup;
use crate::measure::plan::Plan;
use crate::measure::session::process::Program;
use crate::report::render::text::lay_out;
use crate::report::schema::{Build, Kind, Layout, Report};
use crate::report::store;
use crate::report::view::{View, Warning};
use crate::requirements::gate::{Demand, Gates, Measure, Pair, one_line, parse};
use crate::requirements::judge::{Judged, Verdict, confirmed, judge};
use crate::requirements::ratchet;
use crate::stats::verdict::LEVEL;
use clap::Args;
use gate_table::{GateTable, demanded};
use hashmill_machine::Machine;
use scope::{Scope, SkippedGate};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// File of gates.
    #[arg(default_value = "bench/gates.toml")]
    file: PathBuf,
    /// Judge these reports instead of measuring.
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
    /// Only gates whose name or cases contain this text; of several texts, all must be contained.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Print the demands without measuring.
    #[arg(long, conflicts_with_all = ["report", "ratchet"])]
    list: bool,
    /// Raise every threshold to what this run proves, and write the file.
    #[arg(long)]
    ratchet: bool,
    #[command(flatten)]
    measuring: Measuring,
}

pub(crate) fn main(lab: &LabSetup<'_>, args: &GateArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Error::Usage(format!("cannot read {}: {error}", args.file.display())))?;
    let wrong = |error| Error::Usage(format!("{}: {error}", args.file.display()));
    let gates = parse(&text).map_err(wrong)?;
    let reports = read_all(&args.report)?;
    let here = Machine::read();
    let machine = reports.first().map_or(&here, |report| &report.machine);
    let Scope { demands, elsewhere } =
        Scope::from_gates(lab, &gates, &args.filter, args.report.is_empty()).map_err(wrong)?;
    let listable = args.list && !elsewhere.is_empty();
    if demands.is_empty() && !listable {
        let what = scope::nothing(&gates, &args.filter, &elsewhere);
        return Err(Error::Usage(format!("{}: {what}", args.file.display())));
    }
    if !args.measuring.json {
        for SkippedGate { gate, reason } in &elsewhere {
            writeln!(console.out, "not judged here  {gate}: {reason}")?;
        }
        if machine.id != here.id {
            let (cpu, model) = (&machine.cpu, &machine.model);
            writeln!(console.out, "measured on {cpu} ({model}), machine {}, not on this one", machine.id)?;
        }
    }
    if args.list {
        console.out.write_all(lay_out(&demanded(&gates, &demands, machine), console.colour).as_bytes())?;
        return Ok(Exit::Ok);
    }
    let step_summary = StepSummary::open(args.measuring.github)?;
    let (judged, exit, banner, folder) = match args.report.is_empty() {
        true => {
            let GateMeasurements { judged, exit, banner, folder } =
                by_measuring(lab, &args.measuring, &gates, &demands)?;
            (judged, exit, banner, Some(folder))
        }
        false => (judge(&demands.iter().collect::<Vec<_>>(), &reports), Exit::Ok, Vec::new(), None),
    };
    let judged = demands.into_iter().zip(judged).collect();
    let sheet = GateTable { gates: &gates, machine, judged };
    let view = sheet.view(banner, &args.file);
    if let Some(folder) = &folder {
        gate_table::write_pages(&view, folder)?;
    }
    if args.measuring.json {
        console.out.write_all(store::pretty(&sheet.wire()).as_bytes())?;
    } else {
        console.out.write_all(lay_out(&sheet.table(), console.colour).as_bytes())?;
        for note in sheet.notes() {
            writeln!(console.out, "{note}")?;
        }
        if let Some(folder) = folder {
            writeln!(console.out, "gates  {}", folder.join("gates.html").display())?;
            writeln!(console.out, "report {}", folder.join("report.html").display())?;
        }
    }
    if args.ratchet {
        raise(&text, &args.file, &gates, &sheet.judged, console)?;
    }
    let strict = args.measuring.strict;
    step_summary.show(&view, [of_banner(&view), sheet.annotations(strict)].concat())?;
    Ok(worst(exit, sheet.exit(strict)))
}

/// Reads valid reports, all of one machine: thresholds depend on the machine.
fn read_all(files: &[PathBuf]) -> Result<Vec<Report>, Error> {
    let mut reports: Vec<Report> = Vec::new();
    for path in files {
        let report = files::sound_report(path)?;
        if let Some(first) = reports.first().filter(|first| first.machine.id != report.machine.id) {
            let (id, first_id) = (&report.machine.id, &first.machine.id);
            return Err(Error::Usage(format!(
                "{}: it was measured on machine {id}, the first report on {first_id}; judge them separately",
                path.display()
            )));
        }
        reports.push(report);
    }
    Ok(reports)
}

/// Results of the measurement per demand.
struct GateMeasurements {
    judged: Vec<Judged>,
    exit: Exit,
    /// Warnings of the first report.
    banner: Vec<Warning>,
    folder: PathBuf,
}

fn by_measuring(
    lab: &LabSetup<'_>,
    options: &Measuring,
    gates: &Gates,
    demands: &[Demand],
) -> Result<GateMeasurements, Error> {
    let builds = Builds::gather(lab, gates, demands)?;
    let all: Vec<&Demand> = demands.iter().collect();
    let (report, folder) = builds.compare(lab, options, gates, &all, None)?;
    let mut exit = exit_of(&report, false);
    let banner = View::from_report(&report).banner;
    let reports = [report];
    let mut judged = judge(&all, &reports);
    for run in 1..=gates.defaults.confirm {
        let failed = demands.iter().zip(&judged).filter(|(_, judged)| judged.verdict == Verdict::Fail);
        let failed: Vec<&Demand> = failed.map(|(demand, _)| demand).collect();
        if failed.is_empty() || exit != Exit::Ok {
            break;
        }
        let (again, _) = builds.compare(lab, options, gates, &failed, Some(run))?;
        exit = worst(exit, exit_of(&again, false));
        let again = judge(&failed, &[again]);
        let failed = judged.iter_mut().filter(|judged| judged.verdict == Verdict::Fail);
        for (first, again) in failed.zip(&again) {
            *first = confirmed(first.clone(), again);
        }
    }
    Ok(GateMeasurements { judged, exit, banner, folder })
}

/// This program and its other builds that the gates require.
struct Builds {
    builds: Vec<Build>,
    programs: Vec<Program>,
}

impl Builds {
    fn gather(lab: &LabSetup<'_>, gates: &Gates, demands: &[Demand]) -> Result<Self, Error> {
        let mut builds = Builds { builds: Vec::new(), programs: Vec::new() };
        builds.add(own_program(lab)?);
        for name in demands.iter().flat_map(|demand| &gates.gate[demand.gate].builds) {
            if builds.builds.iter().all(|known| known.label != *name) {
                builds.add(other_program(lab, name)?);
            }
        }
        Ok(builds)
    }

    /// Each program runs with one layout; a gate about several layouts lists several builds.
    fn add(&mut self, (build, program): (Build, Program)) {
        let layout = Some(Layout::Fixed("its sessions run one program with one layout".to_owned()));
        self.builds.push(Build { layout, ..build });
        self.programs.push(program);
    }

    /// Measures the pairs of the demands; `again` numbers the repeated runs.
    fn compare(
        &self,
        lab: &LabSetup<'_>,
        measuring: &Measuring,
        gates: &Gates,
        demands: &[&Demand],
        again: Option<usize>,
    ) -> Result<(Report, PathBuf), Error> {
        let mut plan = measuring.plan();
        let mut measuring = measuring.clone();
        if let Some(run) = again {
            // Uses other inputs and orders, in a folder beside the first report.
            plan.seed = plan.seed.wrapping_add(run as u64);
            measuring.out = measuring.out.map(|out| out.join(format!("confirm-{run}")));
        }
        let groups = self.groups(&plan, gates, demands)?;
        if groups.iter().any(CaseGroup::is_of_two_codes) {
            plan.rule = plan.rule.with_fixed_layout();
        }
        let (builds, programs) = (self.builds.clone(), self.programs.clone());
        let job = Job { kind: Kind::Engines, groups, builds, programs, plan, same_code: false };
        measure(lab, job, measuring.out.as_deref())
    }

    fn groups(&self, plan: &Plan, gates: &Gates, demands: &[&Demand]) -> Result<Vec<CaseGroup>, Error> {
        let mut groups: Vec<CaseGroup> = Vec::new();
        // Number of sessions that can prove one threshold among all: with fewer, the allowed error probability cannot
        // be reached.
        let provable = (2.0 * demands.len() as f64 / (1.0 - LEVEL)).log2().ceil() as usize;
        for demand in demands {
            let requested = &gates.gate[demand.gate].builds;
            let here = self.builds.iter().enumerate().filter(|(index, build)| match &requested[..] {
                [] => *index == 0,
                requested => requested.contains(&build.label),
            });
            for (index, build) in here {
                for Pair { own, rival } in &demand.pairs {
                    let mut group = match rival {
                        Some(rival) => duel(rival, own, wants_control(plan.control, groups.len()))?,
                        None => alone(own),
                    };
                    group.sessions = match demand.measure {
                        Measure::Time => None,
                        Measure::Amount(_) | Measure::Beside(..) => Some(1),
                        Measure::Within(_) => Some(plan.solo_sessions.max(provable)),
                    };
                    if index > 0 {
                        group = group.in_build(index, &build.label);
                    }
                    // Two gates may need the same comparison: then it has as many sessions as either needs.
                    match groups.iter_mut().find(|known| known.title == group.title) {
                        Some(known) => {
                            known.sessions = known.sessions.zip(group.sessions).map(|(a, b)| a.max(b));
                        }
                        None => groups.push(group),
                    }
                }
            }
        }
        Ok(groups)
    }
}

fn raise(
    text: &str,
    path: &Path,
    gates: &Gates,
    judged: &[(Demand, Judged)],
    console: &mut Console<'_>,
) -> Result<(), Error> {
    let tightened = ratchet::tighten(text, &gates.gate, judged);
    let (text, moved) = tightened
        .map_err(|error| Error::Usage(format!("{}: {}", path.display(), one_line(&error.to_string()))))?;
    if moved.is_empty() {
        writeln!(console.out, "the results raise no threshold")?;
        return Ok(());
    }
    store::write_atomically(path, &text).map_err(Error::write(path))?;
    for ratchet::Moved { gate, size, from, to } in moved {
        let size = size.map(|size| format!(", {size}")).unwrap_or_default();
        writeln!(console.out, "raised  {gate}{size}: {from} to {to}")?;
    }
    Ok(())
}

/// An interrupted or invalid run takes precedence over its gates.
fn worst(run: Exit, gates: Exit) -> Exit {
    if run == Exit::Ok { gates } else { run }
}
