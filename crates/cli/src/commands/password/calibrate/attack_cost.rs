//! Cost of guessing passwords for an attacker who has the hashes and buys or rents a graphics card.

use hashmill_hash::argon2::{Params, Version};

/// A graphics card: figures of its data sheet and prices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Card {
    /// Name on the command line.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// Memory bandwidth in bytes per second.
    bandwidth: f64,
    /// Memory in bytes.
    memory: f64,
    /// Power under load in watts.
    watts: f64,
    /// Price in US dollars.
    pub(super) price: f64,
    /// Rent per hour in US dollars, power included.
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

/// Prices that the attacker pays, in one currency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    /// Of a kilowatt hour.
    pub(super) kwh: f64,
    /// Of buying a card.
    pub(super) card: f64,
    /// Years of service of a card.
    pub(super) years: f64,
    /// Of renting a card for an hour.
    pub(super) rent: f64,
}

/// Lower bound of the cost of trying passwords.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct AttackCost {
    /// Passwords per second, at most.
    pub(super) rate: f64,
    pub(super) seconds: f64,
    pub(super) kwh: f64,
    /// For the energy alone, if the attacker owns the card anyway.
    pub(super) energy: f64,
    /// The part of the card's service life that is used up, at the card's price.
    pub(super) wear: f64,
    /// For renting a card instead.
    pub(super) rent: f64,
}

impl Card {
    pub(super) fn by_name(name: &str) -> Option<Card> {
        CARDS.into_iter().find(|card| card.name == name)
    }

    pub(super) fn gb_per_s(&self) -> f64 {
        self.bandwidth / 1e9
    }

    /// Lower bound of the cost of `guesses` passwords on this card. No program can do better, as every block must go through
    /// the card's memory; known programs are slower.
    pub(super) fn attack_cost(&self, params: Params, guesses: f64, prices: Prices) -> AttackCost {
        let needed = params.blocks() as f64 * 1024.0;
        let rate = if needed > self.memory { 0.0 } else { self.bandwidth / memory_traffic(params) };
        let seconds = guesses / rate;
        let hours = seconds / 3600.0;
        let kwh = hours * self.watts / 1000.0;
        let wear = prices.card * hours / (prices.years * HOURS_PER_YEAR);
        AttackCost { rate, seconds, kwh, energy: kwh * prices.kwh, wear, rent: hours * prices.rent }
    }
}

const HOURS_PER_YEAR: f64 = 365.25 * 24.0;

/// Bytes that one hash moves to and from memory: each block reads a reference block and is written; in version 1.3 later
/// passes also read the old content. The previous block is in a register or cache.
fn memory_traffic(params: Params) -> f64 {
    let later = if params.version() == Version::V13 { 3.0 } else { 2.0 };
    let blocks = params.blocks() as f64;
    blocks * 1024.0 * (2.0 + later * f64::from(params.passes() - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices { kwh: 0.5, card: 8766.0, years: 2.0, rent: 3.0 };

    #[test]
    fn rate_is_bandwidth_over_traffic() {
        let card = card("x", "X", [1000.0, 1.0, 500.0], [0.0, 0.0]);
        // 64 MiB, 3 passes: 64 MiB times (2 + 3 + 3).
        let params = Params::new(65536, 3, 1).expect("good costs");
        let cost = card.attack_cost(params, 1e9, PRICES);
        assert!((cost.rate - 1e12 / (8.0 * 67_108_864.0)).abs() < 1e-6, "{cost:?}");
        assert!((cost.kwh - cost.seconds / 7200.0).abs() < 1e-6);
        let old = card.attack_cost(params.with_version(Version::V10), 1e9, PRICES);
        assert!(old.rate > cost.rate, "version 1.0 overwrites blocks, which moves less");
        let large = Params::new(1 << 20, 1, 1).expect("good costs");
        assert_eq!(card.attack_cost(large, 1.0, PRICES).rate, 0.0, "it does not fit");
    }

    #[test]
    fn owning_costs_energy_and_wear_renting_costs_hours() {
        let card = card("x", "X", [1000.0, 1.0, 500.0], [0.0, 0.0]);
        let params = Params::new(65536, 3, 1).expect("good costs");
        // Guesses for 1,000 hours.
        let guesses = card.attack_cost(params, 1.0, PRICES).rate * 3600.0 * 1000.0;
        let cost = card.attack_cost(params, guesses, PRICES);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b} {cost:?}");
        near(cost.seconds, 3.6e6);
        near(cost.kwh, 500.0);
        near(cost.energy, 250.0);
        near(cost.wear, 500.0);
        near(cost.rent, 3000.0);
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
