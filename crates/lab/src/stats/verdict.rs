//! The decision: planned looks, spent error, minimum effect, four verdicts, and the correction over a suite.
//!
//! A comparison is a growing list of session deltas (`ln(other/ours)`, see [`paired`](super::paired)). It may be looked
//! at only at the planned numbers of sessions, and each look may spend its share of the error budget, so stopping
//! early buys nothing that was not paid for: looking after every few sessions until `p < .05` calls a change on
//! identical code one time in five.
//!
//! A command that compares many cases is one family. While it runs, each look is held to its share divided by
//! the size of the family (Bonferroni), which can never be taken back by what other cases do later; at the end
//! Holm's step-down over the sequential p-values may add claims, never remove one.
//!
//! Intervals pay for the looks as well: at each look the exact interval has the confidence that the look's share of the
//! budget leaves, and those of all looks are cut with one another. They hold together with 99 %, so what is shown when
//! a comparison stops does, whenever it stops. An interval of 99 % at the last look alone missed the truth in up to
//! 1.7 % of comparisons.

use super::MAX_SESSIONS;
use super::order::mad;
use super::ratio::is_faster;
use super::signed_rank::{hodges_lehmann, interval, p_value};
use crate::model::reach::Reach;
use serde::{Deserialize, Serialize};

/// Confidence of every printed interval.
pub(crate) const LEVEL: f64 = 0.99;

/// MAD of a normal distribution times this is its standard deviation.
const MAD_TO_SD: f64 = 1.4826;

/// ((2.81 + 0.84) / 2.81)²: what turns the sessions after which an interval of 99.5 % fits in one case of two into those
/// after which it fits in four of five.
const FOUR_IN_FIVE: f64 = 1.69;

/// One planned look at the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    /// Sessions that must be complete.
    pub(crate) sessions: usize,
    /// Part of the two-sided error budget that this look may spend.
    pub(crate) alpha: f64,
}

/// When to look, what may be spent, and what counts as a difference or as sameness.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// Looks in the order of their sessions.
    pub(crate) looks: Vec<Look>,
    /// Smallest relative difference that may be called faster or slower where a core has its data to itself.
    pub(crate) min_effect: f64,
    /// The same where it has not.
    pub(crate) min_effect_far: f64,
    /// Half width of the band that counts as the same speed.
    pub(crate) same_within: f64,
    /// Fewest sessions on which `Same` may be called.
    pub(crate) same_from: usize,
    /// Smallest relative difference that may be claimed where all sessions ran one link of each side, so that the
    /// luck of its layout is in the difference; nothing where every session had links of its own.
    pub(crate) fixed_layout: Option<f64>,
    /// Version of the rule; before 3, intervals are those of one look.
    pub(crate) version: u32,
}

/// The version of the rules that are made now.
pub(crate) const VERSION: u32 = 3;

/// What a comparison is decided on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// The delta of each session, in the order in which they were measured.
    pub(crate) deltas: Vec<f64>,
    /// Where the data of the compared cases lie.
    pub(crate) reach: Reach,
    /// How far layouts are known to move them.
    pub(crate) layouts: Option<f64>,
}

#[cfg(test)]
impl Evidence {
    /// Of data in a core's own caches, of whose layouts nothing is known.
    pub(crate) fn near(deltas: &[f64]) -> Self {
        Evidence { deltas: deltas.to_vec(), reach: Reach::Near, layouts: None }
    }
}

/// What one comparison showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The candidate takes less time than the baseline.
    Faster,
    /// The candidate takes more time than the baseline.
    Slower,
    /// The whole interval lies within the band of sameness.
    Same,
    /// The data prove neither a difference nor sameness.
    Inconclusive,
}

impl Verdict {
    /// The word of a table.
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
    /// Time of the baseline over the candidate's: `exp` of the Hodges–Lehmann estimate.
    pub(crate) ratio: f64,
    /// The 99 % interval of the ratio, paid for all looks; absent before the first.
    pub(crate) interval: Option<(f64, f64)>,
    /// Exact two-sided signed-rank p of all sessions, as if they had been looked at once.
    pub(crate) p: f64,
    /// The p that counts: corrected for the looks taken and for the family.
    pub(crate) p_family: f64,
    /// Robust standard deviation of the session deltas.
    pub(crate) spread: f64,
    /// The decision.
    pub(crate) verdict: Verdict,
    /// With so many sessions, an inconclusive comparison would be settled in about four of five cases.
    pub(crate) sessions_needed: Option<u64>,
}

