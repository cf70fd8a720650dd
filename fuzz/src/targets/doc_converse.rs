//! Fuzz target for three peers that edit and exchange changes, with forged changes in between. In every order, a change that one peer
//! accepts is accepted by the others, and at the end all are equal.

use hashmill_doc::{
    ActorId, ApplyError, Change, CommitOptions, Document, EditError, LoadError, ReadDoc as _,
};
use hashmill_testkit::Rng;
use hashmill_testkit::mutate::chunk::{self, Chunk};
use hashmill_testkit::mutate::forge::{ForgeStrictness, KnownOps};
use hashmill_testkit::mutate::mutate_change;

use crate::accepted::{accepted, same, same_views};
use crate::deliver::Ledger;
use crate::edits::{edit, edits};
use crate::script::Script;
use crate::targets::doc::{LIMITS, options, within};
use crate::verdict::Verdict;

const PEERS: usize = 3;

/// Maximum number of steps of a conversation.
const MOST: usize = 24;

struct Talk {
    peers: Vec<Document>,
    ledger: Ledger,
    universe: KnownOps,
    /// Known operations, by name.
    learnt: Vec<[u8; 32]>,
    forged: Vec<Change>,
}

/// An input is a script. Each step has two bytes: the peer and the action, and its argument.
pub fn doc_converse(data: &[u8]) -> Verdict {
    let mut script = Script::new(data);
    let peer = |at: usize| within(LIMITS).with_actor(ActorId::from([at as u8 + 1; 2]));
    let mut talk = Talk {
        peers: (0..PEERS).map(peer).collect(),
        ledger: Ledger::default(),
        universe: KnownOps::default(),
        learnt: vec![],
        forged: vec![],
    };
    for step in 0..MOST {
        let Some(what) = script.step() else { break };
        let how = script.byte();
        let rng = &mut Rng::new(u64::from(how) << 16 | step as u64);
        let who = usize::from(what / 16) % PEERS;
        let other = (who + 1 + rng.below(PEERS - 1)) % PEERS;
        match what % 16 {
            0..=4 => edit(&mut talk.peers[who], rng),
            5 | 6 => talk.send(who, other),
            7 => talk.merge(who, other),
            8 => talk.append(who, other),
            9 => talk.reload(who),
            10 => talk.look_back(who, rng),
            _ => talk.forge(who, other, rng),
        }
    }
    talk.end()
}

impl Talk {
    /// One peer sends the changes that the other lacks, one by one.
    fn send(&mut self, from: usize, to: usize) {
        let changes = self.peers[from].get_changes(&self.peers[to].get_heads());
        changes.iter().for_each(|change| self.ledger.deliver(&mut self.peers[to], change));
    }

    /// As above, as bytes of all changes at once.
    fn append(&mut self, from: usize, to: usize) {
        let bytes = self.peers[from].save_after(&self.peers[to].get_heads());
        loop {
            match self.peers[to].load_incremental(&bytes) {
                Ok(_) => return,
                Err(LoadError::Apply(error)) => self.only_forged(error),
                Err(error) => panic!("what one has accepted another refuses: {error}"),
            }
        }
    }

    /// As above, by a merge without bytes.
    fn merge(&mut self, from: usize, to: usize) {
        let other = self.peers[from].clone();
        while let Err(error) = self.peers[to].merge(&other) {
            self.only_forged(error);
        }
    }

    /// A forged change that waited for a received one may have been refused with it. No other error is allowed.
    fn only_forged(&mut self, error: ApplyError) {
        match error {
            ApplyError::Fault { hash, fault } if self.forged.iter().any(|change| change.hash() == hash) => {
                self.ledger.note(hash, Some(fault.to_string()));
            }
            error => panic!("what one has accepted another refuses: {error}"),
        }
    }

    /// A peer forks at an earlier change, compares the contents with the view at its heads, and edits.
    fn look_back(&mut self, who: usize, rng: &mut Rng) {
        let doc = &mut self.peers[who];
        let changes: Vec<_> = doc.get_changes_meta(&[]).iter().map(|change| change.hash).collect();
        if changes.is_empty() {
            return;
        }
        let then = [changes[rng.below(changes.len())]];
        let past = doc.fork_at(&then).expect("a change that is there");
        past.check(true);
        same_views(&past.view(), &doc.at(&then).expect("a change that is there"));
        let done = doc.transact_at(&then, &CommitOptions::default(), |tx| {
            edits(tx, rng);
            Ok::<_, EditError>(())
        });
        done.expect("edits that cannot be done are left out");
    }

    /// A peer restarts from its file.
    fn reload(&mut self, who: usize) {
        let actor = self.peers[who].get_actor().clone();
        let bytes = self.peers[who].save();
        match Document::load_with(&bytes, options()) {
            Ok(doc) => self.peers[who] = doc.with_actor(actor),
            Err(error) => panic!("a peer cannot load its own file: {error}"),
        }
    }

    /// Forges a change on top of one peer's changes and delivers it to two peers, to the second before or after its dependencies.
    fn forge(&mut self, who: usize, other: usize, rng: &mut Rng) {
        self.learn();
        let author = [0xf0, self.forged.len() as u8];
        let heads: Vec<_> = self.peers[who].get_heads().iter().map(|hash| hash.0).collect();
        let mut change = self.universe.forge(&author, heads, ForgeStrictness::Little, rng);
        if rng.below(8) == 0 {
            mutate_change(&mut change, &mut self.universe, rng);
        }
        let Ok(change) = Change::from_bytes_with(&change.bytes(), &LIMITS) else { return };
        if self.forged.iter().any(|known| known.actor_id() == change.actor_id()) {
            return;
        }
        let own = (1..=PEERS as u8).any(|peer| change.actor_id().as_bytes() == [peer; 2]);
        if own {
            return;
        }
        self.forged.push(change.clone());
        if rng.below(2) == 0 {
            self.ledger.deliver(&mut self.peers[other], &change);
        }
        self.ledger.deliver(&mut self.peers[who], &change);
        accepted(&self.peers[who]);
    }

    /// Adds the changes of all peers to the known operations.
    fn learn(&mut self) {
        for peer in &self.peers {
            for change in peer.get_changes(&[]) {
                if !self.learnt.contains(&change.hash().0) {
                    self.learnt.push(change.hash().0);
                    if let [Chunk::Change(change)] = &chunk::split(&change.raw_bytes())[..] {
                        self.universe.learn(change);
                    }
                }
            }
        }
    }

    /// Delivers all changes to all peers, twice, because changes may have waited for a refused one.
    fn end(mut self) -> Verdict {
        for _ in 0..2 {
            for to in 0..PEERS {
                (0..PEERS).filter(|from| *from != to).for_each(|from| self.send(from, to));
                self.forged.iter().for_each(|change| self.ledger.deliver(&mut self.peers[to], change));
            }
        }
        let [first, rest @ ..] = &self.peers[..] else { return Verdict::Refused };
        rest.iter().for_each(|peer| same(first, peer));
        accepted(first);
        let taken = |change: &Change| first.get_change_meta_by_hash(&change.hash()).is_some();
        if self.forged.iter().any(taken) { Verdict::Accepted } else { Verdict::Refused }
    }
}
