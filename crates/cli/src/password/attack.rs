//! What guessing costs somebody who has the hashes and a graphics card. Arithmetic only.

use hashmill_hash::argon2::{Params, Version};

/// A graphics card, by its data sheet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Card {
    /// As on the command line.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// Bytes that its memory moves in a second.
    bandwidth: f64,
    /// Bytes of its memory.
    memory: f64,
    /// Watts under load.
    watts: f64,
}

const fn card(name: &'static str, label: &'static str, gb_per_s: f64, gb: f64, watts: f64) -> Card {
    Card { name, label, bandwidth: gb_per_s * 1e9, memory: gb * 1e9, watts }
}

/// All cards.
pub(super) const CARDS: [Card; 5] = [
    card("rtx-4090", "NVIDIA RTX 4090", 1008.0, 24.0, 450.0),
    card("rtx-5090", "NVIDIA RTX 5090", 1792.0, 32.0, 575.0),
    card("h100", "NVIDIA H100 SXM", 3350.0, 80.0, 700.0),
    card("h200", "NVIDIA H200 SXM", 4800.0, 141.0, 700.0),
    card("mi300x", "AMD MI300X", 5300.0, 192.0, 750.0),
];

/// What trying passwords costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bill {
    /// Passwords in a second, at most.
    pub(super) rate: f64,
    pub(super) seconds: f64,
    pub(super) kwh: f64,
    pub(super) price: f64,
}

impl Card {
    pub(super) fn by_name(name: &str) -> Option<Card> {
        CARDS.into_iter().find(|card| card.name == name)
    }

    pub(super) fn gb_per_s(&self) -> f64 {
        self.bandwidth / 1e9
    }

    /// The least that `guesses` passwords cost on this card. No program can do better, as every block must go through
    /// the card's memory; none that is known does quite as well.
    pub(super) fn bill(&self, params: Params, guesses: f64, price_per_kwh: f64) -> Bill {
        let needed = params.blocks() as f64 * 1024.0;
        let rate = if needed > self.memory { 0.0 } else { self.bandwidth / traffic(params) };
        let seconds = guesses / rate;
        let kwh = seconds / 3600.0 * self.watts / 1000.0;
        Bill { rate, seconds, kwh, price: kwh * price_per_kwh }
    }
}

/// Bytes that one hash moves to and from memory: each block reads another one and is written; in version 1.3 later
/// passes read what was there before, too. The block before is at hand.
fn traffic(params: Params) -> f64 {
    let later = if params.version() == Version::V13 { 3.0 } else { 2.0 };
    let blocks = params.blocks() as f64;
    blocks * 1024.0 * (2.0 + later * f64::from(params.passes() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_bandwidth_over_traffic() {
        let card = card("x", "X", 1000.0, 1.0, 500.0);
        // 64 MiB, 3 passes: 64 MiB times (2 + 3 + 3).
        let params = Params::new(65536, 3, 1).expect("good costs");
        let bill = card.bill(params, 1e9, 0.5);
        assert!((bill.rate - 1e12 / (8.0 * 67_108_864.0)).abs() < 1e-6, "{bill:?}");
        assert!((bill.kwh - bill.seconds / 7200.0).abs() < 1e-6);
        assert!((bill.price - bill.kwh / 2.0).abs() < 1e-9);
        let old = card.bill(params.with_version(Version::V10), 1e9, 0.5);
        assert!(old.rate > bill.rate, "overwriting moves less");
        let large = Params::new(1 << 20, 1, 1).expect("good costs");
        assert_eq!(card.bill(large, 1.0, 1.0).rate, 0.0, "it does not fit");
    }

    #[test]
    fn cards_have_names() {
        for card in CARDS {
            assert_eq!(Card::by_name(card.name).map(|found| found.label), Some(card.label));
        }
        assert!(Card::by_name("abacus").is_none());
    }
}
