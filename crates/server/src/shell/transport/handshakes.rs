//! TLS handshakes in flight, up to a maximum.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// Handshakes in flight. Beyond the maximum, the oldest one is given up: those of honest clients take milliseconds.
#[derive(Clone)]
pub(super) struct Handshakes {
    max: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    last_number: u64,
    /// Each ends when its entry is dropped.
    ends: BTreeMap<u64, oneshot::Sender<()>>,
}

/// A handshake that counts until it is dropped.
pub(super) struct Handshake {
    number: u64,
    end: oneshot::Receiver<()>,
    handshakes: Handshakes,
}

impl Handshakes {
    pub(super) fn new(max: usize) -> Handshakes {
        Handshakes { max, open: Arc::default() }
    }

    /// Counts a handshake, and gives up the oldest one if there are too many.
    pub(super) fn start(&self) -> Handshake {
        let (sender, end) = oneshot::channel();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.last_number += 1;
        let number = open.last_number;
        open.ends.insert(number, sender);
        if open.ends.len() > self.max {
            open.ends.pop_first();
        }
        Handshake { number, end, handshakes: self.clone() }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.open.lock().expect("no panic").ends.len()
    }
}

impl Handshake {
    /// Returns when this handshake is given up.
    pub(super) async fn given_up(&mut self) {
        // The sender sends nothing: it is dropped.
        let _ = (&mut self.end).await;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut open = self.handshakes.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.ends.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_handshake_makes_room() {
        let handshakes = Handshakes::new(2);
        let [mut first, mut second] = [(); 2].map(|()| handshakes.start());
        let is_open = |handshake: &mut Handshake| {
            matches!(handshake.end.try_recv(), Err(oneshot::error::TryRecvError::Empty))
        };
        assert!(is_open(&mut first) && is_open(&mut second));
        let mut third = handshakes.start();
        assert_eq!([&mut first, &mut second, &mut third].map(is_open), [false, true, true]);
        drop(first);
        assert_eq!(handshakes.len(), 2);
        drop(second);
        let mut fourth = handshakes.start();
        assert!(is_open(&mut third) && is_open(&mut fourth));
        drop((third, fourth));
        assert_eq!(handshakes.len(), 0);
    }
}
