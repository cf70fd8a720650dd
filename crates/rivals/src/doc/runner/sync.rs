//! Two people sync: each engine hears what the other one says.

use std::collections::VecDeque;
use std::mem;

use super::{Deed, End, Peer, Runner, answer, attempt, portrait};
use crate::doc::official;
use crate::doc::script::Fate;

/// What one person knows of another, and what the other said that has not arrived.
pub(super) struct Line<A, B> {
    who: usize,
    of: usize,
    oracle: A,
    subject: B,
    /// Messages of both engines that say the same.
    under_way: VecDeque<(Vec<u8>, Vec<u8>)>,
    read_only: bool,
}

/// After so many messages two people have nothing more to say.
const ROUNDS: usize = 30;

impl<A: Peer, B: Peer> Runner<'_, A, B> {
    fn line(&mut self, who: usize, of: usize) -> &mut Line<A::Known, B::Known> {
        let place = self.lines.iter().position(|line| (line.who, line.of) == (who, of));
        let place = place.unwrap_or_else(|| {
            let (oracle, subject) = Default::default();
            self.lines.push(Line { who, of, oracle, subject, under_way: VecDeque::new(), read_only: false });
            self.lines.len() - 1
        });
        &mut self.lines[place]
    }

    /// Two that can sync: nobody is alone or at earlier heads, and all is committed.
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
        let said = attempt(|| person.oracle.say(&mut oracle));
        let ours = attempt(|| person.subject.say(&mut subject));
        let line = self.line(who, to);
        (line.oracle, line.subject) = (oracle, subject);
        let (said, ours) = match (said, ours) {
            (Deed::Done(said), Deed::Done(ours)) => (said, ours),
            (said, ours) => return self.agree("say", said, ours).map(|said| said.is_some()),
        };
        let words = |message: &Option<Vec<u8>>| message.as_ref().map(|bytes| official::message_words(bytes));
        self.agree("what is said", Deed::Done(words(&said)), Deed::Done(words(&ours)))?;
        let both = said.zip(ours);
        let silent = both.is_none();
        self.line(who, to).under_way.extend(both);
        Ok(!silent)
    }

    pub(super) fn take(&mut self, who: usize, from: usize, fate: Fate) -> Result<bool, End> {
        let Some(from) = self.pair(who, from)? else { return Ok(false) };
        let under_way = &mut self.line(from, who).under_way;
        let message = match fate {
            Fate::Late => under_way.pop_back(),
            Fate::Again => under_way.front().cloned(),
            Fate::InTurn | Fate::Lost => under_way.pop_front(),
        };
        let Some((theirs, ours)) = message.filter(|_| fate != Fate::Lost) else { return Ok(false) };
        let line = self.line(who, from);
        let (mut oracle, mut subject) = (mem::take(&mut line.oracle), mem::take(&mut line.subject));
        let person = &mut self.people[who];
        let heard = attempt(|| answer(person.oracle.hear(&mut oracle, &ours)));
        let ours = attempt(|| answer(person.subject.hear(&mut subject, &theirs)));
        let line = self.line(who, from);
        (line.oracle, line.subject) = (oracle, subject);
        self.agree("hear", heard, ours)?;
        let line = self.line(who, from);
        let kept = (A::keep(&line.oracle), B::keep(&line.subject));
        self.agree("what is kept of a sync", Deed::Done(kept.0), Deed::Done(kept.1))?;
        let line = self.line(who, from);
        let (oracle, subject) = (line.oracle.clone(), line.subject.clone());
        let person = &mut self.people[who];
        let (knows, ours) = (person.oracle.is_with(&oracle), person.subject.is_with(&subject));
        self.agree("has our changes", Deed::Done(knows), Deed::Done(ours))?;
        self.tell_of(who, from);
        self.compare(who)?;
        Ok(true)
    }

    /// The connection is gone, with all that was under way.
    pub(super) fn hang_up(&mut self, who: usize, of: usize, kept: bool) -> Result<(), End> {
        let of = of % self.people.len();
        if of == who {
            return Ok(());
        }
        for (who, of) in [(who, of), (of, who)] {
            let line = self.line(who, of);
            let known = (A::keep(&line.oracle), B::keep(&line.subject));
            (line.oracle, line.subject, line.read_only) = Default::default();
            line.under_way.clear();
            if kept && let (Ok(oracle), Ok(subject)) = (A::kept(&known.1), B::kept(&known.0)) {
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
    pub(super) fn talk(&mut self, who: usize, with: usize, kept: bool) -> Result<(), End> {
        let Some(with) = self.pair(who, with)? else { return Ok(()) };
        self.hang_up(who, with, kept)?;
        for _ in 0..ROUNDS {
            let here = self.send(who, with)?;
            let heard = self.take(with, who, Fate::InTurn)?;
            let there = self.send(with, who)?;
            let answered = self.take(who, with, Fate::InTurn)?;
            if !(here || heard || there || answered) {
                let (who, with) = (&self.people[who].subject, &self.people[with].subject);
                let seen = (portrait(who, None, false), portrait(with, None, false));
                return self.agree("both in the end", Deed::Done(seen.0), Deed::Done(seen.1)).map(drop);
            }
        }
        let what = "a sync that ends";
        Err(self.differ(what, "at most 30 rounds", "more").into())
    }
}
