//! Flags: what a reader of a report should know about the conditions. They never remove a sample, because on a
//! virtual machine most disturbances leave no trace that a guest could see, and half a filter is a bias.

use super::schema::{Comparison, Report, Role, Row};
use crate::model::key::Key;

/// The flag of a report with rows that have no verdict because their samples differ in length.
pub(crate) const UNEQUAL: &str = "unequal-samples";

/// All flags with what they mean.
pub(crate) const FLAGS: [(&str, &str); 12] = [
    ("busy", "the load average at the start was above half of the cores"),
    ("stolen-time", "the hypervisor gave more than 1 % of the time to others"),
    ("cpu-pressure", "tasks waited for a processor for more than 10 % of the time"),
    ("memory-pressure", "tasks waited for memory for more than 1 % of the time"),
    ("virtual", "a virtual machine: neighbours can disturb without a trace"),
    ("no-control", "nothing was set against itself, so an error of the measurement could not show"),
    ("control-failed", "identical sides were found different: the conclusions of this run are invalid"),
    (
        UNEQUAL,
        "the sides' samples differ in length by more than 1.3, and the longer ones make their side look faster: there is no verdict",
    ),
    ("retried", "a session ended or hung before its time and was taken again"),
    ("dirty", "a build held changes that are in no commit"),
    ("small-pages", "inputs of 2 MiB and more lay in small pages, which makes processes differ by luck"),
    ("short-samples", "samples shorter than 100 µs: bursts and the clock weigh heavily"),
];

/// What a flag means.
pub(crate) fn explain(flag: &str) -> &'static str {
    FLAGS.iter().find(|(name, _)| *name == flag).map_or("unknown flag", |(_, says)| says)
}

/// The flags that follow from the other fields of the report.
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
    /// Whether any side has samples of another length than the baseline.
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
