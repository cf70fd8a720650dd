//! Tokens and rights: who is let in, what each client may do, and changes while connections are open.

use super::{Server, Socket};
use crate::world::{World, hashmill};
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, PeerId, SyncStatus};
use hashmill_testkit::wait;
use sha2::{Digest as _, Sha256};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

const TOKENS: &str = include_str!("../../../../server/tests/tokens/tokens.txt");
const KEYS: &str = include_str!("../../../../server/tests/tokens/keys.json");
pub(super) const SECRET: [u8; 32] = [b'k'; 32];

fn ids() -> [DocumentId; 2] {
    [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]))
}

fn base64url(bytes: &[u8]) -> String {
    data_encoding::BASE64URL_NOPAD.encode(bytes)
}

/// A JSON Web Token of HS256, by the definitions of RFC 7515 and 2104.
pub(super) fn signed(claims: &str) -> String {
    let message = format!("{}.{}", base64url(br#"{"alg":"HS256"}"#), base64url(claims.as_bytes()));
    let padded = |byte: u8| -> Vec<u8> {
        let mut key = SECRET.to_vec();
        key.resize(64, 0);
        key.into_iter().map(|there| there ^ byte).collect()
    };
    let inner = Sha256::digest([&padded(0x36)[..], message.as_bytes()].concat());
    let mac = Sha256::digest([&padded(0x5c)[..], &inner[..]].concat());
    format!("{message}.{}", base64url(&mac))
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

pub(super) fn claims(expires_in: i64, more: &str) -> String {
    format!(r#"{{"sub":"ann","exp":{}{more}}}"#, now().saturating_add_signed(expires_in))
}

fn start(world: &World, settings: &str) -> Server {
    world.write("settings.toml", settings);
    let arguments = ["--settings", "settings.toml"];
    Server::start_with(world, Command::new(hashmill()).arg("serve"), &arguments)
}

pub(super) fn write_private(world: &World, name: &str, text: impl AsRef<[u8]>) {
    world.write(name, text);
    #[cfg(unix)]
    set_mode(world, name, 0o600);
}

#[cfg(unix)]
fn set_mode(world: &World, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(world.path(name), mode).expect("its own file");
}

/// A file of tokens with one identity.
fn tokens(token: &str, documents: &str) -> String {
    format!("[[identity]]\nname = \"ann\"\ntoken = \"{token}\"\ndocuments = {{ {documents} }}\n")
}

pub(super) fn open(server: &Server, token: &str) -> Result<Socket, (u16, String)> {
    Socket::try_open(&server.address, "/", &[("authorization", &format!("Bearer {token}"))])
}

/// A client with both documents, and a change in each.
fn client(name: &str) -> Client {
    let mut client = Client::new(PeerId::from(name), "session");
    for id in ids() {
        client.add(id.clone(), Document::new());
        edit(&mut client, &id, name);
    }
    client.connect();
    client
}

fn edit(client: &mut Client, id: &DocumentId, key: &str) {
    let doc = client.document_mut(id).expect("it was added");
    let value = i64::try_from(doc.stats().changes).expect("few");
    doc.transact(|tx| tx.put(ROOT, key, value)).expect("there is room");
}

fn wait_for(socket: &mut Socket, client: &mut Client, is_done: impl Fn(&Client) -> bool) {
    wait::until("a state", || {
        socket.exchange(client).expect("an open socket");
        is_done(client)
    });
}

fn has_status(status: SyncStatus) -> impl Fn(&Client) -> bool {
    move |client| client.status(&ids()[0]) == Some(status)
}

fn is_unavailable(client: &Client) -> bool {
    client.conversation(&ids()[0]).expect("it was added").is_unavailable()
}

#[test]
fn static_tokens_give_their_rights_alone() {
    let world = World::new();
    let done = world.serve(&["token", "ann \"x\""]);
    let token = done.err.trim_end().rsplit_once(' ').expect("a token").1.to_owned();
    assert!(done.err.starts_with("hashmill: token of 'ann \"x\"', shown this once: hm_"), "{done:?}");
    let table = done.text();
    assert!(!table.contains(&token) && table.contains("name = 'ann \"x\"'"), "{table}");
    let [first, second] = ids();
    let reader =
        format!("token-sha256 = \"{}\"\n", data_encoding::HEXUPPER.encode(&Sha256::digest("another token")));
    let reader = format!("[[identity]]\nname = \"ben\"\n{reader}documents = {{ \"{first}\" = \"read\" }}\n");
    let server = start(&world, &format!("{table}{reader}"));
    for wrong in ["hm_wrong", "a.b.c"] {
        let (status, text) = open(&server, wrong).err().expect("no such token");
        assert_eq!(
            (status, text.as_str()),
            (401, "the token is unknown: it was withdrawn, or is for another server\n")
        );
    }
    let (status, text) = Socket::try_open(&server.address, "/", &[]).err().expect("no token");
    assert!(status == 401 && text.starts_with("a token is needed: send"), "{text}");
    let mut ann = client("ann");
    let mut to_ann = open(&server, &token).expect("a known token");
    wait_for(&mut to_ann, &mut ann, has_status(SyncStatus::InSync));
    // In the query and as a subprotocol, too.
    let query = format!("/path?a=b&token={token}");
    drop(Socket::try_open(&server.address, &query, &[]).expect("a known token"));
    let protocol = format!("automerge, bearer.{token}");
    let protocol = [("sec-websocket-protocol", protocol.as_str())];
    drop(Socket::try_open(&server.address, "/", &protocol).expect("a known token"));
    // The second client reads the first document, and the other one does not exist for it.
    let mut ben = client("ben");
    let mut to_ben = open(&server, "another token").expect("a known token");
    wait_for(&mut to_ben, &mut ben, |client| {
        let other = client.conversation(&second).expect("it was added");
        client.status(&first) == Some(SyncStatus::ReadOnlyPeer) && other.is_unavailable()
    });
    let changes = |id| ben.document(id).expect("it was added").stats().changes;
    assert_eq!([changes(&first), changes(&second)], [2, 1]);
}

#[test]
fn json_web_tokens_of_issuers_are_checked() {
    let world = World::new();
    world.write("keys.json", KEYS);
    write_private(&world, "secret", SECRET);
    let settings = "jwt-keys = \"keys.json\"\njwt-secret = \"secret\"\njwt-audience = \"sync.example.org\"\n";
    let server = start(&world, settings);
    for token in TOKENS.lines().take(2) {
        let mut reader = client("reader");
        let mut socket = open(&server, token).expect("a sound token");
        let document = ids()[0].clone();
        wait_for(&mut socket, &mut reader, |client| {
            client.conversation(&document).expect("it was added").their_heads().is_some()
        });
    }
    let own_audience = r#","aud":"sync.example.org","documents":{"*":"write"}"#;
    let mut writer = client("writer");
    let mut socket = open(&server, &signed(&claims(60, own_audience))).expect("a sound token");
    wait_for(&mut socket, &mut writer, has_status(SyncStatus::InSync));
    let refused = |token: &str, expected: &str| {
        let (status, text) = open(&server, token).err().unwrap_or_else(|| panic!("{expected}"));
        assert!(status == 401 && text.contains(expected) && text.lines().count() == 1, "{expected}: {text}");
    };
    refused(TOKENS.lines().nth(2).expect("three tokens"), "not signed by a key of this server");
    refused(&signed(&claims(-3600, own_audience)), " s ago: get a new one, or correct the clock");
    refused(
        &signed(&claims(60, r#","aud":"other""#)),
        "is for “other”, and this server takes those for “sync",
    );
    let later = format!(r#","nbf":{}{own_audience}"#, now() + 7200);
    refused(&signed(&claims(9000, &later)), "compare the clocks of the server and of the token's issuer");
    refused(
        &signed(&claims(60, r#","aud":"sync.example.org","documents":{"*":"all"}"#)),
        "“all” is no right",
    );
}

/// The token is valid for another second: the tolerance of clocks is 30 s.
#[test]
fn expiry_closes_open_connections() {
    let world = World::new();
    write_private(&world, "secret", SECRET);
    let server = start(&world, "jwt-secret = \"secret\"\n");
    let rights = r#","documents":{"*":"write"}"#;
    let mut lasting = open(&server, &signed(&claims(3600, rights))).expect("a sound token");
    // On a busy machine the second may be over before the server looks.
    let mut socket = None;
    wait::until("a socket", || {
        socket = open(&server, &signed(&claims(-28, rights))).ok();
        socket.is_some()
    });
    socket.expect("it is open").wait_for_close();
    let mut client = client("lasting");
    wait_for(&mut lasting, &mut client, has_status(SyncStatus::InSync));
}

#[test]
fn changes_of_the_tokens_file_act_on_open_connections() {
    let world = World::new();
    let token = "a token of a test";
    write_private(&world, "tokens.toml", tokens(token, "\"*\" = \"write\""));
    let server = start(&world, "tokens = \"tokens.toml\"\n");
    let mut ann = client("ann");
    let mut socket = open(&server, token).expect("a known token");
    wait_for(&mut socket, &mut ann, has_status(SyncStatus::InSync));
    write_private(&world, "tokens.toml", tokens(token, "\"*\" = \"read\""));
    wait_for(&mut socket, &mut ann, |client| {
        client.conversation(&ids()[0]).expect("it was added").state().is_peer_read_only()
    });
    edit(&mut ann, &ids()[0], "refused");
    wait_for(&mut socket, &mut ann, has_status(SyncStatus::ReadOnlyPeer));
    write_private(&world, "tokens.toml", tokens(token, ""));
    wait_for(&mut socket, &mut ann, is_unavailable);
    // A damaged file changes nothing.
    write_private(&world, "tokens.toml", "[[identity]\n");
    assert!(open(&server, token).is_ok());
    write_private(&world, "tokens.toml", tokens(token, "\"*\" = \"write\""));
    wait_for(&mut socket, &mut ann, has_status(SyncStatus::InSync));
    write_private(&world, "tokens.toml", tokens("another token of a test", "\"*\" = \"write\""));
    socket.wait_for_close();
    assert_eq!(open(&server, token).err().expect("withdrawn").0, 401);
}

#[test]
fn clients_without_a_token_have_the_right_of_anonymous() {
    let world = World::new();
    write_private(&world, "tokens.toml", tokens("a token of a test", "\"*\" = \"write\""));
    let server = start(&world, "tokens = \"tokens.toml\"\nanonymous = \"read\"\n");
    let mut ann = client("ann");
    let mut to_ann = open(&server, "a token of a test").expect("a known token");
    wait_for(&mut to_ann, &mut ann, has_status(SyncStatus::InSync));
    let mut guest = client("guest");
    wait_for(&mut server.connect(), &mut guest, has_status(SyncStatus::ReadOnlyPeer));
    assert!(open(&server, "wrong").is_err(), "a wrong token is an error");
}

#[test]
fn tokens_open_other_addresses() {
    let world = World::new();
    write_private(&world, "tokens.toml", tokens("a token of a test", "\"*\" = \"write\""));
    world.write("settings.toml", "tokens = \"tokens.toml\"\n");
    let mut command = Command::new(hashmill());
    let server =
        Server::start_at(&world, command.arg("serve"), "0.0.0.0:0", &["--settings", "settings.toml"]);
    let (_, port) = server.address.rsplit_once(':').expect("a port");
    let local = format!("127.0.0.1:{port}");
    assert!(Socket::try_open(&local, "/?token=a%20token%20of%20a%20test", &[]).is_ok());
    assert!(Socket::try_open(&local, "/", &[]).is_err());
    let done = world.serve(&["--settings", "settings.toml", "--open-to-all"]);
    done.failure(2, &["open-to-all would give all rights to everyone without a token: remove it, or set anonymous instead"]);
}

#[test]
fn wrong_files_are_refused_in_one_line() {
    let world = World::new();
    let hex = "00".repeat(32);
    world.write("public.toml", tokens("a token of a test", ""));
    #[cfg(unix)]
    set_mode(&world, "public.toml", 0o644);
    write_private(&world, "short.toml", tokens("short", ""));
    write_private(&world, "typed.toml", "[[identity]]\nname = \"ann\"\ntokn = \"x\"\n");
    world.write("rsa.json", r#"{"keys": [{"kty": "RSA", "n": "AQ", "e": "AQAB"}]}"#);
    write_private(&world, "secret", "short\n");
    let table = |more: &str| format!("[[identity]]\nname = \"ann\"\n{more}\n");
    let twice = table(&format!("token-sha256 = \"{hex}\"")).repeat(2);
    for (settings, expected) in [
        ("tokens = \"missing.toml\"", "missing.toml: "),
        #[cfg(unix)]
        (
            "tokens = \"public.toml\"",
            "public.toml: every user of this machine may read its secrets: chmod 600 it",
        ),
        (
            "tokens = \"short.toml\"",
            "short.toml: identity “ann”: its token can be guessed: use at least 16 characters",
        ),
        ("tokens = \"typed.toml\"", "typed.toml: line 3: unknown field `tokn`: did you mean `token`?"),
        ("jwt-keys = \"rsa.json\"", "rsa.json: none of its 1 keys is for EdDSA (Ed25519), ES256 or HS256"),
        ("jwt-secret = \"secret\"", "secret: a secret of 5 bytes: use at least 32 random bytes"),
        (
            &table("token = \"a token of a test\""),
            "identity “ann”: the settings hold no tokens: write token-sha256",
        ),
        (&table("token-sha256 = \"00\""), "identity “ann”: token-sha256 is not 64 hexadecimal digits"),
        (&table(""), "identity “ann”: it needs one token"),
        (
            &table(&format!("token-sha256 = \"{hex}\"\ndocuments = {{ x = \"read\" }}")),
            "identity “ann”: “x” is neither",
        ),
        (&twice, "identity “ann”: “ann” has the same token"),
    ] {
        world.write("settings.toml", settings);
        let done = world.serve(&["--settings", "settings.toml", "--listen", "127.0.0.1:0"]);
        assert!(done.code() != 0 && done.err.lines().count() == 1, "{settings}: {done:?}");
        assert!(done.err.contains(expected), "{settings}: {done:?}");
        assert!(!done.err.contains("a token of a test"));
    }
    assert!(!world.path("hashmill-data").exists(), "nothing was created");
}
