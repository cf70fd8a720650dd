//! Memory that hostile peers can fill, measured at the allocator beside the bounds that the documentation states.

use std::alloc::System;
use std::time::Duration;

use cap::Cap;
use hashmill_doc::Document;
use hashmill_repo::message::{EphemeralBody, PeerMetadata};
use hashmill_repo::{
    CborItem, Client, DocumentId, EphemeralFilter, Message, PeerId, Presence, PresenceTimes,
};
use hashmill_testkit::rng::Rng;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const NOW: Duration = Duration::ZERO;
/// Bound of an [`EphemeralFilter`].
const FILTER_BYTES: usize = 1 << 20;
/// Bound of a [`Presence`].
const PRESENCE_BYTES: usize = 16 << 20;

/// A text of this length that starts with a number.
fn text(number: usize, len: usize) -> String {
    let number = number.to_string();
    // A width of a format is at most 65,535.
    number.clone() + &" ".repeat(len.saturating_sub(number.len()))
}

fn byte_string(len: usize) -> CborItem {
    let mut bytes = vec![0x5a];
    bytes.extend((len as u32).to_be_bytes());
    bytes.resize(5 + len, 7);
    CborItem::from_bytes(bytes).expect("a byte string")
}

/// A snapshot of channels with names and values of these lengths.
fn snapshot(channels: usize, name_len: usize, value_len: usize) -> Vec<u8> {
    let mut presence = Presence::new(PresenceTimes::default());
    for channel in 0..channels {
        presence.set(&text(channel, name_len), byte_string(value_len)).expect("within the limits");
    }
    presence.next_payload(NOW).expect("a snapshot")
}

/// Bytes that a value retains after it was filled.
fn retained<T>(mut value: T, fill: impl FnOnce(&mut T)) -> usize {
    let before = ALLOCATOR.allocated();
    fill(&mut value);
    let after = ALLOCATOR.allocated();
    after.saturating_sub(before)
}

/// One test, because other threads would be measured, too.
#[test]
fn hostile_peers_fill_no_more_memory_than_stated() {
    for (sessions, len) in [(20_000, 10), (5_000, 1_000), (20, 1 << 20)] {
        let bytes = retained(EphemeralFilter::new(), |filter| {
            for number in 0..sessions {
                assert!(filter.accept(&text(number, len), &text(number, len), 1));
            }
        });
        assert!(bytes <= FILTER_BYTES, "{sessions} sessions, names of {len} bytes: {bytes} bytes");
    }

    // Users with ids of a length, and each with a number of channels, with names and values of a length.
    let mut most = 0;
    for (id_len, channels, name_len, value_len) in [
        (5, 0, 0, 0),
        (5, 1, 3, 0),
        (1_024, 0, 0, 0),
        (1_024, 1, 3, 0),
        (5, 12, 3, 0),
        (5, 256, 3, 0),
        (5, 200, 100, 60),
        (5, 1, 3, 60_000),
        (1_024, 1, 60_000, 0),
        (1 << 20, 1, 3, 0),
    ] {
        let payload = snapshot(channels, name_len, value_len);
        let mut refused = 0;
        let bytes = retained(Presence::new(PresenceTimes::default()), |presence| {
            let mut numbers = 0..5_000;
            while refused < 20
                && let Some(number) = numbers.next()
            {
                let id = PeerId::from(text(number, id_len).as_str());
                refused += usize::from(presence.receive(&id, &payload, NOW).is_err());
            }
        });
        let case = format!("ids of {id_len}, {channels} channels of {name_len} and {value_len} bytes");
        assert!(bytes <= PRESENCE_BYTES, "{case}: {bytes} bytes");
        assert_eq!(refused, 20, "{case}: below the limits");
        most = most.max(bytes);
    }
    // The limit is no idle one.
    assert!(most > PRESENCE_BYTES / 2, "{most} bytes");

    // Users that come, change and leave in random order.
    let mut rng = Rng::new(5);
    let payloads: Vec<Vec<u8>> =
        (0..40).map(|_| snapshot(rng.below(200), 3 + rng.below(40), rng.below(100))).collect();
    let mut leaving = Presence::new(PresenceTimes::default());
    leaving.next_payload(NOW).expect("a snapshot");
    leaving.leave();
    let goodbye = leaving.next_payload(NOW).expect("a goodbye");
    let bytes = retained(Presence::new(PresenceTimes::default()), |presence| {
        for _ in 0..5_000 {
            let id = PeerId::from(text(rng.below(3_000), 10 + rng.below(3) * 400).as_str());
            let payload = if rng.below(5) == 0 { &goodbye } else { &payloads[rng.below(payloads.len())] };
            // Some are beyond the limit of all users.
            let _ = presence.receive(&id, payload, NOW);
        }
    });
    assert!(bytes <= PRESENCE_BYTES, "random users: {bytes} bytes");

    // Frames with authors of 1 MiB, to a client with presence.
    let id = DocumentId::from_random_bytes([7; 16]);
    let mut client = Client::new("us".into(), "session");
    client.add(id.clone(), Document::new());
    client.start_presence(&id, Presence::new(PresenceTimes::default()));
    client.connect();
    client.to_send(NOW).expect("the first frame");
    let (sender, target, metadata) = ("srv".into(), "us".into(), PeerMetadata::default());
    let greeting = Message::Peer { sender, target, metadata, version: "1".into() }.encode();
    client.received(&greeting, NOW).expect("a greeting");
    let payload = snapshot(1, 3, 10);
    let document = id.to_string();
    let bytes = retained(client, |client| {
        for number in 0..40 {
            for data in [&payload[..], b"other"] {
                let frame = Message::Ephemeral(EphemeralBody {
                    sender: text(number, 1 << 20).into(),
                    target: "us".into(),
                    document: document.as_str().into(),
                    session: text(number, 1 << 20).into(),
                    count: data.len() as u64,
                    data: data.into(),
                });
                client.received(&frame.encode(), NOW).expect("no violation");
                while client.next_event().is_some() {}
                while client.to_send(NOW).is_some() {}
            }
        }
    });
    assert!(bytes <= FILTER_BYTES, "long authors: {bytes} bytes");
}
