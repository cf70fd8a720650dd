//! Rights by a callback: another service says whom a token names, and what the client may do with each document.
//!
//! Answers are kept for their time. Questions of one client wait for each other beyond a few, so that it cannot delay those of others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hashmill_repo::DocumentId;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout};
use zeroize::Zeroizing;

use super::error::TokenError;
use super::{Authentication, TokenDigest};
use crate::access::Access;
use crate::event::RightsAnswer;
use crate::fact::Fact;
use crate::identity::Rule;
use crate::ids::{RequestId, SocketId};
use crate::shell::driver::{AskRights, Handle};
use crate::shell::transport::{HttpClient, RequestLimits, ServiceUrl};

const LIMITS: RequestLimits = RequestLimits { time: Duration::from_secs(5), answer_bytes: 16 << 10 };
/// Maximum number of requests at a time about documents, of all clients and of one.
const MAX_REQUESTS: usize = 64;
const MAX_REQUESTS_PER_CLIENT: usize = 4;
/// Maximum number of requests at a time about clients, which may be strangers: they delay none about documents.
const MAX_IDENTIFICATIONS: usize = 32;
/// Maximum time for which a client that connects waits for its turn and the answer.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Maximum number of answers that are kept.
const MAX_ANSWERS: usize = 100_000;
/// Maximum time for which an answer is kept.
const MAX_VALID: Duration = Duration::from_secs(86_400);
const MAX_NAME_CHARS: usize = 256;

/// Settings of the callback.
#[derive(Clone, Debug)]
pub struct RightsService {
    /// Where it is.
    pub url: ServiceUrl,
    /// Answers are valid for this time, unless they say otherwise.
    pub valid_for: Duration,
}

/// A client that the service knows.
pub(in crate::shell) struct RemoteClient {
    token: Zeroizing<String>,
    digest: TokenDigest,
    name: String,
    address: IpAddr,
    requests: Semaphore,
}

impl RemoteClient {
    pub(in crate::shell) fn name(&self) -> &str {
        &self.name
    }

    pub(in crate::shell) fn address(&self) -> IpAddr {
        self.address
    }
}

impl PartialEq for RemoteClient {
    fn eq(&self, other: &RemoteClient) -> bool {
        (self.digest, &self.name, self.address) == (other.digest, &other.name, other.address)
    }
}

impl Eq for RemoteClient {}

/// Without the token.
impl fmt::Debug for RemoteClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteClient").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A question of the core.
pub(in crate::shell) struct Question {
    pub(in crate::shell) request: RequestId,
    pub(in crate::shell) socket: SocketId,
    pub(in crate::shell) document: DocumentId,
    pub(in crate::shell) client: Arc<RemoteClient>,
}

/// Access to the service.
#[derive(Clone)]
pub(in crate::shell) struct Callback(Arc<Shared>);

struct Shared {
    service: RightsService,
    client: HttpClient,
    max_access: Access,
    requests: Semaphore,
    identifications: Semaphore,
    answers: Mutex<Answers>,
    questions: mpsc::UnboundedSender<Question>,
}

/// The identity that a token names, if it names one, or the access to a document.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Answer {
    Identity(Option<String>),
    /// The token is not valid any more.
    Withdrawn,
    Access(Access),
}

type AnswerKey = (TokenDigest, Option<DocumentId>);

/// Answers that are valid.
#[derive(Default)]
struct Answers {
    all: BTreeMap<AnswerKey, (Answer, Instant)>,
    by_end: BTreeSet<(Instant, AnswerKey)>,
}

impl Answers {
    fn get(&mut self, key: &AnswerKey, now: Instant) -> Option<(Answer, Duration)> {
        while let Some((end, _)) = self.by_end.first()
            && *end <= now
        {
            self.remove_first();
        }
        self.all.get(key).map(|(answer, end)| (answer.clone(), *end - now))
    }

    fn insert(&mut self, key: AnswerKey, answer: Answer, end: Instant) {
        if let Some((_, before)) = self.all.insert(key.clone(), (answer, end)) {
            self.by_end.remove(&(before, key.clone()));
        }
        self.by_end.insert((end, key));
        if self.all.len() > MAX_ANSWERS {
            self.remove_first();
        }
    }

