//! What one document and one server say to each other: frames in, frames out, and no network.

use super::id::DocumentId;
use super::wire::{self, Between, Said, WireError};
use hashmill_doc::sync::{Message, Progress, ReadMessageError, State, SyncDoc as _};
use hashmill_doc::{ApplyError, ChangeHash, Document, LoadError};

/// Sync messages in a row that move nothing, while both are not in step.
const MOST_IDLE: u32 = 1000;
/// Characters of what a server says that are repeated.
const MOST_WORDS: usize = 200;
/// Changes that were not taken and are remembered. Of a server that sends so many, all that is missing is given up.
const MOST_REFUSED: usize = 64;

/// The conversation about a document.
pub(super) struct Session {
    us: String,
    document: String,
    /// What the server calls itself, once it has.
    server: Option<String>,
    state: State,
    progress: Progress,
    /// The server said after its last sync message that the document is not to be had.
    withdrawn: bool,
    /// Heads that this side brought in.
    ours: Vec<ChangeHash>,
    /// Heads that the server had first.
    theirs: Option<Vec<ChangeHash>>,
    received: u64,
    /// Changes of theirs that break a rule, and which; the first of very many.
    refused: Vec<(ChangeHash, ApplyError)>,
    /// So many of them somebody was told of.
    told: usize,
}

/// Where a conversation stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// There is more to say.
    Talking,
    /// Both have the same.
    InStep,
    /// This side has all that it can take; the server lacks something, and takes nothing.
    NotTaken,
    /// This side has all but changes that break a rule.
    Refused,
}

