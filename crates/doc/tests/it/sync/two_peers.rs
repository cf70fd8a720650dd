//! Sync between two peers.

use hashmill_doc::sync::{
    BloomFilter, Have, Message, MessageFlags, MessageVersion, ReadMessageError, ReadStateError, SmallList,
    State, StateParts, SyncDoc as _,
};
use hashmill_doc::{
    ActorId, ApplyError, AutoCommit, Change, ChangeHash, Document, LimitError, Limits, LoadError,
    LoadOptions, ROOT, ReadDoc as _, Rule, Transactable as _,
};

use crate::support::forge::{digits, hex};

fn doc(actor: u8) -> Document {
    Document::new().with_actor(ActorId::from([actor; 4]))
}

fn put(doc: &mut Document, key: &str, value: i64) -> ChangeHash {
    doc.transact(|tx| tx.put(ROOT, key, value)).unwrap();
    doc.get_last_local_change().unwrap().hash()
}

/// Adds `count` changes.
fn fill(doc: &mut Document, key: &str, count: i64) {
    for value in 0..count {
        put(doc, key, value);
    }
}

/// Delivers an encoded message.
fn hear(doc: &mut Document, state: &mut State, message: &Message) {
    let message = Message::decode(&message.encode()).unwrap();
    let received = doc.receive_sync_message(state, message).unwrap();
    assert!(received.refused.is_empty(), "{received:?}");
}

/// Exchanges messages until both peers are silent; returns the number of messages.
fn talk(a: (&mut Document, &mut State), b: (&mut Document, &mut State)) -> usize {
    let ((a, of_b), (b, of_a)) = (a, b);
    let mut messages = 0;
    loop {
        let before = messages;
        if let Some(message) = a.generate_sync_message(of_b) {
            hear(b, of_a, &message);
            messages += 1;
        }
        if let Some(message) = b.generate_sync_message(of_a) {
            hear(a, of_b, &message);
            messages += 1;
        }
        assert!(messages < 20, "sync does not terminate");
        if messages == before {
            return messages;
        }
    }
}

/// Checks the final state: no peer has a message, and both know that the other has all changes.
fn in_step(a: &Document, of_b: &State, b: &Document, of_a: &State) {
    assert_eq!(a.get_heads(), b.get_heads());
    assert!(a.has_our_changes(of_b) && b.has_our_changes(of_a));
    assert_eq!(of_b.shared_heads(), a.get_heads());
    a.check(true);
    b.check(true);
}

#[test]
fn sync_reaches_the_union() {
    for (common, here, there) in
        [(0, 1, 0), (0, 0, 1), (0, 3, 4), (1, 0, 1), (5, 2, 0), (5, 20, 1), (50, 3, 3), (200, 40, 50)]
    {
        let mut a = doc(1);
        fill(&mut a, "common", common);
        let mut b = a.fork().with_actor(ActorId::from([2; 4]));
        fill(&mut a, "here", here);
        fill(&mut b, "there", there);
        let (mut of_b, mut of_a) = (State::new(), State::new());
        let messages = talk((&mut a, &mut of_b), (&mut b, &mut of_a));
        in_step(&a, &of_b, &b, &of_a);
        assert!(messages <= 6, "{common} {here} {there}: {messages}");
        // One more change takes one message and one acknowledgement.
        put(&mut b, "more", 1);
        assert_eq!(talk((&mut a, &mut of_b), (&mut b, &mut of_a)), 2);
        in_step(&a, &of_b, &b, &of_a);
    }
}

