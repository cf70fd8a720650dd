//! Decision rule: planned looks, error spending, minimum effect, four verdicts, family correction.
//!
//! A comparison is a growing list of session deltas (`ln(other/ours)`, see [`paired`](super::paired)). It may be
//! examined only at the planned numbers of sessions, and each look spends its share of the error budget. Without
//! that, stopping early is not free: looking after every few sessions until `p < .05` reports a change on identical
//! code one time in five.
//!
//! All comparisons of one command are one family. While the command runs, each look is held to its share divided by
//! the size of the family (Bonferroni); results of other cases cannot invalidate that later. At the end, Holm's
//! step-down over the sequential p-values may add claims but never removes one.
//!
//! Intervals account for the looks as well: at each look the exact interval has the confidence that the look's share
//! of the budget leaves, and the intervals of all looks are intersected. Together they hold with 99 %, so the
//! displayed interval does too, at whichever look the comparison stops. A 99 % interval at the last look alone missed
//! the truth in up to 1.7 % of comparisons.

use super::MAX_SESSIONS;
use super::cache_level::CacheLevel;
use super::order::mad;
use super::ratio::is_faster;
use super::signed_rank::{hodges_lehmann, interval, p_value};
use serde::{Deserialize, Serialize};

/// Confidence of every printed interval.
pub(crate) const LEVEL: f64 = 0.99;

/// Sessions with which a difference can be proven at the earliest: the exact test of fewer never falls below 1 %.
pub(crate) const LEAST_FOR_CLAIM: usize = 8;

/// Assumed layout effect on two single links of a case whose layouts were never measured: that of the most sensitive
/// of the five workloads that were measured.
///
/// On a quiet Zen 5 (`bench/records/amd-epyc-f26m2-2t/2026-11-25-layouts.md`) sessions with their own links deviated
/// by 5.6 % in parsing, 5.1 % in sorting, 3.2 % in memory, 1.5 % in hashing and 1.3 % in documents; 99 of 100 lie
/// within 2.6 deviations if they are normal. This is not a bound: a loop of one microsecond reached 27 %.
const SPREAD: f64 = 0.14;

/// MAD of a normal distribution times this is its standard deviation.
const MAD_TO_SD: f64 = 1.4826;

/// ((2.81 + 0.84) / 2.81)²: converts the sessions after which a 99.5 % interval fits in one of two cases into those
/// after which it fits in four of five.
const FOUR_IN_FIVE: f64 = 1.69;

/// One planned look at the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    /// Sessions that must be complete.
    pub(crate) sessions: usize,
    /// Share of the two-sided error budget that this look may spend.
    pub(crate) alpha: f64,
}

/// Looks, error budget, and thresholds for a difference and for sameness.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// Looks, ordered by sessions.
    pub(crate) looks: Vec<Look>,
    /// Smallest relative difference that may be claimed if the data fit the private caches of a core.
    pub(crate) min_effect: f64,
    /// The same if they do not.
    pub(crate) min_effect_far: f64,
    /// Half width of the band that counts as equal speed.
    pub(crate) same_within: f64,
    /// Minimum number of sessions for `Same`.
    pub(crate) same_from: usize,
    /// Smallest relative difference that may be claimed if all sessions ran one link of each side, so that the
    /// difference includes the layout effect. `None` if every session had its own link.
    pub(crate) fixed_layout: Option<f64>,
    /// Version of the rule; before 3, intervals do not account for several looks.
    pub(crate) version: u32,
}

/// Version of new rules.
pub(crate) const VERSION: u32 = 3;

/// Input of a decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// Delta of each session, in measured order.
    pub(crate) deltas: Vec<f64>,
    /// Cache level of the compared cases.
    pub(crate) reach: CacheLevel,
    /// Measured layout effect, if known.
    pub(crate) layouts: Option<f64>,
}

#[cfg(test)]
impl Evidence {
    /// Data in private caches, unknown layout effect.
    pub(crate) fn near(deltas: &[f64]) -> Self {
        Evidence { deltas: deltas.to_vec(), reach: CacheLevel::Near, layouts: None }
    }
}

/// Verdict of one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The candidate takes less time than the baseline.
    Faster,
    /// The candidate takes more time than the baseline.
    Slower,
    /// The whole interval lies within the sameness band.
    Same,
    /// The data prove neither a difference nor sameness.
    Inconclusive,
}

impl Verdict {
    /// Name in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// Whether the verdict asserts a difference.
    pub(crate) fn is_claim(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::Slower)
    }
}

