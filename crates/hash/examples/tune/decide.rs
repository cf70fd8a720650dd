//! From samples to a row of the plan: no clock and no words.

/// Times that differ by less than this part of the shorter are the same.
pub(crate) const TIE: f64 = 0.01;

/// What a row chooses a kernel for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Block,
    Chunk,
    Many,
    Xof,
}

impl Role {
    pub(crate) const ALL: [Role; 4] = [Role::Block, Role::Chunk, Role::Many, Role::Xof];
}

/// What one size takes, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) role: Role,
    pub(crate) label: String,
    /// The plan in use.
    pub(crate) in_use: f64,
    /// Each kernel for everything, in the order of `Kernel::all`.
    pub(crate) kernels: Vec<f64>,
}

impl Timing {
    /// `samples` holds those of the plan in use, then those of each kernel.
    pub(crate) fn new(role: Role, label: String, samples: Vec<Vec<f64>>) -> Timing {
        let mut medians = samples.into_iter().map(median);
        let in_use = medians.next().expect("the plan in use is always measured");
        Timing { role, label, in_use, kernels: medians.collect() }
    }

    /// How many times faster than the plan in use this kernel is.
    pub(crate) fn ratio(&self, kernel: usize) -> f64 {
        self.in_use / self.kernels[kernel]
    }
}

/// The kernel for a role, as an index into `Kernel::all`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Choice {
    pub(crate) kernel: usize,
    /// Times of the kernel in use over times of the chosen one, geometric mean over the role's sizes.
    pub(crate) gain: f64,
    /// Others that are as fast as the fastest.
    pub(crate) ties: Vec<usize>,
}

/// The kernel with the best mean over the sizes of a role; the one in use if it ties with the best.
pub(crate) fn choose(role: Role, in_use: usize, timings: &[Timing]) -> Choice {
    let sizes: Vec<_> = timings.iter().filter(|timing| timing.role == role).collect();
    let count = sizes.iter().map(|timing| timing.kernels.len()).min().unwrap_or(0);
    // Against the kernel in use and not the plan in use: a plan may mix kernels, and only like compares with like.
    let gain = |kernel: usize| {
        let logs = sizes.iter().map(|timing| (timing.kernels[in_use] / timing.kernels[kernel]).ln());
        (logs.sum::<f64>() / sizes.len() as f64).exp()
    };
    let gains: Vec<f64> = (0..count).map(gain).collect();
    let best = (0..count).max_by(|&a, &b| gains[a].total_cmp(&gains[b])).unwrap_or(in_use);
    let ties: Vec<usize> = (0..count).filter(|&kernel| gains[best] < gains[kernel] * (1.0 + TIE)).collect();
    let kernel = if ties.contains(&in_use) { in_use } else { best };
    let gain = gains.get(kernel).copied().unwrap_or(1.0);
    Choice { kernel, gain, ties: ties.into_iter().filter(|&other| other != kernel).collect() }
}

/// Pairs of sizes of which the smaller takes longer, by their labels: its passes may be badly chosen, by costs of the
/// kernel in use that do not hold here. `timings` of one role ascend.
pub(crate) fn inversions(timings: &[Timing]) -> Vec<(&str, &str)> {
    let many: Vec<_> = timings.iter().filter(|timing| timing.role == Role::Many).collect();
    many.windows(2)
        .filter(|pair| pair[0].in_use > pair[1].in_use * (1.0 + TIE))
        .map(|pair| (pair[0].label.as_str(), pair[1].label.as_str()))
        .collect()
}

/// What one thread and two take for an input of `len` bytes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) len: usize,
    pub(crate) one: f64,
    pub(crate) two: f64,
}

/// From which length on two threads pay at every length measured; `usize::MAX` if they never do.
///
/// `pairs` ascend. Where both take the same, the boundary in use stays.
pub(crate) fn parallel_from(in_use: usize, pairs: &[Pair]) -> usize {
    let pays = |pair: &&Pair| {
        let wins = pair.one > pair.two * (1.0 + TIE);
        let ties = pair.two < pair.one * (1.0 + TIE);
        wins || ties && pair.len >= in_use
    };
    let paying = pairs.iter().rev().take_while(pays).count();
    let (below, above) = pairs.split_at(pairs.len() - paying);
    // A boundary between two measured lengths is in the right place if the smaller does not pay and the larger does.
    let low = below.last().map_or(0, |pair| pair.len + 1);
    let high = above.first().map_or(usize::MAX, |pair| pair.len);
    if (low..=high).contains(&in_use) { in_use } else { high }
}

