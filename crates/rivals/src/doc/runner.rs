//! Runner of one script on two engines, up to their first difference.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashmill_testkit::{Rng, hex};

use super::peer::{CallResult, Hash, Peer, Place, joined, miscounted, portrait};
use super::script::{Action, Encoding, Kind, Position, Saved, Script, Step, Tree, key};

/// Where and how two engines differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The step after which it showed.
    pub step: usize,
    pub what: String,
    pub oracle: String,
    pub subject: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after step {}: {}", self.step, self.what)?;
        let mut lines = (self.oracle.lines(), self.subject.lines());
        loop {
            match (lines.0.next(), lines.1.next()) {
                (None, None) => return Ok(()),
                (oracle, subject) if oracle != subject => {
                    let line = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
                    return write!(f, "\n  oracle:  {}\n  subject: {}", line(oracle), line(subject));
                }
                _ => {}
            }
        }
    }
}

/// Outcome of a script without a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Changes that were compared byte by byte.
    pub changes: usize,
    /// Calls that both engines answered alike.
    pub calls: usize,
    /// The oracle itself panicked, so the rest of the script was not run.
    pub oracle_panicked: bool,
}

/// Why a script stops.
enum End {
    Difference(Box<Difference>),
    /// The oracle has nothing more to say.
    OraclePanicked,
}

impl From<Box<Difference>> for End {
    fn from(difference: Box<Difference>) -> Self {
        Self::Difference(difference)
    }
}

/// Runs `script` on oracle `A` and subject `B`.
pub fn run<A: Peer, B: Peer>(script: &Script) -> Result<Outcome, Box<Difference>> {
    let mut runner = Runner::<A, B>::open(script);
    match runner.whole() {
        Err(End::Difference(difference)) => Err(difference),
        Err(End::OraclePanicked) => Ok(Outcome { oracle_panicked: true, ..runner.outcome }),
        Ok(()) => Ok(runner.outcome),
    }
}

/// Every change of `script`, as one engine alone makes them, or as many as it made before it panicked.
pub fn changes<A: Peer>(script: &Script) -> Vec<Vec<u8>> {
    let mut runner = Runner::<A, A>::open(script);
    match runner.whole() {
        Err(End::Difference(difference)) => panic!("an engine differs from itself: {difference}"),
        Err(End::OraclePanicked) | Ok(()) => runner.people[0].subject.changes(&[]),
    }
}

/// Outcome of a call, or a panic.
enum CallOutcome<T> {
    Done(T),
    Panicked(String),
}

fn attempt<T>(deed: impl FnOnce() -> T) -> CallOutcome<T> {
    match catch_unwind(AssertUnwindSafe(deed)) {
        Ok(done) => CallOutcome::Done(done),
        Err(cause) => {
            let words = cause.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| cause.downcast_ref::<&str>().copied());
            CallOutcome::Panicked(words.unwrap_or("no words").to_owned())
        }
    }
}

/// One replica on both engines.
struct Replica<A, B> {
    actor: Vec<u8>,
    oracle: A,
    subject: B,
    /// Objects that this person has seen, oldest first.
    objects: Vec<(String, Kind)>,
    /// Heads that this person's document has had.
    past: Vec<Vec<Hash>>,
    /// This person edits at earlier heads.
    isolated: bool,
    /// The last change of this person's actor has no operation.
    hollow: bool,
}

struct Runner<'s, A: Peer, B: Peer> {
    script: &'s Script,
    people: Vec<Replica<A, B>>,
    step: usize,
    outcome: Outcome,
    /// Number of actor changes after going back to earlier heads.
    lives: usize,
    /// Cursors that are looked for again, oldest first.
    cursors: Vec<cursors::Followed>,
    /// Of each pair that has synced, in both directions.
    lines: Vec<sync::SyncLink<A::Known, B::Known>>,
}

/// Calls both engines and compares their results.
macro_rules! both {
    ($runner:ident, $who:expr, $what:expr, |$peer:ident| $deed:expr) => {{
        let person = &mut $runner.people[$who];
        let oracle = {
            let $peer = &mut person.oracle;
            attempt(|| $deed)
        };
        let subject = {
            let $peer = &mut person.subject;
            attempt(|| $deed)
        };
        $runner.agree($what, oracle, subject)
    }};
}