    fn remove_first(&mut self) {
        if let Some((_, key)) = self.by_end.pop_first() {
            self.all.remove(&key);
        }
    }
}

impl Callback {
    /// Access to a service, and the questions of the core, which [`run`](Self::run) answers.
    pub(in crate::shell) fn new(
        service: RightsService,
        client: HttpClient,
        max_access: Access,
    ) -> (Callback, mpsc::UnboundedReceiver<Question>) {
        let (questions, received) = mpsc::unbounded_channel();
        let shared = Shared {
            service,
            client,
            max_access,
            requests: Semaphore::new(MAX_REQUESTS),
            identifications: Semaphore::new(MAX_IDENTIFICATIONS),
            answers: Mutex::default(),
            questions,
        };
        (Callback(Arc::new(shared)), received)
    }

    /// Takes questions of the core about a client.
    pub(in crate::shell) fn asker(&self, client: Arc<RemoteClient>) -> AskRights {
        let questions = self.0.questions.clone();
        Box::new(move |socket, request, document| {
            let client = Arc::clone(&client);
            // If the server ends, no answer is needed.
            let _ = questions.send(Question { request, socket, document, client });
        })
    }

    /// Interval of looks at whom a token names.
    pub(in crate::shell) fn valid_for(&self) -> Duration {
        self.0.service.valid_for
    }

    /// The client with a token. The operator is told if the service fails.
    pub(in crate::shell) async fn identify(
        &self,
        token: &str,
        address: IpAddr,
        core: &Handle,
    ) -> Result<Arc<RemoteClient>, TokenError> {
        let mut client = RemoteClient {
            token: Zeroizing::new(token.to_owned()),
            digest: Authentication::digest(token),
            name: String::new(),
            address,
            requests: Semaphore::new(MAX_REQUESTS_PER_CLIENT),
        };
        let answer = timeout(MAX_WAIT, self.ask(&client, None)).await;
        match answer.unwrap_or_else(|_| Err("it has too many questions to answer".to_owned())) {
            Ok((Answer::Identity(Some(name)), _)) => {
                client.name = name;
                Ok(Arc::new(client))
            }
            Ok(_) => Err(TokenError::Unknown),
            Err(reason) => {
                core.report(Fact::RightsUnknown { document: None, reason });
                Err(TokenError::ServiceFails)
            }
        }
    }

    /// Answers the questions of the core, each on its own. Returns when the core has ended.
    pub(in crate::shell) async fn run(self, mut questions: mpsc::UnboundedReceiver<Question>, core: Handle) {
        while let Some(question) = questions.recv().await {
            let (callback, core) = (self.clone(), core.clone());
            tokio::spawn(async move { callback.answer(question, &core).await });
        }
    }

    async fn answer(&self, question: Question, core: &Handle) {
        let Question { request, socket, document, client } = question;
        let answer = match self.ask(&client, Some(&document)).await {
            Ok((Answer::Access(access), valid_for)) => {
                Ok(RightsAnswer { access: access.min(self.0.max_access), valid_for })
            }
            Ok((Answer::Identity(_) | Answer::Withdrawn, _)) => return core.end_rights(socket),
            Err(reason) => Err(reason),
        };
        core.answer_rights(request, answer);
    }

