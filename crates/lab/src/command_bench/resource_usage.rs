//! Resource usage of commands, and comparisons with the first.

use super::process::RunResult;
use crate::report::schema::commands::{Resource, ResourceUsage, UsageComparison, UsageVerdict};
use crate::stats::MAX_SESSIONS;
use crate::stats::order::{median, six_digits, sorted};
use crate::stats::signed_rank::{hodges_lehmann, interval};
use crate::stats::verdict::LEVEL;
use hashmill_machine::ChildUsage;

/// One value per run; zero if the system does not report it.
pub(crate) fn column(runs: &[RunResult], of: impl Fn(&ChildUsage) -> f64) -> Vec<f64> {
    runs.iter().map(|ran| of(&ran.usage.unwrap_or_default())).collect()
}

/// The same, if the system reported it for every run.
pub(crate) fn all_reported(runs: &[RunResult], of: impl Fn(&ChildUsage) -> f64) -> Option<Vec<f64>> {
    runs.iter().map(|ran| ran.usage.as_ref().map(&of)).collect()
}

/// Size of a block in the system's counters, in bytes.
pub(crate) const BLOCK: f64 = 512.0;

/// Usage of each side in order.
pub(crate) fn used(sides: &[Vec<RunResult>]) -> Vec<ResourceUsage> {
    sides.iter().map(|runs| used_by(runs)).collect()
}

fn used_by(runs: &[RunResult]) -> ResourceUsage {
    if runs.is_empty() {
        return ResourceUsage::default();
    }
    let times: Vec<f64> = runs.iter().map(|ran| ran.nanoseconds() as f64).collect();
    let middle = |of: fn(&ChildUsage) -> f64| median(&column(runs, of));
    let mut outputs: Vec<&str> =
        runs.iter().filter_map(|ran| ran.printed.as_ref()).map(|printed| printed.sha256.as_str()).collect();
    outputs.sort_unstable();
    let usual = outputs.chunk_by(|a, b| a == b).max_by_key(|equal| equal.len());
    let printed: Vec<f64> =
        runs.iter().map(|ran| ran.printed.as_ref().map_or(0.0, |printed| printed.bytes as f64)).collect();
    ResourceUsage {
        runs: runs.len(),
        least_ns: times.iter().copied().fold(f64::INFINITY, f64::min),
        most_ns: times.iter().copied().fold(0.0, f64::max),
        p95_ns: (times.len() >= 20).then(|| sorted(&times)[times.len() * 19 / 20]),
        user_ns: middle(|usage| usage.user.as_nanos() as f64),
        system_ns: middle(|usage| usage.system.as_nanos() as f64),
        peak_bytes: middle(|usage| usage.peak_bytes as f64),
        bytes_read: middle(|usage| usage.blocks_read as f64 * BLOCK),
        bytes_written: middle(|usage| usage.blocks_written as f64 * BLOCK),
        major_faults: middle(|usage| usage.major_faults as f64),
        switches: middle(|usage| usage.involuntary_switches as f64),
        printed: median(&printed),
        output: usual.map(|equal| equal[0].to_owned()),
        odd: outputs.len() - usual.map_or(0, <[_]>::len),
        failed: runs.iter().filter(|ran| ran.code != 0).count(),
        left: runs.iter().filter(|ran| ran.left_behind).count(),
    }
}

/// Least relative difference in usage that is reported; smaller ones are not interesting, even if proven.
const LEAST: f64 = 0.01;

