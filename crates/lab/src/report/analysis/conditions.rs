//! Flags of a report: conditions that make its numbers less certain. Flags never remove samples: on a virtual machine
//! most disturbances are invisible to the guest, and filtering out only the visible ones would bias the result.

use crate::model::key::Key;
use crate::report::schema::{Comparison, Report, Role, Row};

/// Flag of a report in which some rows have no verdict because their samples differ in length.
pub(crate) const UNEQUAL: &str = "unequal-samples";

/// All flags and their meanings.
pub(crate) const FLAGS: [(&str, &str); 12] = [
    ("busy", "the load average at the start was above half of the cores"),
    ("stolen-time", "the hypervisor gave more than 1 % of the time to others"),
    ("cpu-pressure", "tasks waited for a processor for more than 10 % of the time"),
    ("memory-pressure", "tasks waited for memory for more than 1 % of the time"),
    ("virtual", "a virtual machine: other guests can disturb measurements invisibly"),
    ("no-control", "nothing was compared with itself, so an error of the measurement would be invisible"),
    ("control-failed", "identical sides differed: the conclusions of this run are invalid"),
    (
        UNEQUAL,
        "the sides' samples differ in length by more than 1.3, and the longer ones make their side look faster: there is no verdict",
    ),
    ("retried", "a session ended or hung early and was repeated"),
    ("dirty", "a build had uncommitted changes"),
    ("small-pages", "inputs of 2 MiB and more were in small pages, so processes differ randomly"),
    ("short-samples", "samples shorter than 100 µs: bursts and the clock weigh heavily"),
];

/// Flags that are shown as warnings at the top of a report; the others are notes.
const LOUD: [&str; 6] = ["control-failed", UNEQUAL, "busy", "stolen-time", "cpu-pressure", "memory-pressure"];

/// Whether a flag is shown as a warning at the top of a report.
pub(crate) fn is_loud(flag: &str) -> bool {
    LOUD.contains(&flag)
}

/// Whether a report with this flag must not be used at all.
pub(crate) fn is_fatal(flag: &str) -> bool {
    ["control-failed", UNEQUAL].contains(&flag)
}

/// Meaning of a flag.
pub(crate) fn explain(flag: &str) -> &'static str {
    FLAGS.iter().find(|(name, _)| *name == flag).map_or("unknown flag", |(_, message)| message)
}

/// Computes the flags from the other fields of the report.
pub(crate) fn flags(report: &Report) -> Vec<String> {
    let holds = |flag: &str| match flag {
        "busy" => report
            .quality
            .before
            .average
            .is_some_and(|load| load > f64::from(report.machine.logical_cores) / 2.0),
        "stolen-time" => {
            let stolen = growth(report, |load| load.stolen_ms).unwrap_or(0);
            let share = report.quality.elapsed_ms * u64::from(report.machine.logical_cores) / 100;
            stolen > share.max(10)
        }
        "cpu-pressure" => growth(report, |load| load.cpu_pressure_us)
            .is_some_and(|us| us / 100 > report.quality.elapsed_ms.max(1)),
        "memory-pressure" => growth(report, |load| load.memory_pressure_us)
            .is_some_and(|us| us / 10 > report.quality.elapsed_ms.max(1)),
        "virtual" => !matches!(report.machine.virtualization.as_str(), "none" | "unknown"),
        "no-control" => {
            let mut sides = report.rows.iter().flat_map(|row| &row.sides);
            !report.plan.same_code
                && report.rows.iter().any(|row| row.sides.len() > 1)
                && sides.all(|side| side.role != Role::Control)
        }
        "control-failed" => {
            report.rows.iter().flat_map(|row| report.identical(row)).any(|control| control.verdict.is_claim())
        }
        UNEQUAL => report.has_unequal_samples(),
        "retried" => report.rows.iter().any(|row| !row.retried.is_empty()),
        "dirty" => report.builds.iter().any(|build| build.dirty == Some(true)),
        "small-pages" => report.rows.iter().any(|row| {
            let large = row
                .sides
                .iter()
                .filter_map(|side| side.key.parse::<Key>().ok())
                .any(|key| key.size.0 >= 2 << 20);
            large
                && row.units.kind == "bytes"
                && row.sessions.iter().any(|session| session.huge_bytes == Some(0))
        }),
        "short-samples" => report.rows.iter().flat_map(|row| &row.sides).any(|side| {
            let mut samples = side.session_ns.iter().enumerate();
            samples.any(|(session, ns)| ns * (side.iterations_in(session) as f64) < 100_000.0)
        }),
        _ => false,
    };
    FLAGS.iter().filter(|(name, _)| holds(name)).map(|(name, _)| (*name).to_owned()).collect()
}

impl Row {
    /// Whether the samples of any side have another length than those of the baseline.
    pub(crate) fn has_unequal_samples(&self) -> bool {
        (1..self.sides.len()).any(|side| self.is_unequal(side))
    }
}

impl Report {
    pub(crate) fn has_unequal_samples(&self) -> bool {
        self.rows.iter().any(Row::has_unequal_samples)
    }

    /// Comparisons of a row's baseline with the same program: controls, and the candidates of a run of one program.
    fn identical<'a>(&self, row: &'a Row) -> impl Iterator<Item = &'a Comparison> + use<'a> {
        let same_code = self.plan.same_code;
        let is_identical =
            move |found: &&Comparison| same_code || row.sides[found.side].role == Role::Control;
        row.comparisons.iter().filter(is_identical)
    }
}

fn growth(report: &Report, field: impl Fn(&hashmill_machine::Load) -> Option<u64>) -> Option<u64> {
    Some(field(&report.quality.after)?.saturating_sub(field(&report.quality.before)?))
}
