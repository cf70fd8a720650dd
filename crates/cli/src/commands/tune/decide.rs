//! Choice rules: from samples to choices, without clock or output.
//!
//! The built-in option stays unless another is faster with confidence. An inconclusive comparison changes nothing.

/// Times that differ by less than this fraction of the shorter are equal.
pub(super) const TIE: f64 = 0.01;

/// Median uncertainty above which nothing is saved.
pub(super) const TOO_NOISY: f64 = 0.05;

/// Speed of one option relative to another: the median of pairs of samples, and its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Ratio {
    pub(super) middle: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Ratio {
    /// From samples taken in turns: the times of one option over those of the other.
    pub(super) fn from_samples(slower: &[f64], faster: &[f64]) -> Ratio {
        let mut ratios: Vec<f64> =
            slower.iter().zip(faster).map(|(slower, faster)| slower / faster).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let count = ratios.len();
        // Ranks of the binomial distribution by the normal approximation: exact to one rank from six samples on.
        let rank = ((count as f64 - 1.96 * (count as f64).sqrt()) / 2.0).max(0.0) as usize;
        let at = |index: usize| ratios.get(index).copied().unwrap_or(f64::NAN);
        Ratio { middle: median(ratios.clone()), low: at(rank), high: at(count.wrapping_sub(rank + 1)) }
    }

    /// The geometric mean of independent ratios.
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

    /// Half the width of the interval, as a fraction of the median.
    pub(super) fn spread(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.middle
    }

    fn is_faster(&self) -> bool {
        self.low > 1.0 + TIE
    }

    fn seems_faster(&self) -> bool {
        self.middle > 1.0 + TIE
    }

    fn is_slower(&self) -> bool {
        self.high * (1.0 + TIE) < 1.0
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let middle = self.middle;
        match self.spread() {
            // A few samples are taken; one disturbed sample can be an end of the interval.
            spread if spread > 0.5 => write!(f, "{middle:.3} noisy"),
            spread => write!(f, "{middle:.3} ±{:.1}%", 100.0 * spread),
        }
    }
}

/// Times of each option at one size.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Timing {
    /// In bytes.
    pub(super) size: u64,
    /// Index of the built-in option.
    pub(super) in_use: usize,
    /// In nanoseconds.
    pub(super) times: Vec<f64>,
    /// Speed of each option relative to the built-in one.
    pub(super) ratios: Vec<Ratio>,
}

impl Timing {
    /// `samples` holds equally many samples of each option, taken in turns.
    pub(super) fn new(size: u64, in_use: usize, samples: Vec<Vec<f64>>) -> Timing {
        let ratios = samples.iter().map(|option| Ratio::from_samples(&samples[in_use], option)).collect();
        Timing { size, in_use, ratios, times: samples.into_iter().map(median).collect() }
    }
}

/// The chosen option.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Choice {
    pub(super) option: usize,
    pub(super) reason: ChoiceReason,
}

/// Why an option was chosen. All but the last keep the built-in option.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ChoiceReason {
    /// No option is faster at any size.
    Fastest,
    /// Options that are faster at some sizes, but not on average or slower at others.
    FasterAtSizes(Vec<FasterAtSize>),
    /// These are equally fast.
    Tie(Vec<usize>),
    /// The comparison with these is inconclusive.
    Inconclusive(Vec<usize>),
    Faster(Ratio),
}

/// An option that is faster than the built-in one at a size.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FasterAtSize {
    /// In bytes.
    pub(super) size: u64,
    pub(super) option: usize,
    pub(super) gain: Ratio,
}

impl FasterAtSize {
    /// The fastest option at each size where one is faster with confidence.
    fn from_timings(timings: &[Timing]) -> Vec<FasterAtSize> {
        let best = |timing: &Timing| {
            let faster = timing.ratios.iter().enumerate().filter(|(_, gain)| gain.is_faster());
            let best = faster.max_by(|a, b| a.1.middle.total_cmp(&b.1.middle));
            best.map(|(option, gain)| FasterAtSize { size: timing.size, option, gain: *gain })
        };
        timings.iter().filter_map(best).collect()
    }
}

