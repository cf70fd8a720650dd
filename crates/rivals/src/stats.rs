//! From paired samples to one ratio with an interval. Pure: no clock, no printing.
//!
//! Two samples that ran one after the other saw the same machine, so their ratio is worth more than either time. A
//! process and its link layout shift every pair inside it together, so pairs are not independent: they are first
//! reduced to one median per session, sessions to one median per layout, and layouts are weighted equally.

use hashmill_testkit::Rng;

/// What one process measured for one row: nanoseconds per call of the rival and of ours, pair by pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Which link layout the process had.
    pub layout: String,
    /// `[rival, ours]` for every round.
    pub pairs: Vec<[f64; 2]>,
}

/// How many times faster ours is, and how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Median time of the rival, in nanoseconds per call.
    pub rival_ns: f64,
    /// Median time of ours, in nanoseconds per call.
    pub ours_ns: f64,
    /// Rival time over our time: above one, ours is faster.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// The ratio in each layout, in order of first appearance.
    pub layouts: Vec<(String, f64)>,
}

impl Estimate {
    /// The ratio in the least favourable layout.
    pub fn worst_layout(&self) -> f64 {
        self.layouts.iter().map(|&(_, ratio)| ratio).fold(f64::INFINITY, f64::min)
    }
}

/// Resamples drawn for an interval: the ends then move by less than a tenth of its width from seed to seed.
const RESAMPLES: usize = 1000;

/// Reduces the sessions of one row. `None` when no session holds a pair.
///
/// The interval is a bootstrap on both levels: sessions within their layout, then pairs within their session.
/// Layouts are not redrawn, because they are the few that were built, not a sample of all that a linker could make;
/// their spread is reported beside the interval instead of inside it.
pub fn estimate(sessions: &[Session], seed: u64) -> Option<Estimate> {
    let layouts = by_layout(sessions);
    if layouts.is_empty() {
        return None;
    }
    let ratios: Vec<(String, f64)> = layouts
        .iter()
        .map(|(name, sessions)| {
            let medians = sessions.iter().map(|logs| median(logs.clone())).collect();
            ((*name).to_owned(), median(medians).exp())
        })
        .collect();
    let mut rng = Rng::new(seed);
    let mut redrawn: Vec<f64> = (0..RESAMPLES).map(|_| redraw(&layouts, &mut rng)).collect();
    redrawn.sort_by(f64::total_cmp);
    let quantile = |q: f64| redrawn[(q * (RESAMPLES - 1) as f64).round() as usize].exp();
    let side = |side: usize| median(sessions.iter().flat_map(|s| s.pairs.iter().map(|p| p[side])).collect());
    Some(Estimate {
        rival_ns: side(0),
        ours_ns: side(1),
        ratio: geomean(ratios.iter().map(|&(_, ratio)| ratio)),
        low: quantile(0.025),
        high: quantile(0.975),
        layouts: ratios,
    })
}

/// The geometric mean, the only mean under which a ratio and its inverse agree. `NaN` for nothing.
pub fn geomean(ratios: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    mean(&logs).exp()
}

/// One estimate for several rows: the geometric mean of their ratios. Rows err independently, so the half-widths of
/// their intervals add up in squares. `None` for no rows.
pub fn combine(rows: &[Estimate]) -> Option<Estimate> {
    let logs: Vec<f64> = rows.iter().map(|row| row.ratio.ln()).collect();
    let spread = |end: fn(&Estimate) -> f64| {
        let squares: f64 = rows.iter().map(|row| (end(row) / row.ratio).ln().powi(2)).sum();
        squares.sqrt() / rows.len() as f64
    };
    (!rows.is_empty()).then(|| Estimate {
        rival_ns: geomean(rows.iter().map(|row| row.rival_ns)),
        ours_ns: geomean(rows.iter().map(|row| row.ours_ns)),
        ratio: mean(&logs).exp(),
        low: (mean(&logs) - spread(|row| row.low)).exp(),
        high: (mean(&logs) + spread(|row| row.high)).exp(),
        layouts: Vec::new(),
    })
}

/// Log ratios, session by session, layout by layout.
type Layouts<'a> = Vec<(&'a str, Vec<Vec<f64>>)>;

