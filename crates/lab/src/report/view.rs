//! What a report shows, before it has a form: facts, tables and notes in words. The renderers only lay it out.

use super::banner::{self, Warning};
use super::floor::is_probe;
use super::instructions;
use super::layout;
use super::quality::explain;
use super::schema::{Answers, Build, Comparison, Floor, Kind, Report, Role, Row, Side, Status, Verdict};
use super::soak::{Course, Soak};
use crate::commands::line::pasted;
use crate::model::reach::Reach;
use crate::model::units::{self, duration, percent};
use crate::stats::MAX_SESSIONS;
use crate::stats::ratio::{MEANS, means, range, times};
use hashmill_machine::Machine;

/// Everything that every form shows.
pub(crate) struct View {
    pub(crate) title: String,
    /// What to know before anything else.
    pub(crate) banner: Vec<Warning>,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) notes: Vec<String>,
}

/// A table of words; the first column stands left, the others right.
pub(crate) struct Table {
    /// What it is about, where that is not plain from the title; may be empty.
    pub(crate) caption: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Line>,
}

pub(crate) struct Line {
    pub(crate) cells: Vec<String>,
    pub(crate) tone: Tone,
}

/// How the last cell of a line should strike the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Warn,
    Dim,
}

impl Table {
    /// A table without a caption.
    pub(crate) fn new<const N: usize>(columns: [&str; N], rows: impl IntoIterator<Item = Line>) -> Self {
        let columns = columns.map(str::to_owned).into();
        Table { caption: String::new(), columns, rows: rows.into_iter().collect() }
    }

    pub(crate) fn under(self, caption: impl Into<String>) -> Self {
        Table { caption: caption.into(), ..self }
    }
}

impl Line {
    pub(crate) fn new(cells: impl Into<Vec<String>>, tone: Tone) -> Self {
        Line { cells: cells.into(), tone }
    }

    pub(crate) fn plain(cells: impl Into<Vec<String>>) -> Self {
        Line::new(cells, Tone::Plain)
    }
}

/// What stands in a cell where there is nothing to say.
pub(crate) const NOTHING: &str = "–";

/// A value in words, where there is one.
pub(crate) fn shown<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), words)
}

/// Two times and what lies between.
pub(crate) fn span([low, high]: [f64; 2]) -> String {
    format!("{} … {}", duration(low), duration(high))
}

impl Tone {
    pub(crate) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Tone::Good,
            Verdict::Slower => Tone::Bad,
            Verdict::Same => Tone::Plain,
            Verdict::Inconclusive => Tone::Dim,
        }
    }
}

impl View {
    pub(crate) fn of(report: &Report) -> Self {
        let title = match report.kind {
            Kind::Run => "lab run",
            Kind::Engines | Kind::Builds | Kind::Commands => "lab compare",
            Kind::Soak => "lab run --for",
        };
        let (contests, alone): (Vec<&Row>, Vec<&Row>) =
            report.rows.iter().partition(|row| row.sides.len() > 1);
        let mut tables = Vec::new();
        if !contests.is_empty() {
            tables.push(comparisons(report, &contests));
        }
        let (probes, alone): (Vec<&Row>, Vec<&Row>) = alone.into_iter().partition(|row| is_probe(row));
        let form = if report.kind == Kind::Soak { sustained } else { solo };
        for (caption, rows) in
            [("", alone), (PROBES, probes)].into_iter().filter(|(_, rows)| !rows.is_empty())
        {
            tables.push(form(&rows).under(caption));
        }
        if report.kind == Kind::Commands {
            tables = super::commands::tables(report);
        }
        tables.extend(super::amounts::table(&report.rows, met(report)));
        tables.extend(super::scaling::table(&report.rows));
        tables.extend(super::pages::table(&report.rows));
        View {
            title: format!("{title} {}", report.id),
            banner: banner::warnings(report),
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
    facts.extend(super::pages::fact(report).map(|says| ("memory", says)));
    // The tables have the name of a command; here stands its whole line, where that is another.
    let told = |build: &&Build| report.kind != Kind::Commands || build.label != build.source;
    for build in report.builds.iter().filter(told) {
        let mut says = build.source.clone();
        if let Some(commit) = &build.commit {
            says += &format!(" at {}", &commit[..commit.len().min(12)]);
        }
        if build.dirty == Some(true) {
            says += " with uncommitted changes";
        }
        facts.push(("build", format!("{}  {says}", build.label)));
    }
    let command: Vec<String> = report.command.iter().map(|word| pasted(word)).collect();
    facts.push(("command", command.join(" ")));
    for Answers { engine, right, wrong } in &report.answers {
        let says = match wrong {
            None => format!("{engine}: {right} known answers right"),
            Some(wrong) => format!("{engine}: WRONG after {right} right ones: {wrong}"),
        };
        facts.push(("answers", says));
    }
    facts
}

pub(crate) fn machine_facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine { id, cpu, logical_cores, memory_gib, os, kernel, virtualization, .. } = machine;
    vec![
        ("machine", format!("{id}  {cpu} ×{logical_cores}, {memory_gib} GiB")),
        ("system", format!("{os} {kernel}, virtualization {virtualization}")),
    ]
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
            lines.push(Line::new(cells, Tone::of(comparison.verdict)));
        }
    }
    let [baseline, candidate] = met(report).unwrap_or(["baseline", "candidate"]);
    let columns = ["case", baseline, candidate, "ratio", "99 % interval", "sessions", "verdict"];
    let mut table = Table::new(columns, lines);
    instructions::beside(&mut table, &sides);
    table
}

