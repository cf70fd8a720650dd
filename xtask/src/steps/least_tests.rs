//! Least numbers of tests of the steps that choose tests by parts of their names, or run on other machines.
//!
//! A name that changes leaves such a selection silently, and the rest of the step still passes. Each number is a little below that of
//! the last complete run, which CI prints.

/// Steps with their least numbers.
const LEAST: [(&str, usize); 13] = [
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
    ("serve", 30),
];

/// Least number of tests of a step that runs tests.
pub(crate) fn of_step(name: &str) -> usize {
    LEAST.iter().find(|(step, _)| *step == name).map_or(1, |(_, least)| *least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Selection;
    use crate::steps::kind::Kind;
    use crate::steps::{self, Setting};

    #[test]
    fn each_row_belongs_to_a_step_that_runs_tests() {
        for (name, least) in LEAST {
            assert!(steps::all().any(|step| step.name == name && step.filters), "{name}");
            assert!(least > 0 && of_step(name) == least, "{name}");
        }
        assert_eq!(of_step("core"), 1);
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
                assert!(LEAST.iter().any(|(name, _)| *name == step.name), "{}", step.name);
            }
        }
    }
}