mod cursors;
mod rich;
mod sync;

/// The actor of a person in its `life`: a new one when the old must not go on.
fn actor(who: usize, generation: usize) -> Vec<u8> {
    // Neither the order of actors nor their lengths follow the order of people.
    let name = [0x60, 0x20, 0xa0, 0x40][who % 4];
    let mut actor = vec![name, generation as u8];
    actor.resize(2 + who * 7, 0x77);
    actor
}

impl<'s, A: Peer, B: Peer> Runner<'s, A, B> {
    fn open(script: &'s Script) -> Self {
        let person = |who| {
            let actor = actor(who, 0);
            Replica {
                oracle: A::blank(&actor, script.encoding),
                subject: B::blank(&actor, script.encoding),
                objects: vec![("_root".to_owned(), Kind::Map)],
                past: vec![Vec::new()],
                isolated: false,
                hollow: false,
                actor,
            }
        };
        Self {
            script,
            people: (0..script.people.max(1)).map(person).collect(),
            step: 0,
            outcome: Outcome::default(),
            lives: 0,
            cursors: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn whole(&mut self) -> Result<(), End> {
        let script = self.script;
        for (index, step) in script.steps.iter().enumerate() {
            self.step = index;
            self.play(step)?;
        }
        self.step = script.steps.len();
        self.curtain()
    }

    fn differ(&self, what: &str, oracle: impl fmt::Debug, subject: impl fmt::Debug) -> Box<Difference> {
        let (oracle, subject) = (format!("{oracle:?}"), format!("{subject:?}"));
        Box::new(Difference { step: self.step, what: what.to_owned(), oracle, subject })
    }

    /// What both engines did, if they did the same.
    fn agree<T: PartialEq + fmt::Debug>(
        &mut self,
        what: &str,
        oracle: CallOutcome<T>,
        subject: CallOutcome<T>,
    ) -> Result<T, End> {
        match (oracle, subject) {
            (CallOutcome::Panicked(_), _) => Err(End::OraclePanicked),
            (CallOutcome::Done(expected), CallOutcome::Panicked(words)) => {
                Err(self.differ(what, expected, format!("panicked: {words}")).into())
            }
            (CallOutcome::Done(expected), CallOutcome::Done(got)) if got != expected => {
                Err(self.differ(what, expected, got).into())
            }
            (CallOutcome::Done(expected), _) => {
                self.outcome.calls += 1;
                Ok(expected)
            }
        }
    }

    fn play(&mut self, step: &Step) -> Result<(), End> {
        let who = step.who % self.people.len();
        match &step.action {
            Action::Put(spot, value) => {
                let (object, prop) = self.aim(who, *spot);
                both!(self, who, "put", |peer| answer(peer.put(&object, prop, value)))?;
                self.look(who, &object, prop)
            }
            Action::PutObject(spot, kind) => {
                let (object, prop) = self.aim(who, *spot);
                let id =
                    both!(self, who, "put_object", |peer| answer(peer.put_object(&object, prop, *kind)))?;
                self.people[who].objects.extend(id.map(|id| (id, *kind)));
                self.look(who, &object, prop)
            }
            Action::Delete(spot) => {
                let (object, prop) = self.aim(who, *spot);
                both!(self, who, "delete", |peer| answer(peer.delete(&object, prop)))?;
                self.look(who, &object, prop)
            }
            Action::Increment(spot, by) => {
                let (object, prop) = self.aim(who, *spot);
                both!(self, who, "increment", |peer| answer(peer.increment(&object, prop, *by)))?;
                self.look(who, &object, prop)
            }
            Action::Create(spot, tree, insert) => {
                let (object, prop) = self.aim(who, *spot);
                let id =
                    both!(self, who, "create", |peer| answer(peer.create(&object, prop, tree, *insert)))?;
                self.learn(who, id);
                self.look(who, &object, prop)
            }
            action @ (Action::Insert(spot, _)
            | Action::InsertObject(spot, _)
            | Action::Splice(spot, ..)
            | Action::SpliceText(spot, ..)
            | Action::UpdateText(spot, _)
            | Action::UpdateObject(spot, _)) => self.sequence(who, *spot, action),
            Action::Mark(spot, units, name, value, expand) => {
                self.mark(who, *spot, (*units, *name), value, *expand)
            }
            action @ (Action::SplitBlock(spot) | Action::JoinBlock(spot) | Action::ReplaceBlock(spot)) => {
                self.block(who, *spot, action)
            }
            Action::Point(spot) => self.point(who, *spot),
            Action::Commit(message, time) => self.commit(who, message.as_deref(), *time),
            Action::Rollback => {
                both!(self, who, "rollback", |peer| peer.rollback())?;
                // The ids of what was taken back may come again, for objects of another kind.
                let person = &mut self.people[who];
                person.objects.retain(|(id, kind)| person.oracle.kind(id) == Some(*kind));
                self.forget_cursors(who);
                self.compare(who)
            }
            // The official crate looks at operations alone when it chooses whom an isolated change is by: after a change
            // without any, which the heads do not contain, its next one has no valid place in the history.
            Action::EmptyChange(_) if self.people[who].isolated => Ok(()),
            Action::Isolate(_) if self.people[who].hollow => Ok(()),
            Action::EmptyChange(time) => {
                let hash = both!(self, who, "empty_change", |peer| peer.empty_change(*time))?;
                self.people[who].hollow = true;
                self.change(who, hash)
            }
            Action::Merge(from) => self.merge(who, *from),
            Action::Deliver(from, order) => self.deliver(who, *from, *order),
            Action::Reload(saved) => self.reload(who, *saved),
            Action::LoadIncremental(from, saved) => self.load_incremental(who, *from, *saved),
            Action::Isolate(which) => {
                let heads = self.past(who, *which);
                both!(self, who, "isolate", |peer| answer(peer.isolate(&heads)))?;
                self.people[who].isolated = true;
                self.compare(who)
            }
            Action::Integrate => {
                self.integrate(who)?;
                self.compare(who)
            }
            Action::ForkAt(from, which) => self.fork_at(who, *from, *which),
            Action::Send(to) => self.send(who, *to).map(drop),
            Action::Take(from, fate) => self.take(who, *from, *fate).map(drop),
            Action::HangUp(of, kept) => self.hang_up(who, *of, *kept),
            Action::ReadOnly(of, read_only) => {
                self.read_only(who, *of, *read_only);
                Ok(())
            }
            Action::Talk(with, kept) => self.talk(who, *with, *kept),
        }
    }

    /// Edits of lists and texts.
    fn sequence(&mut self, who: usize, spot: Position, action: &Action) -> Result<(), End> {
        let (object, prop) =
            self.aim_at(who, spot, matches!(action, Action::SpliceText(..) | Action::UpdateText(..)));
        let index = if let Place::Index(index) = prop { index } else { spot.place };
        match action {
            Action::Insert(_, value) => {
                both!(self, who, "insert", |peer| answer(peer.insert(&object, index, value)))?;
            }
            Action::InsertObject(_, kind) => {
                let id = both!(self, who, "insert_object", |peer| answer(
                    peer.insert_object(&object, index, *kind)
                ))?;
                self.people[who].objects.extend(id.map(|id| (id, *kind)));
            }
            Action::Splice(_, delete, values) => {
                both!(self, who, "splice", |peer| answer(peer.splice(&object, index, *delete, values)))?;
            }
            Action::SpliceText(_, delete, text) => {
                both!(self, who, "splice_text", |peer| answer(
                    peer.splice_text(&object, index, *delete, text)
                ))?;
            }
            // What is no text the official crate takes for an empty one.
            Action::UpdateText(..) if self.people[who].oracle.kind(&object) != Some(Kind::Text) => {
                return Ok(());
            }
            Action::UpdateText(_, text) => {
                both!(self, who, "update_text", |peer| answer(peer.update_text(&object, text)))?;
            }
            Action::UpdateObject(_, tree) if self.strange(who, &object, tree) => return Ok(()),
            Action::UpdateObject(_, tree) => {
                both!(self, who, "update_object", |peer| answer(peer.update_object(&object, tree)))?;
            }
            _ => unreachable!("the caller sends edits of sequences only"),
        }
        both!(self, who, "length", |peer| peer.length(&object, None))?;
        if self.people[who].objects.contains(&(object.clone(), Kind::Text)) {
            both!(self, who, "text", |peer| answer(peer.text(&object, None)))?;
        }
        self.look(who, &object, prop)
    }

    /// Whether the official crate makes something else of an object than what it is outcome: from a list that is to become
    /// shorter it deletes the first elements, and while isolated it looks at lists of the future.
    fn strange(&self, who: usize, object: &str, tree: &Tree) -> bool {
        let person = &self.people[who];
        let inside = |prop: Place<'_>, tree: &Tree| match person.oracle.get(object, prop, None) {
            Ok(Some((_, id))) => person.oracle.kind(&id).is_some() && self.strange(who, &id, tree),
            _ => person.isolated && matches!(tree, Tree::List(_)),
        };
        match tree {
            Tree::Leaf(_) | Tree::Text(_) => false,
            Tree::Map(pairs) => pairs.iter().any(|(key, tree)| inside(Place::Key(key), tree)),
            Tree::List(trees) => {
                person.isolated
                    || trees.len() < person.oracle.length(object, None)
                    || (0..).zip(trees).any(|(index, tree)| inside(Place::Index(index), tree))
            }
        }
    }

    /// The object and the place in it that a spot means for a person.
    fn aim(&self, who: usize, spot: Position) -> (String, Place<'static>) {
        self.aim_at(who, spot, false)
    }

    fn aim_at(&self, who: usize, spot: Position, texts: bool) -> (String, Place<'static>) {
        let person = &self.people[who];
        // The official crate makes tables, but neither fills nor reads them.
        let wanted = |kind: Kind| if texts { kind == Kind::Text } else { kind != Kind::Table };
        // While isolated, the official crate writes to objects of the future, in changes that cannot be applied, and miscounts
        // some texts.
        let there = |id: &str, kind: Kind| match person.subject.kind(id) {
            Some(_) => kind != Kind::Text || !miscounted(&person.subject, id, None),
            None => false,
        };
        let there = |id: &str, kind| !person.isolated || there(id, kind);
        let objects = person.objects.iter().filter(|(id, kind)| wanted(*kind) && there(id, *kind));
        let wanted: Vec<_> = objects.collect();
        if wanted.is_empty() {
            return ("_root".to_owned(), Place::Index(spot.place));
        }
        // Zero is the first, which is the root of all objects; one is the last, two the one before.
        let (object, kind) = wanted[(wanted.len() - spot.object % wanted.len()) % wanted.len()];
        let prop = match kind {
            Kind::Map | Kind::Table => Place::Key(key(spot.place)),
            // One action beyond the end must be refused, or mean the end.
            Kind::List | Kind::Text => Place::Index(spot.place % (person.oracle.length(object, None) + 2)),
        };
        (object.clone(), prop)
    }

    /// Remembers an object and what is in it.
    fn learn(&mut self, who: usize, id: Option<String>) {
        let person = &mut self.people[who];
        if let Some((id, kind)) = id.and_then(|id| Some((id.clone(), person.oracle.kind(&id)?))) {
            person.objects.push((id, kind));
        }
    }

    fn look(&mut self, who: usize, object: &str, prop: Place<'_>) -> Result<(), End> {
        both!(self, who, "get_all", |peer| answer(peer.get_all(object, prop, None)))?;
        both!(self, who, "get", |peer| answer(peer.get(object, prop, None)))?;
        Ok(())
    }

    fn commit(&mut self, who: usize, message: Option<&str>, time: i64) -> Result<(), End> {
        let hash = both!(self, who, "commit", |peer| peer.commit(message, time))?;
        match hash {
            Some(hash) => {
                self.people[who].hollow = false;
                self.change(who, hash)
            }
            None => Ok(()),
        }
    }

    /// A change was made: its bytes are the same, and so is all that can be seen.
    fn change(&mut self, who: usize, hash: Hash) -> Result<(), End> {
        both!(self, who, "the bytes of the change", |peer| peer.change(hash))?;
        self.outcome.changes += 1;
        self.compare(who)
    }

    /// Compares everything that can be seen of a person's document.
    fn compare(&mut self, who: usize) -> Result<(), End> {
        both!(self, who, "its own check", |peer| peer.check())?;
        both!(self, who, "heads", |peer| peer.heads().into_iter().map(short).collect::<Vec<_>>())?;
        self.portraits(who, None)?;
        self.look_for_cursors(who)?;
        self.differences(who)?;
        let person = &mut self.people[who];
        if let CallOutcome::Done(heads) = attempt(|| person.oracle.heads())
            && person.past.last() != Some(&heads)
        {
            person.past.push(heads);
        }
        Ok(())
    }

    /// Compares the patches since a person's last heads, back to them, and between two earlier ones.
    fn differences(&mut self, who: usize) -> Result<(), End> {
        let (past, step, encoding) = (self.people[who].past.len(), self.step, self.script.encoding);
        // Of clusters that would be one if they stood alone the official crate counts now one, now several.
        if self.people[who].isolated || encoding == Encoding::Graphemes {
            return Ok(());
        }
        let now = both!(self, who, "heads", |peer| peer.heads())?;
        let last = if past == 0 { Vec::new() } else { self.past(who, past - 1) };
        let mut pairs = vec![(last.clone(), now.clone()), (now, last)];
        if past > 1 {
            pairs.push((self.past(who, step * 7), self.past(who, step * 13)));
        }
        for (before, after) in pairs {
            let Replica { oracle, subject, .. } = &mut self.people[who];
            let mut oracle =
                attempt(|| answer(oracle.diff(&before, &after)).map(|patches| joined(patches, encoding)));
            if let CallOutcome::Done(None) = oracle {
                continue;
            }
            let subject =
                attempt(|| answer(subject.diff(&before, &after)).map(|patches| joined(patches, encoding)));
            if let (CallOutcome::Done(Some((_, marks))), CallOutcome::Done(Some((_, subject_marks)))) =
                (&mut oracle, &subject)
            {
                // Where a text comes after one that is marked otherwise, the official crate tells the marks of both, even if it
                // tells the second one whole.
                if subject_marks.iter().all(|mark| marks.contains(mark)) {
                    marks.clone_from(subject_marks);
                }
            }
            self.agree("diff", oracle, subject)?;
        }
        Ok(())
    }

    fn portraits(&mut self, who: usize, at: Option<&[Hash]>) -> Result<(), End> {
        let person = &self.people[who];
        let past = at.is_some() || person.isolated;
        let oracle = attempt(|| portrait(&person.oracle, at, past));
        match (oracle, attempt(|| portrait(&person.subject, at, past))) {
            (CallOutcome::Panicked(_), _) => Err(End::OraclePanicked),
            (CallOutcome::Done(_), CallOutcome::Panicked(words)) => {
                Err(self.differ("reading", "", format!("panicked: {words}")).into())
            }
            (CallOutcome::Done(oracle), CallOutcome::Done(subject))
                if unmarked(&oracle) != unmarked(&subject) =>
            {
                let at = at.map(|heads| heads.iter().map(|hash| short(*hash)).collect::<Vec<_>>());
                let what =
                    at.map_or("what can be seen".to_owned(), |at| format!("what can be seen at {at:?}"));
                Err(Box::new(Difference { step: self.step, what, oracle, subject }).into())
            }
            _ => Ok(()),
        }
    }

    fn integrate(&mut self, who: usize) -> Result<(), End> {
        both!(self, who, "integrate", |peer| peer.integrate())?;
        self.people[who].isolated = false;
        Ok(())
    }

    fn past(&self, who: usize, which: usize) -> Vec<Hash> {
        let past = &self.people[who].past;
        past[which % past.len()].clone()
    }

    /// Gives a replica the known objects of another one.
    fn tell_of(&mut self, who: usize, from: usize) {
        let known = self.people[from].objects.clone();
        let person = &mut self.people[who];
        for object in known {
            if !person.objects.contains(&object) {
                person.objects.push(object);
            }
        }
    }

    fn merge(&mut self, who: usize, from: usize) -> Result<(), End> {
        let from = from % self.people.len();
        if from == who {
            return Ok(());
        }
        let (person, other) = two(&mut self.people, who, from);
        let oracle = attempt(|| answer(person.oracle.merge(&mut other.oracle)));
        let subject = attempt(|| answer(person.subject.merge(&mut other.subject)));
        self.agree("merge", oracle, subject)?;
        self.tell_of(who, from);
        self.compare(who)
    }

    fn deliver(&mut self, who: usize, from: usize, order: u64) -> Result<(), End> {
        let from = from % self.people.len();
        let mut changes = both!(self, from, "all changes", |peer| sorted(peer.changes(&[])))?;
        let mut rng = Rng::new(order);
        let again: Vec<_> = changes.iter().filter(|_| rng.below(4) == 0).cloned().collect();
        changes.extend(again);
        rng.shuffle(&mut changes);
        let cut = rng.below(changes.len() + 1);
        for part in [&changes[..cut], &changes[cut..]] {
            both!(self, who, "apply", |peer| answer(peer.apply(part)))?;
            both!(self, who, "missing", |peer| sorted(peer.missing(&[])))?;
        }
        self.tell_of(who, from);
        self.compare(who)
    }

    /// Each engine goes on from what the other one saved.
    fn reload(&mut self, who: usize, saved: Saved) -> Result<(), End> {
        let encoding = self.script.encoding;
        let (oracle, subject) = self.saved(who, saved_whole(saved))?;
        let name = self.people[who].actor.clone();
        let loaded = attempt(|| A::load(&subject, &name, encoding));
        let CallOutcome::Done(loaded) = loaded else { return Err(End::OraclePanicked) };
        match (loaded, attempt(|| B::load(&oracle, &name, encoding))) {
            (Ok(oracle), CallOutcome::Done(Ok(subject))) => {
                let person = &mut self.people[who];
                (person.oracle, person.subject, person.isolated) = (oracle, subject, false);
                self.compare(who)
            }
            (Err(oracle), _) => {
                Err(self.differ("the oracle loads what the subject saved", oracle, "").into())
            }
            (_, CallOutcome::Done(Err(subject))) => {
                Err(self.differ("the subject loads what the oracle saved", "", subject).into())
            }
            (_, CallOutcome::Panicked(words)) => {
                Err(self.differ("load", "", format!("panicked: {words}")).into())
            }
        }
    }

    fn saved(&mut self, who: usize, saved: Saved) -> Result<(Vec<u8>, Vec<u8>), End> {
        let after = if let Saved::After(which) = saved { self.past(who, which) } else { Vec::new() };
        let person = &mut self.people[who];
        let oracle = attempt(|| save(&mut person.oracle, saved, &after));
        let subject = attempt(|| save(&mut person.subject, saved, &after));
        match (oracle, subject) {
            (CallOutcome::Panicked(_), _) => Err(End::OraclePanicked),
            (_, CallOutcome::Panicked(words)) => {
                Err(self.differ("save", "", format!("panicked: {words}")).into())
            }
            // Whole files depend on how they are compressed, single changes do not; their order may be another.
            (CallOutcome::Done(oracle), CallOutcome::Done(subject))
                if saved_whole(saved) != saved && oracle.len() != subject.len() =>
            {
                Err(self.differ("the bytes that are saved", oracle.len(), subject.len()).into())
            }
            (CallOutcome::Done(oracle), CallOutcome::Done(subject)) => Ok((oracle, subject)),
        }
    }

    fn load_incremental(&mut self, who: usize, from: usize, saved: Saved) -> Result<(), End> {
        let from = from % self.people.len();
        let (from_oracle, from_subject) = self.saved(from, saved)?;
        let person = &mut self.people[who];
        let oracle = attempt(|| answer(person.oracle.load_incremental(&from_subject)));
        let subject = attempt(|| answer(person.subject.load_incremental(&from_oracle)));
        self.agree("load_incremental", oracle, subject)?;
        self.tell_of(who, from);
        self.compare(who)
    }

    fn fork_at(&mut self, who: usize, from: usize, which: usize) -> Result<(), End> {
        let from = from % self.people.len();
        let heads = self.past(from, which);
        self.lives += 1;
        let name = actor(who, self.lives);
        let person = &mut self.people[from];
        let oracle = attempt(|| person.oracle.fork_at(&heads, &name));
        let subject = attempt(|| person.subject.fork_at(&heads, &name));
        match (oracle, subject) {
            (CallOutcome::Panicked(_), _) => Err(End::OraclePanicked),
            (CallOutcome::Done(Err(_)), CallOutcome::Done(Err(_))) => Ok(()),
            (CallOutcome::Done(Ok(oracle)), CallOutcome::Done(Ok(subject))) => {
                let person = &mut self.people[who];
                (person.oracle, person.subject, person.actor) = (oracle, subject, name);
                (person.past, person.isolated, person.hollow) = (vec![heads], false, false);
                self.forget_lines(who);
                self.tell_of(who, from);
                self.compare(who)
            }
            (CallOutcome::Done(oracle), CallOutcome::Done(subject)) => {
                Err(self.differ("fork_at", oracle.map(drop), subject.map(drop)).into())
            }
            (CallOutcome::Done(_), CallOutcome::Panicked(words)) => {
                Err(self.differ("fork_at", "", format!("panicked: {words}")).into())
            }
        }
    }

    /// The end of a script: compares the whole history of all replicas, and merges them to the same state.
    fn curtain(&mut self) -> Result<(), End> {
        for who in 0..self.people.len() {
            self.integrate(who)?;
            self.commit(who, None, 0)?;
            for heads in self.people[who].past.clone().iter().rev().take(PAST) {
                self.portraits(who, Some(heads))?;
                self.look_for_cursors_at(who, heads)?;
                both!(self, who, "changes since then", |peer| sorted(peer.changes(heads)))?;
            }
        }
        for who in (0..self.people.len()).chain(0..self.people.len()) {
            for from in 0..self.people.len() {
                self.merge(who, from)?;
            }
            self.reload(who, Saved::Whole)?;
        }
        let first = portrait(&self.people[0].subject, None, false);
        for who in 1..self.people.len() {
            let other = portrait(&self.people[who].subject, None, false);
            if other != first {
                let what = format!("person {who} ends up as person 0 does");
                return Err(
                    Box::new(Difference { step: self.step, what, oracle: first, subject: other }).into()
                );
            }
        }
        Ok(())
    }
}

/// How many earlier heads are looked at again at the end.
const PAST: usize = 10;

/// Two different people.
fn two<T>(people: &mut [T], a: usize, b: usize) -> (&mut T, &mut T) {
    let [a, b] = people.get_disjoint_mut([a, b]).expect("two people");
    (a, b)
}

/// A portrait without the lines of marks where the official crate contradicts itself: of the same text `marks` may tell marks
/// that its `spans`, and a copy loaded from what it saves, do not have.
fn unmarked(portrait: &str) -> Vec<&str> {
    portrait.lines().filter(|line| !line.starts_with("  marks ")).collect()
}

/// Result of an engine without its error message.
fn answer<T>(result: CallResult<T>) -> Option<T> {
    result.ok()
}

/// The first digits of a hash.
fn short(hash: Hash) -> String {
    hex::encode(&hash[..4])
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values
}

/// A document cannot be loaded from a part of it.
fn saved_whole(saved: Saved) -> Saved {
    if saved == Saved::Plain { Saved::Plain } else { Saved::Whole }
}

fn save<P: Peer>(peer: &mut P, saved: Saved, after: &[Hash]) -> Vec<u8> {
    match saved {
        Saved::Whole => peer.save(),
        Saved::Plain => peer.save_plain(),
        Saved::After(_) => peer.save_after(after),
        Saved::Incremental => peer.save_incremental(),
    }
}