    /// The answer about a document, or about the client itself, and the time for which it is valid.
    async fn ask(
        &self,
        client: &RemoteClient,
        document: Option<&DocumentId>,
    ) -> Result<(Answer, Duration), String> {
        let key = (client.digest, document.cloned());
        if let Some(known) = self.answers().get(&key, Instant::now()) {
            return Ok(known);
        }
        let ended = |_| "the server ends".to_owned();
        let _of_client = client.requests.acquire().await.map_err(ended)?;
        let all = if document.is_some() { &self.0.requests } else { &self.0.identifications };
        let _of_all = all.acquire().await.map_err(ended)?;
        // Another question may have had the same answer meanwhile.
        if let Some(known) = self.answers().get(&key, Instant::now()) {
            return Ok(known);
        }
        let (status, body) = self.0.client.request(self.question(client, document)?, LIMITS).await?;
        let (answer, valid_for) = read_answer(status, &body, client, document)?;
        let valid_for = valid_for.unwrap_or(self.0.service.valid_for).min(MAX_VALID);
        // Strangers could fill the memory of answers.
        if answer != Answer::Identity(None) {
            self.answers().insert(key, answer.clone(), Instant::now() + valid_for);
        }
        Ok((answer, valid_for))
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.0.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn question(
        &self,
        client: &RemoteClient,
        document: Option<&DocumentId>,
    ) -> Result<Request<Full<Bytes>>, String> {
        let identity = Some(&client.name).filter(|name| !name.is_empty());
        let json = json!({
            "token": client.token.as_str(),
            "identity": identity,
            "document": document.map(ToString::to_string),
            "address": client.address.to_string(),
        });
        let body = Zeroizing::new(json.to_string().into_bytes());
        wipe(json);
        let request = Request::post(self.0.service.url.uri()).header(CONTENT_TYPE, "application/json");
        request.body(Full::new(Bytes::from_owner(body))).map_err(|error| error.to_string())
    }
}

/// Overwrites the copy of the token in a question.
fn wipe(mut json: Value) {
    if let Some(Value::String(token)) = json.get_mut("token") {
        zeroize::Zeroize::zeroize(token);
    }
}

/// Reads an answer, and the time for which it is valid if it says that.
fn read_answer(
    status: StatusCode,
    body: &[u8],
    client: &RemoteClient,
    document: Option<&DocumentId>,
) -> Result<(Answer, Option<Duration>), String> {
    match (status, document) {
        (StatusCode::OK, _) => {}
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, None) => {
            return Ok((Answer::Identity(None), None));
        }
        (StatusCode::UNAUTHORIZED, Some(_)) => return Ok((Answer::Withdrawn, None)),
        (StatusCode::FORBIDDEN | StatusCode::NOT_FOUND, Some(_)) => {
            return Ok((Answer::Access(Access::Denied), None));
        }
        _ => return Err(format!("it answers with status {status}")),
    }
    let json: Value =
        serde_json::from_slice(body).map_err(|error| format!("its answer is no JSON: {error}"))?;
    let valid_for = match json.get("ttl") {
        None | Some(Value::Null) => None,
        Some(seconds) => match seconds.as_u64().filter(|seconds| *seconds > 0) {
            Some(seconds) => Some(Duration::from_secs(seconds)),
            None => return Err("its answer has a “ttl” that is no number of seconds above 0".to_owned()),
        },
    };
    let text = |name: &str| json.get(name).and_then(Value::as_str);
    let name = text("identity").filter(|name| !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS);
    if document.is_none() {
        let name =
            name.ok_or_else(|| format!("its answer has no “identity” of 1 to {MAX_NAME_CHARS} letters"))?;
        return Ok((Answer::Identity(Some(name.to_owned())), valid_for));
    }
    if json.get("identity").is_some_and(|identity| !identity.is_null() && name != Some(&client.name)) {
        return Err("its answer is about another identity than before".to_owned());
    }
    let access = text("access").ok_or("its answer has no “access”")?;
    match access.parse::<Rule>() {
        Ok(Rule { access, is_announced: false }) => Ok((Answer::Access(access), valid_for)),
        _ => Err(format!("its answer has the access “{}”: use none, read or write", short(access))),
    }
}