#[test]
fn messages_match_other_implementations() {
    // Observed messages, for the document of the golden vectors: reference/automerge.md, 3.1.
    let actor: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
    let empty = Document::new().generate_sync_message(&mut State::new()).unwrap();
    assert_eq!(digits(&empty.encode()), "42000001000000020284");
    let mut sender = Document::new().with_actor(ActorId::from(actor));
    let head = put(&mut sender, "k", 1);
    let (mut of_peer, mut of_sender) = (State::new(), State::new());
    let first = sender.generate_sync_message(&mut of_peer).unwrap();
    let filter = BloomFilter::from_hashes([head].into_iter());
    let hash = digits(&head.0);
    assert_eq!(digits(&first.encode()), format!("4201{hash}00010005{}00020284", digits(&filter.to_bytes())));
    let mut peer = doc(7);
    hear(&mut peer, &mut of_sender, &first);
    let answer = peer.generate_sync_message(&mut of_sender).unwrap();
    assert_eq!(digits(&answer.encode()), format!("430001{hash}01000000020284"));
    hear(&mut sender, &mut of_peer, &answer);
    // The peer has nothing, so the whole document is sent.
    let whole = sender.generate_sync_message(&mut of_peer).unwrap();
    assert_eq!((whole.version, whole.changes.len()), (MessageVersion::V2, 1));
    assert_eq!(whole.changes[0][8], 0);
    hear(&mut peer, &mut of_sender, &whole);
    let last = peer.generate_sync_message(&mut of_sender).unwrap();
    assert_eq!(digits(&last.encode()), format!("4301{hash}000101{hash}0000020284"));
    hear(&mut sender, &mut of_peer, &last);
    assert_eq!(sender.generate_sync_message(&mut of_peer), None);
    in_step(&sender, &of_peer, &peer, &of_sender);
}

#[test]
fn old_peer_gets_individual_changes() {
    let (mut a, mut b) = (doc(1), doc(2));
    fill(&mut a, "k", 10);
    put(&mut b, "other", 1);
    let (mut of_b, mut of_a) = (State::new(), State::new());
    // It knows neither flags nor whole documents in messages.
    let as_old = |message: Option<Message>| {
        message.map(|mut message| {
            assert_eq!(message.version, MessageVersion::V1);
            assert!(message.changes.iter().all(|chunk| chunk[8] == 1));
            message.flags = None;
            message
        })
    };
    for _ in 0..5 {
        if let Some(message) = as_old(a.generate_sync_message(&mut of_b)) {
            hear(&mut b, &mut of_a, &message);
        }
        if let Some(message) = as_old(b.generate_sync_message(&mut of_a)) {
            hear(&mut a, &mut of_b, &message);
        }
    }
    in_step(&a, &of_b, &b, &of_a);
}

#[test]
fn false_positives_of_a_summary_are_requested() {
    // A false positive cannot be forced, but one of a hundred changes is.
    let (mut requested, mut rounds) = (false, 0);
    while !requested {
        rounds += 1;
        let mut a = doc(1);
        put(&mut a, "base", rounds);
        let mut b = a.fork().with_actor(ActorId::from([2; 4]));
        fill(&mut b, "b", 40);
        let (mut of_b, mut of_a) = (State::new(), State::new());
        talk((&mut a, &mut of_b), (&mut b, &mut of_a));
        let filter = BloomFilter::from_hashes(b.get_changes(&[]).iter().map(Change::hash));
        // Only in our document, but reported as present by the other side's filter.
        let Some(n) = (0..200_i64).find(|n| {
            let mut fork = a.fork().with_actor(ActorId::from([1; 4]));
            filter.contains_hash(&put(&mut fork, "only here", *n))
        }) else {
            continue;
        };
        let hash = put(&mut a, "only here", n);
        let (mut of_b, mut of_a) = (State::new(), State::new());
        let call = a.generate_sync_message(&mut of_b).unwrap();
        hear(&mut b, &mut of_a, &call);
        let answer = b.generate_sync_message(&mut of_a).unwrap();
        assert_eq!(answer.need, [hash], "it is named in the heads and asked for at once");
        hear(&mut a, &mut of_b, &answer);
        talk((&mut a, &mut of_b), (&mut b, &mut of_a));
        in_step(&a, &of_b, &b, &of_a);
        requested = true;
    }
}

#[test]
fn decoded_state_shortens_the_summary() {
    let (mut a, mut b) = (doc(1), doc(2));
    fill(&mut a, "k", 100);
    let (mut of_b, mut of_a) = (State::new(), State::new());
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    let state = of_b.encode();
    assert_eq!(state, [&[0x43, 1][..], &a.get_heads()[0].0].concat());
    let (mut of_b, mut of_a) = (State::decode(&state).unwrap(), State::decode(&of_a.encode()).unwrap());
    put(&mut a, "k", 100);
    let first = a.generate_sync_message(&mut of_b).unwrap();
    assert!(first.encode().len() < 100);
    hear(&mut b, &mut of_a, &first);
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    in_step(&a, &of_b, &b, &of_a);
}

