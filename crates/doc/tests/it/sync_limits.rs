//! Sync with a peer that has limits: one refused change keeps back nothing but what depends on it.

use std::collections::{BTreeMap, BTreeSet};

use hashmill_doc::sync::{Message, State, SyncDoc as _};
use hashmill_doc::{
    ActorId, ApplyError, Change, ChangeHash, Document, Limits, LoadError, LoadOptions, ObjType, ROOT,
    ScalarValue, Transactable as _,
};

use crate::Rng;
use crate::worlds::for_all;

/// What one limit, or several, may be in a world of some dozens of changes.
fn limits(rng: &mut Rng) -> Limits {
    // The limits that docs/documents.md recommends to servers, 2^14 times smaller.
    let scaled = Limits { total: 1 << 6, steps: 1 << 4, inflated_bytes: 1 << 12, ..Limits::default() };
    let mut limits = if rng.below(4) == 0 { scaled } else { Limits::default() };
    for _ in 0..1 + rng.below(2) {
        match rng.below(5) {
            0 => limits.inflated_bytes = 700 + rng.below(4000) as u64,
            1 => limits.operations = 3 + rng.below(60) as u64,
            2 => limits.total = 20 + rng.below(300) as u64,
            3 => limits.changes = 2 + rng.below(40) as u64,
            _ => limits.steps = rng.below(400) as u64,
        }
    }
    limits
}

/// A change of some kind: short, with a long value, of many operations, or of much work in few bytes.
fn edit(doc: &mut Document, rng: &mut Rng) {
    let kind = rng.below(12);
    let number = rng.below(1000);
    doc.transact(|tx| match kind {
        0 => tx.put(ROOT, "long", "long ".repeat(100 + number)),
        1 => (0..5 + number / 10).try_for_each(|key| tx.put(ROOT, format!("{key}"), key as i64)),
        2 => {
            let list = tx.put_object(ROOT, "list", ObjType::List)?;
            (0..number).try_for_each(|_| tx.insert(&list, 0, ScalarValue::Null))
        }
        3 => {
            let text = tx.put_object(ROOT, "text", ObjType::Text)?;
            tx.splice_text(&text, 0, 0, &"text ".repeat(1 + number / 10))
        }
        _ => tx.put(ROOT, format!("key {}", number % 5), number as i64),
    })
    .unwrap();
}

/// Takes one change, as it comes.
fn take(limited: &Document, change: &Change) -> Result<usize, LoadError> {
    limited.fork().load_incremental(&change.raw_bytes())
}

/// Whether a change finds no room in the columns where it stands among the changes of a message. A later change of the
/// message may make columns shorter, because it fills the gap between two runs.
fn in_its_turn(before: &Document, chunks: &[Vec<u8>], hash: &ChangeHash) -> bool {
    let changes = chunks.iter().filter_map(|chunk| Change::from_bytes(chunk).ok());
    let refused = before.fork().apply_valid(changes).refused;
    refused.iter().any(|(refused, why)| {
        refused == hash && matches!(why, ApplyError::Limit(limit) if limit.what == "inflated bytes")
    })
}

/// Whether a change that was refused depends on this one.
fn is_before_refused(peer: &Document, hash: ChangeHash, refused: &BTreeMap<ChangeHash, ApplyError>) -> bool {
    let mut dependents = BTreeSet::from([hash]);
    peer.get_changes(&[]).iter().any(|change| {
        let depends = change.deps().iter().any(|dep| dependents.contains(dep));
        depends && dependents.insert(change.hash()) && refused.contains_key(&change.hash())
    })
}

/// Lets two talk until both are silent. The first has limits; gives what it refused, and notes changes that its summaries
/// seem to contain although it lacks them. An old peer knows neither flags nor documents in messages, and deflates changes.
fn talk(
    (limited, of_peer): (&mut Document, &mut State),
    (peer, of_limited): (&mut Document, &mut State),
    old: bool,
    seeming: &mut BTreeSet<ChangeHash>,
) -> Vec<(ChangeHash, ApplyError)> {
    let wire = |message: Message| {
        let mut message = Message::decode(&message.encode()).unwrap();
        if old {
            message.flags = None;
            for chunk in &mut message.changes {
                *chunk = Change::from_bytes(chunk).unwrap().bytes();
            }
        }
        message
    };
    let mut refused = vec![];
    for round in 0.. {
        assert!(round < 60, "{}: they talk without end, {:?}", limited.get_actor(), limited.stats());
        let call = limited.generate_sync_message(of_peer);
        let answer = peer.generate_sync_message(of_limited);
        if call.is_none() && answer.is_none() {
            return refused;
        }
        if let Some(message) = call {
            let lacked = peer.get_changes(&limited.get_heads()).into_iter().map(|change| change.hash());
            let lacked = lacked.filter(|hash| limited.get_change_by_hash(hash).is_none());
            let seems = |hash: &ChangeHash| message.have.iter().any(|have| have.bloom.contains_hash(hash));
            seeming.extend(lacked.filter(seems));
            peer.receive_sync_message(of_limited, wire(message)).unwrap();
        }
        if let Some(message) = answer {
            let message = wire(message);
            let (before, chunks) = (limited.fork(), message.changes.clone());
            let received = limited.receive_sync_message(of_peer, message).unwrap();
            for (hash, why) in &received.refused {
                // It may be one of another peer that waited.
                let Some(change) = peer.get_change_by_hash(hash) else { continue };
                let here = |hash: &ChangeHash| limited.get_change_by_hash(hash).is_some();
                if matches!(why, ApplyError::Limit(_)) && change.deps().iter().all(here) {
                    assert!(!here(hash), "{hash} is here: {why}");
                    let alone = take(limited, &change).is_err();
                    assert!(alone || in_its_turn(&before, &chunks, hash), "{hash} could be taken: {why}");
                }
            }
            refused.extend(received.refused);
        }
    }
    unreachable!("it counts for ever")
}

