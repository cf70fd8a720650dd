//! List of comparisons.

pub(super) const WORKS: [&str; 5] = ["sort", "hash", "documents", "parse", "memory"];

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
pub(super) const EQUAL: [Kind; 3] = [Kind::Layout, Kind::Changed, Kind::Added];
pub(super) const MORE: [Kind; 2] = [Kind::More, Kind::MoreMemory];

impl Kind {
    fn word(self) -> &'static str {
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

    fn works(self) -> &'static [&'static str] {
        match self {
            Kind::More => &WORKS[..4],
            Kind::MoreMemory => &WORKS[4..],
            _ => &WORKS,
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

const DEAD: [&str; 3] = ["short", "longer", "long"];
const ADDED: [&str; 3] = ["none", "two", "five"];
const EXTRA: &str = " --cfg more";

impl Pair {
    pub(super) fn new(kind: Kind, number: usize) -> Self {
        let works = kind.works();
        let turn = number / works.len();
        // Every second one has swapped sides.
        let (a, b) = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)][turn % 6];
        let flags = |dead: usize, added: usize| {
            format!("--cfg 'dead=\"{}\"' --cfg 'added=\"{}\"'", DEAD[dead], ADDED[added])
        };
        let flags = match kind {
            Kind::Layout => [flags(a, b), flags(a, b)],
            Kind::Changed => [flags(a, 0), flags(b, 0)],
            Kind::Added | Kind::OneLink => [flags(turn / 6 % 3, a), flags(turn / 6 % 3, b)],
            Kind::More | Kind::MoreMemory if turn.is_multiple_of(2) => [flags(0, a), flags(0, b) + EXTRA],
            Kind::More | Kind::MoreMemory => [flags(0, a) + EXTRA, flags(0, b)],
        };
        let work = works[number % works.len()];
        let kinds = KINDS.iter().take_while(|other| **other != kind).count();
        Pair { id: format!("{}-{number}", kind.word()), kind, work, flags, seed: 1 + 1000 * kinds + number }
    }

    /// All that is compared, in words: a result is of this, and of no comparison that has its name later.
    pub(super) fn says(&self) -> String {
        let [other, ours] = &self.flags;
        format!("{} by {other} and {ours}, seed {}", self.work, self.seed)
    }

    /// Relative difference of the work.
    pub(super) fn size(&self) -> f64 {
        match self.kind {
            Kind::More => 0.01,
            Kind::MoreMemory => 0.03,
            _ => 0.0,
        }
    }

    /// The correct verdict for work that differs.
    pub(super) fn truth(&self) -> &'static str {
        if self.flags[1].ends_with(EXTRA) { "slower" } else { "faster" }
    }
}

/// All comparisons, mixed so that whatever is there after any time is of all kinds; those of equal work, of which the proof
/// needs most, in the first half of the time.
pub(super) fn pairs() -> Vec<Pair> {
    let of = |kind: Kind| {
        let pace = if EQUAL.contains(&kind) { 0.5 } else { 1.0 };
        (0..kind.count()).map(move |n| (pace * (n as f64 + 0.5) / kind.count() as f64, Pair::new(kind, n)))
    };
    let mut all: Vec<(f64, Pair)> = KINDS.into_iter().flat_map(of).collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    all.into_iter().map(|(_, pair)| pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_kinds_come_in_turn_and_no_pair_twice() {
        let all = pairs();
        assert_eq!(all.len(), KINDS.into_iter().map(Kind::count).sum::<usize>());
        assert!(EQUAL.into_iter().map(Kind::count).sum::<usize>() >= 300);
        let ids: BTreeSet<&str> = all.iter().map(|pair| pair.id.as_str()).collect();
        let seeds: BTreeSet<usize> = all.iter().map(|pair| pair.seed).collect();
        assert_eq!([ids.len(), seeds.len()], [all.len(); 2]);
        let early: BTreeSet<Kind> = all[..60].iter().map(|pair| pair.kind).collect();
        assert_eq!(early.len(), KINDS.len(), "{early:?}");
    }

    #[test]
    fn sides_differ_in_what_their_kind_says() {
        for pair in pairs() {
            let [a, b] = &pair.flags;
            assert_eq!(a == b, pair.kind == Kind::Layout, "{pair:?}");
            let more = [a, b].map(|flags| flags.ends_with(EXTRA));
            assert_eq!(more[0] != more[1], pair.size() > 0.0, "{pair:?}");
            assert!(!(more[0] && more[1]), "{pair:?}");
            assert_eq!(pair.truth() == "slower", more[1], "{pair:?}");
        }
    }
}
