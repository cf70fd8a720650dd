//! Runner of one script on two engines, up to their first difference.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hashmill_testkit::{Rng, hex};

use super::peer::{Hash, Peer, PropRef, is_miscounted, merge_adjacent, visible_state};
use super::script::{Action, Encoding, Kind, Position, SaveForm, Script, Step, Tree, key};

/// A difference between two engines.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The step after which it occurred.
    pub step: usize,
    pub context: String,
    pub oracle: String,
    pub subject: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after step {}: {}", self.step, self.context)?;
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
    /// Calls with equal results.
    pub calls: usize,
    /// The oracle itself panicked, so the rest of the script was not run.
    pub oracle_panicked: bool,
}

/// The reason why a script stops.
enum Stop {
    Difference(Box<Difference>),
    /// The oracle panicked, so no later result can be compared.
    OraclePanicked,
}

impl From<Box<Difference>> for Stop {
    fn from(difference: Box<Difference>) -> Self {
        Self::Difference(difference)
    }
}

/// Runs `script` on oracle `A` and subject `B`.
pub fn run<A: Peer, B: Peer>(script: &Script) -> Result<Outcome, Box<Difference>> {
    let mut runner = Runner::<A, B>::open(script);
    match runner.run_all() {
        Err(Stop::Difference(difference)) => Err(difference),
        Err(Stop::OraclePanicked) => Ok(Outcome { oracle_panicked: true, ..runner.outcome }),
        Ok(()) => Ok(runner.outcome),
    }
}

/// The changes that one engine makes for `script`. If the engine panics, the changes until then.
pub fn changes<A: Peer>(script: &Script) -> Vec<Vec<u8>> {
    let mut runner = Runner::<A, A>::open(script);
    match runner.run_all() {
        Err(Stop::Difference(difference)) => panic!("an engine differs from itself: {difference}"),
        Err(Stop::OraclePanicked) | Ok(()) => runner.replicas[0].subject.changes(&[]),
    }
}

/// Outcome of a call, or a panic.
enum CallOutcome<T> {
    Done(T),
    Panicked(String),
}

fn attempt<T>(call: impl FnOnce() -> T) -> CallOutcome<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => CallOutcome::Done(result),
        Err(payload) => {
            let message = payload.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
            CallOutcome::Panicked(message.unwrap_or("no message").to_owned())
        }
    }
}

/// One replica on both engines.
struct Replica<A, B> {
    actor: Vec<u8>,
    oracle: A,
    subject: B,
    /// Objects that this replica knows, oldest first.
    objects: Vec<(String, Kind)>,
    /// All heads that the document has had.
    heads_history: Vec<Vec<Hash>>,
    /// The document is isolated at earlier heads.
    isolated: bool,
    /// The last change of this actor has no operation.
    last_change_is_empty: bool,
}

struct Runner<'s, A: Peer, B: Peer> {
    script: &'s Script,
    replicas: Vec<Replica<A, B>>,
    step: usize,
    outcome: Outcome,
    /// Number of new actors after forks at earlier heads.
    generations: usize,
    /// Cursors that are resolved again, oldest first.
    cursors: Vec<cursors::TrackedCursor>,
    /// Sync states of each pair that has synced, in both directions.
    links: Vec<sync::SyncLink<A::SyncState, B::SyncState>>,
}

/// Calls both engines and compares their results.
macro_rules! both {
    ($runner:ident, $replica:expr, $context:expr, |$peer:ident| $call:expr) => {{
        let state = &mut $runner.replicas[$replica];
        let oracle = {
            let $peer = &mut state.oracle;
            attempt(|| $call)
        };
        let subject = {
            let $peer = &mut state.subject;
            attempt(|| $call)
        };
        $runner.compare_results($context, oracle, subject)
    }};
}

mod cursors;
mod rich;
mod sync;

/// The actor of a replica. A fork at earlier heads needs a new actor, with the next generation.
fn actor(replica: usize, generation: usize) -> Vec<u8> {
    // Neither the order of actors nor their lengths follow the order of replicas.
    let name = [0x60, 0x20, 0xa0, 0x40][replica % 4];
    let mut actor = vec![name, generation as u8];
    actor.resize(2 + replica * 7, 0x77);
    actor
}

