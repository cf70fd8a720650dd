//! The table of the steps of `cargo xtask test`: one row, one step.

mod bindings;
mod core;
mod graphs;
pub(crate) mod kind;
pub(crate) mod min_tests;
pub(crate) mod needs;
mod platforms;
mod release;
mod sanitizers;
mod step;
mod whole;

pub(crate) use step::{Graph, Setting, Step};

/// Every step, in the order in which they run: by kinds, and cheap ones of a kind first.
pub(crate) fn all() -> impl Iterator<Item = &'static Step> {
    let tables: [&[Step]; 8] = [
        core::STEPS,
        release::STEPS,
        whole::STEPS,
        bindings::STEPS,
        platforms::STEPS,
        sanitizers::STEPS,
        core::SLOW,
        whole::SLOW,
    ];
    tables.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::kind::Kind;

    /// The table of steps for CONTRIBUTING.md.
    fn table() -> String {
        let row = |step: &Step| {
            format!("| `{}` | {} | {} | {} |\n", step.kind.name(), step.name, step.graph.name(), step.about)
        };
        let rows: String = all().map(row).collect();
        format!("| kind | step | graph | covers |\n|---|---|---|---|\n{rows}")
    }

    #[test]
    fn names_are_unique_and_steps_are_ordered_by_kind() {
        let mut names: Vec<_> = all().map(|step| step.name).collect();
        // `test` and kinds share the command line with steps.
        names.extend(Kind::ALL.into_iter().map(Kind::name));
        names.extend(["test", "all"]);
        names.sort_unstable();
        let doubled: Vec<_> =
            names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert_eq!(doubled, ["core"], "the step that shares its name with its kind");
        assert!(all().is_sorted_by_key(|step| step.kind));
        assert!(Kind::ALL.into_iter().all(|kind| all().any(|step| step.kind == kind)));
    }

    #[test]
    fn contributing_has_the_table_of_steps() {
        let path = crate::root().join("CONTRIBUTING.md");
        let text = std::fs::read_to_string(&path).expect("CONTRIBUTING.md");
        assert!(text.contains(&table()), "CONTRIBUTING.md should contain:\n{}", table());
    }
}