/// Compares each command with the first. Runs of the same round are paired, and all intervals together hold in 99 of
/// 100 comparisons. Peaks of memory up to `floor` are upper bounds only, because a child process reports at least
/// this much.
pub(crate) fn uses(sides: &[Vec<RunResult>], floor: f64) -> Vec<UsageComparison> {
    let [base, others @ ..] = sides else { return Vec::new() };
    let family = (others.len() * Resource::ALL.len()).max(1);
    let level = 1.0 - (1.0 - LEVEL) / family as f64;
    let of = |side: usize, what: Resource| {
        let least = if what == Resource::Memory { floor } else { 0.0 };
        let values = |runs: &[RunResult]| column(runs, |usage| amount(usage, what).max(least));
        let (first, this) = (values(base), values(&sides[side]));
        let (first_usual, this_usual) = (median(&first), median(&this));
        let (small, large) = (first_usual.min(this_usual), first_usual.max(this_usual));
        let known = small > 0.0 && large > least;
        let pairs = first.iter().zip(&this).filter(|(first, this)| **first > 0.0 && **this > 0.0);
        let deltas: Vec<f64> = pairs.map(|(first, this)| (this / first).ln()).take(MAX_SESSIONS).collect();
        let interval = interval(&deltas, level).filter(|_| known);
        let band = LEAST.ln_1p();
        let than = match interval {
            Some((low, _)) if low > band => UsageVerdict::More,
            Some((_, high)) if high < -band => UsageVerdict::Less,
            Some((low, high)) if low >= -band && high <= band => UsageVerdict::Same,
            _ => UsageVerdict::Open,
        };
        let ratio = known.then(|| six_digits(hodges_lehmann(&deltas).exp()));
        let interval = interval.map(|(low, high)| [low, high].map(|end| six_digits(end.exp())));
        let is_bound = known && small == least;
        UsageComparison { side, what, first: first_usual, this: this_usual, ratio, interval, is_bound, than }
    };
    let sides = (1..sides.len()).filter(|side| !base.is_empty() && !sides[*side].is_empty());
    let all = sides.flat_map(|side| Resource::ALL.map(|what| of(side, what)));
    let is_above_floor = |usage: &UsageComparison| {
        usage.first.max(usage.this) > if usage.what == Resource::Memory { floor } else { 0.0 }
    };
    all.filter(is_above_floor).collect()
}

fn amount(usage: &ChildUsage, what: Resource) -> f64 {
    match what {
        Resource::Processor => (usage.user + usage.system).as_nanos() as f64,
        Resource::Memory => usage.peak_bytes as f64,
        Resource::Read => usage.blocks_read as f64 * BLOCK,
        Resource::Written => usage.blocks_written as f64 * BLOCK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_bench::process::Printed;
    use std::time::Duration;

    fn ran(us: u64, output: &str, code: i32) -> RunResult {
        RunResult {
            time: Duration::from_micros(us),
            usage: Some(ChildUsage { peak_bytes: us, ..ChildUsage::default() }),
            code,
            signal: None,
            printed: (!output.is_empty()).then(|| Printed { sha256: output.to_owned(), bytes: 7 }),
            left_behind: code == 9,
            last_words: String::new(),
        }
    }

    #[test]
    fn runs_become_medians_extremes_and_counts() {
        let sides = [vec![ran(3, "a", 0), ran(1, "b", 9), ran(2, "a", 1)], vec![ran(5, "", 0)], vec![]];
        let used = used(&sides);
        assert_eq!(
            (used[0].runs, used[0].least_ns, used[0].most_ns, used[0].peak_bytes),
            (3, 1000.0, 3000.0, 2.0)
        );
        assert_eq!(
            (used[0].output.as_deref(), used[0].odd, used[0].failed, used[0].left),
            (Some("a"), 1, 2, 1)
        );
        assert_eq!((used[0].printed, used[0].p95_ns), (7.0, None));
        assert_eq!((used[1].output.as_deref(), used[1].odd), (None, 0), "outputs were not compared");
        assert_eq!(used[2], ResourceUsage::default());
    }

    #[test]
    fn reports_usage_only_if_proven() {
        let side = |bytes: u64, jitter: u64| -> Vec<RunResult> {
            (0..20).map(|i| ran(bytes + (i * 7 % 11) * jitter, "", 0)).collect()
        };
        let than = |this: &Vec<RunResult>, floor| {
            let all = uses(&[side(1_000_000, 0), this.clone()], floor);
            let memory = all.iter().find(|usage| usage.what == Resource::Memory).expect("both have some");
            assert_eq!(memory.is_bound, floor > 0.0);
            (memory.than, memory.ratio)
        };
        assert_eq!(than(&side(2_100_000, 1), 0.0), (UsageVerdict::More, Some(2.1)));
        assert_eq!(than(&side(500_000, 0), 0.0), (UsageVerdict::Less, Some(0.5)));
        assert_eq!(than(&side(1_001_000, 0), 0.0).0, UsageVerdict::Same);
        assert_eq!(than(&side(950_000, 12_000), 0.0).0, UsageVerdict::Open);
        assert_eq!(than(&side(3_000_000, 0), 1_500_000.0), (UsageVerdict::More, Some(2.0)), "at least");
        assert_eq!(
            than(&side(2_100_000, 0)[..5].to_vec(), 0.0).0,
            UsageVerdict::Open,
            "five runs prove nothing"
        );
        assert_eq!(uses(&[side(1, 0), side(2, 0)], 2.0), [], "nothing can be told of either");
        assert_eq!(uses(&[side(1, 0)], 0.0), []);
        assert!(uses(&[side(1, 0), vec![]], 0.0).is_empty(), "interrupted before");
    }
}