impl<'s, A: Peer, B: Peer> Runner<'s, A, B> {
    fn open(script: &'s Script) -> Self {
        let state = |replica| {
            let actor = actor(replica, 0);
            Replica {
                oracle: A::blank(&actor, script.encoding),
                subject: B::blank(&actor, script.encoding),
                objects: vec![("_root".to_owned(), Kind::Map)],
                heads_history: vec![Vec::new()],
                isolated: false,
                last_change_is_empty: false,
                actor,
            }
        };
        Self {
            script,
            replicas: (0..script.replicas.max(1)).map(state).collect(),
            step: 0,
            outcome: Outcome::default(),
            generations: 0,
            cursors: Vec::new(),
            links: Vec::new(),
        }
    }

    fn run_all(&mut self) -> Result<(), Stop> {
        let script = self.script;
        for (index, step) in script.steps.iter().enumerate() {
            self.step = index;
            self.run_step(step)?;
        }
        self.step = script.steps.len();
        self.finish()
    }

    fn difference(
        &self,
        context: &str,
        oracle: impl fmt::Debug,
        subject: impl fmt::Debug,
    ) -> Box<Difference> {
        let (oracle, subject) = (format!("{oracle:?}"), format!("{subject:?}"));
        Box::new(Difference { step: self.step, context: context.to_owned(), oracle, subject })
    }

    /// The result of both engines, if it is equal.
    fn compare_results<T: PartialEq + fmt::Debug>(
        &mut self,
        context: &str,
        oracle: CallOutcome<T>,
        subject: CallOutcome<T>,
    ) -> Result<T, Stop> {
        match (oracle, subject) {
            (CallOutcome::Panicked(_), _) => Err(Stop::OraclePanicked),
            (CallOutcome::Done(expected), CallOutcome::Panicked(message)) => {
                Err(self.difference(context, expected, format!("panicked: {message}")).into())
            }
            (CallOutcome::Done(expected), CallOutcome::Done(actual)) if actual != expected => {
                Err(self.difference(context, expected, actual).into())
            }
            (CallOutcome::Done(expected), _) => {
                self.outcome.calls += 1;
                Ok(expected)
            }
        }
    }