/// Text of the service, for a message.
fn short(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> RemoteClient {
        RemoteClient {
            token: Zeroizing::new("secret".to_owned()),
            digest: Authentication::digest("secret"),
            name: "ann".to_owned(),
            address: IpAddr::from([127, 0, 0, 1]),
            requests: Semaphore::new(1),
        }
    }

    fn read(
        status: u16,
        body: &str,
        document: Option<&DocumentId>,
    ) -> Result<(Answer, Option<Duration>), String> {
        let status = StatusCode::from_u16(status).expect("a status");
        read_answer(status, body.as_bytes(), &client(), document)
    }

    #[test]
    fn answers_are_read() {
        let document = DocumentId::from_random_bytes([1; 16]);
        let document = Some(&document);
        let access = |access| Ok((Answer::Access(access), None));
        for (status, body, about, expected) in [
            (200, r#"{"identity":"ann"}"#, None, Ok((Answer::Identity(Some("ann".to_owned())), None))),
            (401, "", None, Ok((Answer::Identity(None), None))),
            (403, "", None, Ok((Answer::Identity(None), None))),
            (200, r#"{"access":"read"}"#, document, access(Access::Read)),
            (200, r#"{"access":"none","identity":null}"#, document, access(Access::Denied)),
            (
                200,
                r#"{"access":"write","identity":"ann","ttl":5,"more":[]}"#,
                document,
                Ok((Answer::Access(Access::Write), Some(Duration::from_secs(5)))),
            ),
            (403, "no JSON", document, access(Access::Denied)),
            (404, "", document, access(Access::Denied)),
            (401, "", document, Ok((Answer::Withdrawn, None))),
        ] {
            assert_eq!(read(status, body, about), expected, "{status} {body}");
        }
    }

    #[test]
    fn other_answers_are_failures() {
        let document = DocumentId::from_random_bytes([1; 16]);
        let document = Some(&document);
        let long = format!(r#"{{"identity":"{}"}}"#, "x".repeat(257));
        for (status, body, about, expected) in [
            (500, "", None, "it answers with status 500"),
            (404, "", None, "it answers with status 404"),
            (302, "", document, "it answers with status 302"),
            (200, "nonsense", None, "its answer is no JSON"),
            (200, "[]", None, "its answer has no “identity”"),
            (200, r#"{"identity":""}"#, None, "its answer has no “identity”"),
            (200, long.as_str(), None, "its answer has no “identity”"),
            (200, r#"{"identity":7}"#, None, "its answer has no “identity”"),
            (200, "{}", document, "its answer has no “access”"),
            (200, r#"{"access":true}"#, document, "its answer has no “access”"),
            (200, r#"{"access":"all"}"#, document, "its answer has the access “all”: use none"),
            (200, r#"{"access":"announce"}"#, document, "its answer has the access “announce”: use none"),
            (200, r#"{"access":"write","identity":"ben"}"#, document, "its answer is about another identity"),
            (200, r#"{"access":"write","identity":1}"#, document, "its answer is about another identity"),
            (200, r#"{"access":"write","ttl":0}"#, document, "its answer has a “ttl”"),
            (200, r#"{"access":"write","ttl":-1}"#, document, "its answer has a “ttl”"),
        ] {
            let error = read(status, body, about).expect_err(body);
            assert!(error.starts_with(expected), "{body}: {error}");
        }
    }

    #[test]
    fn answers_are_kept_for_their_time_up_to_a_number() {
        let mut answers = Answers::default();
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let key = |number: u32| {
            let mut digest = [0; 32];
            digest[..4].copy_from_slice(&number.to_be_bytes());
            (digest, None)
        };
        let access = |access| Answer::Access(access);
        answers.insert(key(0), access(Access::Read), start + second);
        answers.insert(key(1), access(Access::Write), start + 3 * second);
        assert_eq!(answers.get(&key(0), start), Some((access(Access::Read), second)));
        assert_eq!(answers.get(&key(0), start + second), None);
        assert_eq!(answers.get(&key(1), start + second), Some((access(Access::Write), 2 * second)));
        // A new answer replaces the earlier one with its time.
        answers.insert(key(1), access(Access::Denied), start + 9 * second);
        assert_eq!(answers.get(&key(1), start + 4 * second), Some((access(Access::Denied), 5 * second)));
        for number in 2..=MAX_ANSWERS as u32 + 1 {
            answers.insert(key(number), access(Access::Read), start + 10 * second);
        }
        assert_eq!((answers.all.len(), answers.by_end.len()), (MAX_ANSWERS, MAX_ANSWERS));
        assert_eq!(answers.get(&key(1), start + 4 * second), None, "the one that ends first makes room");
        assert_eq!(answers.get(&key(2), start + 11 * second), None);
        assert!(answers.all.is_empty() && answers.by_end.is_empty());
    }
}