#[test]
fn state_parts_round_trip() {
    let (mut a, mut b) = (doc(1), doc(2));
    let (mut of_b, mut of_a) = (State::new(), State::new_read_only());
    let mut covered = [false; 4];
    for round in 0..4 {
        // The whole document at first, then individual changes.
        fill(&mut a, "a", if round == 0 { 40 } else { 2 });
        fill(&mut b, "b", 2);
        of_a.set_read_only(round == 0);
        loop {
            let messages = [a.generate_sync_message(&mut of_b), b.generate_sync_message(&mut of_a)];
            for state in [&mut of_a, &mut of_b] {
                let parts = StateParts::from(&*state);
                let facts = [
                    !parts.sent_upto.is_empty(),
                    !parts.sent_hashes.is_empty(),
                    parts.peer_read_only,
                    parts.can_reset == Some(true),
                ];
                covered = std::array::from_fn(|at| covered[at] || facts[at]);
                let again = State::from(parts);
                assert_eq!(again, *state);
                *state = again;
            }
            let [from_a, from_b] = messages;
            if from_a.is_none() && from_b.is_none() {
                break;
            }
            from_a.iter().for_each(|message| hear(&mut b, &mut of_a, message));
            from_b.iter().for_each(|message| hear(&mut a, &mut of_b, message));
        }
    }
    assert_eq!(a.get_heads(), b.get_heads());
    assert_eq!(covered, [true; 4], "every part said something once");
}

#[test]
fn peer_that_lost_everything_gets_it_again() {
    let (mut a, mut b) = (doc(1), doc(2));
    fill(&mut a, "k", 20);
    let (mut of_b, mut of_a) = (State::new(), State::new());
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    // With a new state, and with one that knows of the lost changes.
    for state in [State::new(), State::decode(&of_a.encode()).unwrap()] {
        let (mut lost, mut of_a, mut of_b) = (doc(3), state, of_b.clone());
        talk((&mut lost, &mut of_a), (&mut a, &mut of_b));
        in_step(&lost, &of_a, &a, &of_b);
    }
}

#[test]
fn read_only_peer_sends_but_does_not_receive() {
    let (mut a, mut b) = (doc(1), doc(2));
    put(&mut a, "a", 1);
    put(&mut b, "b", 1);
    let (mut of_b, mut of_a) = (State::new_read_only(), State::new());
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    assert!(of_b.is_read_only() && of_a.is_peer_read_only());
    assert!(a.get(ROOT, "b").unwrap().is_none() && b.get(ROOT, "a").unwrap().is_some());
    of_b.set_read_only(false);
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    in_step(&a, &of_b, &b, &of_a);
    of_b.set_read_only(true);
    put(&mut b, "b", 2);
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    assert_ne!(a.get_heads(), b.get_heads());
}

/// A change that increments a missing counter, by naming a predecessor that does not exist.
fn wrong(doc: &Document) -> Change {
    use hashmill_doc::legacy::{Op, OpId};
    let mut fork = doc.fork().with_actor(ActorId::from([66; 4]));
    put(&mut fork, "wrong", 1);
    let mut change = fork.get_last_local_change().unwrap().decode();
    let op = change.operations.pop().unwrap();
    let unknown_op = OpId::new(1, &ActorId::from([67; 4]));
    change.operations.push(Op { pred: vec![unknown_op], ..op });
    Change::try_from(&change).unwrap()
}