    fn run_step(&mut self, step: &Step) -> Result<(), Stop> {
        let replica = step.replica % self.replicas.len();
        match &step.action {
            Action::Put(position, value) => {
                let (object, prop) = self.resolve_position(replica, *position);
                both!(self, replica, "put", |peer| peer.put(&object, prop, value).ok())?;
                self.compare_values(replica, &object, prop)
            }
            Action::PutObject(position, kind) => {
                let (object, prop) = self.resolve_position(replica, *position);
                let id =
                    both!(self, replica, "put_object", |peer| peer.put_object(&object, prop, *kind).ok())?;
                self.replicas[replica].objects.extend(id.map(|id| (id, *kind)));
                self.compare_values(replica, &object, prop)
            }
            Action::Delete(position) => {
                let (object, prop) = self.resolve_position(replica, *position);
                both!(self, replica, "delete", |peer| peer.delete(&object, prop).ok())?;
                self.compare_values(replica, &object, prop)
            }
            Action::Increment(position, by) => {
                let (object, prop) = self.resolve_position(replica, *position);
                both!(self, replica, "increment", |peer| peer.increment(&object, prop, *by).ok())?;
                self.compare_values(replica, &object, prop)
            }
            Action::Create(position, tree, insert) => {
                let (object, prop) = self.resolve_position(replica, *position);
                let id =
                    both!(self, replica, "create", |peer| peer.create(&object, prop, tree, *insert).ok())?;
                self.remember_object(replica, id);
                self.compare_values(replica, &object, prop)
            }
            action @ (Action::Insert(position, _)
            | Action::InsertObject(position, _)
            | Action::Splice(position, ..)
            | Action::SpliceText(position, ..)
            | Action::UpdateText(position, _)
            | Action::UpdateObject(position, _)) => self.sequence(replica, *position, action),
            Action::Mark(position, units, name, value, expand) => {
                self.mark(replica, *position, (*units, *name), value, *expand)
            }
            action @ (Action::SplitBlock(position)
            | Action::JoinBlock(position)
            | Action::ReplaceBlock(position)) => self.block(replica, *position, action),
            Action::CreateCursors(position) => self.create_cursors(replica, *position),
            Action::Commit(message, time) => self.commit(replica, message.as_deref(), *time),
            Action::Rollback => {
                both!(self, replica, "rollback", |peer| peer.rollback())?;
                // After a rollback, its ids may be used again for objects of another kind.
                let state = &mut self.replicas[replica];
                state.objects.retain(|(id, kind)| state.oracle.kind(id) == Some(*kind));
                self.drop_dangling_cursors(replica);
                self.compare(replica)
            }
            // The official crate chooses the actor of an isolated change by operations alone: after a change without operations that
            // the heads do not contain, its next change has no valid position in the history.
            Action::EmptyChange(_) if self.replicas[replica].isolated => Ok(()),
            Action::Isolate(_) if self.replicas[replica].last_change_is_empty => Ok(()),
            Action::EmptyChange(time) => {
                let hash = both!(self, replica, "empty_change", |peer| peer.empty_change(*time))?;
                self.replicas[replica].last_change_is_empty = true;
                self.change(replica, hash)
            }
            Action::Merge(from) => self.merge(replica, *from),
            Action::Deliver(from, order) => self.deliver(replica, *from, *order),
            Action::Reload(form) => self.reload(replica, *form),
            Action::LoadIncremental(from, form) => self.load_incremental(replica, *from, *form),
            Action::Isolate(which) => {
                let heads = self.earlier_heads(replica, *which);
                both!(self, replica, "isolate", |peer| peer.isolate(&heads).ok())?;
                self.replicas[replica].isolated = true;
                self.compare(replica)
            }
            Action::Integrate => {
                self.integrate(replica)?;
                self.compare(replica)
            }
            Action::ForkAt(from, which) => self.fork_at(replica, *from, *which),
            Action::Send(to) => self.send(replica, *to).map(drop),
            Action::Receive(from, delivery) => self.receive(replica, *from, *delivery).map(drop),
            Action::Disconnect(peer, keeps_state) => self.disconnect(replica, *peer, *keeps_state),
            Action::ReadOnly(peer, read_only) => {
                self.read_only(replica, *peer, *read_only);
                Ok(())
            }
            Action::Sync(with, keeps_state) => self.sync(replica, *with, *keeps_state),
        }
    }

    /// Edits of lists and texts.
    fn sequence(&mut self, replica: usize, position: Position, action: &Action) -> Result<(), Stop> {
        let (object, prop) = self.resolve_position_in(
            replica,
            position,
            matches!(action, Action::SpliceText(..) | Action::UpdateText(..)),
        );
        let index = if let PropRef::Index(index) = prop { index } else { position.prop };
        match action {
            Action::Insert(_, value) => {
                both!(self, replica, "insert", |peer| peer.insert(&object, index, value).ok())?;
            }
            Action::InsertObject(_, kind) => {
                let id = both!(self, replica, "insert_object", |peer| peer
                    .insert_object(&object, index, *kind)
                    .ok())?;
                self.replicas[replica].objects.extend(id.map(|id| (id, *kind)));
            }
            Action::Splice(_, delete, values) => {
                both!(self, replica, "splice", |peer| peer.splice(&object, index, *delete, values).ok())?;
            }
            Action::SpliceText(_, delete, text) => {
                both!(self, replica, "splice_text", |peer| peer
                    .splice_text(&object, index, *delete, text)
                    .ok())?;
            }
            // The official crate treats an object that is no text as an empty text.
            Action::UpdateText(..) if self.replicas[replica].oracle.kind(&object) != Some(Kind::Text) => {
                return Ok(());
            }
            Action::UpdateText(_, text) => {
                both!(self, replica, "update_text", |peer| peer.update_text(&object, text).ok())?;
            }
            Action::UpdateObject(_, tree) if self.is_updated_differently(replica, &object, tree) => {
                return Ok(());
            }
            Action::UpdateObject(_, tree) => {
                both!(self, replica, "update_object", |peer| peer.update_object(&object, tree).ok())?;
            }
            _ => unreachable!("the caller sends edits of sequences only"),
        }
        both!(self, replica, "length", |peer| peer.length(&object, None))?;
        if self.replicas[replica].objects.contains(&(object.clone(), Kind::Text)) {
            both!(self, replica, "text", |peer| peer.text(&object, None).ok())?;
        }
        self.compare_values(replica, &object, prop)
    }

