//! Sync in a script: each engine receives the messages of the other.

use std::collections::VecDeque;
use std::mem;

use super::{CallOutcome, End, Peer, Runner, answer, attempt, portrait};
use crate::doc::official;
use crate::doc::script::Delivery;

/// Sync states of a replica for another one, with the messages in flight.
pub(super) struct SyncLink<A, B> {
    who: usize,
    of: usize,
    oracle: A,
    subject: B,
    /// Equal messages of both engines.
    under_way: VecDeque<(Vec<u8>, Vec<u8>)>,
    read_only: bool,
}

/// Maximum number of message rounds of one sync.
const ROUNDS: usize = 30;

impl<A: Peer, B: Peer> Runner<'_, A, B> {
    fn line(&mut self, who: usize, of: usize) -> &mut SyncLink<A::Known, B::Known> {
        let index = self.lines.iter().position(|line| (line.who, line.of) == (who, of));
        let index = index.unwrap_or_else(|| {
            let (oracle, subject) = Default::default();
            self.lines.push(SyncLink {
                who,
                of,
                oracle,
                subject,
                under_way: VecDeque::new(),
                read_only: false,
            });
            self.lines.len() - 1
        });
        &mut self.lines[index]
    }

    /// A pair that can sync: neither is isolated, and all edits are committed.
    fn pair(&mut self, who: usize, of: usize) -> Result<Option<usize>, End> {
        let of = of % self.people.len();
        if of == who || self.people[who].isolated || self.people[of].isolated {
            return Ok(None);
        }
        self.commit(who, None, 0)?;
        self.commit(of, None, 0)?;
        Ok(Some(of))
    }

    pub(super) fn send(&mut self, who: usize, to: usize) -> Result<bool, End> {
        let Some(to) = self.pair(who, to)? else { return Ok(false) };
        let line = self.line(who, to);
        let (mut oracle, mut subject) = (mem::take(&mut line.oracle), mem::take(&mut line.subject));
        let person = &mut self.people[who];
        let of_oracle = attempt(|| person.oracle.say(&mut oracle));
        let of_subject = attempt(|| person.subject.say(&mut subject));
        let line = self.line(who, to);
        (line.oracle, line.subject) = (oracle, subject);
        let (of_oracle, of_subject) = match (of_oracle, of_subject) {
            (CallOutcome::Done(oracle), CallOutcome::Done(subject)) => (oracle, subject),
            (oracle, subject) => return self.agree("say", oracle, subject).map(|message| message.is_some()),
        };
        let words = |message: &Option<Vec<u8>>| message.as_ref().map(|bytes| official::message_words(bytes));
        self.agree(
            "what is said",
            CallOutcome::Done(words(&of_oracle)),
            CallOutcome::Done(words(&of_subject)),
        )?;
        let both = of_oracle.zip(of_subject);
        let silent = both.is_none();
        self.line(who, to).under_way.extend(both);
        Ok(!silent)
    }

    pub(super) fn take(&mut self, who: usize, from: usize, fate: Delivery) -> Result<bool, End> {
        let Some(from) = self.pair(who, from)? else { return Ok(false) };
        let under_way = &mut self.line(from, who).under_way;
        let message = match fate {
            Delivery::Late => under_way.pop_back(),
            Delivery::Again => under_way.front().cloned(),
            Delivery::InTurn | Delivery::Lost => under_way.pop_front(),
        };
        let Some((for_subject, for_oracle)) = message.filter(|_| fate != Delivery::Lost) else {
            return Ok(false);
        };
        let line = self.line(who, from);
        let (mut oracle, mut subject) = (mem::take(&mut line.oracle), mem::take(&mut line.subject));
        let person = &mut self.people[who];
        let of_oracle = attempt(|| answer(person.oracle.hear(&mut oracle, &for_oracle)));
        let of_subject = attempt(|| answer(person.subject.hear(&mut subject, &for_subject)));
        let line = self.line(who, from);
        (line.oracle, line.subject) = (oracle, subject);
        self.agree("hear", of_oracle, of_subject)?;
        let line = self.line(who, from);
        let saved = (A::encode_state(&line.oracle), B::encode_state(&line.subject));
        self.agree("what is kept of a sync", CallOutcome::Done(saved.0), CallOutcome::Done(saved.1))?;
        let line = self.line(who, from);
        let (oracle, subject) = (line.oracle.clone(), line.subject.clone());
        let person = &mut self.people[who];
        let (of_oracle, of_subject) = (person.oracle.is_with(&oracle), person.subject.is_with(&subject));
        self.agree("has our changes", CallOutcome::Done(of_oracle), CallOutcome::Done(of_subject))?;
        self.tell_of(who, from);
        self.compare(who)?;
        Ok(true)
    }

    /// The connection is gone, with all that was under way.
    pub(super) fn hang_up(&mut self, who: usize, of: usize, is_kept: bool) -> Result<(), End> {
        let of = of % self.people.len();
        if of == who {
            return Ok(());
        }
        for (who, of) in [(who, of), (of, who)] {
            let line = self.line(who, of);
            let known = (A::encode_state(&line.oracle), B::encode_state(&line.subject));
            (line.oracle, line.subject, line.read_only) = Default::default();
            line.under_way.clear();
            if is_kept
                && let (Ok(oracle), Ok(subject)) = (A::decode_state(&known.1), B::decode_state(&known.0))
            {
                (line.oracle, line.subject) = (oracle, subject);
            }
        }
        Ok(())
    }

    /// Forgets what a person knew who has lost the document.
    pub(super) fn forget_lines(&mut self, who: usize) {
        self.lines.retain(|line| line.who != who);
    }

    pub(super) fn read_only(&mut self, who: usize, of: usize, read_only: bool) {
        let of = of % self.people.len();
        if of != who {
            let line = self.line(who, of);
            A::read_only(&mut line.oracle, read_only);
            B::read_only(&mut line.subject, read_only);
            line.read_only = read_only;
        }
    }

    /// Two people talk on a new connection until neither has anything to say; then they have the same.
    pub(super) fn talk(&mut self, who: usize, with: usize, is_kept: bool) -> Result<(), End> {
        let Some(with) = self.pair(who, with)? else { return Ok(()) };
        self.hang_up(who, with, is_kept)?;
        for _ in 0..ROUNDS {
            let here = self.send(who, with)?;
            let received = self.take(with, who, Delivery::InTurn)?;
            let there = self.send(with, who)?;
            let answered = self.take(who, with, Delivery::InTurn)?;
            if !(here || received || there || answered) {
                let (who, with) = (&self.people[who].subject, &self.people[with].subject);
                let portraits = (portrait(who, None, false), portrait(with, None, false));
                return self
                    .agree("both in the end", CallOutcome::Done(portraits.0), CallOutcome::Done(portraits.1))
                    .map(drop);
            }
        }
        let what = "a sync that ends";
        Err(self.differ(what, "at most 30 rounds", "more").into())
    }
}