fn by_layout(sessions: &[Session]) -> Layouts<'_> {
    let mut layouts: Layouts<'_> = Vec::new();
    for session in sessions.iter().filter(|session| !session.pairs.is_empty()) {
        let logs: Vec<f64> = session.pairs.iter().map(|[rival, ours]| (rival / ours).ln()).collect();
        match layouts.iter_mut().find(|(name, _)| *name == session.layout) {
            Some((_, sessions)) => sessions.push(logs),
            None => layouts.push((&session.layout, vec![logs])),
        }
    }
    layouts
}

/// The log of the combined ratio, had the machine dealt other sessions and other pairs of the same kind.
fn redraw(layouts: &Layouts<'_>, rng: &mut Rng) -> f64 {
    let per_layout: Vec<f64> = layouts
        .iter()
        .map(|(_, sessions)| {
            let mut one_session = || {
                let logs = &sessions[rng.below(sessions.len())];
                median((0..logs.len()).map(|_| logs[rng.below(logs.len())]).collect())
            };
            median((0..sessions.len()).map(|_| one_session()).collect())
        })
        .collect();
    mean(&per_layout)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The middle value, or the mean of the two middle ones. `NaN` for nothing.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(layout: &str, pairs: &[[f64; 2]]) -> Session {
        Session { layout: layout.into(), pairs: pairs.to_vec() }
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-12
    }

    #[test]
    fn medians() {
        assert!(median(vec![]).is_nan());
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn nothing_measured_is_nothing_known() {
        assert_eq!(estimate(&[], 1), None);
        assert_eq!(estimate(&[session("a", &[])], 1), None);
    }

    #[test]
    fn a_steady_ratio_has_no_width() {
        let sessions = [session("a", &[[20.0, 10.0], [22.0, 11.0]]), session("a", &[[30.0, 15.0]])];
        let e = estimate(&sessions, 1).expect("pairs");
        assert!(close(e.ratio, 2.0) && close(e.low, 2.0) && close(e.high, 2.0), "{e:?}");
        assert_eq!((e.rival_ns, e.ours_ns), (22.0, 11.0));
    }

    #[test]
    fn one_interrupted_sample_changes_nothing() {
        let mut pairs = vec![[20.0, 10.0]; 9];
        pairs.push([20.0, 1000.0]);
        let e = estimate(&[session("a", &pairs)], 1).expect("pairs");
        assert!(close(e.ratio, 2.0), "{e:?}");
    }

    #[test]
    fn layouts_weigh_the_same_however_often_they_ran() {
        let fast = session("fast", &[[40.0, 10.0]]);
        let slow = session("slow", &[[10.0, 10.0]]);
        let e = estimate(&[fast.clone(), fast.clone(), fast, slow], 1).expect("pairs");
        assert!(close(e.ratio, 2.0), "{e:?}");
        assert!(close(e.worst_layout(), 1.0), "{e:?}");
    }

    #[test]
    fn the_interval_covers_what_sessions_disagree_about() {
        let sessions: Vec<Session> =
            [1.8, 1.9, 2.0, 2.1, 2.2].map(|r| session("a", &[[r * 10.0, 10.0]; 5])).into();
        let e = estimate(&sessions, 1).expect("pairs");
        assert!(close(e.ratio, 2.0), "{e:?}");
        assert!(e.low <= 1.9 + 1e-9 && e.high >= 2.1 - 1e-9, "{e:?}");
        assert!(e.low >= 1.8 - 1e-9 && e.high <= 2.2 + 1e-9, "{e:?}");
    }

    #[test]
    fn rows_combine_into_their_geometric_mean() {
        let row = |low: f64, ratio: f64, high: f64| Estimate {
            rival_ns: 10.0 * ratio,
            ours_ns: 10.0,
            ratio,
            low,
            high,
            layouts: vec![],
        };
        assert_eq!(combine(&[]), None);
        let one = row(1.9, 2.0, 2.2);
        let alone = combine(std::slice::from_ref(&one)).expect("a row");
        assert!(close(alone.ratio, 2.0) && close(alone.low, 1.9) && close(alone.high, 2.2), "{alone:?}");
        let both = combine(&[one, row(0.5, 0.5, 0.5)]).expect("rows");
        assert!(close(both.ratio, 1.0) && close(both.low, (1.9_f64 / 2.0).sqrt()), "{both:?}");
    }

    #[test]
    fn a_ratio_and_its_inverse_agree() {
        assert!(close(geomean([4.0, 0.25].into_iter()), 1.0));
    }
}