    /// Whether the official crate updates an object to another value than the given one: to shorten a list it deletes the first
    /// elements, and while isolated it reads the latest state of lists.
    fn is_updated_differently(&self, replica: usize, object: &str, tree: &Tree) -> bool {
        let state = &self.replicas[replica];
        let inside = |prop: PropRef<'_>, tree: &Tree| match state.oracle.get(object, prop, None) {
            Ok(Some((_, id))) => {
                state.oracle.kind(&id).is_some() && self.is_updated_differently(replica, &id, tree)
            }
            _ => state.isolated && matches!(tree, Tree::List(_)),
        };
        match tree {
            Tree::Leaf(_) | Tree::Text(_) => false,
            Tree::Map(pairs) => pairs.iter().any(|(key, tree)| inside(PropRef::Key(key), tree)),
            Tree::List(trees) => {
                state.isolated
                    || trees.len() < state.oracle.length(object, None)
                    || (0..).zip(trees).any(|(index, tree)| inside(PropRef::Index(index), tree))
            }
        }
    }

    /// The object of a position, and the key or index in it.
    fn resolve_position(&self, replica: usize, position: Position) -> (String, PropRef<'static>) {
        self.resolve_position_in(replica, position, false)
    }

    fn resolve_position_in(
        &self,
        replica: usize,
        position: Position,
        texts: bool,
    ) -> (String, PropRef<'static>) {
        let state = &self.replicas[replica];
        // The official crate creates tables, but neither fills nor reads them.
        let is_candidate = |kind: Kind| if texts { kind == Kind::Text } else { kind != Kind::Table };
        // While isolated, the official crate writes to objects that do not exist yet, in changes that cannot be applied, and miscounts
        // some texts.
        let is_usable_in_isolation = |id: &str, kind: Kind| match state.subject.kind(id) {
            Some(_) => kind != Kind::Text || !is_miscounted(&state.subject, id, None),
            None => false,
        };
        let is_usable = |id: &str, kind| !state.isolated || is_usable_in_isolation(id, kind);
        let objects = state.objects.iter().filter(|(id, kind)| is_candidate(*kind) && is_usable(id, *kind));
        let candidates: Vec<_> = objects.collect();
        if candidates.is_empty() {
            return ("_root".to_owned(), PropRef::Index(position.prop));
        }
        // Zero is the root, one the last object, two the one before it.
        let (object, kind) =
            candidates[(candidates.len() - position.object % candidates.len()) % candidates.len()];
        let prop = match kind {
            Kind::Map | Kind::Table => PropRef::Key(key(position.prop)),
            // An index beyond the end must be refused, or mean the end.
            Kind::List | Kind::Text => {
                PropRef::Index(position.prop % (state.oracle.length(object, None) + 2))
            }
        };
        (object.clone(), prop)
    }

    /// Adds an object to the known objects of a replica.
    fn remember_object(&mut self, replica: usize, id: Option<String>) {
        let state = &mut self.replicas[replica];
        if let Some((id, kind)) = id.and_then(|id| Some((id.clone(), state.oracle.kind(&id)?))) {
            state.objects.push((id, kind));
        }
    }

    fn compare_values(&mut self, replica: usize, object: &str, prop: PropRef<'_>) -> Result<(), Stop> {
        both!(self, replica, "get_all", |peer| peer.get_all(object, prop, None).ok())?;
        both!(self, replica, "get", |peer| peer.get(object, prop, None).ok())?;
        Ok(())
    }

    fn commit(&mut self, replica: usize, message: Option<&str>, time: i64) -> Result<(), Stop> {
        let hash = both!(self, replica, "commit", |peer| peer.commit(message, time))?;
        match hash {
            Some(hash) => {
                self.replicas[replica].last_change_is_empty = false;
                self.change(replica, hash)
            }
            None => Ok(()),
        }
    }

    /// Compares the bytes of a new change, and the visible state.
    fn change(&mut self, replica: usize, hash: Hash) -> Result<(), Stop> {
        both!(self, replica, "the bytes of the change", |peer| peer.change(hash))?;
        self.outcome.changes += 1;
        self.compare(replica)
    }

    /// Compares everything visible in a replica's document.
    fn compare(&mut self, replica: usize) -> Result<(), Stop> {
        both!(self, replica, "self-check", |peer| peer.check())?;
        both!(self, replica, "heads", |peer| peer.heads().into_iter().map(short).collect::<Vec<_>>())?;
        self.compare_visible_state(replica, None)?;
        self.resolve_latest_cursors(replica)?;
        self.compare_patches(replica)?;
        let state = &mut self.replicas[replica];
        if let CallOutcome::Done(heads) = attempt(|| state.oracle.heads())
            && state.heads_history.last() != Some(&heads)
        {
            state.heads_history.push(heads);
        }
        Ok(())
    }

    /// Compares the patches from the last heads to the current ones, back, and between two earlier heads.
    fn compare_patches(&mut self, replica: usize) -> Result<(), Stop> {
        let (heads_count, step, encoding) =
            (self.replicas[replica].heads_history.len(), self.step, self.script.encoding);
        // The official crate's count of grapheme clusters depends on the splits of the text.
        if self.replicas[replica].isolated || encoding == Encoding::Graphemes {
            return Ok(());
        }
        let now = both!(self, replica, "heads", |peer| peer.heads())?;
        let last = if heads_count == 0 { Vec::new() } else { self.earlier_heads(replica, heads_count - 1) };
        let mut pairs = vec![(last.clone(), now.clone()), (now, last)];
        if heads_count > 1 {
            pairs.push((self.earlier_heads(replica, step * 7), self.earlier_heads(replica, step * 13)));
        }
        for (before, after) in pairs {
            let Replica { oracle, subject, .. } = &mut self.replicas[replica];
            let mut oracle = attempt(|| {
                oracle.diff(&before, &after).ok().map(|patches| merge_adjacent(patches, encoding))
            });
            if let CallOutcome::Done(None) = oracle {
                continue;
            }
            let subject = attempt(|| {
                subject.diff(&before, &after).ok().map(|patches| merge_adjacent(patches, encoding))
            });
            if let (CallOutcome::Done(Some((_, marks))), CallOutcome::Done(Some((_, subject_marks)))) =
                (&mut oracle, &subject)
            {
                // If a text follows one whose marks changed, the official crate reports the marks of both, even if it reports the second
                // text as new.
                if subject_marks.iter().all(|mark| marks.contains(mark)) {
                    marks.clone_from(subject_marks);
                }
            }
            self.compare_results("diff", oracle, subject)?;
        }
        Ok(())
    }

    fn compare_visible_state(&mut self, replica: usize, at: Option<&[Hash]>) -> Result<(), Stop> {
        let state = &self.replicas[replica];
        let past = at.is_some() || state.isolated;
        let oracle = attempt(|| visible_state(&state.oracle, at, past));
        match (oracle, attempt(|| visible_state(&state.subject, at, past))) {
            (CallOutcome::Panicked(_), _) => Err(Stop::OraclePanicked),
            (CallOutcome::Done(_), CallOutcome::Panicked(message)) => {
                Err(self.difference("reading", "", format!("panicked: {message}")).into())
            }
            (CallOutcome::Done(oracle), CallOutcome::Done(subject))
                if without_marks(&oracle) != without_marks(&subject) =>
            {
                let at = at.map(|heads| heads.iter().map(|hash| short(*hash)).collect::<Vec<_>>());
                let context = at.map_or("visible state".to_owned(), |at| format!("visible state at {at:?}"));
                Err(Box::new(Difference { step: self.step, context, oracle, subject }).into())
            }
            _ => Ok(()),
        }
    }

    fn integrate(&mut self, replica: usize) -> Result<(), Stop> {
        both!(self, replica, "integrate", |peer| peer.integrate())?;
        self.replicas[replica].isolated = false;
        Ok(())
    }

    fn earlier_heads(&self, replica: usize, which: usize) -> Vec<Hash> {
        let history = &self.replicas[replica].heads_history;
        history[which % history.len()].clone()
    }

    /// Gives a replica the known objects of another one.
    fn share_objects(&mut self, replica: usize, from: usize) {
        let known = self.replicas[from].objects.clone();
        let state = &mut self.replicas[replica];
        for object in known {
            if !state.objects.contains(&object) {
                state.objects.push(object);
            }
        }
    }

    fn merge(&mut self, replica: usize, from: usize) -> Result<(), Stop> {
        let from = from % self.replicas.len();
        if from == replica {
            return Ok(());
        }
        let (state, other) = two_replicas(&mut self.replicas, replica, from);
        let oracle = attempt(|| state.oracle.merge(&mut other.oracle).ok());
        let subject = attempt(|| state.subject.merge(&mut other.subject).ok());
        self.compare_results("merge", oracle, subject)?;
        self.share_objects(replica, from);
        self.compare(replica)
    }

    fn deliver(&mut self, replica: usize, from: usize, order: u64) -> Result<(), Stop> {
        let from = from % self.replicas.len();
        let mut changes = both!(self, from, "all changes", |peer| sorted(peer.changes(&[])))?;
        let mut rng = Rng::new(order);
        let repeated: Vec<_> = changes.iter().filter(|_| rng.below(4) == 0).cloned().collect();
        changes.extend(repeated);
        rng.shuffle(&mut changes);
        let split = rng.below(changes.len() + 1);
        for part in [&changes[..split], &changes[split..]] {
            both!(self, replica, "apply", |peer| peer.apply(part).ok())?;
            both!(self, replica, "missing", |peer| sorted(peer.missing(&[])))?;
        }
        self.share_objects(replica, from);
        self.compare(replica)
    }

    /// Each engine loads the file of the other one.
    fn reload(&mut self, replica: usize, form: SaveForm) -> Result<(), Stop> {
        let encoding = self.script.encoding;
        let (oracle, subject) = self.save_both(replica, complete_form(form))?;
        let name = self.replicas[replica].actor.clone();
        let loaded = attempt(|| A::load(&subject, &name, encoding));
        let CallOutcome::Done(loaded) = loaded else { return Err(Stop::OraclePanicked) };
        match (loaded, attempt(|| B::load(&oracle, &name, encoding))) {
            (Ok(oracle), CallOutcome::Done(Ok(subject))) => {
                let state = &mut self.replicas[replica];
                (state.oracle, state.subject, state.isolated) = (oracle, subject, false);
                self.compare(replica)
            }
            (Err(oracle), _) => {
                Err(self.difference("the oracle loads the file of the subject", oracle, "").into())
            }
            (_, CallOutcome::Done(Err(subject))) => {
                Err(self.difference("the subject loads the file of the oracle", "", subject).into())
            }
            (_, CallOutcome::Panicked(message)) => {
                Err(self.difference("load", "", format!("panicked: {message}")).into())
            }
        }
    }

    fn save_both(&mut self, replica: usize, form: SaveForm) -> Result<(Vec<u8>, Vec<u8>), Stop> {
        let after =
            if let SaveForm::After(which) = form { self.earlier_heads(replica, which) } else { Vec::new() };
        let state = &mut self.replicas[replica];
        let oracle = attempt(|| save(&mut state.oracle, form, &after));
        let subject = attempt(|| save(&mut state.subject, form, &after));
        match (oracle, subject) {
            (CallOutcome::Panicked(_), _) => Err(Stop::OraclePanicked),
            (_, CallOutcome::Panicked(message)) => {
                Err(self.difference("save", "", format!("panicked: {message}")).into())
            }
            // The length of a document chunk depends on its compression, that of single changes does not. Their order may differ.
            (CallOutcome::Done(oracle), CallOutcome::Done(subject))
                if complete_form(form) != form && oracle.len() != subject.len() =>
            {
                Err(self.difference("length of the saved bytes", oracle.len(), subject.len()).into())
            }
            (CallOutcome::Done(oracle), CallOutcome::Done(subject)) => Ok((oracle, subject)),
        }
    }

    fn load_incremental(&mut self, replica: usize, from: usize, form: SaveForm) -> Result<(), Stop> {
        let from = from % self.replicas.len();
        let (from_oracle, from_subject) = self.save_both(from, form)?;
        let state = &mut self.replicas[replica];
        let oracle = attempt(|| state.oracle.load_incremental(&from_subject).ok());
        let subject = attempt(|| state.subject.load_incremental(&from_oracle).ok());
        self.compare_results("load_incremental", oracle, subject)?;
        self.share_objects(replica, from);
        self.compare(replica)
    }

    fn fork_at(&mut self, replica: usize, from: usize, which: usize) -> Result<(), Stop> {
        let from = from % self.replicas.len();
        let heads = self.earlier_heads(from, which);
        self.generations += 1;
        let name = actor(replica, self.generations);
        let state = &mut self.replicas[from];
        let oracle = attempt(|| state.oracle.fork_at(&heads, &name));
        let subject = attempt(|| state.subject.fork_at(&heads, &name));
        match (oracle, subject) {
            (CallOutcome::Panicked(_), _) => Err(Stop::OraclePanicked),
            (CallOutcome::Done(Err(_)), CallOutcome::Done(Err(_))) => Ok(()),
            (CallOutcome::Done(Ok(oracle)), CallOutcome::Done(Ok(subject))) => {
                let state = &mut self.replicas[replica];
                (state.oracle, state.subject, state.actor) = (oracle, subject, name);
                (state.heads_history, state.isolated, state.last_change_is_empty) =
                    (vec![heads], false, false);
                self.drop_links(replica);
                self.share_objects(replica, from);
                self.compare(replica)
            }
            (CallOutcome::Done(oracle), CallOutcome::Done(subject)) => {
                Err(self.difference("fork_at", oracle.map(drop), subject.map(drop)).into())
            }
            (CallOutcome::Done(_), CallOutcome::Panicked(message)) => {
                Err(self.difference("fork_at", "", format!("panicked: {message}")).into())
            }
        }
    }

    /// Ends a script: compares the history of all replicas, and merges them to the same state.
    fn finish(&mut self) -> Result<(), Stop> {
        for replica in 0..self.replicas.len() {
            self.integrate(replica)?;
            self.commit(replica, None, 0)?;
            for heads in self.replicas[replica].heads_history.clone().iter().rev().take(FINAL_HEADS) {
                self.compare_visible_state(replica, Some(heads))?;
                self.resolve_cursors_at(replica, heads)?;
                both!(self, replica, "changes after earlier heads", |peer| sorted(peer.changes(heads)))?;
            }
        }
        for replica in (0..self.replicas.len()).chain(0..self.replicas.len()) {
            for from in 0..self.replicas.len() {
                self.merge(replica, from)?;
            }
            self.reload(replica, SaveForm::Whole)?;
        }
        let first = visible_state(&self.replicas[0].subject, None, false);
        for replica in 1..self.replicas.len() {
            let other = visible_state(&self.replicas[replica].subject, None, false);
            if other != first {
                let context = format!("final state of replica {replica} and of replica 0");
                return Err(
                    Box::new(Difference { step: self.step, context, oracle: first, subject: other }).into()
                );
            }
        }
        Ok(())
    }
}