/// How many times as fast, where that was measured.
pub(crate) fn speed(comparison: &Comparison) -> String {
    shown(Some(comparison.ratio).filter(|_| comparison.sessions > 0), times)
}

/// What a control gave, and what that means.
pub(crate) fn of_control(control: &Comparison) -> String {
    let judged = if control.verdict.is_claim() { "FAILED: this run is invalid" } else { "ok" };
    format!("{} {} {judged}", times(control.ratio), range(control.interval))
}

pub(crate) fn side_time(side: &Side) -> String {
    shown(side.summary, |summary| duration(summary.median_ns))
}

/// Baseline and candidate, where all comparisons are between the same two.
pub(crate) fn met(report: &Report) -> Option<[&str; 2]> {
    let mut names: Vec<[&str; 2]> = report
        .candidates()
        .map(|(row, comparison)| [&*row.sides[0].label, &*row.sides[comparison.side].label])
        .collect();
    names.dedup();
    match names[..] {
        [met] => Some(met),
        _ => None,
    }
}

/// Which way the ratios go, by the names of the sides where all rows have the same.
fn direction(report: &Report) -> Option<String> {
    report.candidates().next()?;
    Some(met(report).map_or_else(|| MEANS.to_owned(), means))
}

/// The words for a verdict, with what would settle one that is none.
pub(crate) fn verdict(report: &Report, row: &Row, comparison: &Comparison) -> String {
    let unfinished = if row.status == Status::Unfinished { ", unfinished" } else { "" };
    if row.is_unequal(comparison.side) {
        return "no verdict: samples of unequal length".to_owned() + unfinished;
    }
    if let Some(words) = layout::verdict(report, row, comparison) {
        return words + unfinished;
    }
    let words = match (comparison.verdict, needed(comparison.sessions_needed)) {
        (_, _) if comparison.sessions == 0 => "not measured".to_owned(),
        (Verdict::Inconclusive, Some(needed)) => format!("inconclusive ({needed})"),
        (verdict, _) => verdict.word().to_owned(),
    };
    words + unfinished
}

/// What would settle a comparison, as its reader can ask for it.
pub(super) fn needed(sessions: Option<u64>) -> Option<String> {
    sessions.map(|needed| match needed <= MAX_SESSIONS as u64 {
        true => format!("try --sessions {needed}"),
        false => format!("needs over {MAX_SESSIONS} sessions"),
    })
}

pub(super) fn status(status: &Status) -> String {
    match status {
        Status::Ok => "ok".to_owned(),
        Status::Unfinished => "unfinished".to_owned(),
        Status::Skipped(why) => format!("skipped: {why}"),
        Status::Incorrect(_) => "WRONG RESULT".to_owned(),
        Status::Failed(_) => "FAILED".to_owned(),
    }
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

/// What the median time of a side may be.
pub(crate) fn side_interval(side: &Side) -> String {
    shown(side.summary.and_then(|summary| summary.interval_ns), span)
}

/// How much a side does in a second, in the units of its row.
pub(super) fn side_rate(row: &Row, side: &Side) -> String {
    shown(row_units(row).zip(side.summary), |(units, summary)| units.rate(summary.median_ns))
}

/// The shortest possible time with what bounds it, and how much of that speed was reached.
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
        let Some(soak) = Soak::of(row) else {
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
            soak.windows.len().to_string(),
            rate(soak.first),
            rate(soak.last),
            times(soak.last / soak.first),
            percent(1.0 + soak.slope_per_minute),
            soak.course.word().to_owned(),
        ];
        let tone = match soak.course {
            Course::Stable => Tone::Good,
            Course::Drifting => Tone::Dim,
            Course::Throttled => Tone::Bad,
        };
        Line::new(cells, tone)
    });
    let columns = ["case", "windows", "first quarter", "last quarter", "last/first", "per minute", "course"];
    Table::new(columns, lines)
}

