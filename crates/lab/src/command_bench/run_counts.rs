//! Number of runs: turns the user's options into sessions, rounds and analyses before the measurement.
//!
//! A session has a number of rounds, and in each round every command runs once, in random order. Fast commands get
//! many rounds per session, so that one disturbed process does not affect a whole session; slow commands get one.

use crate::measure::plan::Plan;
use crate::stats::MAX_SESSIONS;
use crate::stats::verdict::Rule;
use std::time::Duration;

/// Options of the user, per command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunOptions {
    pub(crate) exactly: Option<usize>,
    pub(crate) least: Option<usize>,
    pub(crate) most: Option<usize>,
    /// Maximum time of all runs of all commands.
    pub(crate) budget: Option<Duration>,
}

/// Maximum number of rounds per session, for comparisons and single commands, and if the user limited the time.
const MOST_ROUNDS: u64 = 25;
const MOST_ROUNDS_ALONE: u64 = 300;
const MOST_ROUNDS_AT_ALL: u64 = 1000;

/// Target length of a session, for comparisons and for single commands.
const SESSION_NS: u64 = 150_000_000;
const SESSION_ALONE_NS: u64 = 300_000_000;

/// Number of sessions of a single command: enough for a 99 % interval of its median.
const SESSIONS_ALONE: usize = 10;

/// Adjusts rounds, sessions and analyses of `plan` to the options; one round of all commands takes `round_ns`.
pub(crate) fn plan(plan: &Plan, run_options: RunOptions, alone: bool, round_ns: u64) -> Plan {
    let round_ns = round_ns.max(1);
    let affordable = run_options.budget.map(|budget| {
        let rounds = budget.as_nanos() / u128::from(round_ns);
        usize::try_from(rounds).unwrap_or(usize::MAX).max(1)
    });
    let most = match (run_options.most, affordable) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let rounds = rounds(plan, RunOptions { most, ..run_options }, alone, round_ns);
    let sessions = |runs: usize| runs.div_ceil(rounds).clamp(1, MAX_SESSIONS);
    let planned: Vec<usize> = plan.rule.looks.iter().map(|look| look.sessions).collect();
    let (looks, alone) = if let Some(runs) = run_options.exactly {
        (vec![sessions(runs)], sessions(runs))
    } else {
        let least = run_options.least.map_or(1, sessions);
        let most = most.map_or(MAX_SESSIONS, |runs| (runs / rounds).clamp(1, MAX_SESSIONS)).max(least);
        let longest = plan.rule.most_sessions();
        // The data are also analysed at the maximum number of sessions.
        let last = if longest < least { least } else { most.min(longest) };
        let mut looks: Vec<usize> = planned.into_iter().filter(|look| (least..last).contains(look)).collect();
        looks.push(last);
        (looks, SESSIONS_ALONE.clamp(least, most))
    };
    let rule = Rule { looks: Rule::at(&looks).looks, ..plan.rule.clone() };
    // Here the length of a sample does not determine the rounds.
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

fn rounds(plan: &Plan, run_options: RunOptions, alone: bool, round_ns: u64) -> usize {
    if let Some(runs) = run_options.exactly {
        return runs.div_ceil(MAX_SESSIONS).max(1);
    }
    let (session, most) = match (alone, run_options.budget) {
        (_, Some(budget)) => {
            let sessions = if alone { SESSIONS_ALONE } else { plan.rule.most_sessions() };
            (budget.as_nanos() as u64 / sessions as u64, MOST_ROUNDS_AT_ALL)
        }
        (true, None) => (SESSION_ALONE_NS, MOST_ROUNDS_ALONE),
        (false, None) => (SESSION_NS, MOST_ROUNDS),
    };
    let fitting = (session / round_ns).clamp(1, most) as usize;
    let allowed = run_options.most.map_or(fitting, |most| fitting.min(most / SESSIONS_ALONE));
    let needed = run_options.least.map_or(1, |least| least.div_ceil(MAX_SESSIONS));
    allowed.max(needed).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(run_options: RunOptions, alone: bool, round_ms: u64) -> (usize, Vec<usize>, usize) {
        let plan = plan(&Plan::default(), run_options, alone, round_ms * 1_000_000);
        plan.validate().expect("can be followed");
        assert!((plan.rule.alpha() - 0.01).abs() < 1e-12, "all that may be spent");
        assert_eq!(plan.rounds_for(plan.sample_ns, 1_000_000), plan.rounds, "a campaign keeps to it");
        (plan.rounds, plan.rule.looks.iter().map(|look| look.sessions).collect(), plan.solo_sessions)
    }

    #[test]
    fn default_run_counts_depend_on_speed() {
        let none = RunOptions::default();
        assert_eq!(counts(none, false, 3), (25, vec![10, 20, 40], 10));
        assert_eq!(counts(none, false, 30), (5, vec![10, 20, 40], 10));
        assert_eq!(counts(none, false, 60_000), (1, vec![10, 20, 40], 10));
        assert_eq!(counts(none, true, 1), (300, vec![10, 20, 40], 10));
        assert_eq!(counts(none, true, 1000), (1, vec![10, 20, 40], 10));
    }

    #[test]
    fn an_exact_number_of_runs_is_analysed_once() {
        let exactly = |runs| RunOptions { exactly: Some(runs), ..RunOptions::default() };
        assert_eq!(counts(exactly(7), false, 3), (1, vec![7], 7));
        assert_eq!(counts(exactly(400), false, 3), (1, vec![400], 400));
        assert_eq!(
            counts(exactly(1000), true, 3),
            (3, vec![334], 334),
            "the exact tables end at 400 sessions"
        );
    }

    #[test]
    fn bounds_keep_the_looks_between_them() {
        let least = |runs| RunOptions { least: Some(runs), ..RunOptions::default() };
        let most = |runs| RunOptions { most: Some(runs), ..RunOptions::default() };
        assert_eq!(counts(least(15), false, 1000), (1, vec![20, 40], 15));
        assert_eq!(counts(least(50), false, 1000), (1, vec![50], 50));
        assert_eq!(counts(most(20), false, 1000), (1, vec![10, 20], 10));
        assert_eq!(counts(most(5), false, 1), (1, vec![5], 5));
        assert_eq!(counts(most(100), false, 1), (10, vec![10], 10), "of many rounds few enough");
        assert_eq!(counts(least(1000), true, 1000), (3, vec![334], 334));
        let between = RunOptions { least: Some(12), most: Some(15), ..RunOptions::default() };
        assert_eq!(counts(between, false, 1000), (1, vec![15], 12));
    }

    #[test]
    fn a_budget_is_spent_on_rounds_and_never_exceeded() {
        let budget =
            |seconds| RunOptions { budget: Some(Duration::from_secs(seconds)), ..RunOptions::default() };
        assert_eq!(counts(budget(60), false, 30), (50, vec![10, 20, 40], 10));
        assert_eq!(counts(budget(20), false, 1000), (1, vec![10, 20], 10));
        assert_eq!(counts(budget(15), false, 1000), (1, vec![10, 15], 10));
        assert_eq!(counts(budget(5), false, 1000), (1, vec![5], 5), "too few to prove anything");
        assert_eq!(counts(budget(1), false, 60_000), (1, vec![1], 1));
        assert_eq!(counts(budget(60), true, 100), (60, vec![10], 10));
    }
}
