//! The two files of the interleaved A/B scripts that this lab replaces: `results.tsv` and `summary.txt`.
//!
//! Their columns and keys stay, so that old tooling reads new runs; what those scripts could not say follows after.

use super::schema::{Report, Row};
use crate::stats::order::{mad, median};
use std::fmt::Write;

/// One line per sample of a row's first two sides. A sample is one variant in one pair.
#[must_use]
pub fn results_tsv(row: &Row) -> String {
    let mut out = String::from(
        "variant\tpair\torder\tavg_hps\tmedian_hps\tcounted_hashes\tlate_hashes\treport\tsession\tns_per_iter\tcpu_ns\tflags\n",
    );
    let samples = &row.samples;
    for i in 0..samples.ns.len() {
        let side = samples.side[i];
        let variant = match side {
            0 => "baseline",
            1 => "candidate",
            _ => continue,
        };
        let iterations = row.sides[side].iterations;
        let ns = samples.ns[i] as f64 / iterations as f64;
        let rate = 1e9 / ns;
        let pair = samples.session[i] * row.rounds + samples.round[i] + 1;
        let order = if samples.position[i] == 0 { "first" } else { "second" };
        let cpu = samples.cpu_ns[i].map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
        // A hash is an iteration here, and none can be late: the clock stops after the last one.
        writeln!(
            out,
            "{variant}\t{pair}\t{order}\t{rate:.12}\t{rate:.12}\t{iterations}\t0\treport.json\t{}\t{ns:.3}\t{cpu}\t-",
            samples.session[i] + 1
        )
        .expect("a string takes all");
    }
    out
}

/// `key=value` lines of a row's first comparison; empty for a row without one. `results_tsv` names the other file.
#[must_use]
pub fn summary_txt(report: &Report, row: &Row, results_tsv: &str) -> String {
    let Some(comparison) = row.comparisons.first() else {
        return String::new();
    };
    let rates = |side: usize| -> Vec<f64> {
        let samples = row.samples.side.iter().zip(&row.samples.ns).filter(|(s, _)| **s == side);
        samples.map(|(_, ns)| 1e9 * row.sides[side].iterations as f64 / *ns as f64).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (a, b) = (rates(0), rates(comparison.side));
    let (baseline, candidate) = (mean(&a), mean(&b));
    let [low, high] = comparison.interval.unwrap_or([f64::NAN, f64::NAN]);
    let threads = row.sides[0].key.parse::<crate::model::key::Key>().map_or(1, |key| key.threads);
    let build = |side: usize| report.builds.get(row.sides[side].build);
    let mut lines = vec![
        ("bench_kind".to_owned(), row.class.name.clone()),
        ("threads".to_owned(), threads.to_string()),
        ("bench_secs".to_owned(), format!("{}", report.plan.sample_ns as f64 / 1e9)),
        ("bench_rounds".to_owned(), row.rounds.to_string()),
        ("bench_warmup_rounds".to_owned(), report.plan.warm_ups.to_string()),
        ("pairs".to_owned(), (row.sessions.len() * row.rounds).to_string()),
        ("cooldown_secs".to_owned(), format!("{}", report.plan.cool_down_ms as f64 / 1e3)),
    ];
    for (name, side) in [("baseline", 0), ("candidate", comparison.side)] {
        if let Some(build) = build(side) {
            lines.push((format!("{name}_dir"), build.source.clone()));
            for key in ["profile", "native", "no-default-features", "features"] {
                let setting =
                    build.settings.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
                lines.push((
                    format!("{name}_{}", key.replace('-', "_")),
                    setting.unwrap_or_default().to_owned(),
                ));
            }
        }
    }
    lines.extend([
        ("baseline_avg_hps".to_owned(), format!("{baseline:.12}")),
        ("candidate_avg_hps".to_owned(), format!("{candidate:.12}")),
        ("delta_pct".to_owned(), format!("{:.4}", 100.0 * (candidate - baseline) / baseline)),
        ("results_tsv".to_owned(), results_tsv.to_owned()),
        ("baseline_median_hps".to_owned(), format!("{:.12}", median(&a))),
        ("candidate_median_hps".to_owned(), format!("{:.12}", median(&b))),
        ("candidate_mad_hps".to_owned(), format!("{:.12}", mad(&b))),
        ("ratio".to_owned(), format!("{:.6}", comparison.ratio)),
        ("ci99_lo".to_owned(), format!("{low:.6}")),
        ("ci99_hi".to_owned(), format!("{high:.6}")),
        ("p".to_owned(), format!("{:e}", comparison.p)),
        ("verdict".to_owned(), comparison.verdict.word().to_owned()),
        ("sessions".to_owned(), comparison.sessions.to_string()),
    ]);
    lines.into_iter().map(|(key, value)| format!("{key}={value}\n")).collect()
}
