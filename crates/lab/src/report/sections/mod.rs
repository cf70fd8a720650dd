//! Content of a report before rendering: facts, tables and notes as text. The renderers lay it out.

pub(crate) mod cells;
pub(crate) mod commands;
mod counted_values;
pub(crate) mod verdict_text;
pub(crate) mod warnings;

use super::analysis::{instructions, layout};
use super::schema::{Answers, Build, Comparison, Floor, Kind, Report, Role, Row, Status};
use crate::model::labels::pasted;
use crate::model::units::{duration, percent};
use crate::report::analysis::conditions::explain;
use crate::report::analysis::conditions::is_loud;
use crate::report::analysis::lower_bound::is_probe;
use crate::report::analysis::sustained::{Steadiness, SustainedRun};
use crate::report::view::{Line, NOTHING, Table, Tone, View, machine_facts, shown};
use crate::stats::cache_level::CacheLevel;
use crate::stats::ratio::{MEANS, means, range, times};
use cells::{met, row_units, side_interval, side_rate, side_time, speed, status};
use verdict_text::{of_control, verdict};

impl View {
    pub(crate) fn from_report(report: &Report) -> Self {
        let title = match report.kind {
            Kind::Run => "lab run",
            Kind::Engines | Kind::Builds | Kind::Commands => "lab compare",
            Kind::Sustained => "lab run --for",
        };
        let (groups, alone): (Vec<&Row>, Vec<&Row>) = report.rows.iter().partition(|row| row.sides.len() > 1);
        let mut tables = Vec::new();
        if !groups.is_empty() {
            tables.push(comparisons(report, &groups));
        }
        let (probes, alone): (Vec<&Row>, Vec<&Row>) = alone.into_iter().partition(|row| is_probe(row));
        let form = if report.kind == Kind::Sustained { sustained } else { solo };
        for (caption, rows) in
            [("", alone), (PROBES, probes)].into_iter().filter(|(_, rows)| !rows.is_empty())
        {
            tables.push(form(&rows).under(caption));
        }
        if report.kind == Kind::Commands {
            tables = commands::tables(report);
        }
        tables.extend(counted_values::table(&report.rows, met(report)));
        tables.extend(crate::report::analysis::scaling::table(&report.rows));
        tables.extend(crate::report::analysis::page_sizes::table(&report.rows));
        View {
            title: format!("{title} {}", report.id),
            banner: warnings::warnings(report),
            facts: facts(report),
            tables,
            notes: notes(report),
        }
    }
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let mut facts = machine_facts(&report.machine);
    let took = duration(report.quality.elapsed_ms as f64 * 1e6);
    facts.push(("measured", format!("{}, {took}", report.created)));
    facts.extend(crate::report::analysis::page_sizes::fact(report).map(|message| ("memory", message)));
    // Tables show the name of a command; this shows its command line, if different.
    let has_own_source = |build: &&Build| report.kind != Kind::Commands || build.label != build.source;
    for build in report.builds.iter().filter(has_own_source) {
        let mut message = build.source.clone();
        if let Some(commit) = &build.commit {
            message += &format!(" at {}", &commit[..commit.len().min(12)]);
        }
        if build.dirty == Some(true) {
            message += " with uncommitted changes";
        }
        facts.push(("build", format!("{}  {message}", build.label)));
    }
    let command: Vec<String> = report.command.iter().map(|word| pasted(word)).collect();
    facts.push(("command", command.join(" ")));
    for Answers { engine, right, wrong } in &report.answers {
        let message = match wrong {
            None => format!("{engine}: {right} known answers right"),
            Some(wrong) => format!("{engine}: WRONG after {right} right ones: {wrong}"),
        };
        facts.push(("answers", message));
    }
    facts
}

fn comparisons(report: &Report, rows: &[&Row]) -> Table {
    let mut lines = Vec::new();
    let mut sides = Vec::new();
    for row in rows {
        let found: Vec<&Comparison> = row.found(Role::Candidate).collect();
        if found.is_empty() || !matches!(row.status, Status::Ok | Status::Unfinished) {
            let nothing = [NOTHING; 5].map(str::to_owned).to_vec();
            let cells = [vec![row.title.clone()], nothing, vec![status(&row.status)]].concat();
            lines.push(Line::new(cells, Tone::Bad));
            sides.push(None);
            continue;
        }
        let several = found.len() > 1;
        for comparison in found {
            sides.push(Some((*row, comparison.side)));
            let (baseline, candidate) = (&row.sides[0], &row.sides[comparison.side]);
            let of_side = if several { format!(": {}", candidate.label) } else { String::new() };
            let cells = [
                row.title.clone() + &of_side,
                side_time(baseline),
                side_time(candidate),
                speed(comparison),
                range(comparison.interval),
                comparison.sessions.to_string(),
                verdict(report, row, comparison),
            ];
            lines.push(Line::new(cells, Tone::from_verdict(comparison.verdict)));
        }
    }
    let [baseline, candidate] = met(report).unwrap_or(["baseline", "candidate"]);
    let columns = ["case", baseline, candidate, "ratio", "99 % interval", "sessions", "verdict"];
    let mut table = Table::new(columns, lines);
    instructions::beside(&mut table, &sides);
    table
}

