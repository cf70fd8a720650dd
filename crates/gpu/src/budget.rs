//! Memory that several engines want, counted in one place. No device is touched here.

use crate::{Info, Kind};
use hashmill_hash::argon2::Params;

/// How much memory there is for hashes of several engines, and what is left of it: the host's, which processors have and devices that
/// have none of their own, and that of each card, whichever interfaces it is reached by.
///
/// It counts what it is told, in the order in which it is told: whoever comes first has more.
#[derive(Clone, Debug)]
pub struct Budget {
    host: u64,
    /// Cards, and what is left of each.
    cards: Vec<(Info, u64)>,
}

impl Budget {
    /// With so many bytes of the host's memory for all engines together.
    pub fn new(host: u64) -> Budget {
        Budget { host, cards: Vec::new() }
    }

    /// For how many hashes on the processor there is memory, of so many that are wanted. They have it from then on.
    pub fn processor(&mut self, params: Params, wanted: usize) -> usize {
        take(&mut self.host, params, wanted)
    }

    /// The same on a device. One that does not tell how much memory it has gets what is wanted: it says so itself where that is too much.
    pub fn device(&mut self, device: &Info, params: Params, wanted: usize) -> usize {
        let left = match (device.kind, device.memory) {
            (Kind::Integrated | Kind::Software, _) => &mut self.host,
            (_, None) => return wanted,
            (_, Some(memory)) => {
                let known = self.cards.iter().position(|(card, _)| card.is_same(device));
                let number = known.unwrap_or_else(|| {
                    // Others have some of it.
                    self.cards.push((device.clone(), memory - memory / 20));
                    self.cards.len() - 1
                });
                &mut self.cards[number].1
            }
        };
        take(left, params, wanted)
    }
}

fn take(left: &mut u64, params: Params, wanted: usize) -> usize {
    let (blocks, lanes) = (params.blocks() * 1024, u64::from(params.lanes()));
    // Besides its blocks, a share of the references, and the ends of lanes on their way.
    let each = blocks + blocks / 128 + lanes * 4096;
    let fit = usize::try_from(*left / each).unwrap_or(usize::MAX).min(wanted);
    *left -= fit as u64 * each;
    fit
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn device(kind: Kind, interface: &'static str, bus: Option<&str>, memory: Option<u64>) -> Info {
        Info {
            name: "a device".to_owned(),
            id: None,
            bus: bus.map(str::to_owned),
            kind,
            interface,
            driver: String::new(),
            memory,
            binding: 0,
            buffer: 0,
            subgroup: 0,
            lacks: None,
        }
    }

    #[test]
    fn the_hosts_memory_is_there_once_for_the_processor_and_devices_without_their_own() {
        let params = Params::new(1 << 20, 1, 1).unwrap();
        let mut budget = Budget::new(16 * GIB);
        let integrated = device(Kind::Integrated, "Vulkan", None, Some(16 * GIB));
        assert_eq!(budget.processor(params, 4), 4);
        assert_eq!(budget.device(&integrated, params, 100), 11, "16 less 4, and something besides each");
        assert_eq!(budget.processor(params, 1), 0);
        assert_eq!(budget.device(&device(Kind::Software, "Vulkan", None, None), params, 1), 0);
        // Of less memory there is still some.
        assert_eq!(budget.processor(Params::new(1 << 10, 1, 1).unwrap(), 7), 7);
    }

    #[test]
    fn a_card_is_there_once_by_whichever_interface() {
        let params = Params::new(1 << 20, 3, 4).unwrap();
        let card = |interface, bus| device(Kind::Discrete, interface, bus, Some(40 * GIB));
        let mut budget = Budget::new(0);
        assert_eq!(budget.device(&card("CUDA", Some("1")), params, 30), 30);
        assert_eq!(budget.device(&card("Vulkan", Some("1")), params, 30), 7, "38 less 30");
        assert_eq!(budget.device(&card("CUDA", Some("2")), params, 100), 37);
        // Nobody knows that these are one.
        assert_eq!([(); 2].map(|()| budget.device(&card("Metal", None), params, 37)), [37; 2]);
        assert_eq!(budget.device(&device(Kind::Discrete, "Metal", None, None), params, 99), 99);
        assert_eq!(budget.processor(params, 1), 0);
    }
}
