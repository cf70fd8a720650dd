//! Check that the machine was idle during a measurement.

use hashmill_machine::Load;

/// A warning with the reasons why the machine was not idle, if so.
pub(crate) fn busy_message(
    before: &Load,
    after: &Load,
    elapsed_ms: u64,
    processors: usize,
    spread: f64,
) -> Option<String> {
    let share = |before: Option<u64>, after: Option<u64>, per_ms: u64| {
        let waited = after?.checked_sub(before?)?;
        Some(100.0 * waited as f64 / (elapsed_ms.max(1) * per_ms) as f64)
    };
    let percent = |name: &str, value: Option<f64>, max: f64| {
        value.filter(|value| *value > max).map(|value| format!("{name} {value:.0} % of the time"))
    };
    let average = before.average.filter(|average| *average > 0.5 * processors as f64);
    let reasons: Vec<String> = [
        average.map(|average| format!("a load of {average:.1} on {processors} processors before the start")),
        percent(
            "work waited for a processor",
            share(before.cpu_pressure_us, after.cpu_pressure_us, 1000),
            10.0,
        ),
        percent("the hypervisor took processors away", share(before.stolen_ms, after.stolen_ms, 1), 2.0),
        (spread > 0.05).then(|| format!("equal hashes differed by {:.0} %", 100.0 * spread)),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!reasons.is_empty())
        .then(|| format!("the machine was busy ({}): run it again when it is idle", reasons.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_all_reasons() {
        let idle = Load {
            average: Some(0.2),
            stolen_ms: Some(10),
            cpu_pressure_us: Some(5000),
            memory_pressure_us: None,
        };
        assert_eq!(busy_message(&idle, &idle, 1000, 2, 0.01), None);
        assert_eq!(
            busy_message(&Load::default(), &Load::default(), 1000, 2, 0.01),
            None,
            "not reported by the system"
        );
        let loaded = Load { average: Some(3.0), ..idle };
        let later = Load { stolen_ms: Some(60), cpu_pressure_us: Some(305_000), ..idle };
        assert_eq!(
            busy_message(&loaded, &later, 1000, 2, 0.2).expect("busy"),
            "the machine was busy (a load of 3.0 on 2 processors before the start, work waited for a processor 30 % of the time, \
             the hypervisor took processors away 5 % of the time, equal hashes differed by 20 %): run it again when it is idle"
        );
    }
}
