//! What the events mean, in words: a pure function from a profile to sentences.

use super::Profile;

/// Inputs from here on belong into huge pages.
const LARGE: u64 = 2 << 20;

/// Misses below this many for a thousand instructions cost nothing that could be seen, however large a share they are of
/// what could have missed: one costs some twenty cycles, a thousand instructions some hundreds.
const FEWEST: f64 = 0.2;

/// The sentences that a profile supports; none where nothing stands out.
pub(crate) fn readings(profile: &Profile) -> Vec<String> {
    let of = |name: &str| profile.events.get(name).copied();
    let share = |part: &str, whole: &str| Some(of(part)? / of(whole).filter(|whole| *whole > 0.0)?);
    let mut out = Vec::new();
    if let Some(ipc) = share("instructions", "cycles") {
        out.push(match ipc {
            ipc if ipc < 1.0 => {
                format!("{ipc:.2} instructions per cycle: the core waits, for memory or for one long chain")
            }
            ipc if ipc > 3.0 => {
                format!("{ipc:.2} instructions per cycle: the ports are busy; only fewer instructions help")
            }
            ipc => format!("{ipc:.2} instructions per cycle"),
        });
    }
    for (part, whole, limit, means) in [
        ("dTLB-load-misses", "dTLB-loads", 0.05, "the pages are too many for their table: try huge pages"),
        (
            "L1-dcache-load-misses",
            "L1-dcache-loads",
            0.05,
            "the work does not fit the first cache: try smaller tiles",
        ),
        ("branch-misses", "branches", 0.01, "branches surprise the core: try to do without them"),
    ] {
        // Of an event that hardly occurs, no share means anything.
        let often = of(part).is_some_and(|count| count >= 1.0)
            && share(part, "instructions").is_none_or(|share| share * 1e3 >= FEWEST);
        if let Some(share) = share(part, whole).filter(|share| often && *share > limit) {
            out.push(format!("{:.1} % of {whole} miss: {means}", share * 100.0));
        }
    }
    if let Some(misses) = share("LLC-load-misses", "instructions").filter(|share| *share > 0.005) {
        out.push(format!(
            "{:.1} loads of a thousand instructions go to memory: its speed decides",
            misses * 1e3
        ));
    }
    if let Some(faults) = of("page-faults").filter(|faults| *faults >= 0.5) {
        out.push(format!(
            "{faults:.1} page faults per call: memory is asked for anew each time; keep the buffers"
        ));
    }
    if let Some(switches) = of("context-switches").filter(|switches| *switches >= 0.5) {
        out.push(format!("{switches:.1} involuntary switches per call: too few processors for the threads"));
    }
    if profile.input_bytes.is_some_and(|bytes| bytes >= LARGE) && profile.huge_bytes == Some(0) {
        out.push("nothing lies in huge pages: processes will differ by the luck of their pages".to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(events: &[(&str, f64)]) -> String {
        let events = events.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        readings(&Profile { events, ..Profile::default() }).join("\n")
    }

    #[test]
    fn the_published_miner_is_told_to_try_huge_pages() {
        let text = said(&[
            ("cycles", 100.0),
            ("instructions", 133.0),
            ("dTLB-loads", 100.0),
            ("dTLB-load-misses", 93.89),
        ]);
        assert!(text.contains("1.33 instructions per cycle\n"), "{text}");
        assert!(
            text.contains(
                "93.9 % of dTLB-loads miss: the pages are too many for their table: try huge pages"
            ),
            "{text}"
        );
    }

    #[test]
    fn extremes_are_named() {
        assert!(said(&[("cycles", 100.0), ("instructions", 40.0)]).contains("the core waits"));
        assert!(said(&[("cycles", 100.0), ("instructions", 390.0)]).contains("the ports are busy"));
        assert!(said(&[("page-faults", 16.0)]).contains("16.0 page faults per call"));
        assert!(
            said(&[("instructions", 1000.0), ("LLC-load-misses", 9.0)]).contains("9.0 loads of a thousand")
        );
    }

    #[test]
    fn what_is_usual_or_unknown_is_not_talked_about() {
        assert_eq!(said(&[]), "");
        assert_eq!(said(&[("branches", 1000.0), ("branch-misses", 2.0), ("page-faults", 0.01)]), "");
        assert_eq!(said(&[("cycles", 0.0), ("instructions", 5.0)]), "", "nothing is divided by nothing");
    }

    #[test]
    fn a_large_share_of_next_to_nothing_is_not_talked_about() {
        let loads = [("dTLB-loads", 0.002), ("dTLB-load-misses", 0.00082), ("instructions", 30_000.0)];
        assert!(!said(&loads).contains("dTLB"), "41 % of one load in five hundred calls");
        let loads = [("dTLB-loads", 10.0), ("dTLB-load-misses", 4.0), ("instructions", 30_000.0)];
        assert!(!said(&loads).contains("dTLB"), "four misses in thirty thousand instructions");
        let loads = [("dTLB-loads", 9_000.0), ("dTLB-load-misses", 4_000.0), ("instructions", 30_000.0)];
        assert!(said(&loads).contains("44.4 % of dTLB-loads miss"));
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