/// Direction of the ratios, with the names of the sides if all rows have the same.
fn direction(report: &Report) -> Option<String> {
    report.candidates().next()?;
    Some(met(report).map_or_else(|| MEANS.to_owned(), means))
}

fn solo(rows: &[&Row]) -> Table {
    let floors = rows.iter().any(|row| row.sides[0].floor.is_some());
    let lines = rows.iter().map(|row| {
        let side = &row.sides[0];
        let tone = match row.status {
            Status::Ok => Tone::Plain,
            Status::Unfinished | Status::Skipped(_) => Tone::Dim,
            Status::Incorrect(_) | Status::Failed(_) => Tone::Bad,
        };
        let mut cells = vec![row.title.clone(), side_time(side), side_interval(side), side_rate(row, side)];
        if floors {
            cells.extend(floor_cells(side.floor));
        }
        cells.extend([side.kernel.clone(), row.sessions.len().to_string(), status(&row.status)]);
        Line::new(cells, tone)
    });
    let columns = ["case", "time", "99 % interval", "rate", "kernel", "sessions", "status"];
    let mut table = Table::new(columns, lines);
    if floors {
        table.columns.splice(4..4, ["floor", "reached"].map(str::to_owned));
    }
    table
}

/// Lower bound, the resource that sets it, and how close the measured speed is.
fn floor_cells(floor: Option<Floor>) -> [String; 2] {
    match floor {
        Some(Floor { bound, ns, share }) => {
            [format!("{} {}", duration(ns), bound.word()), format!("{:.0} %", share * 100.0)]
        }
        None => [NOTHING; 2].map(str::to_owned),
    }
}

fn sustained(rows: &[&Row]) -> Table {
    let lines = rows.iter().map(|row| {
        let Some(sustained_run) = SustainedRun::from_row(row) else {
            let mut cells = vec![row.title.clone(), row.windows_ns.len().to_string()];
            cells.extend([NOTHING; 4].map(str::to_owned));
            let short = if row.status == Status::Ok { "too short".to_owned() } else { status(&row.status) };
            cells.push(short);
            return Line::new(cells, Tone::Bad);
        };
        let per_iteration = row.units.per_iteration as f64;
        let rate = |rate: f64| shown(row_units(row), |units| units.rate(per_iteration / rate));
        let cells = [
            row.title.clone(),
            sustained_run.windows.len().to_string(),
            rate(sustained_run.first),
            rate(sustained_run.last),
            times(sustained_run.last / sustained_run.first),
            percent(1.0 + sustained_run.slope_per_minute),
            sustained_run.steadiness.word().to_owned(),
        ];
        let tone = match sustained_run.steadiness {
            Steadiness::Stable => Tone::Good,
            Steadiness::Drifting => Tone::Dim,
            Steadiness::Throttled => Tone::Bad,
        };
        Line::new(cells, tone)
    });
    let columns = ["case", "windows", "first quarter", "last quarter", "last/first", "per minute", "course"];
    Table::new(columns, lines)
}

const PROBES: &str = "Probes: the machine's limit for each kind of work";

const FLOOR: &str = "floor: time of the row's minimal work (bytes from memory, vector instructions, or the longest dependency chain) at the speed of the probes of this run; reached: floor divided by time";

const UNEVEN: &str = "ratios compare times for equal work, times are per iteration: they differ if the sides do different amounts of work per iteration";

