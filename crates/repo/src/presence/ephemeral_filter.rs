//! Filter of ephemeral messages that were received before.

use std::collections::BTreeMap;

/// Maximum number of sessions that are remembered.
const MAX_SESSIONS: usize = 4096;

/// Drops ephemeral messages that came before, or after a later one of their session. Receivers pass messages back to the
/// server that they came from, so each may come several times.
#[derive(Clone, Debug, Default)]
pub struct EphemeralFilter {
    sessions: BTreeMap<String, BTreeMap<String, Session>>,
    /// The least recently heard session has the lowest number.
    by_age: BTreeMap<u64, (String, String)>,
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
        if let Some(known) = self.sessions.get_mut(sender).and_then(|all| all.get_mut(session)) {
            if count <= known.last_count {
                return false;
            }
            known.last_count = count;
            let names = self.by_age.remove(&known.age);
            known.age = self.clock;
            self.by_age.extend(names.map(|names| (self.clock, names)));
            return true;
        }
        if self.by_age.len() == MAX_SESSIONS {
            self.forget_oldest();
        }
        let names = (sender.to_owned(), session.to_owned());
        let known = Session { last_count: count, age: self.clock };
        self.sessions.entry(names.0.clone()).or_default().insert(names.1.clone(), known);
        self.by_age.insert(self.clock, names);
        true
    }

    fn forget_oldest(&mut self) {
        let Some((_, (sender, session))) = self.by_age.pop_first() else { return };
        if let Some(all) = self.sessions.get_mut(&sender) {
            all.remove(&session);
            if all.is_empty() {
                self.sessions.remove(&sender);
            }
        }
    }
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
        assert_eq!(filter.sessions.values().map(BTreeMap::len).sum::<usize>(), MAX_SESSIONS);
    }
}
