//! What guessing costs somebody who has the hashes and buys or rents a graphics card. Arithmetic only.

use hashmill_hash::argon2::{Params, Version};

/// A graphics card, by its data sheet, and what it costs.
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
    /// US dollars to buy it.
    pub(super) price: f64,
    /// US dollars to rent it for an hour, power included.
    pub(super) rent: f64,
}

const fn card(name: &'static str, label: &'static str, sheet: [f64; 3], [price, rent]: [f64; 2]) -> Card {
    let [gb_per_s, gb, watts] = sheet;
    Card { name, label, bandwidth: gb_per_s * 1e9, memory: gb * 1e9, watts, price, rent }
}

/// All cards: GB/s, GB and watts of the data sheet; prices as in docs/password.md, which says where they come from.
pub(super) const CARDS: [Card; 5] = [
    card("rtx-4090", "NVIDIA RTX 4090", [1008.0, 24.0, 450.0], [1599.0, 0.34]),
    card("rtx-5090", "NVIDIA RTX 5090", [1792.0, 32.0, 575.0], [1999.0, 0.69]),
    card("h100", "NVIDIA H100 SXM", [3350.0, 80.0, 700.0], [25_000.0, 1.99]),
    card("h200", "NVIDIA H200 SXM", [4800.0, 141.0, 700.0], [30_000.0, 2.50]),
    card("mi300x", "AMD MI300X", [5300.0, 192.0, 750.0], [15_000.0, 1.50]),
];

/// What things cost the attacker, in one currency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// A kilowatt hour.
    pub(super) kwh: f64,
    /// A card, bought.
    pub(super) card: f64,
    /// How many years of work it then does.
    pub(super) years: f64,
    /// A card, rented for an hour.
    pub(super) rent: f64,
}

/// What trying passwords costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bill {
    /// Passwords in a second, at most.
    pub(super) rate: f64,
    pub(super) seconds: f64,
    pub(super) kwh: f64,
    /// For the energy alone: what it costs somebody who has the card anyway.
    pub(super) energy: f64,
    /// The share of the card's life that it takes, at the price of the card.
    pub(super) wear: f64,
    /// For renting the card instead.
    pub(super) rent: f64,
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
    pub(super) fn bill(&self, params: Params, guesses: f64, prices: Prices) -> Bill {
        let needed = params.blocks() as f64 * 1024.0;
        let rate = if needed > self.memory { 0.0 } else { self.bandwidth / traffic(params) };
        let seconds = guesses / rate;
        let hours = seconds / 3600.0;
        let kwh = hours * self.watts / 1000.0;
        let wear = prices.card * hours / (prices.years * HOURS_OF_A_YEAR);
        Bill { rate, seconds, kwh, energy: kwh * prices.kwh, wear, rent: hours * prices.rent }
    }
}

const HOURS_OF_A_YEAR: f64 = 365.25 * 24.0;

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

    const PRICES: Prices = Prices { kwh: 0.5, card: 8766.0, years: 2.0, rent: 3.0 };

    #[test]
    fn a_bill_is_bandwidth_over_traffic() {
        let card = card("x", "X", [1000.0, 1.0, 500.0], [0.0, 0.0]);
        // 64 MiB, 3 passes: 64 MiB times (2 + 3 + 3).
        let params = Params::new(65536, 3, 1).expect("good costs");
        let bill = card.bill(params, 1e9, PRICES);
        assert!((bill.rate - 1e12 / (8.0 * 67_108_864.0)).abs() < 1e-6, "{bill:?}");
        assert!((bill.kwh - bill.seconds / 7200.0).abs() < 1e-6);
        let old = card.bill(params.with_version(Version::V10), 1e9, PRICES);
        assert!(old.rate > bill.rate, "overwriting moves less");
        let large = Params::new(1 << 20, 1, 1).expect("good costs");
        assert_eq!(card.bill(large, 1.0, PRICES).rate, 0.0, "it does not fit");
    }

    #[test]
    fn owning_costs_energy_and_wear_and_renting_costs_hours() {
        let card = card("x", "X", [1000.0, 1.0, 500.0], [0.0, 0.0]);
        let params = Params::new(65536, 3, 1).expect("good costs");
        // As many guesses as take a thousand hours.
        let guesses = card.bill(params, 1.0, PRICES).rate * 3600.0 * 1000.0;
        let bill = card.bill(params, guesses, PRICES);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b} {bill:?}");
        near(bill.seconds, 3.6e6);
        near(bill.kwh, 500.0);
        near(bill.energy, 250.0);
        near(bill.wear, 500.0);
        near(bill.rent, 3000.0);
    }

    #[test]
    fn cards_have_names() {
        for card in CARDS {
            assert_eq!(Card::by_name(card.name).map(|found| found.label), Some(card.label));
            assert!(card.price > 0.0 && card.rent > 0.0);
        }
        assert!(Card::by_name("abacus").is_none());
    }
}
