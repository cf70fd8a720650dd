//! Interprets events: a pure function from a profile to sentences.

use super::profile::Profile;

/// Least size of inputs that should be in huge pages.
const LARGE: u64 = 2 << 20;

/// Fewer misses per thousand instructions have no visible cost, whatever their rate: a miss costs about twenty
/// cycles, a thousand instructions several hundred.
const FEWEST: f64 = 0.2;

/// Sentences for a profile; none if nothing is unusual.
pub(crate) fn readings(profile: &Profile) -> Vec<String> {
    let of = |name: &str| profile.events.get(name).copied();
    let share = |part: &str, whole: &str| Some(of(part)? / of(whole).filter(|whole| *whole > 0.0)?);
    let mut out = Vec::new();
    if let Some(ipc) = share("instructions", "cycles") {
        out.push(match ipc {
            ipc if ipc < 1.0 => {
                format!("{ipc:.2} instructions per cycle: the core waits, for memory or for a long dependency chain")
            }
            ipc if ipc > 3.0 => {
                format!("{ipc:.2} instructions per cycle: the ports are busy; only fewer instructions help")
            }
            ipc => format!("{ipc:.2} instructions per cycle"),
        });
    }
    for (part, whole, limit, means) in [
        ("dTLB-load-misses", "dTLB-loads", 0.05, "the TLB is too small for the pages: try huge pages"),
        (
            "L1-dcache-load-misses",
            "L1-dcache-loads",
            0.05,
            "the data do not fit the L1 cache: try smaller tiles",
        ),
        ("branch-misses", "branches", 0.01, "branches are mispredicted: try to avoid them"),
    ] {
        // The share of a rare event has no meaning.
        let often = of(part).is_some_and(|count| count >= 1.0)
            && share(part, "instructions").is_none_or(|share| share * 1e3 >= FEWEST);
        if let Some(share) = share(part, whole).filter(|share| often && *share > limit) {
            out.push(format!("{:.1} % of {whole} miss: {means}", share * 100.0));
        }
    }
    if let Some(misses) = share("LLC-load-misses", "instructions").filter(|share| *share > 0.005) {
        out.push(format!(
            "{:.1} loads per thousand instructions go to memory: its speed is the limit",
            misses * 1e3
        ));
    }
    if let Some(faults) = of("page-faults").filter(|faults| *faults >= 0.5) {
        out.push(format!(
            "{faults:.1} page faults per call: memory is allocated in each call; reuse the buffers"
        ));
    }
    if let Some(switches) = of("context-switches").filter(|switches| *switches >= 0.5) {
        out.push(format!("{switches:.1} involuntary switches per call: too few processors for the threads"));
    }
    if profile.input_bytes.is_some_and(|bytes| bytes >= LARGE) && profile.huge_bytes == Some(0) {
        out.push("no memory is in huge pages: processes will differ randomly".to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings_of(events: &[(&str, f64)]) -> String {
        let events = events.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        readings(&Profile { events, ..Profile::default() }).join("\n")
    }

    #[test]
    fn suggests_huge_pages_for_the_published_miner() {
        let text = readings_of(&[
            ("cycles", 100.0),
            ("instructions", 133.0),
            ("dTLB-loads", 100.0),
            ("dTLB-load-misses", 93.89),
        ]);
        assert!(text.contains("1.33 instructions per cycle\n"), "{text}");
        assert!(
            text.contains("93.9 % of dTLB-loads miss: the TLB is too small for the pages: try huge pages"),
            "{text}"
        );
    }

    #[test]
    fn extremes_are_named() {
        assert!(readings_of(&[("cycles", 100.0), ("instructions", 40.0)]).contains("the core waits"));
        assert!(readings_of(&[("cycles", 100.0), ("instructions", 390.0)]).contains("the ports are busy"));
        assert!(readings_of(&[("page-faults", 16.0)]).contains("16.0 page faults per call"));
        assert!(
            readings_of(&[("instructions", 1000.0), ("LLC-load-misses", 9.0)])
                .contains("9.0 loads per thousand")
        );
    }

    #[test]
    fn usual_and_unknown_values_give_no_sentence() {
        assert_eq!(readings_of(&[]), "");
        assert_eq!(readings_of(&[("branches", 1000.0), ("branch-misses", 2.0), ("page-faults", 0.01)]), "");
        assert_eq!(
            readings_of(&[("cycles", 0.0), ("instructions", 5.0)]),
            "",
            "nothing is divided by nothing"
        );
    }

    #[test]
    fn large_shares_of_rare_events_give_no_sentence() {
        let loads = [("dTLB-loads", 0.002), ("dTLB-load-misses", 0.00082), ("instructions", 30_000.0)];
        assert!(!readings_of(&loads).contains("dTLB"), "41 % of one load in five hundred calls");
        let loads = [("dTLB-loads", 10.0), ("dTLB-load-misses", 4.0), ("instructions", 30_000.0)];
        assert!(!readings_of(&loads).contains("dTLB"), "four misses in thirty thousand instructions");
        let loads = [("dTLB-loads", 9_000.0), ("dTLB-load-misses", 4_000.0), ("instructions", 30_000.0)];
        assert!(readings_of(&loads).contains("44.4 % of dTLB-loads miss"));
    }

    #[test]
    fn large_inputs_in_small_pages_are_pointed_at() {
        let profile =
            |bytes, huge| readings(&Profile { input_bytes: bytes, huge_bytes: huge, ..Profile::default() });
        assert_eq!(profile(Some(64 << 20), Some(0)).len(), 1);
        assert!(profile(Some(64 << 20), Some(2 << 20)).is_empty());
        assert!(profile(Some(64 << 10), Some(0)).is_empty());
        assert!(profile(None, Some(0)).is_empty());
    }
}
