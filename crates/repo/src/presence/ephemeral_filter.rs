//! Filter of ephemeral messages that were received before.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// Maximum number of sessions that are remembered.
const MAX_SESSIONS: usize = 4096;

/// Digest of a sender and a session. Peers choose both texts, of any length.
type SessionKey = [u8; 32];

/// Drops ephemeral messages that came before, or after a later one of their session. Receivers pass messages back to the
/// server that they came from, so each may come several times.
///
/// It remembers at most 4096 sessions, in at most 1 MiB whatever the lengths of ids and sessions.
#[derive(Clone, Debug, Default)]
pub struct EphemeralFilter {
    sessions: BTreeMap<SessionKey, Session>,
    /// The least recently heard session has the lowest number.
    by_age: BTreeMap<u64, SessionKey>,
    clock: u64,
}

#[derive(Clone, Debug)]
struct Session {
    last_count: u64,
    age: u64,
}

impl EphemeralFilter {
    /// A filter that has seen no message.
    pub fn new() -> EphemeralFilter {
        EphemeralFilter::default()
    }

    /// Is this message newer than all before it in its session? If it is, it is remembered.
    ///
    /// At most 4096 sessions are remembered; beyond that the one that was silent for longest is forgotten.
    pub fn accept(&mut self, sender: &str, session: &str, count: u64) -> bool {
        self.clock += 1;
        let key = session_key(sender, session);
        if let Some(known) = self.sessions.get_mut(&key) {
            if count <= known.last_count {
                return false;
            }
            known.last_count = count;
            self.by_age.remove(&known.age);
            known.age = self.clock;
            self.by_age.insert(self.clock, key);
            return true;
        }
        if self.by_age.len() == MAX_SESSIONS
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.sessions.remove(&oldest);
        }
        self.sessions.insert(key, Session { last_count: count, age: self.clock });
        self.by_age.insert(self.clock, key);
        true
    }
}

fn session_key(sender: &str, session: &str) -> SessionKey {
    let digest = Sha256::new()
        // Without the length, other pairs have the same bytes.
        .chain_update((sender.len() as u64).to_le_bytes())
        .chain_update(sender)
        .chain_update(session);
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_and_late_messages_are_dropped() {
        let mut filter = EphemeralFilter::new();
        for (sender, session, count, is_new) in [
            ("a", "s", 1, true),
            ("a", "s", 1, false),
            ("a", "s", 3, true),
            ("a", "s", 2, false),
            // Another start of the program, and another program.
            ("a", "t", 1, true),
            ("b", "s", 1, true),
            ("a", "s", 4, true),
            // Other texts that are equal one after another.
            ("as", "", 1, true),
            ("", "as", 1, true),
        ] {
            assert_eq!(filter.accept(sender, session, count), is_new, "{sender} {session} {count}");
        }
    }

    #[test]
    fn remembers_a_bounded_number_of_sessions() {
        let mut filter = EphemeralFilter::new();
        assert!(filter.accept("first", "s", 7) && filter.accept("second", "s", 7));
        for number in 0..MAX_SESSIONS - 2 {
            assert!(filter.accept("many", &number.to_string(), 1));
        }
        // The first session was heard last, so the second one is forgotten.
        assert!(filter.accept("first", "s", 8));
        assert!(filter.accept("one more", "s", 1));
        assert!(!filter.accept("first", "s", 8) && filter.accept("second", "s", 7));
        assert_eq!(filter.by_age.len(), MAX_SESSIONS);
        assert_eq!(filter.sessions.len(), MAX_SESSIONS);
    }
}
