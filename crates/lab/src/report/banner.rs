//! What a reader must know before reading anything else of a report: wrong results, and conditions under which no
//! measurement is worth much.

use super::quality::{UNEQUAL, explain};
use super::schema::{Kind, Report, Role, Row, State, Status};
use super::soak::{Course, Soak};
use crate::stats::ratio::times;
use hashmill_machine::Load;

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    /// Nothing may be used of what it is about; otherwise caution is enough.
    pub(crate) is_fatal: bool,
    pub(crate) says: String,
}

/// Flags that stand in the banner and not among the notes.
const LOUD: [&str; 6] = ["control-failed", UNEQUAL, "busy", "stolen-time", "cpu-pressure", "memory-pressure"];

/// More of a floor than noise explains.
const BEYOND: f64 = 1.1;

/// Whether a flag has its place in the banner.
pub(super) fn is_loud(flag: &str) -> bool {
    LOUD.contains(&flag)
}

/// Whether nothing may be used of a report with this flag.
pub(super) fn is_fatal(flag: &str) -> bool {
    ["control-failed", UNEQUAL].contains(&flag)
}

pub(super) fn warnings(report: &Report) -> Vec<Warning> {
    let fatal = |says: String| Warning { is_fatal: true, says };
    let careful = |says: String| Warning { is_fatal: false, says };
    let mut found = Vec::new();
    for answers in &report.answers {
        found.extend(
            answers.wrong.as_ref().map(|why| fatal(format!("WRONG ANSWER of {}: {why}", answers.engine))),
        );
    }
    let of = |word: &str, rows: Vec<&Row>| {
        let titles: Vec<&str> = rows.iter().take(3).map(|row| row.title.as_str()).collect();
        let more = if rows.len() > 3 { format!(" and {} more", rows.len() - 3) } else { String::new() };
        (!rows.is_empty()).then(|| fatal(format!("{word}: {}{more}", titles.join(", "))))
    };
    let rows = |holds: fn(&Status) -> bool| report.rows.iter().filter(|row| holds(&row.status)).collect();
    found.extend(of("WRONG RESULT", rows(|status| matches!(status, Status::Incorrect(_)))));
    found.extend(of("FAILED", rows(|status| matches!(status, Status::Failed(_)))));
    found.extend(match report.state {
        State::Complete => None,
        State::Interrupted => {
            Some(careful("The run was interrupted; what was measured until then is kept.".to_owned()))
        }
        State::Running => Some(careful(
            "The run is unfinished: it is still going on, or it was killed. What was measured until then is kept.".to_owned(),
        )),
    });
    // Reports from before this flag show it, too.
    let unstated = report.has_unequal_samples() && !report.quality.flags.iter().any(|flag| flag == UNEQUAL);
    let flags = report.quality.flags.iter().map(String::as_str).chain(unstated.then_some(UNEQUAL));
    for flag in flags.filter(|flag| is_loud(flag)) {
        let more = match flag {
            "busy" => loads(report),
            UNEQUAL => unequal(report),
            _ => String::new(),
        };
        found.push(Warning { is_fatal: is_fatal(flag), says: format!("{flag}: {}{more}", explain(flag)) });
    }
    found.extend(kernels(report).map(careful));
    found.extend(floors(report).map(careful));
    for row in report.rows.iter().filter(|_| report.kind == Kind::Soak) {
        let soak = Soak::of(row).filter(|soak| soak.course == Course::Throttled);
        found.extend(soak.map(|soak| {
            let speed = times(soak.last / soak.first);
            careful(format!("throttled: the last quarter of {} has {speed} the rate of its first", row.title))
        }));
    }
    found
}

/// The first rows without a verdict.
fn unequal(report: &Report) -> String {
    let rows = report.rows.iter().filter(|row| row.has_unequal_samples());
    let titles: Vec<&str> = rows.map(|row| row.title.as_str()).collect();
    let more = if titles.len() > 3 { format!(" and {} more", titles.len() - 3) } else { String::new() };
    format!(" ({}{more})", titles[..titles.len().min(3)].join(", "))
}

fn loads(report: &Report) -> String {
    let average = |load: &Load| load.average.map(|average| average.to_string());
    let both = average(&report.quality.before).zip(average(&report.quality.after));
    both.map_or_else(String::new, |(before, after)| {
        format!(" ({before} then and {after} at the end, on {} cores)", report.machine.logical_cores)
    })
}

/// A row cannot be faster than what bounds it: then the probes were disturbed, or built without optimisation.
fn floors(report: &Report) -> Option<String> {
    let sides = report.rows.iter().flat_map(|row| &row.sides);
    let most = sides.filter_map(|side| side.floor).map(|floor| floor.share).fold(0.0, f64::max);
    (most > BEYOND).then(|| {
        format!(
            "floors are wrong: a row reaches {:.0} % of what the probes found possible; they were disturbed",
            most * 100.0
        )
    })
}

/// Two builds of one case that ran different kernels: what is found between them may be that and nothing else.
fn kernels(report: &Report) -> Option<String> {
    let differ = |row: &&Row| {
        let candidates =
            row.sides.iter().filter(|side| side.role == Role::Candidate && side.key == row.sides[0].key);
        candidates.into_iter().any(|side| side.kernel != row.sides[0].kernel)
    };
    let rows: Vec<&Row> = report.rows.iter().filter(differ).collect();
    let first = rows.first()?;
    let other = first.sides.iter().find(|side| side.kernel != first.sides[0].kernel)?;
    let more = if rows.len() > 1 { format!(", and in {} more", rows.len() - 1) } else { String::new() };
    Some(format!(
        "different kernels: {} ran {} and {} ran {} in {}{more}",
        first.sides[0].label, first.sides[0].kernel, other.label, other.kernel, first.title
    ))
}
