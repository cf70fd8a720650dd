//! Another service that knows the rights of clients: its answers are late, twice, never, failures, or of an earlier time.

use std::time::Duration;

use hashmill_repo::DocumentId;

use super::connections::RemoteRights;
use super::{Happening, World};
use crate::access::Access;
use crate::event::{Event, RightsAnswer};
use crate::ids::{RequestId, SocketId};
use crate::simulation::violation::Violation;

/// Maximum time for which an answer is valid.
const MAX_VALID_MS: usize = 3000;
/// Lateness of timers.
const SLACK: Duration = Duration::from_millis(100);

/// A question of the server.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) request: RequestId,
    pub(super) socket: SocketId,
    pub(super) document: DocumentId,
}

impl World {
    pub(super) fn take_question(&mut self, question: &Question) -> Result<(), Violation> {
        self.probes.count("questions");
        let wrong = |what: &str| Err(Violation::new("form", format!("{question:?}: {what}")));
        let Some(connection) = self.connections.get_mut(&question.socket) else { return wrong("no socket") };
        let truth = connection.identity.access_to(&question.document);
        let Some(remote) = connection.remote.as_mut().filter(|_| connection.is_open_at_server) else {
            return wrong("its rights are known");
        };
        remote.open.insert(question.document.clone(), question.request);
        let rng = &mut self.streams.rights;
        let (drawn, failed) = (rng.below(100), self.knobs.failed_answers);
        if drawn < failed {
            self.probes.count("questions without an answer");
            return Ok(());
        }
        let valid_for = Duration::from_millis(rng.below(MAX_VALID_MS) as u64);
        let answer = match drawn < 2 * failed {
            true => Err("no answer".to_owned()),
            false => Ok(RightsAnswer { access: truth, valid_for }),
        };
        let copies = 1 + usize::from(rng.below(4) == 0);
        for _ in 0..copies {
            let delay = self.streams.rights.below(self.knobs.answer_ms + 1);
            let happening = Happening::RightsAnswered(self.start, question.clone(), answer.clone());
            self.schedule(delay, happening);
        }
        Ok(())
    }

    pub(super) fn answer_question(
        &mut self,
        question: Question,
        answer: Result<RightsAnswer, String>,
    ) -> Result<(), Violation> {
        let Question { request, socket, document } = question;
        self.note(|| format!("{socket:?}: rights on {document:.4}: {answer:?}"));
        let remote = self.connections.get_mut(&socket).and_then(|connection| connection.remote.as_mut());
        let is_open = |remote: &&mut RemoteRights| remote.open.get(&document) == Some(&request);
        if let Some(remote) = remote.filter(is_open) {
            remote.open.remove(&document);
            let (access, valid_for) = match &answer {
                Ok(answer) => (answer.access, answer.valid_for),
                Err(_) => (Access::Denied, Duration::ZERO),
            };
            // The next answer may take the whole time for one.
            let until = self.now + valid_for + self.knobs.config.rights_timeout + SLACK;
            remote.granted.insert(document, (access, until));
        } else {
            self.probes.count("rights answered too late");
        }
        self.step(Event::RightsAnswered(request, answer))
    }
}
