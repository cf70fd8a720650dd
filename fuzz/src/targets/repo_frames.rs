//! Fuzz target for frames of a sync server: a message keeps its meaning when it is encoded again, a client with presence survives
//! every sequence of frames, and all frames that it sends are messages. Values keep their meaning, too.

use std::time::Duration;

use hashmill_repo::message::PeerMetadata;
use hashmill_repo::{CborItem, Client, DocumentId, Message, Presence, PresenceTimes};

use crate::accepted::accepted;
use crate::targets::doc::{LIMITS, small_within};

/// The document of the client. Seeds name it.
const DOCUMENT: &str = "4NMNnkMhL8jXrdJ9jamS58PAVdXu";
/// Maximum number of frames of an input.
const MAX_FRAMES: usize = 16;
/// Maximum number of frames that a client sends after one input frame: a sync message, and payloads of presence.
const MAX_ANSWERS: usize = 4;

/// An input is a sequence of frames, each after its length in two bytes. The last one may be cut.
pub fn repo_frames(mut data: &[u8]) {
    let id: DocumentId = DOCUMENT.parse().expect("an id");
    let mut client = Client::new("us".into(), "session");
    client.add(id.clone(), small_within(LIMITS));
    let mut presence = Presence::new(PresenceTimes::default());
    presence.set("cursor", 3).expect("a small value");
    client.start_presence(&id, presence).expect("the document was added");
    greet(&mut client);
    for number in 0..MAX_FRAMES {
        let Some((len, rest)) = data.split_first_chunk::<2>() else { break };
        let (frame, rest) = rest.split_at(usize::from(u16::from_be_bytes(*len)).min(rest.len()));
        data = rest;
        check_meaning(frame);
        let now = Duration::from_secs(number as u64 * 10);
        if let Err(error) = client.received(frame, now) {
            assert!(!error.to_string().is_empty());
            greet(&mut client);
        }
        while client.next_event().is_some() {}
        let mut answers = 0;
        while let Some(frame) = client.to_send(now) {
            Message::decode(&frame).expect("a client sends messages");
            answers += 1;
            assert!(answers <= MAX_ANSWERS, "a client sends frames without end");
        }
        client.status(&id).expect("the document was added");
        assert!(client.next_deadline().is_none_or(|deadline| deadline > now), "a deadline in the past");
    }
    accepted(client.document(&id).expect("the document was added"));
}

/// Opens a connection and lets the server greet.
fn greet(client: &mut Client) {
    client.connect();
    client.to_send(Duration::ZERO).expect("the first frame");
    let (sender, target) = ("srv".into(), "us".into());
    let greeting =
        Message::Peer { sender, target, metadata: PeerMetadata::default(), version: "1".into() }.encode();
    client.received(&greeting, Duration::ZERO).expect("a greeting");
}

fn check_meaning(frame: &[u8]) {
    match Message::decode(frame) {
        Ok(message) => {
            let encoded = message.encode();
            assert_eq!(Message::decode(&encoded).as_ref(), Ok(&message), "another message");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let Ok(item) = CborItem::from_bytes(frame.to_vec()) else { return };
    let value = item.to_literal();
    let again = CborItem::from_literal(&value).expect("a value that was received").to_literal();
    // NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{value:?}"), "another value");
}
