//! Lists of counts that may only shrink.
//!
//! A row is a name and a count. A count above its row is a fault. A row above its count is one too: lower it.

use std::collections::BTreeMap;

use super::Fault;

/// Compares counts with the rows of `list`, whose text is `text`. A name without a row has the ceiling 0.
pub(super) fn check(list: &str, text: &str, counts: &BTreeMap<String, usize>) -> Vec<Fault> {
    let mut ceilings = BTreeMap::new();
    let mut faults = Vec::new();
    for (line, row) in super::entries(text) {
        let name_and_count =
            row.rsplit_once(' ').and_then(|(name, count)| Some((name, count.parse::<usize>().ok()?)));
        let Some((name, ceiling)) = name_and_count else {
            faults.push(Fault::new(list, line, "not a row of a name and a count"));
            continue;
        };
        ceilings.insert(name, ceiling);
        let count = counts.get(name).copied().unwrap_or_default();
        if count < ceiling {
            faults.push(Fault::new(
                list,
                line,
                format!("{name}: {count} now: lower the ceiling of {ceiling}"),
            ));
        }
    }
    for (name, &count) in counts {
        let ceiling = ceilings.get(name.as_str()).copied().unwrap_or_default();
        if count > ceiling {
            faults.push(Fault::new(name, 0, format!("{count}, where {list} allows {ceiling}")));
        }
    }
    if !faults.is_empty() {
        let rows: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        faults.push(Fault::new(list, 0, format!("the rows of this tree are:\n{}", rows.join("\n"))));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        let counts = BTreeMap::from([("a b".to_owned(), 2), ("c".to_owned(), 3)]);
        check("list", text, &counts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_counts_are_fine() {
        assert!(faults("# Counts.\na b 2\nc 3\n").is_empty());
    }

    #[test]
    fn a_count_that_grew_is_a_fault() {
        assert_eq!(
            faults("a b 2\nc 2\n"),
            ["c: 3, where list allows 2", "list: the rows of this tree are:\na b 2\nc 3"]
        );
        assert_eq!(faults("c 3\n")[0], "a b: 2, where list allows 0");
    }

    #[test]
    fn a_ceiling_above_the_count_is_a_fault() {
        assert_eq!(faults("a b 2\nc 4\n")[0], "list:2: c: 3 now: lower the ceiling of 4");
        assert_eq!(faults("a b 2\nc 3\nd 1\n")[0], "list:3: d: 0 now: lower the ceiling of 1");
        assert_eq!(faults("a b 2\nc 3\nd\n")[0], "list:3: not a row of a name and a count");
    }
}