fn notes(report: &Report) -> Vec<String> {
    // The tables of commands show this.
    let direction = direction(report).filter(|_| report.kind != Kind::Commands);
    let mut notes: Vec<String> = direction.into_iter().chain(instructions::means(report)).collect();
    for row in &report.rows {
        if let Status::Incorrect(reason) | Status::Failed(reason) = &row.status {
            notes.push(format!("{}: {reason}", row.title));
        }
        for retry in &row.retried {
            notes.push(format!("{}: session {} was repeated: {}", row.title, retry.session + 1, retry.why));
        }
        // Rows without sessions have no results, which proves nothing.
        for control in row.found(Role::Control).filter(|control| control.sessions > 0) {
            notes.push(format!("control, {} against itself: {}", row.sides[0].label, of_control(control)));
        }
    }
    notes.extend(report.rows.iter().flat_map(commands::notes));
    notes.extend(kernels(report));
    notes.extend(smallest_claim(report));
    notes.extend(layout::notes(report));
    notes.extend(instructions::notes(report));
    notes.extend(noise_card(report));
    if report.rows.iter().any(|row| row.sides.iter().any(|side| side.units_per_iteration.is_some())) {
        notes.push(UNEVEN.to_owned());
    }
    let sides = report.rows.iter().flat_map(|row| &row.sides);
    let checked: Vec<bool> = sides.filter(|s| !s.digest.is_empty()).map(|s| s.reference.is_empty()).collect();
    if report.kind != Kind::Commands {
        notes.push(format!(
            "digests {} of {} equal to their reference",
            checked.iter().filter(|ok| **ok).count(),
            checked.len()
        ));
    }
    let quiet = report.quality.flags.iter().filter(|flag| !is_loud(flag));
    notes.extend(quiet.map(|flag| format!("{flag}: {}", explain(flag))));
    if report.rows.iter().any(|row| row.sides.iter().any(|side| side.floor.is_some())) {
        notes.push(FLOOR.to_owned());
    }
    let classes = report.classes.iter();
    notes.extend(classes.map(|class| format!("class {}: timed {}", class.name, phases(&class.includes))));
    notes
}

/// Kernels that ran in comparisons; their table has no column for them.
fn kernels(report: &Report) -> Option<String> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for side in report.rows.iter().filter(|row| row.sides.len() > 1).flat_map(|row| &row.sides) {
        let pair = (side.label.as_str(), side.kernel.as_str());
        if !side.kernel.is_empty() && side.role != Role::Control && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let words: Vec<String> = pairs.iter().map(|(label, kernel)| format!("{label} {kernel}")).collect();
    (!words.is_empty()).then(|| format!("kernels: {}", words.join(", ")))
}

/// Least difference that a verdict may report.
fn smallest_claim(report: &Report) -> Option<String> {
    let compared: Vec<&Row> = report.rows.iter().filter(|row| row.sides.len() > 1).collect();
    let far = compared.iter().filter(|row| row.reach == CacheLevel::Far).count();
    let rule = report.plan.rule().of_layouts(Some(0.0));
    let least = |reach| format!("{} %", rule.least(reach) * 100.0);
    let words = match (compared.len(), far) {
        (0, _) => return None,
        (_, 0) => format!("from {} on", least(CacheLevel::Near)),
        _ if report.kind == Kind::Commands => format!("from {} on", least(CacheLevel::Far)),
        (all, far) if all == far => {
            format!("from {} on, because the data exceed the caches of one core", least(CacheLevel::Far))
        }
        _ => format!(
            "from {} on; from {} on in the {far} rows whose data exceed the caches of one core",
            least(CacheLevel::Near),
            least(CacheLevel::Far)
        ),
    };
    let layouts = if rule.fixed_layout.is_some() { ", and by more than the effect of layouts" } else { "" };
    Some(format!("faster, slower: proven, {words}{layouts}"))
}

/// Smallest difference that this machine can prove, if it has a noise card and something was compared.
fn noise_card(report: &Report) -> Option<String> {
    let card = report.noise.as_ref().filter(|_| report.rows.iter().any(|row| row.sides.len() > 1))?;
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let near = card.near.map(|near| format!("from {} on", share(near)));
    let far =
        card.far.map(|far| format!("from {} on where the data exceed the caches of one core", share(far)));
    let words: Vec<String> = near.into_iter().chain(far).collect();
    let day = card.measured.split('T').next().unwrap_or_default();
    let proves = || format!("noise card of {day}: here 40 sessions prove differences {}", words.join("; "));
    (!words.is_empty()).then(proves)
}

/// Text such as `run (the work), digest (reading the result)` from the class's description.
fn phases(includes: &[String]) -> String {
    let words = includes.iter().map(|text| match text.split_once(": ") {
        Some((phase, message)) => format!("{phase} ({message})"),
        None => text.clone(),
    });
    words.collect::<Vec<_>>().join(", ")
}
