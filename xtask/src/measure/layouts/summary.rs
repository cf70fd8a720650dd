//! Summary of all comparisons, and whether the hypotheses hold.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::measure::layouts::pairs::{EQUAL, MORE, Pair, WORKS, pairs};

/// Verdict of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    verdict: String,
    ratio: f64,
    /// What sessions deviate by, layouts in it. Not from the interval, which is the wider the earlier the look was.
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
        Ok(Said {
            verdict: record["verdict"].as_str().context("a verdict")?.to_owned(),
            ratio: number("ratio")?,
            deviation: deviation(record)?,
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

/// The standard deviation of the sessions' log ratios.
fn deviation(record: &Value) -> anyhow::Result<f64> {
    let deltas = record["deltas"].as_array().with_context(|| format!("`deltas` of {record}: begin anew"))?;
    let deltas: Vec<f64> =
        deltas.iter().map(|delta| delta.as_f64().context("a number")).collect::<Result<_, _>>()?;
    ensure!(deltas.len() > 1, "one session deviates from nothing: {record}");
    let count = deltas.len() as f64;
    let mean = deltas.iter().sum::<f64>() / count;
    let squares: f64 = deltas.iter().map(|delta| (delta - mean).powi(2)).sum();
    Ok((squares / (count - 1.0)).sqrt())
}

/// Totals of the comparisons of one workload, or of all.
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
    /// Undetected differences below the sensitivity that the report states.
    hidden_said: usize,
    /// Undetected differences that instruction counts show.
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

/// Maximum number of misses in `of` comparisons: with more, the hypothesis of at least 95 % detection would be rejected at 5 %. `None`
/// if even no miss would not be significant.
fn most_missed(of: usize) -> Option<usize> {
    let (mut chance, mut sum) = (0.95_f64.powf(of as f64), 0.0);
    let told = (0..=of).take_while(|missed| {
        sum += chance;
        chance *= (of - missed) as f64 / (missed + 1) as f64 / 19.0;
        sum <= 0.05
    });
    told.last()
}

/// Summary of all comparisons.
pub(super) struct Summary {
    works: Vec<(&'static str, Counts)>,
    all: Counts,
    /// Finished and planned comparisons.
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

    /// All comparisons were made, and all of it holds.
    pub(super) fn holds(&self) -> bool {
        let [done, pairs] = self.done;
        done == pairs && self.is_sound() && self.are_found()
    }

    /// At most one in a hundred was called different, and nothing is hidden in silence.
    fn is_sound(&self) -> bool {
        let Counts { equal, called, more, found, hidden_said, hidden_counted, .. } = self.all;
        called * 100 <= equal && [hidden_said, hidden_counted] == [more - found; 2]
    }

    /// More than 95 of 100 are found where sessions deviate by less, whatever chance had to do with it.
    fn are_found(&self) -> bool {
        let Counts { below, below_found, .. } = self.all;
        most_missed(below).is_some_and(|most| below - below_found <= most)
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
        let open: Vec<&str> =
            self.works.iter().filter(|(_, counts)| counts.below == 0).map(|(work, _)| *work).collect();
        let word = match (self.is_sound(), self.are_found()) {
            (false, _) => "it does not hold".to_owned(),
            _ if done < pairs => "so far nothing speaks against it".to_owned(),
            (true, false) => {
                "that 95 of 100 are found where sessions deviate by less is not shown".to_owned()
            }
            (true, true) if open.is_empty() => "it holds".to_owned(),
            (true, true) => format!("it holds, but no session of {} deviated by less", open.join(", ")),
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
        assert!(summary(|_, _| ()).text().ends_with(": it holds\n"));
        assert!(summary(|pair, said| wrong(pair, said, 3)).is_sound());
        assert!(!summary(|pair, said| wrong(pair, said, 4)).is_sound());
        let missed = |pair: &Pair, said: &mut Said, upto: usize| {
            if (0..upto).any(|n| pair.id == format!("more-{n}")) {
                open(said);
            }
        };
        assert!(summary(|pair, said| missed(pair, said, 4)).holds());
        assert!(!summary(|pair, said| missed(pair, said, 5)).holds());
        let quiet = |count: usize| {
            summary(|pair, said| {
                let loud = !(0..count).any(|n| pair.id == format!("more-{n}"));
                if MORE.contains(&pair.kind) && loud {
                    said.deviation = 0.04;
                }
            })
        };
        let quiet = [58, 59].map(quiet);
        assert_eq!(quiet.each_ref().map(Summary::holds), [false, true]);
        assert_eq!(quiet.each_ref().map(Summary::is_sound), [true; 2]);
        assert!(quiet[0].text().ends_with("is not shown\n"), "{}", quiet[0].text());
        assert!(quiet[1].text().ends_with("no session of memory deviated by less\n"), "{}", quiet[1].text());
        let text = Summary::of(&BTreeMap::new()).text();
        assert!(text.contains("so far nothing speaks against it"), "{text}");
    }

    #[test]
    fn as_many_may_be_missed_as_tell_more_than_95_of_100() {
        assert_eq!(
            [58, 59, 92, 93, 100, 200].map(most_missed),
            [None, Some(0), Some(0), Some(1), Some(1), Some(4)]
        );
    }

    #[test]
    fn sessions_deviate_by_what_they_say() {
        let record = |deltas: Value| serde_json::json!({ "deltas": deltas });
        let found = deviation(&record(serde_json::json!([0.01, 0.03]))).expect("two sessions");
        assert!((found - 0.02 / 2.0_f64.sqrt()).abs() < 1e-12, "{found}");
        assert!(
            deviation(&record(Value::Null)).is_err() && deviation(&record(serde_json::json!([1]))).is_err()
        );
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
