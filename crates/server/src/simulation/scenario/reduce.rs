//! Reduction of a world that breaks an invariant to one with fewer operations and faults that breaks the same invariant.

use super::{SIMPLIFICATIONS, Scenario};

/// Maximum number of worlds that are run for one reduction.
const MAX_RUNS: usize = 500;

/// Reduces a scenario. `fails` runs one and tells whether it breaks the invariant; `operations` are those of `scenario`.
pub(in crate::simulation) fn reduce(
    scenario: &Scenario,
    operations: usize,
    mut fails: impl FnMut(&Scenario) -> bool,
) -> Scenario {
    let mut runs = 0;
    let mut fails = |candidate: &Scenario| {
        runs += 1;
        runs <= MAX_RUNS && fails(candidate)
    };
    let all = || (0..operations).collect();
    let mut best =
        Scenario { operations: Some(scenario.operations.clone().unwrap_or_else(all)), ..scenario.clone() };
    loop {
        let before = best.clone();
        remove_operations(&mut best, &mut fails);
        simplify(&mut best, &mut fails);
        // What is simpler may need fewer operations.
        if best == before {
            return best;
        }
    }
}

/// Leaves out parts of the operations, from halves to single ones.
fn remove_operations(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool) {
    let mut part = best.operations.as_ref().map_or(0, Vec::len).div_ceil(2);
    while part > 0 {
        // From the end: later operations depend on earlier ones.
        let mut end = best.operations.as_ref().map_or(0, Vec::len);
        while end > 0 {
            let start = end.saturating_sub(part);
            let mut candidate = best.clone();
            candidate.operations.iter_mut().for_each(|operations| drop(operations.drain(start..end)));
            if fails(&candidate) {
                *best = candidate;
            }
            end = start;
        }
        part /= 2;
    }
}

fn simplify(best: &mut Scenario, fails: &mut impl FnMut(&Scenario) -> bool) {
    for (name, _) in SIMPLIFICATIONS {
        if best.simplified.contains(&name) {
            continue;
        }
        let mut candidate = best.clone();
        candidate.simplified.push(name);
        if fails(&candidate) {
            *best = candidate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_failure_needs_is_left() {
        let needs = |scenario: &Scenario| {
            [3, 40, 41].iter().all(|number| scenario.has_operation(*number))
                && !scenario.simplified.contains(&"a fast disk")
        };
        let reduced = reduce(&Scenario::new(1), 100, needs);
        assert_eq!(reduced.operations, Some(vec![3, 40, 41]));
        let expected =
            SIMPLIFICATIONS.map(|(name, _)| name).into_iter().filter(|name| *name != "a fast disk");
        assert_eq!(reduced.simplified, expected.collect::<Vec<_>>());
    }

    #[test]
    fn a_reduction_ends() {
        let mut runs = 0;
        // Depends on chance.
        reduce(&Scenario::new(1), 10_000, |_| {
            runs += 1;
            runs % 3 == 0
        });
        assert!(runs <= MAX_RUNS, "{runs}");
    }
}
