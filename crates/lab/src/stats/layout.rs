//! What the luck of link layout does to a comparison, and why a session of one link is the unit.
//!
//! Let `a` be the layout's effect on a link of A, `b` that on a link of B, `e` the rest that differs between sessions.
//! A session sees `delta + b - a + e`. Under "both sources are equally fast" links of both come from one population,
//! so `b - a` is as likely to be positive as negative: the signed-rank test over sessions stays exact, whatever the
//! shape of the population, as soon as no two sessions share a link. A new link takes a twentieth of a second
//! and lives for a session, so nothing is gained by sharing.
//!
//! What else was tried, by the simulations in the tests of this file, with 40 sessions and layouts of standard
//! deviation `s`:
//!
//! - One link for all sessions, as it was: any `s` above the noise of a session is called a difference.
//! - Five or seven links of each side, crossed with the sessions, judged by a t interval over the medians of
//!   pairs of links: honest on normal layouts, but what it can see is bounded by the links: with five, one percent is
//!   found half of the time at `s` = 0.3 %, and almost never at 1 %. Forty links find it at `s` = 0.5 %.
//! - The same links judged by signed ranks over sessions: sessions that share a link share its luck, and differences
//!   are called out of nothing.

use super::signed_rank::{against, hodges_lehmann, most_against};
use super::verdict::{Evidence, Rule};
use crate::plan::Orders;
use serde::{Deserialize, Serialize};

/// Smallest difference between two single links that is called one, where nobody has measured what layouts do to the case:
/// what the work does that they move most, of the five kinds that were measured.
///
/// On a quiet Zen 5 (`bench/records/amd-epyc-f26m2-2t/2026-11-25-layouts.md`) sessions with links of their own deviated by 5.6 % in
/// parsing, 5.1 % in sorting, 3.2 % in memory, 1.5 % in hashing and 1.3 % in documents; 99 of 100 lie within 2.6 deviations, if
/// they are normal. No bound: a loop of a microsecond was seen at 27 %.
pub(crate) const SPREAD: f64 = 0.14;

/// Fewest sessions with links of their own that say what layouts do to a case. The farthest of so many has one in
/// twenty-one beyond it.
pub(crate) const TELLING: usize = 20;

/// What layouts did to a case on this machine, where each session had a link of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Moved {
    /// The farthest that a session lay from the middle of all, as a relative difference.
    pub(crate) by: f64,
    /// Of so many sessions.
    pub(crate) sessions: usize,
    /// Which case that was: the same, or the one of its workload that layouts moved most.
    pub(crate) case: String,
    /// The report that shows it.
    pub(crate) report: String,
}

/// How far such sessions lay from their middle at most, as a relative difference: what two single links may differ by.
pub(crate) fn farthest(deltas: &[f64]) -> f64 {
    let centre = hodges_lehmann(deltas);
    deltas.iter().map(|delta| (delta - centre).abs()).fold(0.0, f64::max).exp_m1()
}

/// Samples of the sessions on which [`sees`] decides: enough to tell seven in eight from six.
const WORLDS: usize = 64;