/// What the server does wrong.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("sends what is no message of automerge-repo")]
    Wire(#[from] WireError),
    #[error("speaks version {0:?} of automerge-repo's protocol; this program speaks version 1")]
    Version(String),
    #[error("says: {0:?}")]
    Said(String),
    #[error("sends messages before it has said who it is")]
    Early,
    #[error("says anew who it is")]
    Again,
    #[error("sends a message that is from or to somebody else")]
    Astray,
    #[error("has no such document, or not for everybody")]
    Unavailable,
    #[error("sends a wrong message")]
    Message(#[from] ReadMessageError),
    #[error("sends changes that cannot be read")]
    Load(#[from] LoadError),
    #[error("sent {MOST_IDLE} messages that brought nothing")]
    Flood,
}

impl Session {
    /// Begins one, for a document as it is here.
    pub(super) fn new(us: String, id: &DocumentId, doc: &Document) -> Session {
        Session {
            us,
            document: id.to_string(),
            server: None,
            state: State::new(),
            progress: Progress::new(),
            withdrawn: false,
            ours: doc.get_heads(),
            theirs: None,
            received: 0,
            refused: Vec::new(),
            told: 0,
        }
    }

    /// Begins again with the same server, after a connection was lost. Gives what to say first.
    pub(super) fn join(&mut self) -> Vec<u8> {
        self.server = None;
        self.progress = Progress::new();
        self.withdrawn = false;
        // What was on its way is not known; what both had is.
        self.state = State::decode(&self.state.encode()).unwrap_or_default();
        wire::join(&self.us)
    }

    /// Learns that this side has changes of its own, of which these are the heads.
    pub(super) fn brought(&mut self, heads: Vec<ChangeHash>) {
        self.ours = heads;
    }

    /// Takes a frame; gives whether it brought the conversation on. What others say to each other does not. Where the frame
    /// is at fault the document may have taken what came before, and is sound.
    pub(super) fn hear(&mut self, doc: &mut Document, frame: &[u8]) -> Result<bool, Fault> {
        let moved = self.take(doc, wire::read(frame)?)?;
        if self.standing(doc) != Standing::Talking {
            self.progress = Progress::new();
        }
        Ok(moved)
    }

    /// Whether the server no longer gives a document that it had.
    pub(super) fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    fn take(&mut self, doc: &mut Document, said: Said<'_>) -> Result<bool, Fault> {
        match said {
            Said::Error { message } => Err(Fault::Said(message.chars().take(MOST_WORDS).collect())),
            Said::Peer { .. } if self.server.is_some() => Err(Fault::Again),
            Said::Peer { between, .. } if between.target != self.us => Err(Fault::Astray),
            Said::Peer { version, .. } if version != wire::VERSION => {
                Err(Fault::Version(version.chars().take(MOST_WORDS).collect()))
            }
            Said::Peer { between, .. } => {
                self.server = Some(between.sender.into_owned());
                Ok(true)
            }
            _ if self.server.is_none() => Err(Fault::Early),
            Said::Sync { between, document, data } => {
                self.check(&between)?;
                // A server may tell of other documents; nobody asked.
                if document == self.document { self.sync(doc, &data) } else { Ok(false) }
            }
            Said::Unavailable { between, document } => {
                self.check(&between)?;
                let found = self.state.their_heads().is_some_and(|heads| !heads.is_empty());
                if document != self.document {
                    return Ok(false);
                }
                // A server may say so before it has asked others, so what it had may still come.
                self.withdrawn = true;
                if found { Ok(false) } else { Err(Fault::Unavailable) }
            }
            Said::Other => Ok(false),
        }
    }

    fn check(&self, between: &Between<'_>) -> Result<(), Fault> {
        let sound = self.server.as_deref() == Some(&*between.sender) && between.target == self.us;
        if sound { Ok(()) } else { Err(Fault::Astray) }
    }

    fn sync(&mut self, doc: &mut Document, data: &[u8]) -> Result<bool, Fault> {
        let message = Message::decode(data)?;
        self.withdrawn = false;
        self.theirs.get_or_insert_with(|| message.heads.to_vec());
        let before = doc.stats().changes;
        let received = doc.receive_sync_message(&mut self.state, message)?;
        self.received += doc.stats().changes - before;
        for (hash, error) in received.refused {
            if self.refused.len() < MOST_REFUSED && !self.has_refused(&hash) {
                self.refused.push((hash, error));
            }
        }
        match self.progress.note(doc, &self.state) {
            idle if idle > MOST_IDLE && self.standing(doc) == Standing::Talking => Err(Fault::Flood),
            idle => Ok(idle == 0),
        }
    }

    /// The next frame for the server, if there is one.
    pub(super) fn say(&mut self, doc: &Document) -> Option<Vec<u8>> {
        let server = self.server.as_deref()?;
        let begins = self.state.their_heads().is_none();
        let message = doc.generate_sync_message(&mut self.state)?;
        let request = begins && message.heads.is_empty();
        let between = Between { sender: self.us.as_str().into(), target: server.into() };
        Some(wire::sync(request, &between, &self.document, &message.encode()))
    }

    /// Where it stands once nothing is left to [say](Self::say).
    pub(super) fn standing(&self, doc: &Document) -> Standing {
        let Some(theirs) = self.state.their_heads().filter(|_| self.server.is_some()) else {
            return Standing::Talking;
        };
        let heads = doc.get_heads();
        if theirs == heads {
            // Somebody who has nothing says so before others have said what they have.
            return if heads.is_empty() { Standing::Talking } else { Standing::InStep };
        }
        let missing = doc.get_missing_deps(theirs);
        let all = self.refused.len() == MOST_REFUSED;
        if missing.is_empty() && self.state.is_peer_read_only() {
            Standing::NotTaken
        } else if !self.refused.is_empty() && missing.iter().all(|hash| all || self.has_refused(hash)) {
            // What is there waits in vain for what was refused; and whoever cannot take ours either need not answer.
            Standing::Refused
        } else {
            Standing::Talking
        }
    }

    fn has_refused(&self, hash: &ChangeHash) -> bool {
        self.refused.iter().any(|(refused, _)| refused == hash)
    }

    /// How many changes came and went since the last time.
    pub(super) fn count(&mut self, doc: &Document) -> (u64, u64) {
        let since = |heads: &[ChangeHash]| doc.get_changes_meta(heads).len() as u64;
        let mut had = self.theirs.take().unwrap_or_default();
        let lacked = since(&had);
        had.extend(&self.ours);
        let sent = lacked - since(&had);
        self.theirs = Some(doc.get_heads());
        (std::mem::take(&mut self.received), sent)
    }

    /// Changes of theirs that were not taken since the last time, and why.
    pub(super) fn refused(&mut self) -> &[(ChangeHash, ApplyError)] {
        let told = std::mem::replace(&mut self.told, self.refused.len());
        &self.refused[told..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_doc::{ROOT, Transactable as _};
    use minicbor::Encoder;

    const ID: &str = "4NMNnkMhL8jXrdJ9jamS58PAVdXu";

    /// A frame of these fields, all of them texts.
    fn frame(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out);
        encoder.map(fields.len() as u64).expect("room");
        for (name, value) in fields {
            encoder.str(name).and_then(|encoder| encoder.str(value)).expect("room");
        }
        out
    }

    fn with(key: &str, changes: i64) -> Document {
        let mut doc = Document::new();
        (0..changes).for_each(|value| doc.transact(|tx| tx.put(ROOT, key, value)).expect("a sound edit"));
        doc
    }

    /// A session that a server has greeted, and the document.
    fn greeted(mut doc: Document) -> (Session, Document) {
        let id = ID.parse().expect("an id");
        let mut session = Session::new("us".to_owned(), &id, &doc);
        let peer =
            [("type", "peer"), ("senderId", "srv"), ("targetId", "us"), ("selectedProtocolVersion", "1")];
        assert!(session.hear(&mut doc, &frame(&peer)).expect("sound"));
        (session, doc)
    }

    /// What a server sends with a sync message.
    fn answer(message: &Message) -> Vec<u8> {
        let between = Between { sender: "srv".into(), target: "us".into() };
        wire::sync(false, &between, ID, &message.encode())
    }

    /// What the client says in a frame.
    fn called(frame: &[u8]) -> Message {
        let Said::Sync { data, .. } = wire::read(frame).expect("sound") else { panic!("a sync message") };
        Message::decode(&data).expect("sound")
    }

    /// Ten people move their cursors while a slow line brings a message a second.
    #[test]
    fn cursors_of_others_do_not_end_a_sync() {
        let (mut session, mut doc) = greeted(with("mine", 200));
        let (mut theirs, mut state) = (with("theirs", 300), State::new());
        let cursor = frame(&[("type", "ephemeral"), ("senderId", "somebody"), ("documentId", ID)]);
        let elsewhere = [("type", "ephemeral"), ("documentId", "another")];
        for round in 0.. {
            assert!(round < 20, "they talk without end");
            while let Some(frame) = session.say(&doc) {
                theirs.receive_sync_message(&mut state, called(&frame)).expect("sound");
            }
            for _ in 0..2500 {
                assert!(!session.hear(&mut doc, &cursor).expect("presence is no fault"));
                assert!(!session.hear(&mut doc, &frame(&elsewhere)).expect("presence is no fault"));
            }
            if session.standing(&doc) == Standing::InStep {
                break;
            }
            let message = theirs.generate_sync_message(&mut state).expect("an answer");
            session.hear(&mut doc, &answer(&message)).expect("sound");
        }
        assert_eq!((doc.get_heads(), doc.stats().changes), (theirs.get_heads(), 500));
    }

    /// A server that says the same again and again is left, however patient the clock is.
    #[test]
    fn a_sync_that_does_not_move_ends() {
        let (mut session, mut doc) = greeted(with("mine", 1));
        let message = with("theirs", 1).generate_sync_message(&mut State::new()).expect("a message");
        let frames = (0..).take_while(|_| session.hear(&mut doc, &answer(&message)).is_ok()).count();
        assert_eq!(frames, MOST_IDLE as usize + 1);
    }

    #[test]
    fn a_document_that_is_withdrawn_is_not_told_as_silence() {
        let (mut session, mut doc) = greeted(with("mine", 1));
        let fields =
            [("type", "doc-unavailable"), ("senderId", "srv"), ("targetId", "us"), ("documentId", ID)];
        let message = with("theirs", 1).generate_sync_message(&mut State::new()).expect("a message");
        session.hear(&mut doc, &answer(&message)).expect("sound");
        assert!(!session.is_withdrawn());
        assert!(!session.hear(&mut doc, &frame(&fields)).expect("it may still come"));
        assert!(session.is_withdrawn());
        session.hear(&mut doc, &answer(&message)).expect("sound");
        assert!(!session.is_withdrawn());
        // Without having had it, that is the answer.
        let (mut session, mut doc) = greeted(with("mine", 1));
        assert!(matches!(session.hear(&mut doc, &frame(&fields)), Err(Fault::Unavailable)));
    }
}