/// The option with the best mean over all sizes if it is faster than the built-in one with confidence and slower at no size,
/// else the built-in one. `None` if nothing was measured.
pub(super) fn choose(timings: &[Timing]) -> Option<Choice> {
    let in_use = timings.first()?.in_use;
    let count = timings.iter().map(|timing| timing.ratios.len()).min()?;
    let gain = |option: usize| Ratio::mean(timings.iter().map(|timing| timing.ratios[option]));
    let others: Vec<(usize, Ratio)> =
        (0..count).filter(|option| *option != in_use).map(|option| (option, gain(option))).collect();
    let is_slower = |option: usize| timings.iter().any(|timing| timing.ratios[option].is_slower());
    let winners = others.iter().filter(|(option, gain)| gain.is_faster() && !is_slower(*option));
    if let Some((option, gain)) = winners.max_by(|a, b| a.1.middle.total_cmp(&b.1.middle)) {
        return Some(Choice { option: *option, reason: ChoiceReason::Faster(*gain) });
    }
    let select = |is: &dyn Fn(&Ratio) -> bool| -> Vec<usize> {
        others.iter().filter(|(_, gain)| is(gain)).map(|(option, _)| *option).collect()
    };
    let (inconclusive, ties) =
        (select(&Ratio::seems_faster), select(&|gain| gain.middle * (1.0 + TIE) >= 1.0));
    let reason = match (inconclusive.is_empty(), ties.is_empty()) {
        (false, _) => ChoiceReason::Inconclusive(inconclusive),
        (true, false) => ChoiceReason::Tie(ties),
        (true, true) => match FasterAtSize::from_timings(timings) {
            none if none.is_empty() => ChoiceReason::Fastest,
            some => ChoiceReason::FasterAtSizes(some),
        },
    };
    Some(Choice { option: in_use, reason })
}

/// The size from which a second thread pays at every measured size; `u64::MAX` if it never does.
///
/// Option 0 is one thread and option 1 two; `timings` ascend. If neither is faster with confidence, the boundary in use decides.
pub(super) fn parallel_from(in_use: u64, timings: &[Timing]) -> u64 {
    let pays = |timing: &&Timing| {
        let ratio = timing.ratios[1];
        ratio.is_faster() || !ratio.is_slower() && timing.size >= in_use
    };
    let paying = timings.iter().rev().take_while(pays).count();
    let (below, above) = timings.split_at(timings.len() - paying);
    // A boundary between two measured sizes is right if the smaller does not pay and the larger does.
    let low = below.last().map_or(0, |timing| timing.size + 1);
    let high = above.first().map_or(u64::MAX, |timing| timing.size);
    if (low..=high).contains(&in_use) { in_use } else { high }
}

/// Extends choices at ascending sizes to a table for all sizes: each entry applies up to its size. Between two choices equal to
/// those in use the boundary in use stays; else it is the geometric mean.
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

/// The median spread of all comparisons.
pub(super) fn noise<'a>(timings: impl Iterator<Item = &'a Timing>) -> f64 {
    let others = timings.flat_map(|timing| {
        let ratios = timing.ratios.iter().enumerate();
        ratios.filter(|(option, _)| *option != timing.in_use).map(|(_, ratio)| ratio.spread())
    });
    let spreads: Vec<f64> = others.collect();
    if spreads.is_empty() { 0.0 } else { median(spreads) }
}