/// The numbers behind a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Sessions that contributed.
    pub(crate) sessions: usize,
    /// Baseline time over candidate time: `exp` of the Hodges–Lehmann estimate.
    pub(crate) ratio: f64,
    /// 99 % interval of the ratio, corrected for all looks; absent before the first.
    pub(crate) interval: Option<(f64, f64)>,
    /// Exact two-sided signed-rank p of all sessions, as for a single look.
    pub(crate) p: f64,
    /// p corrected for the looks taken and for the family.
    pub(crate) p_family: f64,
    /// Robust standard deviation of the session deltas.
    pub(crate) spread: f64,
    /// The decision.
    pub(crate) verdict: Verdict,
    /// Sessions after which an inconclusive comparison would be decided in about four of five cases.
    pub(crate) sessions_needed: Option<u64>,
}

/// Error in a rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("a rule needs at least one analysis")]
    NoLooks,
    /// Each look must add data.
    #[error("looks must be in increasing order: {0} sessions follow {1}")]
    Unordered(usize, usize),
    #[error("{0} sessions are more than the {MAX_SESSIONS} that the exact tables are built for")]
    TooManySessions(usize),
    #[error("{name} is {value}, but must be between 0 and 1")]
    OutOfRange { name: &'static str, value: f64 },
    #[error("the looks use {0} together, more than the 1 % of the intervals")]
    Overspent(f64),
}

impl Rule {
    /// `lab.rule/3`: looks at 10, 20 and 40 sessions spend .002, .003 and .005; ±1 % counts as the same; claims need
    /// ±0.5 %, or ±1 % if the data leave the private caches. For those, `lab.rule/1` claimed ±0.5 % too, and was
    /// wrong in 3 of 197 comparisons of identical sides, by 0.5 to 0.7 %.
    ///
    /// 10 is the smallest number of sessions whose exact p can fall below .002 (2/1024).
    pub(crate) fn standard() -> Self {
        Rule::with_looks(&[(10, 0.002), (20, 0.003), (40, 0.005)])
    }

    /// The standard rule for a requested number of sessions: looks at 10, 20, 40 and so on, and at the last of them.
    /// The first look spends what ten sessions can prove at best; the others share the rest.
    pub(crate) fn up_to(sessions: usize) -> Self {
        let doubling = std::iter::successors(Some(10), |look| Some(2 * look));
        let mut looks: Vec<usize> = doubling.take_while(|look| *look < sessions).collect();
        looks.push(sessions);
        Rule::at(&looks)
    }

    /// The standard rule with looks at these numbers of sessions.
    pub(crate) fn at(looks: &[usize]) -> Self {
        let standard = Rule::standard();
        if standard.looks.iter().map(|look| look.sessions).eq(looks.iter().copied()) {
            return standard;
        }
        let budget = 1.0 - LEVEL;
        let share = |index| match (index, looks.len()) {
            (_, 1) => budget,
            (0, _) => 0.2 * budget,
            (_, count) => 0.8 * budget / (count - 1) as f64,
        };
        let looks: Vec<_> = looks.iter().enumerate().map(|(index, &look)| (look, share(index))).collect();
        Rule::with_looks(&looks)
    }

    fn with_looks(looks: &[(usize, f64)]) -> Self {
        Rule {
            looks: looks.iter().map(|&(sessions, alpha)| Look { sessions, alpha }).collect(),
            min_effect: 0.005,
            min_effect_far: 0.01,
            same_within: 0.01,
            same_from: 20,
            fixed_layout: None,
            version: VERSION,
        }
    }

    /// The rule for a measurement with one link of each side.
    pub(crate) fn with_fixed_layout(self) -> Self {
        Rule { fixed_layout: Some(SPREAD), ..self }
    }

    /// The rule for a case with a known layout effect.
    pub(crate) fn of_layouts(&self, known: Option<f64>) -> Self {
        Rule { fixed_layout: self.fixed_layout.map(|unknown| known.unwrap_or(unknown)), ..self.clone() }
    }

    /// The rule for a measurement in which every session has its own links: half the budget, of which the first look
    /// keeps its share.
    ///
    /// If sessions hardly differ, the minimum effect prevents errors and almost none of the budget is spent. Layouts
    /// make sessions differ by a percent and more; then the whole budget is spent, and of 300 comparisons of equal
    /// work four or more are reported as different in one series of three. With half the budget, 93 of 100 series
    /// have three or fewer.
    pub(crate) fn with_links(mut self) -> Self {
        let half = self.alpha() / 2.0;
        let Some((first, rest)) = self.looks.split_first_mut() else { return self };
        if rest.is_empty() {
            first.alpha = half;
        }
        let spent: f64 = rest.iter().map(|look| look.alpha).sum();
        let left = (half - first.alpha).max(0.0);
        rest.iter_mut().for_each(|look| look.alpha *= left / spent);
        self
    }