/// Why a rule cannot be followed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("a rule needs at least one look")]
    NoLooks,
    /// Looks must grow, so that each adds data.
    #[error("looks must be in growing order: {0} sessions follow {1}")]
    Unordered(usize, usize),
    #[error("{0} sessions are more than the {MAX_SESSIONS} that the exact tables are built for")]
    TooManySessions(usize),
    #[error("{name} is {value}, but must lie between 0 and 1")]
    OutOfRange { name: &'static str, value: f64 },
    #[error("the looks spend {0} together, which is more than the 1 % of the intervals")]
    Overspent(f64),
}

impl Rule {
    /// `lab.rule/3`: looks at 10, 20 and 40 sessions spending .002, .003 and .005; ±1 % is the same; ±0.5 % to claim,
    /// and ±1 % where the data leave a core's own caches. There `lab.rule/1` claimed ±0.5 % too, and was wrong in 3 of
    /// 197 comparisons of identical sides, by 0.5 to 0.7 %.
    ///
    /// Ten is the smallest number of sessions whose exact p can fall below .002 (2/1024).
    pub(crate) fn standard() -> Self {
        Rule::with_looks(&[(10, 0.002), (20, 0.003), (40, 0.005)])
    }

    /// The same for as many sessions as somebody asks for: looks at 10, 20, 40 and so on, and at the last of them. The
    /// first spends what ten sessions can prove at best, and the others share what is left.
    pub(crate) fn up_to(sessions: usize) -> Self {
        let doubling = std::iter::successors(Some(10), |look| Some(2 * look));
        let mut looks: Vec<usize> = doubling.take_while(|look| *look < sessions).collect();
        looks.push(sessions);
        Rule::at(&looks)
    }

    /// The same with looks at these numbers of sessions.
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

    /// The same rule for a measurement that has one link of each side.
    pub(crate) fn with_fixed_layout(self) -> Self {
        Rule { fixed_layout: Some(super::layout::SPREAD), ..self }
    }

    /// The same rule for a case that layouts are known to move so far.
    pub(crate) fn of_layouts(&self, known: Option<f64>) -> Self {
        Rule { fixed_layout: self.fixed_layout.map(|unknown| known.unwrap_or(unknown)), ..self.clone() }
    }

    /// The same rule for a measurement in which every session has links of its own: half the budget, of which the first
    /// look keeps what it needs.
    ///
    /// Where sessions hardly differ, the smallest claim keeps errors away, and next to nothing of the budget is spent.
    /// Layouts make sessions differ by a percent and more: then all of it is spent, and of 300 comparisons of equal
    /// work four and more are called different one time in three. With half, three and fewer are in 93 of 100 series.
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

    /// Whether the rule can be followed at all.
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

    /// The whole two-sided error budget.
    pub(crate) fn alpha(&self) -> f64 {
        self.looks.iter().map(|look| look.alpha).sum()
    }

    /// Sessions of the last look.
    pub(crate) fn most_sessions(&self) -> usize {
        self.looks.last().map_or(0, |look| look.sessions)
    }

