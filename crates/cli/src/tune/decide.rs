//! From samples to choices: no clock and no words.
//!
//! What is built in stays unless something else is surely faster. A comparison that cannot tell changes nothing.

/// Times that differ by less than this part of the shorter are the same.
pub(super) const TIE: f64 = 0.01;

/// If comparisons are no surer than this, nothing of them is kept.
pub(super) const TOO_NOISY: f64 = 0.05;

/// How many times faster one thing is than another: the median of pairs of samples, and between what 95 of 100 such medians
/// lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ratio {
    pub(super) middle: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Ratio {
    /// Of samples that were taken in turns: the times of the one over those of the other.
    pub(super) fn of(slower: &[f64], faster: &[f64]) -> Ratio {
        let mut ratios: Vec<f64> =
            slower.iter().zip(faster).map(|(slower, faster)| slower / faster).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let count = ratios.len();
        // The ranks of a binomial distribution, by the normal one: exact to a rank from six samples on.
        let rank = ((count as f64 - 1.96 * (count as f64).sqrt()) / 2.0).max(0.0) as usize;
        let at = |index: usize| ratios.get(index).copied().unwrap_or(f64::NAN);
        Ratio { middle: median(ratios.clone()), low: at(rank), high: at(count.wrapping_sub(rank + 1)) }
    }

    /// The geometric mean of several, which know nothing of each other.
    fn mean(ratios: impl Iterator<Item = Ratio>) -> Ratio {
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for ratio in ratios {
            sum += ratio.middle.ln();
            squares += ((ratio.high / ratio.low).ln() / 2.0).powi(2);
            count += 1.0;
        }
        let (mean, reach) = (sum / count, f64::sqrt(squares) / count);
        Ratio { middle: mean.exp(), low: (mean - reach).exp(), high: (mean + reach).exp() }
    }

    /// How far it may be from its middle, as a part of it.
    pub(super) fn spread(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.middle
    }

    fn surely_wins(&self) -> bool {
        self.low > 1.0 + TIE
    }

    fn seems_to_win(&self) -> bool {
        self.middle > 1.0 + TIE
    }

    fn surely_loses(&self) -> bool {
        self.high * (1.0 + TIE) < 1.0
    }
}

/// What one size takes with each of several options.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Timing {
    /// In bytes.
    pub(super) size: u64,
    /// The option that is built in.
    pub(super) in_use: usize,
    /// In nanoseconds.
    pub(super) times: Vec<f64>,
    /// How many times faster each is than the one in use.
    pub(super) ratios: Vec<Ratio>,
}

impl Timing {
    /// `samples` holds those of each option, as many of each, taken in turns.
    pub(super) fn new(size: u64, in_use: usize, samples: Vec<Vec<f64>>) -> Timing {
        let ratios = samples.iter().map(|option| Ratio::of(&samples[in_use], option)).collect();
        Timing { size, in_use, ratios, times: samples.into_iter().map(median).collect() }
    }
}

/// One option of several.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Choice {
    pub(super) option: usize,
    pub(super) why: Why,
}

/// Why it was chosen. All but the last is in use already.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Why {
    Fastest,
    /// These are as fast.
    Tie(Vec<usize>),
    /// These may be faster.
    Unclear(Vec<usize>),
    Faster(Ratio),
}

/// The option with the best mean over all sizes if it is surely faster than the one in use and surely slower at no size,
/// else the one in use. None where nothing was measured.
pub(super) fn choose(timings: &[Timing]) -> Option<Choice> {
    let in_use = timings.first()?.in_use;
    let count = timings.iter().map(|timing| timing.ratios.len()).min()?;
    let gain = |option: usize| Ratio::mean(timings.iter().map(|timing| timing.ratios[option]));
    let others: Vec<(usize, Ratio)> =
        (0..count).filter(|option| *option != in_use).map(|option| (option, gain(option))).collect();
    let loses = |option: usize| timings.iter().any(|timing| timing.ratios[option].surely_loses());
    let surest = others.iter().filter(|(option, gain)| gain.surely_wins() && !loses(*option));
    if let Some((option, gain)) = surest.max_by(|a, b| a.1.middle.total_cmp(&b.1.middle)) {
        return Some(Choice { option: *option, why: Why::Faster(*gain) });
    }
    let those = |is: &dyn Fn(&Ratio) -> bool| -> Vec<usize> {
        others.iter().filter(|(_, gain)| is(gain)).map(|(option, _)| *option).collect()
    };
    let (unclear, ties) = (those(&Ratio::seems_to_win), those(&|gain| gain.middle * (1.0 + TIE) >= 1.0));
    let why = match (unclear.is_empty(), ties.is_empty()) {
        (false, _) => Why::Unclear(unclear),
        (true, false) => Why::Tie(ties),
        (true, true) => Why::Fastest,
    };
    Some(Choice { option: in_use, why })
}

