//! Minimum numbers of tests of the steps that choose tests by parts of their names, or run on other machines.
//!
//! A renamed test leaves such a selection silently, and the step still passes. Each number is a little below the count that CI prints
//! for a complete run.

/// Steps with their minimum numbers.
const MIN_TESTS: [(&str, usize); 14] = [
    ("stack", 1),
    ("aarch64", 270),
    ("musl", 360),
    ("i686", 600),
    // The selection of `wasi`.
    ("s390x", 85),
    ("windows", 325),
    ("wasi", 85),
    ("features", 48),
    ("asan", 330),
    ("tsan", 5),
    ("devices", 320),
    ("sweeps", 180),
    ("storms", 1),
    ("serve", 240),
];

/// Minimum number of tests of a step that runs tests.
pub(crate) fn for_step(name: &str) -> usize {
    MIN_TESTS.iter().find(|(step, _)| *step == name).map_or(1, |(_, min)| *min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Selection;
    use crate::steps::kind::Kind;
    use crate::steps::{self, Setting};

    #[test]
    fn each_row_belongs_to_a_step_that_runs_tests() {
        for (name, min) in MIN_TESTS {
            assert!(steps::all().any(|step| step.name == name && step.filters), "{name}");
            assert!(min > 0 && for_step(name) == min, "{name}");
        }
        assert_eq!(for_step("core"), 1);
    }

    #[test]
    fn each_step_that_selects_by_name_has_a_row() {
        let root = crate::root();
        let setting = Setting { root: &root, filter: &[], runs: true };
        let by_name = |selection: &Selection| {
            !selection.names.is_empty() || !selection.skip.is_empty() || !selection.modules.is_empty()
        };
        // The commands of the other kinds prepare folders, and select nothing.
        let kinds = [Kind::Release, Kind::Gpu, Kind::Server, Kind::Platforms, Kind::Sanitizers, Kind::Slow];
        for step in steps::all().filter(|step| step.filters && kinds.contains(&step.kind)) {
            let commands = (step.commands)(&setting).expect("commands");
            if commands.iter().filter_map(|command| command.tests.as_ref()).any(by_name) {
                assert!(MIN_TESTS.iter().any(|(name, _)| *name == step.name), "{}", step.name);
            }
        }
    }
}