    /// How many sessions a comparison must have before it can be looked at again; `None` once it is settled.
    pub(crate) fn sessions_wanted(&self, family: usize, evidence: &Evidence) -> Option<usize> {
        for look in &self.looks {
            let Some(seen) = evidence.deltas.get(..look.sessions) else {
                return Some(look.sessions);
            };
            let claimed =
                p_value(seen) < look.alpha / family.max(1) as f64 && self.is_seen(seen, evidence.reach);
            if claimed || self.is_same(seen) {
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

    /// Smallest relative difference that may be claimed of data that lie there.
    pub(crate) fn least(&self, reach: Reach) -> f64 {
        self.least_in_layouts(reach).max(self.fixed_layout.unwrap_or(0.0))
    }

    /// The same of a measurement over many layouts.
    fn least_in_layouts(&self, reach: Reach) -> f64 {
        match reach {
            Reach::Near => self.min_effect,
            Reach::Far => self.min_effect_far,
        }
    }

    /// Whether a difference is there that could be one of layout alone: proven of these two links, and too small to be
    /// a claim about the two sources.
    pub(crate) fn may_be_layout(&self, p_family: f64, ratio: f64, reach: Reach) -> bool {
        let size = ratio.ln().abs();
        let within = self.least_in_layouts(reach).ln_1p()..self.least(reach).ln_1p();
        p_family < self.alpha() && within.contains(&size)
    }

    /// The data of the last look that was reached; nothing before the first.
    fn looked_at<'a>(&self, deltas: &'a [f64]) -> &'a [f64] {
        let reached = self.looks.iter().rfind(|look| look.sessions <= deltas.len());
        &deltas[..reached.map_or(0, |look| look.sessions)]
    }

    /// A p-value for the whole sequence of looks: the best one after each has paid for its share.
    ///
    /// By the union bound, `P(result <= t) <= sum of P(p_look <= t * share) <= t`.
    fn sequential_p(&self, deltas: &[f64]) -> f64 {
        let budget = self.alpha();
        let reached = self.looks.iter().filter_map(|look| Some((look, deltas.get(..look.sessions)?)));
        reached.map(|(look, seen)| p_value(seen) * budget / look.alpha).fold(1.0, f64::min)
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
            // No number of sessions tells one link from one source.
            sessions_needed: (verdict == Verdict::Inconclusive
                && !self.may_be_layout(p_family, centre.exp(), *reach))
            .then(|| self.sessions_needed(deltas, centre, spread, *reach, family))
            .flatten(),
        }
    }

    fn is_effect(&self, deltas: &[f64], reach: Reach) -> bool {
        hodges_lehmann(deltas).abs() >= self.least(reach).ln_1p()
    }

    /// Whether more sessions would add nothing: the difference is there, whatever it is of.
    fn is_seen(&self, deltas: &[f64], reach: Reach) -> bool {
        hodges_lehmann(deltas).abs() >= self.least_in_layouts(reach).ln_1p()
    }

    /// The interval of the centre that holds however many looks were taken: the exact intervals of the looks, each at
    /// the confidence that its share of the budget leaves, cut with one another. Sessions past the last look that was
    /// reached are not looked at. Where two of them have nothing in common, the last one is all that can be said.
    pub(crate) fn interval(&self, deltas: &[f64]) -> Option<(f64, f64)> {
        self.interval_among(deltas, 1)
    }

    /// The same for one of so many intervals that all of them hold together.
    pub(crate) fn interval_among(&self, deltas: &[f64], family: usize) -> Option<(f64, f64)> {
        let level = |alpha: f64| 1.0 - alpha / family.max(1) as f64;
        if self.version < 3 {
            return interval(deltas, level(1.0 - LEVEL));
        }
        let reached = self.looks.iter().filter_map(|look| Some((look, deltas.get(..look.sessions)?)));
        let intervals = reached.filter_map(|(look, seen)| interval(seen, level(look.alpha)));
        intervals.reduce(|(low, high), next| {
            let cut = (low.max(next.0), high.min(next.1));
            if cut.0 <= cut.1 { cut } else { next }
        })
    }

    /// Whether the whole interval lies within the band, from the first number of sessions that may say so.
    pub(crate) fn is_same(&self, deltas: &[f64]) -> bool {
        let band = self.same_within.ln_1p();
        deltas.len() >= self.same_from
            && self.interval(deltas).is_some_and(|(low, high)| -band < low && high < band)
    }