#[test]
fn one_bad_change_does_not_block_others() {
    let mut a = doc(1);
    put(&mut a, "base", 1);
    let base = a.get_heads();
    let mut b = a.fork().with_actor(ActorId::from([2; 4]));
    let sound = put(&mut b, "sound", 1);
    let bad = wrong(&a);
    // Its heads are a valid change and a bad one, and it sends them repeatedly.
    let (mut of_b, mut heads) = (State::new(), vec![sound, bad.hash()]);
    heads.sort_unstable();
    let mut message = Message::default();
    message.heads = heads.into();
    message.flags = Some(MessageFlags::SUPPORTS_SYNC_RESET);
    let bloom = BloomFilter::from_hashes([sound, bad.hash()].into_iter());
    message.have = SmallList::one(Have { last_sync: base.into(), bloom });
    message.changes = vec![bad.raw_bytes(), b.get_last_local_change().unwrap().raw_bytes()];
    let received = a.receive_sync_message(&mut of_b, message.clone()).unwrap();
    assert!(matches!(&received.refused[..], [(hash, ApplyError::Fault { .. })] if *hash == bad.hash()));
    assert!(a.get(ROOT, "sound").unwrap().is_some() && a.get(ROOT, "wrong").unwrap().is_none());
    message.changes.clear();
    let mut replies = 0;
    for _ in 0..10 {
        if let Some(answer) = a.generate_sync_message(&mut of_b) {
            assert!(answer.need.is_empty(), "it is not asked for again");
            replies += 1;
        }
        a.receive_sync_message(&mut of_b, message.clone()).unwrap();
    }
    assert!(replies <= 1, "{replies} answers to the same");
    // Other changes are not blocked.
    let mut c = doc(3);
    put(&mut c, "c", 1);
    let (mut of_c, mut of_a) = (State::new(), State::new());
    talk((&mut a, &mut of_c), (&mut c, &mut of_a));
    in_step(&a, &of_c, &c, &of_a);
}

#[test]
fn sync_ends_at_a_limit() {
    let limits = Limits { total: 10, ..Limits::default() };
    let small = |actor| {
        let doc = Document::load_with(&[], LoadOptions::new().limits(limits)).unwrap();
        doc.with_actor(ActorId::from([actor; 4]))
    };
    // Eight shared operations, and three more, which are sent as individual changes.
    let (mut a, mut base) = (small(1), doc(2));
    fill(&mut base, "base", 8);
    a.merge(&base).unwrap();
    fill(&mut base, "more", 3);
    let (mut of_b, mut of_a, mut refused) = (State::new(), State::new(), 0);
    for round in 0.. {
        assert!(round < 10, "sync does not terminate");
        let call = a.generate_sync_message(&mut of_b);
        call.iter().for_each(|message| hear(&mut base, &mut of_a, message));
        let answer = base.generate_sync_message(&mut of_a);
        if call.is_none() && answer.is_none() {
            break;
        }
        if let Some(message) = answer {
            refused += a.receive_sync_message(&mut of_b, message).unwrap().refused.len();
        }
    }
    assert_eq!((refused, a.get_changes(&[]).len()), (1, 10));
    a.check(true);
    // From a whole document that is too long, the same changes are applied.
    let (mut c, mut of_b, mut of_c) = (small(3), State::new(), State::new());
    let (mut unread, mut refused) = (vec![], 0);
    for round in 0.. {
        assert!(round < 10, "sync does not terminate");
        let call = c.generate_sync_message(&mut of_b);
        call.iter().for_each(|message| hear(&mut base, &mut of_c, message));
        let answer = base.generate_sync_message(&mut of_c);
        if call.is_none() && answer.is_none() {
            break;
        }
        if let Some(message) = answer {
            let received = c.receive_sync_message(&mut of_b, message).unwrap();
            unread.extend(received.unread);
            refused += received.refused.len();
        }
    }
    let limit = LimitError { what: "operations in total", limit: 10 };
    assert_eq!((unread, refused), (vec![LoadError::Limit(limit)], 1));
    assert_eq!(c.get_heads(), a.get_heads());
}

#[test]
fn unreadable_message_changes_nothing() {
    let mut a = doc(1);
    put(&mut a, "k", 1);
    let good = {
        let mut b = a.fork().with_actor(ActorId::from([2; 4]));
        put(&mut b, "b", 1);
        b.get_last_local_change().unwrap().raw_bytes()
    };
    let mut of_b = State::new();
    a.generate_sync_message(&mut of_b).unwrap();
    let (before, heads) = (of_b.clone(), a.get_heads());
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for changes in [vec![good.clone(), damaged.clone()], vec![[good, damaged].concat()], vec![vec![7; 40]]] {
        let mut message = Message::default();
        message.changes = changes;
        let error = a.receive_sync_message(&mut of_b, message).unwrap_err();
        assert!(matches!(error, LoadError::Format(_)), "{error}");
        assert_eq!((&of_b, a.get_heads()), (&before, heads.clone()));
    }
}

