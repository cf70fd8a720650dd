//! What all comparisons came to, and whether it is a proof.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::Value;

use super::pairs::{EQUAL, MORE, Pair, WORKS, pairs};

/// What a comparison said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    verdict: String,
    ratio: f64,
    /// What sessions deviate by, layouts in it: by the width of the interval, which outliers widen.
    deviation: f64,
    /// Whether a difference of these two programs was proven, whatever it is of.
    proven: bool,
    /// The smallest difference that could have been seen, as the report has it in words.
    sees: Option<f64>,
    /// The other's instructions over ours, where they were counted.
    instructions: Option<f64>,
}

impl Said {
    pub(super) fn of(record: &Value) -> anyhow::Result<Self> {
        let number = |name: &str| record[name].as_f64().with_context(|| format!("`{name}` of {record}"));
        let sessions = number("sessions")?;
        let bound = |at: usize| record["interval"][at].as_f64().context("an interval");
        Ok(Said {
            verdict: record["verdict"].as_str().context("a verdict")?.to_owned(),
            ratio: number("ratio")?,
            // Of 99 %.
            deviation: (bound(1)? / bound(0)?).ln() / 2.0 * sessions.sqrt() / 2.58,
            proven: number("p_family")? < 0.01 && number("ratio")?.ln().abs() >= 0.005,
            sees: record["sees"].as_f64(),
            instructions: record["instructions"].as_f64(),
        })
    }

    fn claims(&self) -> bool {
        ["faster", "slower"].contains(&self.verdict.as_str())
    }

    /// Whether the counts show that `pair` differs in its work: a third of the difference is more than any count errs.
    fn counted(&self, pair: &Pair) -> bool {
        let sign = if pair.truth() == "slower" { -1.0 } else { 1.0 };
        self.instructions.is_some_and(|ratio| sign * (ratio - 1.0) > pair.size() / 3.0)
    }
}

/// What all comparisons of one work, or of all, came to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    equal: usize,
    called: usize,
    /// Of equal work, in order: of sessions with links of their own, and of sessions that share one.
    deviations: [Vec<f64>; 2],
    more: usize,
    found: usize,
    /// Where the sessions, layouts in them, deviate by less than the difference.
    below: usize,
    below_found: usize,
    /// Those of more work that were not found, whose report says that so much was not to be seen.
    hidden_said: usize,
    /// Those of more work that were not found, where instructions show it.
    hidden_counted: usize,
    one_link: usize,
    one_link_proven: usize,
    widest: f64,
}

impl Counts {
    fn of<'a>(results: impl Iterator<Item = (&'a Pair, &'a Said)>) -> Self {
        let mut counts = Counts::default();
        for (pair, said) in results {
            if EQUAL.contains(&pair.kind) {
                counts.equal += 1;
                counts.called += usize::from(said.claims());
                counts.deviations[0].push(said.deviation);
            } else if MORE.contains(&pair.kind) {
                let found = said.verdict == pair.truth();
                let below = said.deviation < pair.size();
                counts.more += 1;
                counts.found += usize::from(found);
                counts.below += usize::from(below);
                counts.below_found += usize::from(below && found);
                if !found {
                    counts.hidden_said += usize::from(said.sees.is_some());
                    counts.hidden_counted += usize::from(said.counted(pair));
                }
            } else {
                counts.one_link += 1;
                counts.deviations[1].push(said.deviation);
                counts.one_link_proven += usize::from(said.proven);
                counts.widest = counts.widest.max(said.ratio.ln().abs().exp_m1());
            }
        }
        counts.deviations.iter_mut().for_each(|all| all.sort_by(f64::total_cmp));
        counts
    }

    fn line(&self, work: &str) -> String {
        let middle = |all: &[f64]| {
            let middle = all.get(all.len() / 2);
            middle.map_or_else(|| "–".to_owned(), |deviation| format!("{:.2} %", deviation * 100.0))
        };
        let hidden = self.more - self.found;
        let cells = [
            format!("{}/{}", self.called, self.equal),
            middle(&self.deviations[0]),
            middle(&self.deviations[1]),
            format!("{}/{}", self.found, self.more),
            format!("{}/{}", self.below_found, self.below),
            format!("{}/{hidden}", self.hidden_said),
            format!("{}/{hidden}", self.hidden_counted),
            format!("{}/{}", self.one_link_proven, self.one_link),
            format!("{:.1} %", self.widest * 100.0),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>10}")).collect();
        format!("{work:<10} {}\n", cells.join(" "))
    }
}

/// How many comparisons must have been quiet enough for more work to be seen before anything is said of how many were found: of
/// so many, all are found once in twenty times if only 95 of 100 are.
const LEAST_BELOW: usize = 60;

/// What all comparisons came to.
pub(super) struct Summary {
    works: Vec<(&'static str, Counts)>,
    all: Counts,
    /// How many there are, and how many there are to be.
    done: [usize; 2],
}

const LEGEND: &str = "
called: equal work that was called different; deviation: the median of what its sessions deviate by, and with one layout
found: 1 % more work, 3 % in memory; below: where the sessions deviate by less than that
said, counted: of what was not found, where the report says how much could have been seen, and where instructions show it
one link: equal work, with one link of each side, of which a difference was proven; and the largest
";

impl Summary {
    pub(super) fn of(results: &BTreeMap<String, Said>) -> Self {
        let pairs = pairs();
        let all: Vec<(&Pair, &Said)> =
            pairs.iter().filter_map(|pair| Some((pair, results.get(&pair.id)?))).collect();
        let work = |work| (work, Counts::of(all.iter().copied().filter(|(pair, _)| pair.work == work)));
        Summary {
            works: WORKS.into_iter().map(work).collect(),
            all: Counts::of(all.iter().copied()),
            done: [all.len(), pairs.len()],
        }
    }

