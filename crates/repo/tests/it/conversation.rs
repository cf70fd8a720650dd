//! Conversations: confirmations of heads that the peer named first, and messages in a row after a restart.

use hashmill_doc::Document;
use hashmill_doc::sync::{Message, State, SyncDoc as _};
use hashmill_repo::{Conversation, SyncStatus};

use crate::{document, put};

/// Two conversations about documents that are in step.
fn in_step(changes: i64) -> [(Document, Conversation); 2] {
    let side = |(actor, changes)| (document(actor, "key", changes), Conversation::new());
    let mut sides = [(1, changes), (2, 0)].map(side);
    exchange(&mut sides);
    sides
}

/// Delivers messages until neither side has one. Returns their number.
fn exchange(sides: &mut [(Document, Conversation); 2]) -> usize {
    let mut messages = 0;
    let mut is_quiet = false;
    while !is_quiet {
        is_quiet = true;
        for from in [0, 1] {
            let (doc, conversation) = &mut sides[from];
            let Some(message) = conversation.next_message(doc) else { continue };
            let (doc, conversation) = &mut sides[1 - from];
            conversation.receive(doc, &message.data).expect("a sound message");
            (is_quiet, messages) = (false, messages + 1);
            assert!(messages < 100, "messages without end");
        }
    }
    messages
}

/// The first message of a new state names heads, and has no changes. The peer sends it when it opens the document again.
fn greeting(doc: &Document) -> Vec<u8> {
    let message = doc.generate_sync_message(&mut State::new()).expect("heads are told");
    assert!(message.changes.is_empty());
    message.encode()
}

#[test]
fn a_peer_that_names_heads_before_it_were_sent_them_are_heads_sent_once() {
    for has_shared in [false, true] {
        let mut sides = in_step(i64::from(has_shared));
        let [(ours, here), (theirs, there)] = &mut sides;
        put(theirs, "key", 7);
        while let Some(message) = there.next_message(theirs) {
            here.receive(ours, &message.data).expect("a sound message");
            if ours.get_heads() == theirs.get_heads() {
                break;
            }
            while let Some(answer) = here.next_message(ours) {
                there.receive(theirs, &answer.data).expect("a sound message");
            }
        }
        // The changes are here, and the peer does not know it: the next message comes before the answer.
        assert_eq!(ours.get_heads(), theirs.get_heads());
        assert_ne!(there.their_heads(), Some(&theirs.get_heads()[..]));
        here.receive(ours, &greeting(theirs)).expect("a sound message");
        let answer = here.next_message(ours).expect("a confirmation");
        let sent = Message::decode(&answer.data).expect("a message");
        assert_eq!((&sent.heads[..], sent.changes.len()), (&ours.get_heads()[..], 0), "{has_shared}");
        there.receive(theirs, &answer.data).expect("a sound message");
        assert_eq!(there.status(theirs), SyncStatus::InSync);
        assert_eq!((here.next_message(ours), there.next_message(theirs)), (None, None));
        // It was told, so that the same message again needs no answer.
        here.receive(ours, &greeting(theirs)).expect("a sound message");
        assert_eq!(here.next_message(ours), None);
        // Later changes flow both ways.
        put(ours, "ours", 1);
        put(theirs, "theirs", 2);
        exchange(&mut sides);
        let [(ours, here), (theirs, there)] = &sides;
        assert_eq!(ours.get_heads(), theirs.get_heads());
        assert_eq!([here.status(ours), there.status(theirs)], [SyncStatus::InSync; 2]);
    }
}

/// Two sides that both get a change on another way, and name it to each other at once, do not confirm without end.
#[test]
fn confirmations_end() {
    let mut sides = in_step(1);
    let mut third = sides[0].0.fork();
    put(&mut third, "key", 9);
    for (doc, _) in &mut sides {
        doc.merge(&third).expect("one more change");
    }
    let greetings = [0, 1].map(|side| greeting(&sides[side].0));
    for (side, greeting) in [(1, &greetings[0]), (0, &greetings[1])] {
        let (doc, conversation) = &mut sides[side];
        conversation.receive(doc, greeting).expect("a sound message");
    }
    let messages = exchange(&mut sides);
    assert!((1..=4).contains(&messages), "{messages}");
    for (doc, conversation) in &sides {
        assert_eq!(conversation.status(doc), SyncStatus::InSync);
    }
}

#[test]
fn a_restart_sends_one_message_but_two_to_an_older_peer_without_changes() {
    for (resets, has_changes, expected) in
        [(true, false, 1), (true, true, 1), (false, true, 1), (false, false, 2)]
    {
        let (mut ours, theirs) = (document(1, "key", 3), document(2, "other", i64::from(has_changes)));
        let mut here = Conversation::new();
        here.next_message(&ours).expect("heads are told");
        let mut first = theirs.generate_sync_message(&mut State::new()).expect("heads are told");
        if !resets {
            first.flags = None;
        }
        here.receive(&mut ours, &first.encode()).expect("a sound message");
        here.restart();
        let messages: Vec<Message> = std::iter::from_fn(|| here.next_message(&ours))
            .map(|message| Message::decode(&message.data).expect("a message"))
            .collect();
        assert_eq!(messages.len(), expected, "resets: {resets}, has changes: {has_changes}");
        let have_heads: Vec<bool> =
            messages.iter().map(|message| message.heads[..] == ours.get_heads()[..]).collect();
        let expected = if resets { &[true][..] } else { &[false, true][..expected] };
        assert_eq!(have_heads, expected, "resets: {resets}, has changes: {has_changes}");
    }
}