    /// How many sessions would settle it, if they went on as they began. Nothing where that cannot be said.
    fn sessions_needed(
        &self,
        deltas: &[f64],
        centre: f64,
        spread: f64,
        reach: Reach,
        family: usize,
    ) -> Option<u64> {
        if self.version < 3 {
            return Some(self.needed_once(deltas.len(), centre, spread, reach));
        }
        let looked = self.looked_at(deltas);
        let share = self.looks.iter().rfind(|look| look.sessions <= looked.len())?.alpha;
        // The interval that the claim is held to is wider than the one shown: the family shares the budget.
        let claim = interval(looked, 1.0 - share / family.max(1) as f64);
        let sameness = interval(looked, 1.0 - share);
        let centre = if looked.is_empty() { 0.0 } else { hodges_lehmann(looked) };
        let size = centre.abs();
        let band = self.same_within.ln_1p();
        // From the centre to the end of the interval on the side of zero; with more sessions it shrinks by their root.
        let towards_zero = claim.map(|(low, high)| if centre > 0.0 { centre - low } else { high - centre });
        let outwards = sameness.map(|(low, high)| (high - centre).max(centre - low));
        let effect = towards_zero.filter(|_| size >= self.least(reach).ln_1p()).map(|half| half / size);
        let same = outwards.filter(|_| size < band).map(|half| half / (band - size));
        let factor = [effect, same].into_iter().flatten().reduce(f64::min)?;
        // Half of those who stop where the interval just fits would find that it does not.
        let needed = (looked.len() as f64 * factor.powi(2) * FOUR_IN_FIVE).ceil() as u64;
        // Nothing is settled before the next look. After the last, an estimate that says "enough" is none.
        match self.looks.iter().find(|look| look.sessions > deltas.len()) {
            Some(next) => Some(needed.max(next.sessions as u64)),
            None => Some(needed).filter(|needed| *needed > deltas.len() as u64),
        }
    }

    /// As rules before the third said it.
    fn needed_once(&self, sessions: usize, centre: f64, spread: f64, reach: Reach) -> u64 {
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
    use crate::stats::chance::Chance;

    /// `n` deltas around `centre` with a fixed, asymmetric-free zigzag of the given amplitude.
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
        let far = |centre| Evidence { reach: Reach::Far, ..near(&around(centre, 0.001, 20)) };
        let verdicts = [-0.007, -0.012, 0.012].map(|centre| rule.judge(&[far(centre)])[0].verdict);
        assert_eq!(verdicts, [Verdict::Same, Verdict::Slower, Verdict::Faster]);
        assert_eq!(judge_one(&rule, &around(-0.007, 0.001, 20)).verdict, Verdict::Slower, "near");
        assert_eq!(rule.sessions_wanted(1, &Evidence { reach: Reach::Far, ..near(&[0.007; 10]) }), Some(20));
    }

    #[test]
    fn one_link_of_each_side_proves_only_what_layout_does_not_do() {
        let rule = Rule::standard().with_fixed_layout();
        let least = rule.least(Reach::Near);
        assert!(least > 0.05, "{least}");
        let (small, large) = (around(-0.5 * least, 0.001, 20), around(-2.0 * least, 0.001, 20));
        let hidden = judge_one(&rule, &small);
        assert_eq!((hidden.verdict, hidden.sessions_needed), (Verdict::Inconclusive, None));
        assert!(rule.may_be_layout(hidden.p_family, hidden.ratio, Reach::Near));
        assert_eq!(rule.sessions_wanted(1, &near(&small[..10])), None, "more sessions would not help");
        assert_eq!(judge_one(&rule, &large).verdict, Verdict::Slower);
        assert_eq!(judge_one(&rule, &[0.0; 20]).verdict, Verdict::Same, "of these two links");
        let noise = judge_one(&rule, &around(0.002, 0.08, 40));
        assert!(
            !rule.may_be_layout(noise.p_family, noise.ratio, Reach::Near),
            "nothing was proven of anything"
        );
        assert_eq!(judge_one(&Rule::standard(), &small).verdict, Verdict::Slower, "many links");
    }

    #[test]
    fn what_is_known_of_the_layouts_of_a_case_takes_the_place_of_what_is_known_of_all() {
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
        // Each of a family by its own, and nothing of it where sessions have links of their own.
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
        // Ranks 12 and 13 on the other side: enough for .003, and not for three eighths of it.
        let signed = |rank: i32| f64::from(if [12, 13].contains(&rank) { rank } else { -rank }) * 0.001;
        let deltas: Vec<f64> = (1..=20).rev().map(signed).collect();
        let weak = p_value(&deltas);
        assert!((0.0012..0.003).contains(&weak), "{weak}");
        assert_eq!(judge_one(&Rule::standard(), &deltas).verdict, Verdict::Slower);
        assert_eq!(judge_one(&Rule::standard().with_links(), &deltas).verdict, Verdict::Inconclusive);
    }

