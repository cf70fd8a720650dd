//! `lab gate`: is what must be true of this machine true?

use super::args::Measuring;
use super::duel::{contest, wants_control};
use super::error::Error;
use super::measure::{Job, exit_of, measure, own_program};
use super::{Console, Exit, Mount};
use crate::gate::judge::{Judged, Verdict, confirmed, judge};
use crate::gate::{Demand, Gate, Gates, Unproven, parse, ratchet};
use crate::host::Machine;
use crate::report::check::problems;
use crate::report::schema::{Kind, Report};
use crate::report::store;
use crate::report::text::lay_out;
use crate::report::view::{Line, Table, Tone};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct GateArgs {
    /// File of gates.
    #[arg(default_value = "bench/gates.toml")]
    file: PathBuf,
    /// Judge these reports instead of measuring.
    #[arg(long, value_name = "FILE")]
    report: Vec<PathBuf>,
    /// Only gates whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    filter: String,
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
    let mut demands = Vec::new();
    let mut elsewhere = Vec::new();
    for (index, gate) in gates.gate.iter().enumerate().filter(|(_, gate)| gate.name.contains(&args.filter)) {
        match not_here(gate, mount, &machine, args) {
            Some(why) => elsewhere.push(format!("{}: {why}", gate.name)),
            None => demands.extend(gate.demands(index, mount.registry).map_err(wrong)?),
        }
    }
    for line in &elsewhere {
        writeln!(console.out, "not judged here  {line}")?;
    }
    if demands.is_empty() {
        let what = if elsewhere.is_empty() {
            format!("no gate's name contains `{}`", args.filter)
        } else {
            "no gate is for this program and this machine".to_owned()
        };
        return Err(Error::Usage(format!("{}: {what}", args.file.display())));
    }
    let (judged, exit) = match args.report.is_empty() {
        true => by_measuring(mount, args, &gates, demands)?,
        false => {
            let reports = read_all(&args.report, &machine)?;
            (demands.into_iter().map(|demand| (demand.clone(), judge(&demand, &reports))).collect(), Exit::Ok)
        }
    };
    console.out.write_all(lay_out(&table(&gates, &judged), console.colour).as_bytes())?;
    if args.ratchet {
        raise(&text, &args.file, &gates, &judged, console)?;
    }
    Ok(worst(exit, outcome(&judged, gates.defaults.unproven, args.measuring.strict)))
}

/// Why a gate is not for this program or this machine.
fn not_here(gate: &Gate, mount: &Mount<'_>, machine: &Machine, args: &GateArgs) -> Option<String> {
    if let Some(program) = gate.program.as_ref().filter(|program| *program != mount.name) {
        return Some(format!("run `{program} gate`"));
    }
    if !gate.holds_for(machine) {
        return Some(format!(
            "it is for {}, this is {} ({})",
            gate.machines.join(" or "),
            machine.cpu,
            machine.model
        ));
    }
    if gate.rival.is_none() && args.report.is_empty() {
        return Some(
            "it compares builds: measure them with `ab` and name the report with --report".to_owned(),
        );
    }
    None
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

fn by_measuring(
    mount: &Mount<'_>,
    args: &GateArgs,
    gates: &Gates,
    demands: Vec<Demand>,
) -> Result<(Vec<(Demand, Judged)>, Exit), Error> {
    let report = duel(mount, &args.measuring, &demands, None)?;
    let mut exit = exit_of(&report, false);
    let reports = [report];
    let mut judged: Vec<(Demand, Judged)> =
        demands.into_iter().map(|demand| (demand.clone(), judge(&demand, &reports))).collect();
    for run in 1..=gates.defaults.confirm {
        let failed: Vec<Demand> = judged
            .iter()
            .filter(|(_, judged)| judged.verdict == Verdict::Fail)
            .map(|(demand, _)| demand.clone())
            .collect();
        if failed.is_empty() || exit != Exit::Ok {
            break;
        }
        let again = duel(mount, &args.measuring, &failed, Some(run))?;
        exit = worst(exit, exit_of(&again, false));
        let again = [again];
        for (demand, first) in &mut judged {
            *first = confirmed(first.clone(), &judge(demand, &again));
        }
    }
    Ok((judged, exit))
}

/// Measures all demands as duels; `again` numbers the runs that repeat.
fn duel(
    mount: &Mount<'_>,
    measuring: &Measuring,
    demands: &[Demand],
    again: Option<usize>,
) -> Result<Report, Error> {
    let mut plan = measuring.plan();
    let mut measuring = measuring.clone();
    if let Some(run) = again {
        // Other inputs and other orders, beside the first report.
        plan.seed = plan.seed.wrapping_add(run as u64);
        measuring.out = measuring.out.map(|out| out.join(format!("confirm-{run}")));
    }
    let (build, program) = own_program(mount)?;
    let mut contests: Vec<_> = Vec::new();
    for demand in demands {
        let Some(rival) = &demand.rival else { continue };
        let contest = contest(&demand.ours, rival, wants_control(plan.control, contests.len()))?;
        // Two gates may ask for the same comparison.
        if contests.iter().all(|known: &crate::campaign::Contest| known.title != contest.title) {
            contests.push(contest);
        }
    }
    let job = Job {
        kind: Kind::Duel,
        contests,
        builds: vec![build],
        programs: vec![program],
        plan,
        same_code: false,
    };
    Ok(measure(mount, &measuring, job)?.0)
}

fn table(gates: &Gates, judged: &[(Demand, Judged)]) -> Table {
    let line = |(demand, judged): &(Demand, Judged)| {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
        let interval =
            judged.interval.map_or_else(|| "–".to_owned(), |[low, high]| format!("[{low:.3}, {high:.3}]"));
        // What is missing to the rival, as a share of its time: the number that seed gates speak of.
        let need =
            judged.ratio.map_or_else(|| "–".to_owned(), |ratio| crate::model::units::percent(1.0 / ratio));
        let (word, tone) = match &judged.verdict {
            Verdict::Pass => ("pass".to_owned(), Tone::Good),
            Verdict::Fail => ("FAIL".to_owned(), Tone::Bad),
            Verdict::Unproven => ("unproven".to_owned(), Tone::Dim),
            Verdict::Missing(why) => (format!("MISSING: {why}"), Tone::Bad),
        };
        let cells = vec![
            gates.gate[demand.gate].name.clone(),
            demand.ours.to_string(),
            need,
            number(judged.ratio),
            interval,
            format!("{:.2}", demand.must),
            word,
        ];
        Line { cells, tone }
    };
    let columns = vec!["gate", "case", "need", "ratio", "99 % interval", "must", "verdict"];
    Table { columns, rows: judged.iter().map(line).collect() }
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
    } else if open && strict {
        Exit::Inconclusive
    } else {
        Exit::Ok
    }
}

/// An interrupted or invalid run says more than any gate of it.
fn worst(run: Exit, gates: Exit) -> Exit {
    if run == Exit::Ok { gates } else { run }
}