    /// All comparisons were made, enough of them were quiet, and what they say is right.
    pub(super) fn is_proof(&self) -> bool {
        let [done, pairs] = self.done;
        self.is_sound() && done == pairs && self.all.below >= LEAST_BELOW
    }

    /// At most one in a hundred is called different, 95 of 100 are found where they can be, and nothing is hidden in silence.
    fn is_sound(&self) -> bool {
        let Counts { equal, called, more, found, below, below_found, .. } = self.all;
        let hidden = more - found;
        called * 100 <= equal
            && below_found * 100 >= below * 95
            && [self.all.hidden_said, self.all.hidden_counted] == [hidden; 2]
    }

    pub(super) fn text(&self) -> String {
        let names =
            ["called", "deviation", "one layout", "found", "below", "said", "counted", "one link", "largest"];
        let names: Vec<String> = names.iter().map(|name| format!("{name:>10}")).collect();
        let mut text = format!("\n{:<10} {}\n", "", names.join(" "));
        for (work, counts) in &self.works {
            text += &counts.line(work);
        }
        text += &self.all.line("all");
        text += LEGEND;
        let [done, pairs] = self.done;
        let word = match self.is_sound() {
            false => "no proof".to_owned(),
            true if done < pairs => "so far nothing speaks against it".to_owned(),
            true if self.is_proof() => "proven".to_owned(),
            true => format!(
                "nothing speaks against it, but only {} were quiet enough to find more work in, of {LEAST_BELOW} that a proof needs",
                self.all.below
            ),
        };
        text + &format!("{done} of {pairs} comparisons: {word}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What all comparisons say that are right, but for those that `change` changes.
    fn summary(change: impl Fn(&Pair, &mut Said)) -> Summary {
        let said = |pair: Pair| {
            let more = MORE.contains(&pair.kind);
            let verdict = if more { pair.truth() } else { "same" };
            let ratio = 1.0 / (1.0 + if pair.truth() == "slower" { pair.size() } else { -pair.size() });
            let mut said = Said {
                verdict: verdict.to_owned(),
                ratio,
                deviation: 0.005,
                proven: more,
                sees: None,
                instructions: Some(ratio),
            };
            change(&pair, &mut said);
            (pair.id, said)
        };
        Summary::of(&pairs().into_iter().map(said).collect())
    }

    fn open(said: &mut Said) {
        said.verdict = "inconclusive".to_owned();
        said.sees = Some(0.02);
    }

    #[test]
    fn wrong_claims_and_misses_are_no_proof() {
        let wrong = |pair: &Pair, said: &mut Said, upto: usize| {
            let among = (0..upto).any(|n| pair.id == format!("layout-{n}"));
            if among {
                "faster".clone_into(&mut said.verdict);
            }
        };
        assert!(summary(|_, _| ()).text().ends_with(": proven\n"));
        assert!(summary(|pair, said| wrong(pair, said, 3)).is_sound());
        assert!(!summary(|pair, said| wrong(pair, said, 4)).is_sound());
        let missed = |pair: &Pair, said: &mut Said, upto: usize| {
            if (0..upto).any(|n| pair.id == format!("more-{n}")) {
                open(said);
            }
        };
        assert!(summary(|pair, said| missed(pair, said, 10)).is_sound());
        assert!(!summary(|pair, said| missed(pair, said, 11)).is_sound());
        let quiet = |count: usize| {
            summary(|pair, said| {
                let loud = !(0..count).any(|n| pair.id == format!("more-{n}"));
                if MORE.contains(&pair.kind) && loud {
                    said.deviation = 0.04;
                }
            })
        };
        let quiet = [LEAST_BELOW - 1, LEAST_BELOW].map(quiet);
        assert_eq!(quiet.each_ref().map(Summary::is_proof), [false, true]);
        assert_eq!(quiet.each_ref().map(Summary::is_sound), [true; 2]);
        assert!(quiet[0].text().contains("but only 59 were quiet enough"), "{}", quiet[0].text());
        let text = Summary::of(&BTreeMap::new()).text();
        assert!(text.contains("so far nothing speaks against it"), "{text}");
    }

    #[test]
    fn what_layout_hides_is_said_and_counted() {
        let hidden = |change: fn(&mut Said)| {
            let summary = summary(|pair, said| {
                if pair.id == "more-3" {
                    open(said);
                    said.deviation = 0.04;
                    change(said);
                }
            });
            (summary.all.below, summary.is_sound())
        };
        assert_eq!(hidden(|_| ()), (199, true), "it is not among those that could be seen");
        assert_eq!(hidden(|said| said.sees = None), (199, false));
        assert_eq!(hidden(|said| said.instructions = None), (199, false));
        assert_eq!(hidden(|said| said.instructions = Some(1.0)), (199, false));
    }
}
