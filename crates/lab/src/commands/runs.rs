//! How often commands run: what a user asked for, turned into sessions, rounds and looks before anything is counted.
//!
//! A session is a number of rounds, and in each round every command runs once, in random order. Fast commands get many
//! rounds per session, so that one disturbed process does not make a session; slow ones get one.

use crate::plan::Plan;
use crate::stats::MAX_SESSIONS;
use crate::stats::verdict::Rule;
use std::time::Duration;

/// What was asked for, per command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) exactly: Option<usize>,
    pub(crate) least: Option<usize>,
    pub(crate) most: Option<usize>,
    /// Longest time of all runs of all commands together.
    pub(crate) budget: Option<Duration>,
}

/// Rounds of a session of comparisons, and of a command alone, at most; and where somebody said how long it may take.
const MOST_ROUNDS: u64 = 25;
const MOST_ROUNDS_ALONE: u64 = 300;
const MOST_ROUNDS_AT_ALL: u64 = 1000;

/// How long a session should take: of comparisons, and of a command alone.
const SESSION_NS: u64 = 150_000_000;
const SESSION_ALONE_NS: u64 = 300_000_000;

/// Sessions of a command alone: so many give its median an interval of 99 %, with some to spare.
const SESSIONS_ALONE: usize = 10;

/// `plan` with the rounds, sessions and looks that the wishes leave, where one round of all commands takes `round_ns`.
pub(crate) fn plan(plan: &Plan, wishes: Wishes, alone: bool, round_ns: u64) -> Plan {
    let round_ns = round_ns.max(1);
    let affordable = wishes.budget.map(|budget| {
        let rounds = budget.as_nanos() / u128::from(round_ns);
        usize::try_from(rounds).unwrap_or(usize::MAX).max(1)
    });
    let most = match (wishes.most, affordable) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let rounds = rounds(plan, Wishes { most, ..wishes }, alone, round_ns);
    let sessions = |runs: usize| runs.div_ceil(rounds).clamp(1, MAX_SESSIONS);
    let planned: Vec<usize> = plan.rule.looks.iter().map(|look| look.sessions).collect();
    let (looks, alone) = if let Some(runs) = wishes.exactly {
        (vec![sessions(runs)], sessions(runs))
    } else {
        let least = wishes.least.map_or(1, sessions);
        let most = most.map_or(MAX_SESSIONS, |runs| (runs / rounds).clamp(1, MAX_SESSIONS)).max(least);
        let longest = plan.rule.most_sessions();
        // What may be measured at most is looked at, too.
        let last = if longest < least { least } else { most.min(longest) };
        let mut looks: Vec<usize> = planned.into_iter().filter(|look| (least..last).contains(look)).collect();
        looks.push(last);
        (looks, SESSIONS_ALONE.clamp(least, most))
    };
    let rule = Rule { looks: Rule::at(&looks).looks, ..plan.rule.clone() };
    // Rounds are no question of the length of a sample here.
    Plan {
        rule,
        solo_sessions: alone,
        rounds,
        warm_ups: 0,
        sample_ns: 600_000_000_000,
        pin: false,
        ..plan.clone()
    }
}

fn rounds(plan: &Plan, wishes: Wishes, alone: bool, round_ns: u64) -> usize {
    if let Some(runs) = wishes.exactly {
        return runs.div_ceil(MAX_SESSIONS).max(1);
    }
    let (session, most) = match (alone, wishes.budget) {
        (_, Some(budget)) => {
            let sessions = if alone { SESSIONS_ALONE } else { plan.rule.most_sessions() };
            (budget.as_nanos() as u64 / sessions as u64, MOST_ROUNDS_AT_ALL)
        }
        (true, None) => (SESSION_ALONE_NS, MOST_ROUNDS_ALONE),
        (false, None) => (SESSION_NS, MOST_ROUNDS),
    };
    let fitting = (session / round_ns).clamp(1, most) as usize;
    let allowed = wishes.most.map_or(fitting, |most| fitting.min(most / SESSIONS_ALONE));
    let needed = wishes.least.map_or(1, |least| least.div_ceil(MAX_SESSIONS));
    allowed.max(needed).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(wishes: Wishes, alone: bool, round_ms: u64) -> (usize, Vec<usize>, usize) {
        let plan = plan(&Plan::default(), wishes, alone, round_ms * 1_000_000);
        plan.validate().expect("can be followed");
        assert!((plan.rule.alpha() - 0.01).abs() < 1e-12, "all that may be spent");
        assert_eq!(plan.rounds_for(plan.sample_ns, 1_000_000), plan.rounds, "a campaign keeps to it");
        (plan.rounds, plan.rule.looks.iter().map(|look| look.sessions).collect(), plan.solo_sessions)
    }

    #[test]
    fn without_wishes_fast_commands_run_often_and_slow_ones_as_often_as_the_rule_says() {
        let none = Wishes::default();
        assert_eq!(of(none, false, 3), (25, vec![10, 20, 40], 10));
        assert_eq!(of(none, false, 30), (5, vec![10, 20, 40], 10));
        assert_eq!(of(none, false, 60_000), (1, vec![10, 20, 40], 10));
        assert_eq!(of(none, true, 1), (300, vec![10, 20, 40], 10));
        assert_eq!(of(none, true, 1000), (1, vec![10, 20, 40], 10));
    }

    #[test]
    fn a_number_of_runs_is_kept_and_looked_at_once() {
        let exactly = |runs| Wishes { exactly: Some(runs), ..Wishes::default() };
        assert_eq!(of(exactly(7), false, 3), (1, vec![7], 7));
        assert_eq!(of(exactly(400), false, 3), (1, vec![400], 400));
        assert_eq!(of(exactly(1000), true, 3), (3, vec![334], 334), "the exact tables end at 400 sessions");
    }

    #[test]
    fn bounds_keep_the_looks_between_them() {
        let least = |runs| Wishes { least: Some(runs), ..Wishes::default() };
        let most = |runs| Wishes { most: Some(runs), ..Wishes::default() };
        assert_eq!(of(least(15), false, 1000), (1, vec![20, 40], 15));
        assert_eq!(of(least(50), false, 1000), (1, vec![50], 50));
        assert_eq!(of(most(20), false, 1000), (1, vec![10, 20], 10));
        assert_eq!(of(most(5), false, 1), (1, vec![5], 5));
        assert_eq!(of(most(100), false, 1), (10, vec![10], 10), "of many rounds few enough");
        assert_eq!(of(least(1000), true, 1000), (3, vec![334], 334));
        let between = Wishes { least: Some(12), most: Some(15), ..Wishes::default() };
        assert_eq!(of(between, false, 1000), (1, vec![15], 12));
    }

    #[test]
    fn a_budget_is_spent_on_rounds_and_never_exceeded() {
        let budget = |seconds| Wishes { budget: Some(Duration::from_secs(seconds)), ..Wishes::default() };
        assert_eq!(of(budget(60), false, 30), (50, vec![10, 20, 40], 10));
        assert_eq!(of(budget(20), false, 1000), (1, vec![10, 20], 10));
        assert_eq!(of(budget(15), false, 1000), (1, vec![10, 15], 10));
        assert_eq!(of(budget(5), false, 1000), (1, vec![5], 5), "too few to prove anything");
        assert_eq!(of(budget(1), false, 60_000), (1, vec![1], 1));
        assert_eq!(of(budget(60), true, 100), (60, vec![10], 10));
    }
}