    /// Checks that the rule is consistent.
    pub(crate) fn validate(&self) -> Result<(), RuleError> {
        let last = self.looks.last().ok_or(RuleError::NoLooks)?;
        for pair in self.looks.windows(2) {
            if pair[1].sessions <= pair[0].sessions {
                return Err(RuleError::Unordered(pair[1].sessions, pair[0].sessions));
            }
        }
        if last.sessions > MAX_SESSIONS {
            return Err(RuleError::TooManySessions(last.sessions));
        }
        let alphas = self.looks.iter().map(|look| ("alpha", look.alpha));
        let widths = [
            ("min_effect", self.min_effect),
            ("min_effect_far", self.min_effect_far),
            ("same_within", self.same_within),
            ("fixed_layout", self.fixed_layout.unwrap_or(self.min_effect)),
        ];
        for (name, value) in alphas.chain(widths) {
            if !(value > 0.0 && value < 1.0) {
                return Err(RuleError::OutOfRange { name, value });
            }
        }
        let spent = self.alpha();
        if spent > 1.0 - LEVEL + 1e-12 {
            return Err(RuleError::Overspent(spent));
        }
        Ok(())
    }

    /// Two-sided error budget.
    pub(crate) fn alpha(&self) -> f64 {
        self.looks.iter().map(|look| look.alpha).sum()
    }

    /// Sessions of the last look.
    pub(crate) fn most_sessions(&self) -> usize {
        self.looks.last().map_or(0, |look| look.sessions)
    }

    /// Number of sessions at the next look; `None` once the comparison is decided.
    pub(crate) fn sessions_wanted(&self, family: usize, evidence: &Evidence) -> Option<usize> {
        for look in &self.looks {
            let Some(deltas) = evidence.deltas.get(..look.sessions) else {
                return Some(look.sessions);
            };
            let claimed = p_value(deltas) < look.alpha / family.max(1) as f64
                && self.exceeds_layout_effect(deltas, evidence.reach);
            if claimed || self.is_same(deltas) {
                return None;
            }
        }
        None
    }

    /// Decides every comparison of a family.
    pub(crate) fn judge(&self, family: &[Evidence]) -> Vec<Comparison> {
        let sequential: Vec<f64> =
            family.iter().map(|evidence| self.sequential_p(&evidence.deltas)).collect();
        let corrected = holm(&sequential);
        let size = family.len();
        family.iter().zip(corrected).map(|(evidence, p)| self.compare(evidence, p, size)).collect()
    }

    /// Smallest claimable relative difference for data at this cache level.
    pub(crate) fn least(&self, reach: CacheLevel) -> f64 {
        self.least_in_layouts(reach).max(self.fixed_layout.unwrap_or(0.0))
    }

    /// The same for a measurement over many layouts.
    fn least_in_layouts(&self, reach: CacheLevel) -> f64 {
        match reach {
            CacheLevel::Near => self.min_effect,
            CacheLevel::Far => self.min_effect_far,
        }
    }

    /// Whether a difference is proven for these two links but small enough to be a layout effect, so that it says
    /// nothing about the two sources.
    pub(crate) fn may_be_layout(&self, p_family: f64, ratio: f64, reach: CacheLevel) -> bool {
        let size = ratio.ln().abs();
        let within = self.least_in_layouts(reach).ln_1p()..self.least(reach).ln_1p();
        p_family < self.alpha() && within.contains(&size)
    }

