//! The comparisons of the experiment.

pub(super) const WORKLOADS: [&str; 5] = ["sort", "hash", "documents", "parse", "memory"];

/// Difference between the two sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Only the layout.
    Layout,
    /// Length of unused functions.
    Changed,
    /// Number of unused functions.
    Added,
    /// One percent of work, and unused functions.
    More,
    /// Three percent of memory-bound work, and unused functions.
    MoreMemory,
    /// Unused functions, with only one link of each side, as in a comparison without relinking.
    OneLink,
}

const KINDS: [Kind; 6] =
    [Kind::Layout, Kind::Changed, Kind::Added, Kind::More, Kind::MoreMemory, Kind::OneLink];
pub(super) const EQUAL_WORK: [Kind; 3] = [Kind::Layout, Kind::Changed, Kind::Added];
pub(super) const EXTRA_WORK: [Kind; 2] = [Kind::More, Kind::MoreMemory];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Layout => "layout",
            Kind::Changed => "changed",
            Kind::Added => "added",
            Kind::More => "more",
            Kind::MoreMemory => "more-memory",
            Kind::OneLink => "one-link",
        }
    }

    /// Number of comparisons of this kind.
    fn count(self) -> usize {
        if self == Kind::OneLink { 10 } else { 100 }
    }

    fn workloads(self) -> &'static [&'static str] {
        match self {
            Kind::More => &WORKLOADS[..4],
            Kind::MoreMemory => &WORKLOADS[4..],
            _ => &WORKLOADS,
        }
    }
}

/// One comparison, by its number among those of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) work: &'static str,
    /// The flags with which each side is compiled, the baseline first.
    pub(super) flags: [String; 2],
    pub(super) seed: usize,
}

const DEAD_CODE_LENGTHS: [&str; 3] = ["short", "longer", "long"];
const ADDED_FUNCTIONS: [&str; 3] = ["none", "two", "five"];
const EXTRA_WORK_FLAG: &str = " --cfg more";

impl Pair {
    pub(super) fn new(kind: Kind, number: usize) -> Self {
        let workloads = kind.workloads();
        let round = number / workloads.len();
        // Every second round swaps the sides.
        let (a, b) = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)][round % 6];
        let flags = |dead: usize, added: usize| {
            format!(
                "--cfg 'dead=\"{}\"' --cfg 'added=\"{}\"'",
                DEAD_CODE_LENGTHS[dead], ADDED_FUNCTIONS[added]
            )
        };
        let flags = match kind {
            Kind::Layout => [flags(a, b), flags(a, b)],
            Kind::Changed => [flags(a, 0), flags(b, 0)],
            Kind::Added | Kind::OneLink => [flags(round / 6 % 3, a), flags(round / 6 % 3, b)],
            Kind::More | Kind::MoreMemory if round.is_multiple_of(2) => {
                [flags(0, a), flags(0, b) + EXTRA_WORK_FLAG]
            }
            Kind::More | Kind::MoreMemory => [flags(0, a) + EXTRA_WORK_FLAG, flags(0, b)],
        };
        let work = workloads[number % workloads.len()];
        let kinds = KINDS.iter().take_while(|other| **other != kind).count();
        Pair { id: format!("{}-{number}", kind.name()), kind, work, flags, seed: 1 + 1000 * kinds + number }
    }

    /// Description of the comparison. A result has it too, so that a changed comparison with the same id is noticed.
    pub(super) fn description(&self) -> String {
        let [baseline, candidate] = &self.flags;
        format!("{} by {baseline} and {candidate}, seed {}", self.work, self.seed)
    }

    /// Relative difference of the work.
    pub(super) fn difference(&self) -> f64 {
        match self.kind {
            Kind::More => 0.01,
            Kind::MoreMemory => 0.03,
            _ => 0.0,
        }
    }

    /// The correct verdict for different work.
    pub(super) fn correct_verdict(&self) -> &'static str {
        if self.flags[1].ends_with(EXTRA_WORK_FLAG) { "slower" } else { "faster" }
    }
}

/// All comparisons, interleaved so that a partial run has results of all kinds. Those of equal work, of which the proof needs most,
/// come in the first half.
pub(super) fn pairs() -> Vec<Pair> {
    let positions = |kind: Kind| {
        let span = if EQUAL_WORK.contains(&kind) { 0.5 } else { 1.0 };
        (0..kind.count()).map(move |n| (span * (n as f64 + 0.5) / kind.count() as f64, Pair::new(kind, n)))
    };
    let mut all: Vec<(f64, Pair)> = KINDS.into_iter().flat_map(positions).collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    all.into_iter().map(|(_, pair)| pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn kinds_are_interleaved_and_pairs_are_unique() {
        let all = pairs();
        assert_eq!(all.len(), KINDS.into_iter().map(Kind::count).sum::<usize>());
        assert!(EQUAL_WORK.into_iter().map(Kind::count).sum::<usize>() >= 300);
        let ids: BTreeSet<&str> = all.iter().map(|pair| pair.id.as_str()).collect();
        let seeds: BTreeSet<usize> = all.iter().map(|pair| pair.seed).collect();
        assert_eq!([ids.len(), seeds.len()], [all.len(); 2]);
        let early: BTreeSet<Kind> = all[..60].iter().map(|pair| pair.kind).collect();
        assert_eq!(early.len(), KINDS.len(), "{early:?}");
    }

    #[test]
    fn sides_differ_as_their_kind_demands() {
        for pair in pairs() {
            let [a, b] = &pair.flags;
            assert_eq!(a == b, pair.kind == Kind::Layout, "{pair:?}");
            let more = [a, b].map(|flags| flags.ends_with(EXTRA_WORK_FLAG));
            assert_eq!(more[0] != more[1], pair.difference() > 0.0, "{pair:?}");
            assert!(!(more[0] && more[1]), "{pair:?}");
            assert_eq!(pair.correct_verdict() == "slower", more[1], "{pair:?}");
        }
    }
}