/// Three peers and one with limits; whatever it refuses, it has everything else in the end, and has named the rest. Gives
/// how many operations the peers have.
fn world(seed: u64, old: bool) -> usize {
    let rng = &mut Rng::new(seed);
    let limits = limits(rng);
    let within = LoadOptions::new().limits(limits).actor(ActorId::from([9]));
    let mut limited = Document::load_with(&[], within).unwrap();
    let mut peers: Vec<Document> =
        (1..=3).map(|actor| Document::new().with_actor(ActorId::from([actor]))).collect();
    let mut states: Vec<(State, State)> = vec![Default::default(); 3];
    let (mut named, mut seeming) = (BTreeMap::new(), BTreeSet::new());
    for _ in 0..6 {
        for _ in 0..8 {
            let who = rng.below(3);
            edit(&mut peers[who], rng);
            if rng.below(4) == 0 {
                let other = peers[(who + 1) % 3].fork();
                peers[who].merge(&other).unwrap();
            }
        }
        let who = rng.below(3);
        let (of_peer, of_limited) = &mut states[who];
        let refused = talk((&mut limited, of_peer), (&mut peers[who], of_limited), old, &mut seeming);
        named.extend(refused);
    }
    for (peer, (of_peer, of_limited)) in peers.iter_mut().zip(&mut states) {
        let refused = talk((&mut limited, of_peer), (peer, of_limited), old, &mut seeming);
        named.extend(refused);
    }
    limited.check(true);
    for peer in &peers {
        for change in peer.get_changes(&limited.get_heads()) {
            let (hash, here) =
                (change.hash(), |hash: &ChangeHash| limited.get_change_by_hash(hash).is_some());
            if here(&hash) || !change.deps().iter().all(here) {
                continue;
            }
            let alone = take(&limited, &change);
            // What a change costs depends on what it meets, so one that was too dear may be less so in the end.
            let dear = limits.steps < Limits::default().steps;
            // The peer does not send what a summary seems to contain, and what only refused changes depend on is not asked for.
            let why = named.get(&hash);
            if why.is_none() && seeming.contains(&hash) && is_before_refused(peer, hash, &named) {
                continue;
            }
            assert!(alone.is_err() || dear, "{seed}: {hash} could be taken, {why:?}, {limits:?}");
            assert!(why.is_some(), "{seed}: {hash} was not named: {alone:?}, {limits:?}");
        }
    }
    let mut all = Document::new();
    peers.iter().for_each(|peer| drop(all.merge(peer).unwrap()));
    all.stats().operations as usize
}

#[test]
fn past_a_refused_change_all_others_arrive() {
    for_all("sync past refused changes", 0..100, |seed| world(seed, false));
}

#[test]
fn so_they_do_change_by_change() {
    for_all("sync past refused changes with an old peer", 0..100, |seed| world(seed, true));
}

/// Seeds that longer runs found: a waiting change that came again with too little work left, columns that become shorter, and
/// a change that the summary seemed to contain.
#[test]
fn so_they_do_where_longer_runs_found_something() {
    for seed in [565, 851, 1417, 1496] {
        world(seed, false);
        world(seed, true);
    }
}

/// The same change is refused for the same reason on every route.
#[test]
fn a_limit_is_the_same_on_every_route() {
    for seed in 0..200 {
        let rng = &mut Rng::new(seed);
        let mut limits = Limits::default();
        match seed % 2 {
            0 => limits.operations = 3 + rng.below(60) as u64,
            _ => limits.inflated_bytes = 1500 + rng.below(3000) as u64,
        }
        let mut peer = Document::new().with_actor(ActorId::from([1]));
        edit(&mut peer, rng);
        let change = peer.get_last_local_change().unwrap();
        let empty = || Document::load_with(&[], LoadOptions::new().limits(limits)).unwrap();
        let plain = Change::from_bytes_with(&change.raw_bytes(), &limits).is_ok();
        assert_eq!(Change::from_bytes_with(&change.bytes(), &limits).is_ok(), plain, "{seed}: deflated");
        let applied = empty().apply_changes([change.clone()]).is_ok();
        assert!(plain || !applied, "{seed}: what cannot be read is not applied");
        let mut synced = empty();
        let refused = talk(
            (&mut synced, &mut State::new()),
            (&mut peer, &mut State::new()),
            false,
            &mut BTreeSet::new(),
        );
        assert_eq!(refused.is_empty(), synced.get_heads() == peer.get_heads());
        let routes = [
            ("apply_valid", empty().apply_valid([change.clone()]).refused.is_empty()),
            ("load_incremental", empty().load_incremental(&change.raw_bytes()).is_ok()),
            ("merge", empty().merge(&peer).is_ok()),
        ];
        // What is about to be added is estimated, what is there is measured.
        let len = change.raw_bytes().len() as u64;
        if (limits.inflated_bytes / 2..limits.inflated_bytes * 5 / 4).contains(&len) {
            continue;
        }
        for (route, taken) in routes {
            assert_eq!(taken, applied, "{seed}: {route}, {} operations, {limits:?}", change.len());
        }
        // What is read as a whole may fill the eighth that edits leave free.
        if plain == applied {
            assert_eq!(refused.is_empty(), applied, "{seed}: sync, {limits:?}");
        }
        if seed % 2 == 0 {
            let whole = Document::load_with(&peer.save(), LoadOptions::new().limits(limits));
            assert_eq!(whole.is_ok(), applied, "{seed}: a whole document");
        }
    }
}