/// The work of an iteration, in the words of the model.
pub(crate) fn row_units(row: &Row) -> Option<units::Units> {
    let count = row.units.per_iteration;
    match row.units.kind.as_str() {
        "bytes" => Some(units::Units::Bytes(count)),
        "hashes" => Some(units::Units::Hashes(count)),
        "operations" => Some(units::Units::Operations(count)),
        _ => None,
    }
}

const PROBES: &str = "Probes: the most that this machine does of one kind of work";

const FLOOR: &str = "floor: the least work of the row (bytes from memory, vector instructions, or the longest chain \
of instructions) at the speed that the probes of this run reached with that kind of work alone; reached: the floor \
over the time";

const UNEVEN: &str = "the ratio compares the times for the same work, the times are of one iteration: where the sides \
differ in how much an iteration does, the one does not follow from the other";

fn notes(report: &Report) -> Vec<String> {
    // The tables of commands say it themselves.
    let direction = direction(report).filter(|_| report.kind != Kind::Commands);
    let mut notes: Vec<String> = direction.into_iter().chain(instructions::means(report)).collect();
    for row in &report.rows {
        if let Status::Incorrect(why) | Status::Failed(why) = &row.status {
            notes.push(format!("{}: {why}", row.title));
        }
        for retry in &row.retried {
            notes.push(format!(
                "{}: session {} was taken again: {}",
                row.title,
                retry.session + 1,
                retry.why
            ));
        }
        // What has no session found nothing, and that nothing was found proves nothing.
        for control in row.found(Role::Control).filter(|control| control.sessions > 0) {
            notes.push(format!("control, {} against itself: {}", row.sides[0].label, of_control(control)));
        }
    }
    notes.extend(report.rows.iter().flat_map(super::commands::notes));
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
    let quiet = report.quality.flags.iter().filter(|flag| !banner::is_loud(flag));
    notes.extend(quiet.map(|flag| format!("{flag}: {}", explain(flag))));
    if report.rows.iter().any(|row| row.sides.iter().any(|side| side.floor.is_some())) {
        notes.push(FLOOR.to_owned());
    }
    let classes = report.classes.iter();
    notes.extend(classes.map(|class| format!("class {}: timed {}", class.name, phases(&class.includes))));
    notes
}

/// Which kernels ran in comparisons, whose table has no room for them.
fn kernels(report: &Report) -> Option<String> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for side in report.rows.iter().filter(|row| row.sides.len() > 1).flat_map(|row| &row.sides) {
        let pair = (side.label.as_str(), side.kernel.as_str());
        if !side.kernel.is_empty() && side.role != Role::Control && !seen.contains(&pair) {
            seen.push(pair);
        }
    }
    let words: Vec<String> = seen.iter().map(|(label, kernel)| format!("{label} {kernel}")).collect();
    (!words.is_empty()).then(|| format!("kernels: {}", words.join(", ")))
}

/// From which difference on a verdict may speak of one.
fn smallest_claim(report: &Report) -> Option<String> {
    let compared: Vec<&Row> = report.rows.iter().filter(|row| row.sides.len() > 1).collect();
    let far = compared.iter().filter(|row| row.reach == Reach::Far).count();
    let rule = report.plan.rule().of_layouts(Some(0.0));
    let least = |reach| format!("{} %", rule.least(reach) * 100.0);
    let words = match (compared.len(), far) {
        (0, _) => return None,
        (_, 0) => format!("from {} on", least(Reach::Near)),
        _ if report.kind == Kind::Commands => format!("from {} on", least(Reach::Far)),
        (all, far) if all == far => {
            format!("from {} on, because the data leave a core's own caches", least(Reach::Far))
        }
        _ => format!(
            "from {} on; from {} on in the {far} rows whose data leave a core's own caches",
            least(Reach::Near),
            least(Reach::Far)
        ),
    };
    let layouts = if rule.fixed_layout.is_some() { ", and by more than layouts do" } else { "" };
    Some(format!("faster, slower: proven, {words}{layouts}"))
}

/// What this machine can prove, where somebody asked it before and something was compared.
fn noise_card(report: &Report) -> Option<String> {
    let card = report.noise.as_ref().filter(|_| report.rows.iter().any(|row| row.sides.len() > 1))?;
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let near = card.near.map(|near| format!("from {} on", share(near)));
    let far = card.far.map(|far| format!("from {} on where the data leave a core's own caches", share(far)));
    let words: Vec<String> = near.into_iter().chain(far).collect();
    let day = card.measured.split('T').next().unwrap_or_default();
    let proves = || format!("noise card of {day}: here 40 sessions prove differences {}", words.join("; "));
    (!words.is_empty()).then(proves)
}

/// `run (the work), digest (reading the result)` from the class's generated text.
fn phases(includes: &[String]) -> String {
    let words = includes.iter().map(|text| match text.split_once(": ") {
        Some((phase, says)) => format!("{phase} ({says})"),
        None => text.clone(),
    });
    words.collect::<Vec<_>>().join(", ")
}
