//! Presence: users of one document beside a server that passes messages on, with faults and clocks that differ.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hashmill_doc::Document;
use hashmill_repo::message::{EphemeralBody, PeerMetadata};
use hashmill_repo::{
    CborItem, Client, DocumentId, Event, IgnoreReason, Message, PeerId, Presence, PresenceError,
    PresenceEvent, PresenceTimes, Receipt, ReceivedPresence,
};
use hashmill_testkit::rng::Rng;
use hashmill_testkit::size;

use crate::ID;

fn id() -> DocumentId {
    ID.parse().expect("an id")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Passes all payloads of one user to another. Returns their number.
fn exchange((sender, name): (&mut Presence, &str), to: &mut Presence, now: Duration) -> usize {
    let payloads: Vec<_> = std::iter::from_fn(|| sender.next_payload(now)).collect();
    for payload in &payloads {
        to.receive(&name.into(), payload, now).expect("sound");
    }
    payloads.len()
}

fn number(presence: &Presence, peer: &str, channel: &str) -> Option<f64> {
    presence.peer(peer)?.get(channel)?.as_number()
}

#[test]
fn users_see_each_other_until_they_leave() {
    let mut ada = Presence::new(PresenceTimes::default());
    let mut ben = Presence::new(PresenceTimes::default());
    ada.set("cursor", 3).expect("small");
    ada.set("name", "Ada").expect("small");
    assert_eq!(ada.next_deadline(false), None);
    assert_eq!(ada.next_deadline(true), Some(Duration::ZERO));
    // One snapshot has both channels.
    assert_eq!(exchange((&mut ada, "ada"), &mut ben, seconds(1)), 1);
    assert_eq!(ben.peer("ada").and_then(|ada| ada.get("name")?.as_text()), Some("Ada"));
    ben.set("cursor", 1.5).expect("small");
    assert_eq!(exchange((&mut ben, "ben"), &mut ada, seconds(1)), 1);
    assert_eq!(number(&ada, "ben", "cursor"), Some(1.5));
    // Each answers the other's first message, after a delay.
    assert_eq!(ada.next_deadline(true), Some(millis(1_500)));
    assert_eq!(exchange((&mut ada, "ada"), &mut ben, millis(1_499)), 0);
    assert_eq!(exchange((&mut ada, "ada"), &mut ben, millis(1_500)), 1);
    assert_eq!(exchange((&mut ben, "ben"), &mut ada, millis(1_500)), 1);
    // An update replaces an earlier one that was not sent.
    ada.set("cursor", 4).expect("small");
    ada.set("cursor", 5).expect("small");
    assert_eq!(exchange((&mut ada, "ada"), &mut ben, seconds(2)), 1);
    assert_eq!(number(&ben, "ada", "cursor"), Some(5.0));
    let active = seconds(2);
    // The first heartbeat after a change is a snapshot, the next one is not.
    assert_eq!(ada.next_deadline(true), Some(seconds(17)));
    assert_eq!(exchange((&mut ada, "ada"), &mut ben, millis(16_999)), 0);
    let payload = ada.next_payload(seconds(17)).expect("a snapshot");
    let snapshot = ben.receive(&"ada".into(), &payload, seconds(17));
    assert!(matches!(snapshot, Ok(ReceivedPresence::Event(PresenceEvent::Updated { is_new: false, .. }))));
    assert!(ben.peer("ada").is_some_and(|ada| ada.last_active() > active));
    assert_eq!(exchange((&mut ada, "ada"), &mut ben, seconds(32)), 1);
    let there = ben.peer("ada").expect("still there");
    assert_eq!((there.last_seen(), there.last_active()), (seconds(32), seconds(17)));
    // Ben is silent for too long.
    assert_eq!(ada.expire(millis(46_499)), []);
    assert_eq!(ada.next_deadline(false), Some(millis(46_500)));
    assert_eq!(ada.expire(millis(46_500)), [PresenceEvent::Expired("ben".into())]);
    // Ada leaves.
    ada.leave();
    let goodbye = ada.next_payload(seconds(47)).expect("a last payload");
    let left = ben.receive(&"ada".into(), &goodbye, seconds(47));
    assert_eq!(left, Ok(ReceivedPresence::Event(PresenceEvent::Left("ada".into()))));
    assert!(ada.has_left() && ada.next_payload(seconds(99)).is_none());
    assert_eq!(ben.receive(&"ada".into(), &goodbye, seconds(47)), Ok(ReceivedPresence::Nothing));
}

#[test]
fn presence_is_bounded() {
    let limit = |what: &'static str, limit| PresenceError::Limit { what, limit };
    let value = |len: usize| {
        let mut bytes = vec![0x5a];
        bytes.extend((len as u32).to_be_bytes());
        bytes.resize(5 + len, 7);
        CborItem::from_bytes(bytes).expect("a byte string")
    };
    let mut sender = Presence::new(PresenceTimes::default());
    assert_eq!(sender.set("large", value(1 << 16)), Err(limit("bytes", 1 << 16)));
    sender.set("large", value(60_000)).expect("below the limit");
    assert_eq!(sender.set("more", value(6_000)), Err(limit("bytes", 1 << 16)));
    sender.set("large", value(60_001)).expect("it replaces the other value");
    let large = sender.next_payload(Duration::ZERO).expect("a snapshot");
    let mut receiver = Presence::new(PresenceTimes::default());
    let mut receive = |peer: usize, payload: &[u8]| {
        receiver.receive(&PeerId::from(peer.to_string().as_str()), payload, Duration::ZERO)
    };
    // Users with little: their number is bounded.
    let small = Presence::new(PresenceTimes::default()).next_payload(Duration::ZERO).expect("a snapshot");
    for peer in 0..4096 {
        receive(peer, &small).expect("below the limit");
    }
    assert_eq!(receive(4096, &small), Err(limit("users", 4096)));
    // Known users with much: all bytes are bounded.
    let refused = (0..4096).map(|peer| receive(peer, &large)).find_map(Result::err);
    assert_eq!(refused, Some(limit("bytes of all users", 16 << 20)));
    let mut channels = Presence::new(PresenceTimes::default());
    for channel in 0..256 {
        channels.set(&channel.to_string(), true).expect("below the limit");
    }
    assert_eq!(channels.set("one more", true), Err(limit("channels", 256)));
}

/// Users with ids of every length: those of at most 1 KiB are shown. What is refused changes nothing and is not answered.
#[test]
fn refused_users_are_neither_remembered_nor_answered() {
    let mut other = Presence::new(PresenceTimes::default());
    other.set("cursor", 1).expect("small");
    let snapshot = other.next_payload(Duration::ZERO).expect("a snapshot");
    other.set("cursor", 2).expect("small");
    let update = other.next_payload(Duration::ZERO).expect("an update");
    for payload in [&snapshot, &update] {
        for len in [0, 1, 1_023, 1_024, 1_025, 1 << 16, 1 << 20] {
            let mut presence = Presence::new(PresenceTimes::default());
            presence.next_payload(Duration::ZERO).expect("the first snapshot");
            let id = PeerId::from("i".repeat(len).as_str());
            let received = presence.receive(&id, payload, Duration::ZERO);
            let is_shown = len <= 1_024;
            let limit = PresenceError::Limit { what: "bytes of a user's id", limit: 1_024 };
            assert_eq!(received.err(), (!is_shown).then_some(limit), "{len}");
            assert_eq!(presence.peers().count(), usize::from(is_shown), "{len}");
            // A new user is answered after half a second; otherwise the next payload is a heartbeat.
            let deadline = if is_shown { millis(500) } else { seconds(15) };
            assert_eq!(presence.next_deadline(true), Some(deadline), "{len}");
        }
    }
    // A user of whom only a heartbeat was heard is answered, and shown when its channels are known.
    let mut presence = Presence::new(PresenceTimes::default());
    presence.next_payload(Duration::ZERO).expect("the first snapshot");
    let heartbeat = other.next_payload(seconds(15)).and_then(|_| other.next_payload(seconds(30)));
    let received = presence.receive(&"other".into(), &heartbeat.expect("a heartbeat"), Duration::ZERO);
    assert_eq!(received, Ok(ReceivedPresence::Nothing));
    assert_eq!((presence.peers().count(), presence.next_deadline(true)), (0, Some(millis(500))));
}

/// A user with a client, and how the clock of the user differs from the world's.
struct User {
    client: Client,
    name: String,
    /// Time of the clock at the start of the world.
    offset: Duration,
    /// The clock runs at this many thousandths of the world's.
    rate: u64,
    is_connected: bool,
    /// What the user has set, in order: an entry is a channel's value.
    set: BTreeMap<String, Vec<i32>>,
    /// Index in `set` of the newest value that this user has received of another user's channel.
    newest_received: BTreeMap<(String, String), usize>,
    to_server: VecDeque<Vec<u8>>,
    to_client: VecDeque<Vec<u8>>,
}

struct World {
    rng: Rng,
    now: Duration,
    users: Vec<User>,
    /// In thousandths.
    loss: usize,
    repeats: usize,
    reorders: usize,
    echoes: usize,
}

impl World {
    fn new(seed: u64, count: usize) -> World {
        let mut rng = Rng::new(seed);
        let user = |number: usize| {
            let name = format!("user {number}");
            let mut client = Client::new(name.as_str().into(), "session");
            client.add(id(), Document::new());
            client.start_presence(&id(), Presence::new(PresenceTimes::default()));
            User {
                client,
                name,
                offset: seconds(rng.below(1_000) as u64),
                rate: 900 + rng.below(201) as u64,
                is_connected: false,
                set: BTreeMap::new(),
                newest_received: BTreeMap::new(),
                to_server: VecDeque::new(),
                to_client: VecDeque::new(),
            }
        };
        let users = (0..count).map(user).collect();
        let mut rates = || [0, rng.below(100), rng.below(500)][rng.below(3)];
        let (loss, repeats, reorders) = (rates(), rates(), rates());
        World { rng: Rng::new(seed ^ 1), now: Duration::ZERO, users, loss, repeats, reorders, echoes: 0 }
    }

    fn clock(&self, user: usize) -> Duration {
        let User { offset, rate, .. } = &self.users[user];
        *offset + self.now * u32::try_from(*rate).expect("a small rate") / 1_000
    }

    fn connect(&mut self, user: usize) {
        let now = self.clock(user);
        let User { client, name, is_connected, to_server, to_client, .. } = &mut self.users[user];
        to_server.clear();
        to_client.clear();
        client.connect();
        client.to_send(now).expect("the first frame");
        let (sender, target) = ("srv".into(), name.as_str().into());
        let metadata = PeerMetadata::default();
        let greeting = Message::Peer { sender, target, metadata, version: "1".into() }.encode();
        client.received(&greeting, now).expect("a greeting");
        *is_connected = true;
    }

    fn disconnect(&mut self, user: usize) {
        let User { client, is_connected, to_server, to_client, .. } = &mut self.users[user];
        to_server.clear();
        to_client.clear();
        client.disconnect();
        *is_connected = false;
    }

    fn set(&mut self, user: usize, channel: &str) {
        let User { client, set, .. } = &mut self.users[user];
        let values = set.entry(channel.to_owned()).or_default();
        values.push(values.len() as i32);
        let value = *values.last().expect("just added");
        client.presence_mut(&id()).expect("it was started").set(channel, value).expect("small");
    }

    /// The frames of all users go on their lines, and from there to the other users.
    fn step(&mut self) {
        for user in 0..self.users.len() {
            let now = self.clock(user);
            let User { client, to_server, .. } = &mut self.users[user];
            while let Some(frame) = client.to_send(now) {
                to_server.push_back(frame);
            }
        }
        for user in 0..self.users.len() {
            while let Some(frame) = self.users[user].to_server.pop_front() {
                if let Ok(Message::Ephemeral(body)) = Message::decode(&frame) {
                    self.pass_on(&body);
                }
            }
        }
        for user in 0..self.users.len() {
            while let Some(frame) = self.users[user].to_client.pop_front() {
                self.deliver(user, &frame);
            }
            self.check(user);
        }
    }

    /// As servers do, with the echo that they get from each receiver.
    fn pass_on(&mut self, body: &EphemeralBody<'_>) {
        for user in 0..self.users.len() {
            if !self.users[user].is_connected || self.rng.below(1_000) < self.loss {
                continue;
            }
            let target = self.users[user].name.clone().into();
            let frame = Message::Ephemeral(EphemeralBody { target, ..body.clone() }).encode();
            let copies = 1 + usize::from(self.rng.below(1_000) < self.repeats);
            for _ in 0..copies {
                let line = &mut self.users[user].to_client;
                line.push_back(frame.clone());
                if self.rng.below(1_000) < self.reorders {
                    let (one, other) = (self.rng.below(line.len()), line.len() - 1);
                    line.swap(one, other);
                }
            }
        }
    }

    fn deliver(&mut self, user: usize, frame: &[u8]) {
        let now = self.clock(user);
        let Ok(Message::Ephemeral(body)) = Message::decode(frame) else { panic!("only ephemeral frames") };
        let is_own = *body.sender == *self.users[user].name;
        let client = &mut self.users[user].client;
        let receipt = client.received(frame, now).expect("no violation");
        assert_eq!(is_own, receipt == Receipt::Ignored(IgnoreReason::Echo));
        self.echoes += usize::from(is_own);
        if let Receipt::Ignored(reason) = receipt {
            assert!(matches!(reason, IgnoreReason::Echo | IgnoreReason::Repeated), "{reason:?}");
        }
        let has_presence = client.presence(&id()).is_some();
        while let Some(event) = client.next_event() {
            let is_passed = matches!(event, Event::Ephemeral { .. });
            assert!(!(is_passed && has_presence), "presence is not passed to the program");
        }
    }

    /// Every shown value was set, and no earlier one follows a later one.
    fn check(&mut self, user: usize) {
        // A user that left has none.
        let Some(presence) = self.users[user].client.presence(&id()) else { return };
        let shown: Vec<_> = presence
            .peers()
            .flat_map(|(peer, there)| {
                let peer = peer.to_string();
                there
                    .channels()
                    .map(move |(channel, value)| (peer.clone(), channel.to_owned(), value.as_number()))
            })
            .collect();
        for (peer, channel, value) in shown {
            let value = value.expect("a number") as usize;
            let author = self.users.iter().find(|user| user.name == peer).expect("a user");
            assert_ne!(author.name, self.users[user].name, "a user is no peer of itself");
            assert!(value < author.set[&channel].len(), "a value that was never set");
            let newest = self.users[user].newest_received.entry((peer, channel)).or_insert(0);
            assert!(*newest <= value, "{newest} before {value}");
            *newest = value;
        }
    }
}

#[test]
fn presence_converges_after_faults() {
    let mut echoes = 0;
    for seed in 0..size::of(60, 3_000) {
        let mut world = World::new(seed, 4);
        (0..4).for_each(|user| world.connect(user));
        for _ in 0..200 {
            let user = world.rng.below(4);
            match world.rng.below(12) {
                0 => world.disconnect(user),
                1 | 2 => world.connect(user),
                3..6 => {
                    let channel = ["cursor", "name"][world.rng.below(2)];
                    world.set(user, channel);
                }
                6 => world.now += seconds(world.rng.below(60) as u64),
                _ => {
                    world.now += millis(world.rng.below(2_000) as u64);
                    world.step();
                }
            }
        }
        // Faults end. All users reconnect, and stay for the time of a few heartbeats.
        (world.loss, world.repeats, world.reorders) = (0, 0, 0);
        (0..4).for_each(|user| world.connect(user));
        for _ in 0..100 {
            world.step();
            world.now += seconds(1);
        }
        world.step();
        for user in &world.users {
            let presence = user.client.presence(&id()).expect("it was started");
            for other in world.users.iter().filter(|other| other.name != user.name) {
                let there =
                    presence.peer(&other.name).unwrap_or_else(|| panic!("seed {seed}: {}", other.name));
                let shown: Vec<_> = there
                    .channels()
                    .map(|(name, value)| (name, value.as_number().expect("a number")))
                    .collect();
                let newest = |(name, values): (&'_ String, &Vec<i32>)| {
                    (name.clone(), f64::from(values.len() as i32 - 1))
                };
                let set: Vec<_> = other.set.iter().map(newest).collect();
                let shown: Vec<_> = shown.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                assert_eq!(shown, set, "seed {seed}: {} of {}", other.name, user.name);
            }
        }
        // One user leaves, another one is cut off.
        world.users[0].client.presence_mut(&id()).expect("it was started").leave();
        world.step();
        world.disconnect(1);
        let names = |world: &World| {
            let presence = world.users[2].client.presence(&id()).expect("it was started");
            presence.peers().map(|(id, _)| id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(&world), ["user 1", "user 3"], "seed {seed}");
        for _ in 0..60 {
            world.now += seconds(1);
            world.step();
        }
        assert_eq!(names(&world), ["user 3"], "seed {seed}");
        echoes += world.echoes;
    }
    assert!(echoes > 1_000, "{echoes} echoes");
}
