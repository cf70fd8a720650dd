//! Rates of messages: a socket that sends too fast is not read for a while, and loses nothing.

use std::time::Duration;

use crate::config::Config;
use crate::core::Core;
use crate::core::defect::Defect;
use crate::event::Action;
use crate::ids::SocketId;

/// A socket may send for this time at once what it may send during that time.
pub(crate) const BURST: Duration = Duration::from_secs(2);

impl Config {
    /// The time that a message of this size uses up.
    pub(crate) fn message_cost(&self, bytes: usize) -> Duration {
        let share = |count: usize, per_second: Option<u64>| {
            // A message of any size costs a day at most: its sum with a time is in range.
            let seconds = per_second.map_or(0.0, |rate| count as f64 / (rate.max(1) as f64));
            Duration::from_secs_f64(seconds.min(86_400.0))
        };
        share(1, self.messages_per_second).max(share(bytes, self.bytes_per_second))
    }
}

impl Core {
    /// Charges a socket for a message. Asks the caller to stop reading if the socket is ahead of its rate.
    pub(in crate::core) fn charge(&mut self, id: SocketId, bytes: usize) {
        let cost = self.config.message_cost(bytes);
        let Some(socket) = self.sockets.get_mut(id).filter(|_| !cost.is_zero()) else { return };
        socket.paid_at = socket.paid_at.max(self.now) + cost;
        let resumes_at = socket.paid_at.saturating_sub(BURST);
        if resumes_at > self.now && !self.has(Defect::NoPause) && self.sockets.pause(id, resumes_at) {
            self.counts.pauses += 1;
            self.actions.push(Action::PauseReads(id));
        }
    }

    /// Asks the caller to read sockets again whose rates allow it.
    pub(in crate::core) fn resume_reads(&mut self) {
        while let Some(id) = self.sockets.pop_resumed(self.now) {
            // Messages that were read before the pause took effect are charged as well.
            let resumes_at = self.sockets.get(id).map(|socket| socket.paid_at.saturating_sub(BURST));
            match resumes_at {
                Some(at) if at > self.now => drop(self.sockets.pause(id, at)),
                Some(_) => self.actions.push(Action::ResumeReads(id)),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costlier_limit_counts() {
        let mut config = Config::new("srv", "5638dcaa-8264-4cd2-a865-2a045e045ae2");
        assert_eq!(config.message_cost(usize::MAX), Duration::ZERO);
        config.messages_per_second = Some(10);
        assert_eq!(config.message_cost(1 << 30), Duration::from_millis(100));
        config.bytes_per_second = Some(1000);
        assert_eq!(config.message_cost(50), Duration::from_millis(100));
        assert_eq!(config.message_cost(500), Duration::from_millis(500));
        config.bytes_per_second = Some(0);
        assert_eq!(config.message_cost(usize::MAX), Duration::from_secs(86_400));
    }
}