/// From which size on a second thread pays at every size measured; `u64::MAX` if it never does.
///
/// Option 0 is one thread and option 1 two; `timings` ascend. Where neither surely wins, the boundary in use decides.
pub(super) fn parallel_from(in_use: u64, timings: &[Timing]) -> u64 {
    let pays = |timing: &&Timing| {
        let ratio = timing.ratios[1];
        ratio.surely_wins() || !ratio.surely_loses() && timing.size >= in_use
    };
    let paying = timings.iter().rev().take_while(pays).count();
    let (below, above) = timings.split_at(timings.len() - paying);
    // A boundary between two measured sizes is in the right place if the smaller does not pay and the larger does.
    let low = below.last().map_or(0, |timing| timing.size + 1);
    let high = above.first().map_or(u64::MAX, |timing| timing.size);
    if (low..=high).contains(&in_use) { in_use } else { high }
}

/// What was chosen for some sizes in ascending order, as a table for all: each entry holds up to its size. Between two choices
/// that are as in use the boundary is, too; else it is in the middle.
pub(super) fn table(chosen: &[(u32, usize)], in_use: impl Fn(u32) -> usize) -> Vec<(u32, usize)> {
    let mut table = Vec::new();
    for pair in chosen.windows(2) {
        let [(low, before), (high, after)] = [pair[0], pair[1]];
        if before == after {
            continue;
        }
        let mut boundary = (f64::from(low) * f64::from(high)).sqrt() as u32;
        if in_use(low) == before && in_use(high) == after {
            let (mut inside, mut outside) = (low, high);
            while outside - inside > 1 {
                let middle = inside.midpoint(outside);
                if in_use(middle) == before { inside = middle } else { outside = middle }
            }
            boundary = inside;
        }
        table.push((boundary, before));
    }
    table.extend(chosen.last().map(|(_, last)| (u32::MAX, *last)));
    table
}

/// How unsure the comparisons are, all in all: the median of their spreads.
pub(super) fn noise<'a>(timings: impl Iterator<Item = &'a Timing>) -> f64 {
    let others = timings.flat_map(|timing| {
        let ratios = timing.ratios.iter().enumerate();
        ratios.filter(|(option, _)| *option != timing.in_use).map(|(_, ratio)| ratio.spread())
    });
    let spreads: Vec<f64> = others.collect();
    if spreads.is_empty() { 0.0 } else { median(spreads) }
}