/// The smallest relative difference that such sessions would prove seven times in eight, in a family of so many
/// comparisons; nothing before the first look, or where not even twice the time would be seen.
///
/// Not by a formula from their deviation: one layout in six that costs a tenth, as a sort here has, leaves the robust
/// deviation at half a percent, and two percent are found every second time. So the sessions themselves are asked. Their
/// distances from the centre are drawn again with signs by chance, a difference is added, and the rule judges.
pub(crate) fn sees(rule: &Rule, family: usize, evidence: &Evidence) -> Option<f64> {
    let look = rule.looks.iter().rfind(|look| look.sessions <= evidence.deltas.len())?;
    let deltas = &evidence.deltas[..look.sessions];
    let centre = hodges_lehmann(deltas);
    let mut orders = Orders::new(1);
    let mut world = || -> Vec<f64> {
        let draw = |_: &f64| {
            let distance = deltas[orders.below(deltas.len())] - centre;
            if orders.below(2) == 0 { distance } else { -distance }
        };
        deltas.iter().map(draw).collect()
    };
    let worlds: Vec<Vec<f64>> = (0..WORLDS).map(|_| world()).collect();
    let most = most_against(look.sessions, look.alpha / family.max(1) as f64)?;
    let least = rule.least(evidence.reach).ln_1p();
    let found = |difference: f64| {
        let is_found = |world: &&Vec<f64>| {
            let moved: Vec<f64> = world.iter().map(|delta| delta + difference).collect();
            against(&moved) <= most && hodges_lehmann(&moved) >= least
        };
        worlds.iter().filter(is_found).count() * 8 >= WORLDS * 7
    };
    // In steps of a twentieth, from the smallest claim on.
    let step = |n: i32| least * 1.05_f64.powi(n);
    let steps = (0..).take_while(|n| step(*n) < 1.0).count() as i32;
    let (mut low, mut high) = (0, steps);
    while low < high {
        let middle = i32::midpoint(low, high);
        (low, high) = if found(step(middle)) { (low, middle) } else { (middle + 1, high) };
    }
    (low < steps).then(|| step(low).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::chance::Chance;
    use crate::stats::order::{median, standard_deviation};
    use crate::stats::verdict::Verdict;

    /// Deviation of a session that is not of its links: what short sessions on a busy virtual machine have.
    const SESSION: f64 = 0.003;

    /// How the layouts of one source are spread.
    #[derive(Clone, Copy)]
    enum Layouts {
        Normal(f64),
        /// One in eight is unlucky, and by so much.
        Unlucky(f64),
    }

    impl Layouts {
        fn draw(self, chance: &mut Chance) -> f64 {
            match self {
                Layouts::Normal(deviation) => deviation * chance.normal(),
                Layouts::Unlucky(by) => {
                    if chance.uniform() < 0.125 {
                        by
                    } else {
                        0.0
                    }
                }
            }
        }
    }

    /// The sessions of one comparison, where each side has `links` links that the sessions share.
    fn sessions(chance: &mut Chance, delta: f64, layouts: Layouts, links: usize) -> Vec<f64> {
        let mut side = || (0..links).map(|_| layouts.draw(chance)).collect::<Vec<f64>>();
        let (a, b) = (side(), side());
        (0..40).map(|s| delta + b[s % links] - a[s % links] + SESSION * chance.normal()).collect()
    }

    /// The verdict of a comparison that stops when its rule says so.
    fn verdict(rule: &Rule, all: &[f64]) -> Verdict {
        let at = |n: usize| Evidence::near(&all[..n]);
        let mut n = 0;
        while let Some(wanted) = rule.sessions_wanted(1, &at(n)) {
            n = wanted;
        }
        rule.judge(&[at(n)])[0].verdict
    }

    /// How many of `trials` comparisons call a difference.
    fn called(trials: usize, delta: f64, layouts: Layouts, links: usize) -> usize {
        let mut chance = Chance::new(7);
        let rule = Rule::standard().with_links();
        let calls =
            (0..trials).filter(|_| verdict(&rule, &sessions(&mut chance, delta, layouts, links)).is_claim());
        calls.count()
    }

    /// What was not kept: medians over the sessions of each pair of links, and a t interval at 99 % over these.
    fn called_by_pairs_of_links(trials: usize, delta: f64, layouts: Layouts, links: usize, t: f64) -> usize {
        let mut chance = Chance::new(7);
        let calls = (0..trials).filter(|_| {
            let all = sessions(&mut chance, delta, layouts, links);
            let pair =
                |link: usize| median(&all.iter().skip(link).step_by(links).copied().collect::<Vec<_>>());
            let pairs: Vec<f64> = (0..links).map(pair).collect();
            let centre = pairs.iter().sum::<f64>() / links as f64;
            let width = t * standard_deviation(&pairs) / (links as f64).sqrt();
            centre.abs() > width && centre.abs() >= 0.005
        });
        calls.count()
    }

    #[test]
    fn a_link_for_each_session_keeps_the_error_within_the_budget_whatever_the_layouts_do() {
        for layouts in [Layouts::Normal(0.002), Layouts::Normal(0.04), Layouts::Unlucky(0.09)] {
            let calls = called(500, 0.0, layouts, 40);
            // One in two hundred is two or three, and three standard deviations of that are five.
            assert!(calls <= 8, "{calls} of 500");
        }
    }

    #[test]
    fn one_link_of_each_side_passes_layout_for_speed() {
        assert!(called(100, 0.0, Layouts::Normal(0.02), 1) > 60);
        assert!(called(100, 0.0, Layouts::Normal(0.02), 5) > 20, "and so do five, if sessions are the unit");
    }

    #[test]
    fn one_percent_is_found_among_layouts_that_differ_by_less() {
        for deviation in [0.002, 0.005, 0.007] {
            let found = called(200, 0.01, Layouts::Normal(deviation), 40);
            assert!(found >= 190, "{found} of 200 at {deviation}");
        }
        let found = called(200, 0.03, Layouts::Normal(0.02), 40);
        assert!(found >= 190, "{found} of 200 are three percent");
    }

    #[test]
    fn few_links_see_less_than_many() {
        let five = |deviation| called_by_pairs_of_links(200, 0.01, Layouts::Normal(deviation), 5, 4.604);
        let seven = |deviation| called_by_pairs_of_links(200, 0.01, Layouts::Normal(deviation), 7, 3.707);
        let forty = |deviation| called(200, 0.01, Layouts::Normal(deviation), 40);
        let seen = [0.003, 0.007].map(|deviation| (five(deviation), seven(deviation), forty(deviation)));
        assert!(seen.iter().all(|(five, seven, forty)| five < seven && seven < forty), "{seen:?}");
        assert!(seen[1].0 < 50, "{seen:?}");
    }

    #[test]
    fn what_could_be_seen_is_found_about_seven_times_in_eight() {
        for layouts in [Layouts::Normal(0.03), Layouts::Normal(0.008), Layouts::Unlucky(0.09)] {
            let mut chance = Chance::new(11);
            let rule = Rule::standard().with_links();
            let mut seen: Vec<f64> = (0..9)
                .map(|_| {
                    let deltas = sessions(&mut chance, 0.0, layouts, 40);
                    sees(&rule, 1, &Evidence::near(&deltas)).expect("there are looks")
                })
                .collect();
            seen.sort_by(f64::total_cmp);
            let found = called(200, seen[4].ln_1p(), layouts, 40);
            // Layouts of two kinds have no seven in eight: as soon as a difference is half of theirs, it is always found.
            let most = if matches!(layouts, Layouts::Unlucky(_)) { 200 } else { 195 };
            assert!((150..=most).contains(&found), "{found} of 200 at {}", seen[4]);
        }
    }

    #[test]
    fn the_farthest_session_is_told_from_a_difference_that_all_have() {
        let deltas: Vec<f64> = (-10..=10).map(|n| 0.2 + 0.001 * f64::from(n)).collect();
        assert!((farthest(&deltas) - 0.010_f64.exp_m1()).abs() < 1e-12);
        // One layout in eight that costs nine percent is what another link may have.
        let mut chance = Chance::new(3);
        let far = farthest(&sessions(&mut chance, 0.05, Layouts::Unlucky(0.09), 40));
        assert!((0.07..0.12).contains(&far), "{far}");
        assert_eq!(farthest(&[0.3; 20]), 0.0);
    }

    #[test]
    fn what_could_be_seen_grows_with_the_family_and_not_with_the_difference() {
        let mut chance = Chance::new(5);
        let rule = Rule::standard().with_links();
        let deltas = sessions(&mut chance, 0.0, Layouts::Normal(0.02), 40);
        let moved: Vec<f64> = deltas.iter().map(|delta| delta + 0.3).collect();
        let seen = |family, deltas: &[f64]| sees(&rule, family, &Evidence::near(deltas));
        let alone = seen(1, &deltas).expect("forty sessions");
        assert!((0.01..0.05).contains(&alone), "{alone}");
        assert!(seen(1, &moved).is_some_and(|other| (other - alone).abs() < 1e-9));
        assert!(seen(50, &deltas).is_some_and(|wide| wide > alone));
        assert_eq!(seen(1, &deltas[..9]), None, "before the first look");
        assert_eq!(seen(1000, &deltas[..10]), None, "ten signs prove nothing in a family of a thousand");
        assert_eq!(seen(1, &[0.0; 40]).map(|seen| (seen * 1e4).round()), Some(50.0), "the smallest claim");
    }
}