    /// Data of the last look reached; empty before the first.
    fn looked_at<'a>(&self, deltas: &'a [f64]) -> &'a [f64] {
        let reached = self.looks.iter().rfind(|look| look.sessions <= deltas.len());
        &deltas[..reached.map_or(0, |look| look.sessions)]
    }

    /// p-value for the whole sequence of looks: the smallest after dividing each by its share.
    ///
    /// By the union bound, `P(result <= t) <= sum of P(p_look <= t * share) <= t`.
    fn sequential_p(&self, deltas: &[f64]) -> f64 {
        let budget = self.alpha();
        let reached = self.looks.iter().filter_map(|look| Some((look, deltas.get(..look.sessions)?)));
        reached.map(|(look, deltas)| p_value(deltas) * budget / look.alpha).fold(1.0, f64::min)
    }

    fn compare(&self, evidence: &Evidence, p_family: f64, family: usize) -> Comparison {
        self.of_layouts(evidence.layouts).compare_by(evidence, p_family, family)
    }

    fn compare_by(&self, evidence: &Evidence, p_family: f64, family: usize) -> Comparison {
        let Evidence { deltas, reach, .. } = evidence;
        let centre = if deltas.is_empty() { 0.0 } else { hodges_lehmann(deltas) };
        let looked = self.looked_at(deltas);
        let verdict = if looked.is_empty() {
            Verdict::Inconclusive
        } else if p_family < self.alpha() && self.is_effect(looked, *reach) {
            if is_faster(hodges_lehmann(looked)) { Verdict::Faster } else { Verdict::Slower }
        } else if self.is_same(looked) {
            Verdict::Same
        } else {
            Verdict::Inconclusive
        };
        let spread = if deltas.is_empty() { 0.0 } else { mad(deltas) * MAD_TO_SD };
        Comparison {
            sessions: deltas.len(),
            ratio: centre.exp(),
            interval: self.interval(deltas).map(|(low, high)| (low.exp(), high.exp())),
            p: p_value(deltas),
            p_family,
            spread,
            verdict,
            // More sessions cannot separate a link from its source.
            sessions_needed: (verdict == Verdict::Inconclusive
                && !self.may_be_layout(p_family, centre.exp(), *reach))
            .then(|| self.sessions_needed(deltas, centre, spread, *reach, family))
            .flatten(),
        }
    }

    fn is_effect(&self, deltas: &[f64], reach: CacheLevel) -> bool {
        hodges_lehmann(deltas).abs() >= self.least(reach).ln_1p()
    }

    /// Whether more sessions would add nothing: the difference exists, whatever its cause.
    fn exceeds_layout_effect(&self, deltas: &[f64], reach: CacheLevel) -> bool {
        hodges_lehmann(deltas).abs() >= self.least_in_layouts(reach).ln_1p()
    }

    /// Interval of the centre that is valid after any number of looks: the exact intervals of the looks, each at the
    /// confidence that its share of the budget leaves, intersected. Sessions after the last look reached are ignored.
    /// If two intervals are disjoint, the later one is returned.
    pub(crate) fn interval(&self, deltas: &[f64]) -> Option<(f64, f64)> {
        self.interval_among(deltas, 1)
    }

    /// The same for one of `family` intervals that hold simultaneously.
    pub(crate) fn interval_among(&self, deltas: &[f64], family: usize) -> Option<(f64, f64)> {
        let level = |alpha: f64| 1.0 - alpha / family.max(1) as f64;
        if self.version < 3 {
            return interval(deltas, level(1.0 - LEVEL));
        }
        let reached = self.looks.iter().filter_map(|look| Some((look, deltas.get(..look.sessions)?)));
        let intervals = reached.filter_map(|(look, deltas)| interval(deltas, level(look.alpha)));
        intervals.reduce(|(low, high), next| {
            let cut = (low.max(next.0), high.min(next.1));
            if cut.0 <= cut.1 { cut } else { next }
        })
    }

    /// Whether the whole interval lies within the band, from `same_from` sessions on.
    pub(crate) fn is_same(&self, deltas: &[f64]) -> bool {
        let band = self.same_within.ln_1p();
        deltas.len() >= self.same_from
            && self.interval(deltas).is_some_and(|(low, high)| -band < low && high < band)
    }

    /// Estimated sessions to a decision, if sessions continue as they began. `None` if there is no estimate.
    fn sessions_needed(
        &self,
        deltas: &[f64],
        centre: f64,
        spread: f64,
        reach: CacheLevel,
        family: usize,
    ) -> Option<u64> {
        if self.version < 3 {
            return Some(self.needed_once(deltas.len(), centre, spread, reach));
        }
        let looked = self.looked_at(deltas);
        let share = self.looks.iter().rfind(|look| look.sessions <= looked.len())?.alpha;
        // A claim needs a wider interval than the displayed one, because the family shares the budget.
        let claim = interval(looked, 1.0 - share / family.max(1) as f64);
        let sameness = interval(looked, 1.0 - share);
        let centre = if looked.is_empty() { 0.0 } else { hodges_lehmann(looked) };
        let size = centre.abs();
        let band = self.same_within.ln_1p();
        // From the centre to the interval's end on the side of zero; it shrinks with the square root of the sessions.
        let towards_zero = claim.map(|(low, high)| if centre > 0.0 { centre - low } else { high - centre });
        let outwards = sameness.map(|(low, high)| (high - centre).max(centre - low));
        let effect = towards_zero.filter(|_| size >= self.least(reach).ln_1p()).map(|half| half / size);
        let same = outwards.filter(|_| size < band).map(|half| half / (band - size));
        let factor = [effect, same].into_iter().flatten().reduce(f64::min)?;
        // At the expected number, half of the comparisons would miss the threshold.
        let needed = (looked.len() as f64 * factor.powi(2) * FOUR_IN_FIVE).ceil() as u64;
        // Nothing is decided before the next look. After the last look, an estimate below the current number is
        // useless.
        match self.looks.iter().find(|look| look.sessions > deltas.len()) {
            Some(next) => Some(needed.max(next.sessions as u64)),
            None => Some(needed).filter(|needed| *needed > deltas.len() as u64),
        }
    }

    /// Estimate of rules before version 3.
    fn needed_once(&self, sessions: usize, centre: f64, spread: f64, reach: CacheLevel) -> u64 {
        let needed = if centre.abs() >= self.least(reach).ln_1p() {
            14.0 * (spread / centre).powi(2)
        } else {
            (2.58 * spread / (self.same_within.ln_1p() - centre.abs()).max(1e-6)).powi(2)
        };
        (needed.ceil() as u64).max(sessions as u64 + 1)
    }
}