#[test]
fn malformed_messages_have_different_errors() {
    let format = |bytes: &str| match Message::decode(&hex(bytes)) {
        Err(ReadMessageError::Format { rule, .. }) => rule,
        other => panic!("{bytes}: {other:?}"),
    };
    assert_eq!(Message::decode(&[0x41]), Err(ReadMessageError::Type(0x41)));
    assert_eq!(format(""), Rule::Truncated);
    assert_eq!(format("42"), Rule::Truncated);
    // A truncated hash; far more hashes than bytes.
    assert_eq!(format("4201aabb"), Rule::Truncated);
    assert_eq!(format("42ffffffffffffffffff01"), Rule::Truncated);
    // A filter of 1 entry with a missing byte, and one with an impossible number of entries.
    assert_eq!(format("42 0000 01 00 04 010a0700 00"), Rule::BloomFilter);
    assert_eq!(format("42000001000cffffffff0f0a07aabbccdd0000"), Rule::BloomFilter);
    // Changes: more entries than bytes, one that is not a chunk, one that is longer than the message.
    assert_eq!(format("4200000005"), Rule::Truncated);
    assert_eq!(format("42000000010102"), Rule::Truncated);
    assert_eq!(format("42000000017f02"), Rule::Truncated);
    assert_eq!(format("420000000005"), Rule::Truncated);
    // An excessive number of summaries.
    let many = Message::decode(&hex("420000 11"));
    assert!(matches!(many, Err(ReadMessageError::Limit(_))), "{many:?}");
    // Trailing bytes are of later versions, and so are unknown flags.
    let later = Message::decode(&hex("4300000000 03 0290f1 aabb")).unwrap();
    assert_eq!(later.flags.map(|flags| flags.contains(MessageFlags::SYNC_RESET)), Some(true));
    assert_eq!(State::decode(&hex("42 00")), Err(ReadStateError::Type(0x42)));
    assert!(matches!(State::decode(&hex("43 01 aa")), Err(ReadStateError::Format { .. })));
    assert!(matches!(State::decode(&[]), Err(ReadStateError::Format { .. })));
}

#[test]
fn crossing_messages_are_handled() {
    let (mut a, mut b) = (doc(1), doc(2));
    fill(&mut a, "a", 5);
    fill(&mut b, "b", 5);
    let (mut of_b, mut of_a) = (State::new(), State::new());
    for round in 0.. {
        assert!(round < 10);
        let (here, there) = (a.generate_sync_message(&mut of_b), b.generate_sync_message(&mut of_a));
        if here.is_none() && there.is_none() {
            break;
        }
        here.iter().for_each(|message| hear(&mut b, &mut of_a, message));
        there.iter().for_each(|message| hear(&mut a, &mut of_b, message));
    }
    in_step(&a, &of_b, &b, &of_a);
}

#[test]
fn leaked_transaction_is_not_sent() {
    let mut a = doc(1);
    put(&mut a, "k", 1);
    let mut leaked = a.transaction();
    leaked.put(ROOT, "leaked", 1).unwrap();
    std::mem::forget(leaked);
    let mut b = doc(2);
    let (mut of_b, mut of_a) = (State::new(), State::new());
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    in_step(&a, &of_b, &b, &of_a);
    assert!(b.get(ROOT, "leaked").unwrap().is_none());
}

#[test]
fn queued_changes_are_sent_with_the_whole_document() {
    let (mut a, mut c) = (doc(1), doc(3));
    put(&mut a, "a", 1);
    put(&mut c, "first", 1);
    let mut b = c.fork().with_actor(ActorId::from([2; 4]));
    put(&mut c, "second", 1);
    // The second one is queued here for the first, which the peer has.
    a.apply_changes([c.get_last_local_change().unwrap()]).unwrap();
    let (mut of_b, mut of_a) = (State::new(), State::new());
    talk((&mut a, &mut of_b), (&mut b, &mut of_a));
    in_step(&a, &of_b, &b, &of_a);
    assert!(b.get(ROOT, "second").unwrap().is_some());
    assert_eq!(a.get_missing_deps(&[]), []);
}

#[test]
fn sync_commits_pending_edits() {
    let mut auto = AutoCommit::new();
    auto.put(ROOT, "k", 1).unwrap();
    let message = auto.sync().generate_sync_message(&mut State::new()).unwrap();
    assert_eq!(message.heads, auto.get_heads());
    assert_eq!(message.heads.len(), 1);
}