/// Number of earlier heads that are compared again at the end.
const FINAL_HEADS: usize = 10;

/// Two different replicas.
fn two_replicas<T>(replicas: &mut [T], a: usize, b: usize) -> (&mut T, &mut T) {
    let [a, b] = replicas.get_disjoint_mut([a, b]).expect("two replicas");
    (a, b)
}

/// A visible state without the lines of marks, because the official crate contradicts itself there: `marks` may return marks that its
/// `spans`, and a copy loaded from its file, do not have.
fn without_marks(visible_state: &str) -> Vec<&str> {
    visible_state.lines().filter(|line| !line.starts_with("  marks ")).collect()
}

/// The first digits of a hash.
fn short(hash: Hash) -> String {
    hex::encode(&hash[..4])
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values
}

/// The form from which a document can be loaded: a partial form is replaced by the complete one.
fn complete_form(form: SaveForm) -> SaveForm {
    if form == SaveForm::Plain { SaveForm::Plain } else { SaveForm::Whole }
}

fn save<P: Peer>(peer: &mut P, form: SaveForm, after: &[Hash]) -> Vec<u8> {
    match form {
        SaveForm::Whole => peer.save(),
        SaveForm::Plain => peer.save_plain(),
        SaveForm::After(_) => peer.save_after(after),
        SaveForm::Incremental => peer.save_incremental(),
    }
}