/// The middle sample, or the mean of the two in the middle.
fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => samples[middle],
        _ => f64::midpoint(samples[middle - 1], samples[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(middle: f64, reach: f64) -> Ratio {
        Ratio { middle, low: middle - reach, high: middle + reach }
    }

    /// Option 1 is in use.
    fn timing(ratios: &[Ratio]) -> Timing {
        let times = ratios.iter().map(|ratio| 100.0 / ratio.middle).collect();
        Timing { size: 64, in_use: 1, times, ratios: ratios.to_vec() }
    }

    fn exact(ratios: &[f64]) -> Timing {
        timing(&ratios.iter().map(|middle| ratio(*middle, 0.001)).collect::<Vec<_>>())
    }

    /// One thread beside two, from 1 KiB on in steps of two.
    fn pairs(ratios: &[Ratio]) -> Vec<Timing> {
        let itself = ratio(1.0, 0.0);
        let pair = |(ratio, bits): (&Ratio, u32)| Timing {
            size: 1024 << bits,
            in_use: 0,
            times: vec![1.0, 1.0 / ratio.middle],
            ratios: vec![itself, *ratio],
        };
        ratios.iter().zip(0..).map(pair).collect()
    }

    #[test]
    fn the_middle_does_not_see_an_outlier() {
        assert_eq!(median(vec![3.0, 900.0, 1.0]), 3.0);
        assert_eq!(median(vec![4.0, 900.0, 1.0, 2.0]), 3.0);
        let timing = Timing::new(64, 0, vec![vec![30.0, 10.0, 20.0], vec![40.0, 40.0, 40.0]]);
        assert_eq!((timing.times[0], timing.ratios[1].middle, timing.ratios[0].middle), (20.0, 0.5, 1.0));
    }

    fn chosen(timings: &[Timing]) -> Choice {
        choose(timings).expect("something was measured")
    }

    #[test]
    fn a_ratio_is_of_samples_side_by_side() {
        // The machine got slower and slower, and both alike.
        let slow: Vec<f64> = (1..=20).map(|time| 2.0 * f64::from(time)).collect();
        let fast: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(Ratio::of(&slow, &fast), Ratio { middle: 2.0, low: 2.0, high: 2.0 });
        let uneven: Vec<f64> = (1..=20).map(|time| f64::from(time) / 10.0).collect();
        let ones = vec![1.0; 20];
        let ratio = Ratio::of(&uneven, &ones);
        assert_eq!((ratio.low, ratio.high), (0.6, 1.5), "the sixth of twenty from both ends");
        let few = Ratio::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &ones);
        assert_eq!((few.low, few.high), (1.0, 6.0), "all of six");
    }

    #[test]
    fn the_best_mean_wins_and_not_the_best_size() {
        // Option 0 is four times faster at the first size and eight times slower at the second.
        let choice = chosen(&[exact(&[4.0, 1.0, 4.0 / 3.0]), exact(&[0.125, 1.0, 4.0 / 3.0])]);
        assert_eq!(choice.option, 2);
        let Why::Faster(gain) = choice.why else { panic!("{choice:?}") };
        assert!((gain.middle - 4.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_loses_anywhere_is_not_chosen() {
        let small = vec![exact(&[1.05, 1.0]); 16];
        assert_eq!(chosen(&small).option, 0);
        let large = exact(&[0.9, 1.0]);
        assert_eq!(chosen(&[small, vec![large]].concat()).option, 1, "it is what large files take");
    }

    #[test]
    fn a_tie_keeps_what_is_in_use() {
        assert_eq!(chosen(&[exact(&[1.008, 1.0, 0.995])]), Choice { option: 1, why: Why::Tie(vec![0, 2]) });
        assert_eq!(chosen(&[exact(&[0.9, 1.0, 0.5])]), Choice { option: 1, why: Why::Fastest });
        assert_eq!(chosen(&[exact(&[1.015, 1.0, 1.014])]).option, 0, "one and a half percent is no tie");
    }

    #[test]
    fn what_cannot_tell_changes_nothing() {
        let noisy = timing(&[ratio(1.2, 0.3), ratio(1.0, 0.0), ratio(0.5, 0.1)]);
        assert_eq!(chosen(std::slice::from_ref(&noisy)), Choice { option: 1, why: Why::Unclear(vec![0]) });
        assert_eq!(chosen(&vec![noisy; 9]).option, 0, "nine of them can");
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn threads_pay_from_where_they_never_lose_again() {
        let sure =
            |ratios: &[f64]| pairs(&ratios.iter().map(|middle| ratio(*middle, 0.0)).collect::<Vec<_>>());
        let times = sure(&[1.1, 0.5, 1.3, 2.0]);
        for in_use in [4096, 8192, 1024] {
            assert_eq!(parallel_from(in_use, &times), 4096, "1 KiB won by chance: 2 KiB lost");
        }
        let never = sure(&[0.6, 0.8]);
        assert_eq!(parallel_from(1024, &never), u64::MAX);
        assert_eq!(parallel_from(1 << 20, &never), 1 << 20, "beyond what was measured");
    }

    #[test]
    fn where_neither_thread_surely_wins_the_boundary_stays() {
        let times = pairs(&[ratio(1.0, 0.0), ratio(1.3, 0.4), ratio(2.0, 0.1)]);
        assert_eq!(parallel_from(2048, &times), 2048);
        assert_eq!(parallel_from(1024, &times), 1024);
        assert_eq!(parallel_from(4096, &times), 4096);
        assert_eq!(parallel_from(3000, &times), 3000, "nothing measured speaks against it");
    }

    #[test]
    fn boundaries_in_use_stay_where_their_neighbours_do() {
        let in_use = |kib: u32| if (4097..=24_576).contains(&kib) { 1 } else { 2 };
        let same = [(1024, 2), (4096, 2), (12_288, 1), (19_456, 1), (47_104, 2)];
        assert_eq!(table(&same, in_use), [(4096, 2), (24_576, 1), (u32::MAX, 2)]);
        let other = [(1024, 2), (4096, 2), (16_384, 2), (65_536, 3)];
        assert_eq!(table(&other, in_use), [(32_768, 2), (u32::MAX, 3)]);
        assert_eq!(table(&[], in_use), []);
    }

    #[test]
    fn noise_is_that_of_comparisons_and_not_of_what_is_in_use() {
        let timings = [timing(&[ratio(1.0, 0.1), ratio(1.0, 0.0), ratio(2.0, 0.6)])];
        assert!((noise(timings.iter()) - 0.2).abs() < 1e-9);
        assert_eq!(noise([].iter()), 0.0);
    }
}
