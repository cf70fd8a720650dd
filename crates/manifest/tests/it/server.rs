//! A server that does what it is told: also what no server should do.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What came of a request: the path, and the fields by their names in small letters.
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) fields: HashMap<String, String>,
}

impl Request {
    /// The bytes that are asked for of so many.
    pub(crate) fn range(&self, len: usize) -> std::ops::Range<usize> {
        let Some(range) = self.fields.get("range") else { return 0..len };
        let (start, end) =
            range.strip_prefix("bytes=").and_then(|range| range.split_once('-')).expect("a range");
        let end = end.parse::<usize>().map_or(len, |end| len.min(end + 1));
        start.parse().expect("a start")..end
    }
}

/// What is sent: how much of the body before the connection ends, if that is not all.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) cut: Option<usize>,
}

impl Reply {
    pub(crate) fn error(status: u16) -> Reply {
        Reply { status, fields: Vec::new(), body: b"<Error><Code>Told</Code></Error>".to_vec(), cut: None }
    }

    /// What an honest server says of an object with this tag.
    pub(crate) fn object(request: &Request, body: &[u8], tag: &str) -> Reply {
        let tag = format!("\"{tag}\"");
        if request.fields.get("if-match").is_some_and(|wanted| *wanted != tag) {
            return Reply::error(412);
        }
        let range = request.range(body.len());
        let mut fields = vec![("etag", tag), ("last-modified", "Fri, 27 Nov 2026 00:00:00 GMT".to_owned())];
        let status = if request.fields.contains_key("range") {
            fields.push(("content-range", format!("bytes {}-{}/{}", range.start, range.end - 1, body.len())));
            206
        } else {
            200
        };
        Reply { status, fields, body: body[range].to_vec(), cut: None }
    }
}

/// The addresses of all servers of this process, for allow-lists.
static ADDRESSES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Entries of an allow-list that has every server of the tests so far, and the stores.
pub(crate) fn all_servers() -> Vec<String> {
    let addresses = ADDRESSES.lock().expect("nobody panics");
    let servers = addresses.iter().map(|address| format!("http://{address}"));
    servers.chain(["s3", "file", "http://127.0.0.1:9"].map(str::to_owned)).collect()
}

/// Its address, and how many requests have come.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers by `reply`, which hears how many requests came before, until the process ends.
    pub(crate) fn start(reply: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        ADDRESSES.lock().expect("nobody panics").push(address.clone());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let server = Server { address, requests: Arc::clone(&requests) };
        let reply = Arc::new(reply);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reply, requests) = (Arc::clone(&reply), Arc::clone(&requests));
                thread::spawn(move || serve(&stream, &*reply, &requests));
            }
        });
        server
    }
}

/// One request for each connection.
fn serve(
    mut stream: &TcpStream,
    reply: &(dyn Fn(&Request, usize) -> Reply + Send + Sync),
    requests: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    let mut fields = HashMap::new();
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let before = {
        let mut requests = requests.lock().expect("nobody panics");
        requests.push(path.clone());
        requests.len() - 1
    };
    let reply = reply(&Request { path, fields }, before);
    let mut head = format!(
        "HTTP/1.1 {} Told\r\ncontent-length: {}\r\nconnection: close\r\n",
        reply.status,
        reply.body.len()
    );
    for (name, value) in &reply.fields {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes()).ok()?;
    stream.write_all(&reply.body[..reply.cut.unwrap_or(reply.body.len())]).ok()
}