/// The middle sample, or the mean of the two in the middle.
pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
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

    fn many(in_use: f64, kernels: &[f64]) -> Timing {
        Timing { role: Role::Many, label: format!("{in_use}"), in_use, kernels: kernels.to_vec() }
    }

    fn pairs(times: &[(f64, f64)]) -> Vec<Pair> {
        times.iter().zip(0..).map(|(&(one, two), i)| Pair { len: 1024 << i, one, two }).collect()
    }

    #[test]
    fn the_middle_does_not_see_an_outlier() {
        assert_eq!(median(vec![3.0, 900.0, 1.0]), 3.0);
        assert_eq!(median(vec![4.0, 900.0, 1.0, 2.0]), 3.0);
        let timing = Timing::new(Role::Xof, "64 B".to_owned(), vec![vec![30.0, 10.0, 20.0], vec![40.0]]);
        assert_eq!((timing.in_use, timing.ratio(0)), (20.0, 0.5));
    }

    #[test]
    fn the_best_mean_wins_and_not_the_best_size() {
        // Kernel 0 is four times faster at the first size and eight times slower at the second.
        let timings = [many(40.0, &[10.0, 40.0, 30.0]), many(10.0, &[80.0, 10.0, 7.5])];
        let choice = choose(Role::Many, 1, &timings);
        assert_eq!((choice.kernel, choice.ties), (2, vec![]));
        assert!((choice.gain - 4.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_tie_keeps_what_is_in_use() {
        let timings = [many(100.0, &[99.2, 100.0, 99.5])];
        assert_eq!(choose(Role::Many, 1, &timings), Choice { kernel: 1, gain: 1.0, ties: vec![0, 2] });
        let timings = [many(100.0, &[98.5, 100.0, 98.6])];
        let choice = choose(Role::Many, 1, &timings);
        assert_eq!((choice.kernel, choice.ties), (0, vec![2]), "one and a half percent is no tie");
    }

    #[test]
    fn only_the_sizes_of_the_role_count() {
        let timings = [many(10.0, &[10.0, 5.0])];
        assert_eq!(choose(Role::Xof, 0, &timings), Choice { kernel: 0, gain: 1.0, ties: vec![] });
        assert_eq!(choose(Role::Many, 0, &timings).kernel, 1);
    }

    #[test]
    fn a_kernel_is_compared_with_its_like_and_not_with_a_mixed_plan() {
        // The plan is faster than any kernel alone: that is no reason to leave its kernel.
        assert_eq!(choose(Role::Many, 1, &[many(10.0, &[20.0, 15.0])]).kernel, 1);
    }

    #[test]
    fn less_work_that_takes_longer_is_found() {
        let timings = [many(10.0, &[]), many(20.0, &[]), many(15.0, &[]), many(14.9, &[])];
        assert_eq!(inversions(&timings), [("20", "15")]);
    }

    #[test]
    fn threads_pay_from_where_they_never_lose_again() {
        let times = pairs(&[(9.0, 8.0), (10.0, 20.0), (20.0, 15.0), (40.0, 20.0)]);
        assert_eq!(parallel_from(8192, &times), 4096, "1 KiB won by chance: 2 KiB lost");
        assert_eq!(parallel_from(4096, &times), 4096);
        assert_eq!(parallel_from(1024, &times), 4096);
    }

    #[test]
    fn a_tie_keeps_the_boundary() {
        let times = pairs(&[(5.0, 5.0), (10.0, 10.05), (20.0, 10.0)]);
        assert_eq!(parallel_from(2048, &times), 2048, "2 KiB ties");
        assert_eq!(parallel_from(1024, &times), 1024);
        assert_eq!(parallel_from(4096, &times), 4096);
        assert_eq!(parallel_from(3000, &times), 3000, "nothing measured speaks against it");
    }

    #[test]
    fn threads_that_never_pay_are_never_asked() {
        let times = pairs(&[(5.0, 9.0), (10.0, 12.0)]);
        assert_eq!(parallel_from(1024, &times), usize::MAX);
        assert_eq!(parallel_from(1 << 20, &times), 1 << 20, "beyond what was measured");
    }
}
