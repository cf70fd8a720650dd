//! Number of connections of each address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections by address, up to a maximum for each.
#[derive(Clone)]
pub(in crate::shell) struct Addresses {
    max: usize,
    counts: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// A connection that counts until it is dropped.
pub(in crate::shell) struct AddressPermit {
    address: IpAddr,
    addresses: Addresses,
}

impl Addresses {
    pub(in crate::shell) fn new(max: usize) -> Addresses {
        Addresses { max, counts: Arc::default() }
    }

    /// Counts a connection. `None`: the address has the maximum.
    pub(in crate::shell) fn acquire(&self, address: IpAddr) -> Option<AddressPermit> {
        // One address of version 4, also through a socket of version 6.
        let address = address.to_canonical();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(AddressPermit { address, addresses: self.clone() })
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut counts = self.addresses.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_maximum() {
        let addresses = Addresses::new(2);
        let parse = |text: &str| text.parse::<IpAddr>().expect("an address");
        let first = addresses.acquire(parse("192.0.2.1"));
        let _second = addresses.acquire(parse("::ffff:192.0.2.1")).expect("room");
        assert!(addresses.acquire(parse("192.0.2.1")).is_none());
        assert!(addresses.acquire(parse("192.0.2.2")).is_some());
        drop(first);
        assert!(addresses.acquire(parse("192.0.2.1")).is_some());
        drop(_second);
        assert!(addresses.counts.lock().expect("no panic").is_empty());
    }
}
