//! `lab gate`: is what must be true of this machine true?

mod scope;
mod sheet;

use super::args::Measuring;
use super::contests::{alone, duel, wants_control};
use super::error::Error;
use super::github::{Page, of_banner};
use super::measure::{Job, exit_of, measure, other_program, own_program};
use super::{Console, Exit, Mount, files};
use crate::campaign::Contest;
use crate::gate::judge::{Judged, Verdict, confirmed, judge};
use crate::gate::{Demand, Gates, Measure, Pair, parse, ratchet};
use crate::plan::Plan;
use crate::report::banner::Warning;
use crate::report::schema::{Build, Kind, Layout, Report};
use crate::report::store;
use crate::report::text::lay_out;
use crate::report::view::View;
use crate::session::process::Program;
use crate::stats::verdict::LEVEL;
use clap::Args;
use hashmill_machine::Machine;
use scope::{Elsewhere, Scope};
use sheet::{Sheet, demanded};
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
    let reports = read_all(&args.report)?;
    let here = Machine::read();
    let machine = reports.first().map_or(&here, |report| &report.machine);
    let Scope { demands, elsewhere } = Scope::of(mount, args, &gates).map_err(wrong)?;
    let listable = args.list && !elsewhere.is_empty();
    if demands.is_empty() && !listable {
        let what = scope::nothing(&gates, &args.filter, &elsewhere);
        return Err(Error::Usage(format!("{}: {what}", args.file.display())));
    }
    if !args.measuring.json {
        for Elsewhere { gate, why } in &elsewhere {
            writeln!(console.out, "not judged here  {gate}: {why}")?;
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
    let page = Page::open(args.measuring.github)?;
    let (judged, exit, banner, folder) = match args.report.is_empty() {
        true => {
            let Gauged { judged, exit, banner, folder } = by_measuring(mount, args, &gates, &demands)?;
            (judged, exit, banner, Some(folder))
        }
        false => (judge(&demands.iter().collect::<Vec<_>>(), &reports), Exit::Ok, Vec::new(), None),
    };
    let judged = demands.into_iter().zip(judged).collect();
    let sheet = Sheet { gates: &gates, machine, judged };
    let view = sheet.view(banner, &args.file);
    if let Some(folder) = &folder {
        sheet::write_pages(&view, folder)?;
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
    page.show(&view, [of_banner(&view), sheet.annotations(strict)].concat())?;
    Ok(worst(exit, sheet.exit(strict)))
}

/// Reports that are true, and all of one machine: bars are judged by where it was measured.
fn read_all(files: &[PathBuf]) -> Result<Vec<Report>, Error> {
    let mut reports: Vec<Report> = Vec::new();
    for path in files {
        let report = files::sound_report(path)?;
        if let Some(first) = reports.first().filter(|first| first.machine.id != report.machine.id) {
            let (theirs, others) = (&report.machine.id, &first.machine.id);
            return Err(Error::Usage(format!(
                "{}: it was measured on machine {theirs}, the first report on {others}; judge them apart",
                path.display()
            )));
        }
        reports.push(report);
    }
    Ok(reports)
}

/// What measuring gave, demand by demand.
struct Gauged {
    judged: Vec<Judged>,
    exit: Exit,
    /// What the first report says before anything else.
    banner: Vec<Warning>,
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
    let banner = View::of(&report).banner;
    let reports = [report];
    let mut judged = judge(&all, &reports);
    for run in 1..=gates.defaults.confirm {
        let failed = demands.iter().zip(&judged).filter(|(_, judged)| judged.verdict == Verdict::Fail);
        let failed: Vec<&Demand> = failed.map(|(demand, _)| demand).collect();
        if failed.is_empty() || exit != Exit::Ok {
            break;
        }
        let (again, _) = builds.compare(mount, &args.measuring, gates, &failed, Some(run))?;
        exit = worst(exit, exit_of(&again, false));
        let again = judge(&failed, &[again]);
        let failed = judged.iter_mut().filter(|judged| judged.verdict == Verdict::Fail);
        for (first, again) in failed.zip(&again) {
            *first = confirmed(first.clone(), again);
        }
    }
    Ok(Gauged { judged, exit, banner, folder })
}

/// This program, and its other builds that the gates ask for.
struct Builds {
    builds: Vec<Build>,
    programs: Vec<Program>,
}

impl Builds {
    fn gather(mount: &Mount<'_>, gates: &Gates, demands: &[Demand]) -> Result<Self, Error> {
        let mut builds = Builds { builds: Vec::new(), programs: Vec::new() };
        builds.add(own_program(mount)?);
        for name in demands.iter().flat_map(|demand| &gates.gate[demand.gate].builds) {
            if builds.builds.iter().all(|known| known.label != *name) {
                builds.add(other_program(mount, name)?);
            }
        }
        Ok(builds)
    }

    /// Each program runs as it is; a gate about several layouts names several builds.
    fn add(&mut self, (build, program): (Build, Program)) {
        let layout = Some(Layout::Fixed("its sessions run one program, as it is".to_owned()));
        self.builds.push(Build { layout, ..build });
        self.programs.push(program);
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
        if contests.iter().any(Contest::is_of_two_codes) {
            plan.rule = plan.rule.with_fixed_layout();
        }
        let (builds, programs) = (self.builds.clone(), self.programs.clone());
        let job = Job { kind: Kind::Engines, contests, builds, programs, plan, same_code: false };
        measure(mount, &measuring, job)
    }

    fn contests(&self, plan: &Plan, gates: &Gates, demands: &[&Demand]) -> Result<Vec<Contest>, Error> {
        let mut contests: Vec<Contest> = Vec::new();
        // So many sessions can prove one bar among all of them: with fewer, chance alone is more likely than a mistake may be.
        let provable = (2.0 * demands.len() as f64 / (1.0 - LEVEL)).log2().ceil() as usize;
        for demand in demands {
            let asked = &gates.gate[demand.gate].builds;
            let here = self.builds.iter().enumerate().filter(|(index, build)| match &asked[..] {
                [] => *index == 0,
                asked => asked.contains(&build.label),
            });
            for (index, build) in here {
                for Pair { ours, rival } in &demand.pairs {
                    let mut contest = match rival {
                        Some(rival) => duel(rival, ours, wants_control(plan.control, contests.len()))?,
                        None => alone(ours),
                    };
                    contest.sessions = match demand.measure {
                        Measure::Time => None,
                        Measure::Amount(_) | Measure::Beside(..) => Some(1),
                        Measure::Within(_) => Some(plan.solo_sessions.max(provable)),
                    };
                    if index > 0 {
                        contest = contest.in_build(index, &build.label);
                    }
                    // Two gates may ask for the same comparison: then as many sessions as either needs.
                    match contests.iter_mut().find(|known| known.title == contest.title) {
                        Some(known) => {
                            known.sessions = known.sessions.zip(contest.sessions).map(|(a, b)| a.max(b));
                        }
                        None => contests.push(contest),
                    }
                }
            }
        }
        Ok(contests)
    }
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
    store::write_atomically(path, &text).map_err(Error::write(path))?;
    for ratchet::Moved { gate, size, from, to } in moved {
        let size = size.map(|size| format!(", {size}")).unwrap_or_default();
        writeln!(console.out, "raised  {gate}{size}: {from} to {to}")?;
    }
    Ok(())
}

/// An interrupted or invalid run says more than any gate of it.
fn worst(run: Exit, gates: Exit) -> Exit {
    if run == Exit::Ok { gates } else { run }
}