/// Holm's step-down correction: the family-wise p of each member.
pub(crate) fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut so_far = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        so_far = so_far.max(p_values[index] * (p_values.len() - rank) as f64).min(1.0);
        corrected[index] = so_far;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::order_rng::TestNoise;
    use hashmill_testkit::size;

    /// `n` deltas around `centre` with a fixed zigzag of the given amplitude.
    fn around(centre: f64, amplitude: f64, n: usize) -> Vec<f64> {
        (0..n).map(|i| centre + amplitude * (((i * 7) % 11) as f64 - 5.0) / 5.0).collect()
    }

    fn near(deltas: &[f64]) -> Evidence {
        Evidence::near(deltas)
    }

    fn judge_one(rule: &Rule, deltas: &[f64]) -> Comparison {
        rule.judge(&[near(deltas)])[0]
    }

    #[test]
    fn fewer_sessions_than_the_least_never_prove_a_difference() {
        let smallest = |sessions: usize| p_value(&vec![0.1; sessions]);
        assert!(smallest(LEAST_FOR_CLAIM - 1) > 1.0 - LEVEL && smallest(LEAST_FOR_CLAIM) < 1.0 - LEVEL);
    }

    #[test]
    fn a_clear_difference_stops_at_the_first_look() {
        let rule = Rule::standard();
        let deltas = around(-0.05, 0.001, 10);
        assert_eq!(rule.sessions_wanted(1, &near(&deltas[..9])), Some(10));
        assert_eq!(rule.sessions_wanted(1, &near(&deltas)), None);
        let slower = judge_one(&rule, &deltas);
        assert_eq!(slower.verdict, Verdict::Slower);
        assert_eq!(slower.p, 2.0 / 1024.0);
        let faster = judge_one(&rule, &deltas.iter().map(|d| -d).collect::<Vec<_>>());
        assert_eq!(faster.verdict, Verdict::Faster);
        assert!((slower.ratio * faster.ratio - 1.0).abs() < 1e-15, "swapping the sides inverts the ratio");
    }

    #[test]
    fn a_proven_but_tiny_difference_is_the_same() {
        let rule = Rule::standard();
        let deltas = around(0.003, 0.001, 20);
        assert_eq!(rule.sessions_wanted(1, &near(&deltas[..10])), Some(20), "sameness needs twenty sessions");
        assert_eq!(rule.sessions_wanted(1, &near(&deltas)), None);
        let result = judge_one(&rule, &deltas);
        assert!(result.p < 1e-5);
        assert_eq!(result.verdict, Verdict::Same);
    }

    #[test]
    fn beyond_a_cores_own_caches_only_a_percent_is_a_claim() {
        let rule = Rule::standard();
        let far = |centre| Evidence { reach: CacheLevel::Far, ..near(&around(centre, 0.001, 20)) };
        let verdicts = [-0.007, -0.012, 0.012].map(|centre| rule.judge(&[far(centre)])[0].verdict);
        assert_eq!(verdicts, [Verdict::Same, Verdict::Slower, Verdict::Faster]);
        assert_eq!(judge_one(&rule, &around(-0.007, 0.001, 20)).verdict, Verdict::Slower, "near");
        assert_eq!(
            rule.sessions_wanted(1, &Evidence { reach: CacheLevel::Far, ..near(&[0.007; 10]) }),
            Some(20)
        );
    }

    #[test]
    fn one_link_per_side_proves_only_differences_beyond_layout() {
        let rule = Rule::standard().with_fixed_layout();
        let least = rule.least(CacheLevel::Near);
        assert!(least > 0.05, "{least}");
        let (small, large) = (around(-0.5 * least, 0.001, 20), around(-2.0 * least, 0.001, 20));
        let hidden = judge_one(&rule, &small);
        assert_eq!((hidden.verdict, hidden.sessions_needed), (Verdict::Inconclusive, None));
        assert!(rule.may_be_layout(hidden.p_family, hidden.ratio, CacheLevel::Near));
        assert_eq!(rule.sessions_wanted(1, &near(&small[..10])), None, "more sessions would not help");
        assert_eq!(judge_one(&rule, &large).verdict, Verdict::Slower);
        assert_eq!(judge_one(&rule, &[0.0; 20]).verdict, Verdict::Same, "of these two links");
        let noise = judge_one(&rule, &around(0.002, 0.08, 40));
        assert!(
            !rule.may_be_layout(noise.p_family, noise.ratio, CacheLevel::Near),
            "nothing was proven of anything"
        );
        assert_eq!(judge_one(&Rule::standard(), &small).verdict, Verdict::Slower, "many links");
    }

    #[test]
    fn known_layout_effects_of_a_case_replace_the_default() {
        let rule = Rule::standard().with_fixed_layout();
        let verdict = |rule: &Rule, difference: f64, layouts: Option<f64>| {
            rule.judge(&[Evidence { layouts, ..near(&around(difference, 0.001, 20)) }])[0].verdict
        };
        for (difference, layouts, expected) in [
            (0.05, None, Verdict::Inconclusive),
            (0.05, Some(0.03), Verdict::Faster),
            (0.05, Some(0.06), Verdict::Inconclusive),
            (0.2, None, Verdict::Faster),
            (0.2, Some(0.3), Verdict::Inconclusive),
            (0.006, Some(0.0), Verdict::Faster),
            (0.003, Some(0.0), Verdict::Same),
        ] {
            assert_eq!(verdict(&rule, difference, layouts), expected, "{difference} {layouts:?}");
        }
        // Each case of a family uses its own effect; sessions with their own links use none.
        let family = [Some(0.03), None].map(|layouts| Evidence { layouts, ..near(&around(0.05, 0.001, 20)) });
        let verdicts: Vec<Verdict> = rule.judge(&family).iter().map(|found| found.verdict).collect();
        assert_eq!(verdicts, [Verdict::Faster, Verdict::Inconclusive]);
        assert_eq!(verdict(&Rule::standard(), 0.05, Some(0.3)), Verdict::Faster);
    }

    #[test]
    fn many_links_spend_half_the_budget_and_can_still_end_at_the_first_look() {
        for rule in [Rule::standard(), Rule::up_to(80), Rule::up_to(160)] {
            let half = rule.clone().with_links();
            assert_eq!(half.validate(), Ok(()));
            assert!((half.alpha() - rule.alpha() / 2.0).abs() < 1e-12, "{half:?}");
            assert_eq!(half.looks[0], rule.looks[0]);
            assert_eq!(judge_one(&half, &around(-0.05, 0.001, 10)).verdict, Verdict::Slower);
        }
        assert!((Rule::at(&[12]).with_links().alpha() - 0.005).abs() < 1e-12, "one look");
        // Ranks 12 and 13 with the opposite sign: enough for .003, not for three eighths of it.
        let signed = |rank: i32| f64::from(if [12, 13].contains(&rank) { rank } else { -rank }) * 0.001;
        let deltas: Vec<f64> = (1..=20).rev().map(signed).collect();
        let weak = p_value(&deltas);
        assert!((0.0012..0.003).contains(&weak), "{weak}");
        assert_eq!(judge_one(&Rule::standard(), &deltas).verdict, Verdict::Slower);
        assert_eq!(judge_one(&Rule::standard().with_links(), &deltas).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn noise_runs_to_the_last_look_and_is_inconclusive() {
        let rule = Rule::standard();
        let deltas = around(0.002, 0.08, 40);
        assert_eq!(rule.sessions_wanted(1, &near(&deltas[..20])), Some(40));
        assert_eq!(rule.sessions_wanted(1, &near(&deltas)), None);
        let result = judge_one(&rule, &deltas);
        assert_eq!(result.verdict, Verdict::Inconclusive);
        assert!(result.sessions_needed.is_some_and(|n| n > 40));
    }

    #[test]
    fn sessions_past_a_look_move_the_estimate_but_not_the_verdict() {
        let rule = Rule::standard();
        let mut deltas = around(0.05, 0.001, 9);
        assert_eq!(judge_one(&rule, &deltas).verdict, Verdict::Inconclusive, "interrupted before any look");
        deltas.extend(around(-0.9, 0.001, 8));
        let ten_then_noise = judge_one(&rule, &deltas);
        assert_eq!(ten_then_noise.sessions, 17);
        assert_eq!(ten_then_noise.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_family_must_pay_for_its_size_while_it_runs() {
        let rule = Rule::standard();
        let deltas = around(0.05, 0.001, 20);
        // Ten sessions of one sign give 2/1024: enough for .002, not for .002 / 3.
        assert_eq!(rule.sessions_wanted(3, &near(&deltas[..10])), Some(20));
        assert_eq!(rule.sessions_wanted(3, &near(&deltas)), None);
    }

    #[test]
    fn holm_in_closed_form() {
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn one_lucky_case_of_many_is_not_a_claim() {
        let rule = Rule::standard();
        let lucky = around(-0.05, 0.001, 10);
        let dull = around(0.0, 0.08, 10);
        assert_eq!(judge_one(&rule, &lucky).verdict, Verdict::Slower);
        let family = std::iter::once(lucky).chain(std::iter::repeat_n(dull, 4));
        let family: Vec<Evidence> = family.map(|deltas| near(&deltas)).collect();
        let results = rule.judge(&family);
        assert_eq!(results[0].verdict, Verdict::Inconclusive);
        assert!(
            (results[0].p_family - 5.0 * 5.0 * 2.0 / 1024.0).abs() < 1e-15,
            "five members, first of five looks' worth"
        );
    }

    #[test]
    fn identical_samples_are_the_same_not_undefined() {
        let rule = Rule::standard();
        let result = judge_one(&rule, &[0.0; 20]);
        assert_eq!((result.ratio, result.p, result.verdict), (1.0, 1.0, Verdict::Same));
        let nothing = judge_one(&rule, &[]);
        assert_eq!((nothing.ratio, nothing.p, nothing.verdict), (1.0, 1.0, Verdict::Inconclusive));
    }

    #[test]
    fn rules_that_cannot_hold_are_refused() {
        assert_eq!(Rule::standard().validate(), Ok(()));
        assert_eq!(Rule::up_to(80).validate(), Ok(()));
        let broken = |change: fn(&mut Rule)| {
            let mut rule = Rule::standard();
            change(&mut rule);
            rule.validate().expect_err("must be refused")
        };
        assert_eq!(broken(|r| r.looks.clear()), RuleError::NoLooks);
        assert_eq!(broken(|r| r.looks.swap(0, 1)), RuleError::Unordered(10, 20));
        assert_eq!(broken(|r| r.looks[2].sessions = 401), RuleError::TooManySessions(401));
        assert!(matches!(broken(|r| r.min_effect = -0.1), RuleError::OutOfRange { name: "min_effect", .. }));
        assert!(matches!(
            broken(|r| r.looks[0].alpha = f64::NAN),
            RuleError::OutOfRange { name: "alpha", .. }
        ));
        assert!(matches!(broken(|r| r.looks[0].alpha = 0.05), RuleError::Overspent(_)));
    }

    /// Normal noise with 5 % outliers.
    fn disturbed(chance: &mut TestNoise) -> f64 {
        chance.disturbed(0.05, 6.0)
    }

    /// Number of `trials` comparisons, stopped by the rule, whose interval misses the truth; and the number for an
    /// interval that ignores the looks.
    fn missed(rule: &Rule, truth: f64, spread: f64, trials: usize) -> [usize; 2] {
        let mut chance = TestNoise::new(1);
        let mut missed = [0, 0];
        for _ in 0..trials {
            let mut evidence = near(&[]);
            while let Some(wanted) = rule.sessions_wanted(1, &evidence) {
                let more = wanted - evidence.deltas.len();
                evidence.deltas.extend((0..more).map(|_| truth + spread * disturbed(&mut chance)));
            }
            let once = Rule { version: 2, ..rule.clone() };
            for (missed, rule) in missed.iter_mut().zip([rule, &once]) {
                let (low, high) = rule.interval(&evidence.deltas).expect("a look was reached");
                *missed += usize::from(!(low..=high).contains(&truth));
            }
        }
        missed
    }

    /// Simulation with a fixed generator: at any stopping point at most one interval in a hundred is wrong, and an
    /// interval that ignores the looks does worse.
    #[test]
    fn intervals_hold_however_many_looks_were_taken() {
        // 1 %, plus three standard deviations.
        let (trials, most) = size::of((500, 12), (2000, 33));
        let mut single = 0;
        for (truth, spread) in [(0.0, 0.02), (0.01, 0.012), (0.02, 0.02), (0.0, 0.006)] {
            let [all, one] = missed(&Rule::standard(), truth, spread, trials);
            assert!(all <= most, "{all} of {trials} at {truth} ± {spread}");
            assert!(one >= all, "an interval of one look is narrower");
            single = single.max(one);
        }
        assert!(single > trials / 100, "an interval of one look missed {single} of {trials} at worst");
    }

    /// With the estimated number of sessions, a comparison is decided in about four of five cases.
    #[test]
    fn the_sessions_needed_are_those_that_settle() {
        let mut chance = TestNoise::new(1);
        let (mut settled, mut open) = (0, 0);
        let trials = size::of(150, 400);
        for _ in 0..trials {
            let mut more =
                |n: usize| -> Vec<f64> { (0..n).map(|_| 0.012 + 0.02 * disturbed(&mut chance)).collect() };
            let first = judge_one(&Rule::standard(), &more(40));
            let Some(needed) = first.sessions_needed.filter(|needed| *needed <= 300) else { continue };
            open += 1;
            // An independent run, because the run that asked was unlucky.
            let again = judge_one(&Rule::up_to(needed as usize), &more(needed as usize));
            settled += usize::from(again.verdict != Verdict::Inconclusive);
        }
        assert!(open > trials / 4, "{open} comparisons were open");
        let share = settled as f64 / open as f64;
        assert!((0.6..0.99).contains(&share), "{settled} of {open} settled");
    }

    #[test]
    fn looks_are_configurable() {
        let looks = |rule: &Rule| rule.looks.iter().map(|look| look.sessions).collect::<Vec<_>>();
        assert_eq!(Rule::up_to(40), Rule::standard());
        assert_eq!(looks(&Rule::up_to(95)), [10, 20, 40, 80, 95]);
        assert_eq!(looks(&Rule::up_to(400)), [10, 20, 40, 80, 160, 320, 400]);
        assert_eq!(looks(&Rule::up_to(8)), [8]);
        for sessions in [1, 8, 10, 11, 95, 400] {
            let rule = Rule::up_to(sessions);
            assert_eq!(rule.validate(), Ok(()), "{sessions}");
            assert!((rule.alpha() - 0.01).abs() < 1e-12);
        }
        assert_eq!(Rule::at(&[20, 10]).validate(), Err(RuleError::Unordered(10, 20)));
    }

    #[test]
    fn intervals_ignore_sessions_after_a_look() {
        let rule = Rule::standard();
        let deltas = around(0.05, 0.001, 17);
        assert_eq!(rule.interval(&deltas[..9]), None);
        assert_eq!(rule.interval(&deltas), rule.interval(&deltas[..10]));
        let (low, high) = rule.interval(&around(0.05, 0.001, 20)).expect("two looks");
        assert!(low > 0.049 && high < 0.051);
        // One hundredth of the budget is too little for ten sessions, and makes twenty say less.
        let twenty = around(0.05, 0.001, 20);
        assert_eq!(rule.interval_among(&twenty[..10], 100), None);
        let (lower, higher) = rule.interval_among(&twenty, 100).expect("one look says something");
        assert!(lower < low && high < higher);
    }

    /// Simulation with a fixed generator: fair signs, all looks taken.
    #[test]
    fn looking_three_times_keeps_the_error_within_the_budget() {
        let rule = Rule::standard();
        let mut chance = TestNoise::new(1);
        let trials = 2000;
        let claims = (0..trials)
            .filter(|_| {
                let deltas: Vec<f64> = (0..40).map(|_| chance.uniform() - 0.5).collect();
                rule.sequential_p(&deltas) < rule.alpha()
            })
            .count();
        // 1 % of 2,000 is 20, and three standard deviations of that are 13.
        assert!((4..=33).contains(&claims), "{claims} of {trials}");
    }
}