    #[test]
    fn noise_runs_to_the_last_look_and_stays_open() {
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
        // Ten sessions of one sign give 2/1024: enough for .002 alone, not for .002 / 3.
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

    /// One in twenty lies far out.
    fn disturbed(chance: &mut Chance) -> f64 {
        chance.disturbed(0.05, 6.0)
    }

    /// How many of `trials` comparisons that stop as the rule says end with an interval without the truth, and how many
    /// would with an interval of one look.
    fn missed(rule: &Rule, truth: f64, spread: f64, trials: usize) -> [usize; 2] {
        let mut chance = Chance::new(1);
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

    /// The promise of the intervals, by simulation with a fixed generator: whenever a comparison stops, no more than one
    /// in a hundred is wrong, and one of a single look is not so good.
    #[test]
    fn intervals_hold_however_many_looks_were_taken() {
        let trials = 2000;
        // One percent is 20, and three standard deviations of that are 13.
        let most = 33;
        let mut single = 0;
        for (truth, spread) in [(0.0, 0.02), (0.01, 0.012), (0.02, 0.02), (0.0, 0.006)] {
            let [all, one] = missed(&Rule::standard(), truth, spread, trials);
            assert!(all <= most, "{all} of {trials} at {truth} ± {spread}");
            assert!(one >= all, "an interval of one look is narrower");
            single = single.max(one);
        }
        assert!(single > 20, "an interval of one look missed {single} of {trials} at worst");
    }

    /// With as many sessions as it is said to need, a comparison is settled in about four of five cases.
    #[test]
    fn the_sessions_needed_are_those_that_settle() {
        let mut chance = Chance::new(1);
        let (mut settled, mut asked) = (0, 0);
        for _ in 0..400 {
            let mut more =
                |n: usize| -> Vec<f64> { (0..n).map(|_| 0.012 + 0.02 * disturbed(&mut chance)).collect() };
            let first = judge_one(&Rule::standard(), &more(40));
            let Some(needed) = first.sessions_needed.filter(|needed| *needed <= 300) else { continue };
            asked += 1;
            // An independent run: the one that asked was unlucky.
            let again = judge_one(&Rule::up_to(needed as usize), &more(needed as usize));
            settled += usize::from(again.verdict != Verdict::Inconclusive);
        }
        assert!(asked > 100, "{asked} comparisons were open");
        let share = settled as f64 / asked as f64;
        assert!((0.6..0.99).contains(&share), "{settled} of {asked} settled");
    }

    #[test]
    fn looks_can_be_asked_for() {
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
    fn sessions_past_a_look_are_in_no_interval() {
        let rule = Rule::standard();
        let deltas = around(0.05, 0.001, 17);
        assert_eq!(rule.interval(&deltas[..9]), None);
        assert_eq!(rule.interval(&deltas), rule.interval(&deltas[..10]));
        let (low, high) = rule.interval(&around(0.05, 0.001, 20)).expect("two looks");
        assert!(low > 0.049 && high < 0.051);
        // What a hundred share at once is too little for ten sessions, and makes twenty say less.
        let twenty = around(0.05, 0.001, 20);
        assert_eq!(rule.interval_among(&twenty[..10], 100), None);
        let (lower, higher) = rule.interval_among(&twenty, 100).expect("one look says something");
        assert!(lower < low && high < higher);
    }

    /// The promise of the budget, by simulation with a fixed generator: fair signs, all looks taken.
    #[test]
    fn looking_three_times_keeps_the_error_within_the_budget() {
        let rule = Rule::standard();
        let mut chance = Chance::new(1);
        let trials = 2000;
        let claims = (0..trials)
            .filter(|_| {
                let deltas: Vec<f64> = (0..40).map(|_| chance.uniform() - 0.5).collect();
                rule.sequential_p(&deltas) < rule.alpha()
            })
            .count();
        // The budget is 1 % of 2000 = 20, and three standard deviations of that are 13.
        assert!((4..=33).contains(&claims), "{claims} of {trials}");
    }
}