/// The median; of an even number the mean of the two middle samples.
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
    fn median_ignores_outliers() {
        assert_eq!(median(vec![3.0, 900.0, 1.0]), 3.0);
        assert_eq!(median(vec![4.0, 900.0, 1.0, 2.0]), 3.0);
        let timing = Timing::new(64, 0, vec![vec![30.0, 10.0, 20.0], vec![40.0, 40.0, 40.0]]);
        assert_eq!((timing.times[0], timing.ratios[1].middle, timing.ratios[0].middle), (20.0, 0.5, 1.0));
    }

    fn chosen(timings: &[Timing]) -> Choice {
        choose(timings).expect("something was measured")
    }

    #[test]
    fn ratio_pairs_samples() {
        // A drift that affects both options equally.
        let slow: Vec<f64> = (1..=20).map(|time| 2.0 * f64::from(time)).collect();
        let fast: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(Ratio::from_samples(&slow, &fast), Ratio { middle: 2.0, low: 2.0, high: 2.0 });
        let uneven: Vec<f64> = (1..=20).map(|time| f64::from(time) / 10.0).collect();
        let ones = vec![1.0; 20];
        let ratio = Ratio::from_samples(&uneven, &ones);
        assert_eq!((ratio.low, ratio.high), (0.6, 1.5), "the sixth of twenty from both ends");
        let few = Ratio::from_samples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &ones);
        assert_eq!((few.low, few.high), (1.0, 6.0), "all of six");
    }

    #[test]
    fn best_mean_wins() {
        // Option 0 is four times faster at the first size and eight times slower at the second.
        let choice = chosen(&[exact(&[4.0, 1.0, 4.0 / 3.0]), exact(&[0.125, 1.0, 4.0 / 3.0])]);
        assert_eq!(choice.option, 2);
        let ChoiceReason::Faster(gain) = choice.reason else { panic!("{choice:?}") };
        assert!((gain.middle - 4.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn options_slower_at_any_size_are_not_chosen() {
        let small = vec![exact(&[1.05, 1.0]); 16];
        assert_eq!(chosen(&small).option, 0);
        let large = exact(&[0.9, 1.0]);
        assert_eq!(
            chosen(&[small, vec![large]].concat()).option,
            1,
            "it is slower at the size of large files"
        );
    }

    #[test]
    fn ties_keep_the_option_in_use() {
        assert_eq!(
            chosen(&[exact(&[1.008, 1.0, 0.995])]),
            Choice { option: 1, reason: ChoiceReason::Tie(vec![0, 2]) }
        );
        assert_eq!(chosen(&[exact(&[0.9, 1.0, 0.5])]), Choice { option: 1, reason: ChoiceReason::Fastest });
        assert_eq!(chosen(&[exact(&[1.015, 1.0, 1.014])]).option, 0, "one and a half percent is no tie");
    }

    #[test]
    fn inconclusive_comparisons_change_nothing() {
        let noisy = timing(&[ratio(1.2, 0.3), ratio(1.0, 0.0), ratio(0.5, 0.1)]);
        assert_eq!(
            chosen(std::slice::from_ref(&noisy)),
            Choice { option: 1, reason: ChoiceReason::Inconclusive(vec![0]) }
        );
        assert_eq!(chosen(&vec![noisy; 9]).option, 0, "nine of them are conclusive");
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn second_thread_pays_from_the_last_loss() {
        let exact_pairs =
            |ratios: &[f64]| pairs(&ratios.iter().map(|middle| ratio(*middle, 0.0)).collect::<Vec<_>>());
        let times = exact_pairs(&[1.1, 0.5, 1.3, 2.0]);
        for in_use in [4096, 8192, 1024] {
            assert_eq!(parallel_from(in_use, &times), 4096, "1 KiB won by chance, as 2 KiB lost");
        }
        let never = exact_pairs(&[0.6, 0.8]);
        assert_eq!(parallel_from(1024, &never), u64::MAX);
        assert_eq!(parallel_from(1 << 20, &never), 1 << 20, "beyond what was measured");
    }

    #[test]
    fn where_neither_thread_is_faster_the_boundary_stays() {
        let times = pairs(&[ratio(1.0, 0.0), ratio(1.3, 0.4), ratio(2.0, 0.1)]);
        assert_eq!(parallel_from(2048, &times), 2048);
        assert_eq!(parallel_from(1024, &times), 1024);
        assert_eq!(parallel_from(4096, &times), 4096);
        assert_eq!(parallel_from(3000, &times), 3000, "no measurement contradicts it");
    }

    #[test]
    fn boundaries_in_use_stay_between_equal_choices() {
        let in_use = |kib: u32| if (4097..=24_576).contains(&kib) { 1 } else { 2 };
        let same = [(1024, 2), (4096, 2), (12_288, 1), (19_456, 1), (47_104, 2)];
        assert_eq!(table(&same, in_use), [(4096, 2), (24_576, 1), (u32::MAX, 2)]);
        let other = [(1024, 2), (4096, 2), (16_384, 2), (65_536, 3)];
        assert_eq!(table(&other, in_use), [(32_768, 2), (u32::MAX, 3)]);
        assert_eq!(table(&[], in_use), []);
    }

    #[test]
    fn noise_ignores_the_option_in_use() {
        let timings = [timing(&[ratio(1.0, 0.1), ratio(1.0, 0.0), ratio(2.0, 0.6)])];
        assert!((noise(timings.iter()) - 0.2).abs() < 1e-9);
        assert_eq!(noise([].iter()), 0.0);
    }
}
