//! Scripted test server, also for responses that no real server should send.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A received request: the path, and the header fields by lower-case names.
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) fields: HashMap<String, String>,
}

impl Request {
    /// Requested range of a body of `len` bytes.
    pub(crate) fn range(&self, len: usize) -> std::ops::Range<usize> {
        let Some(range) = self.fields.get("range") else { return 0..len };
        let (start, end) =
            range.strip_prefix("bytes=").and_then(|range| range.split_once('-')).expect("a range");
        let end = end.parse::<usize>().map_or(len, |end| len.min(end + 1));
        start.parse().expect("a start")..end
    }
}

/// A reply, and the bytes of the body after which the connection is cut, if it is.
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

    /// Reply of a correct server for an object with this tag.
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

/// Addresses of all servers of this process, for allow-lists.
static ADDRESSES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Allow-list entries for all stores and all servers started so far.
pub(crate) fn all_servers() -> Vec<String> {
    let addresses = ADDRESSES.lock().expect("no panic");
    let servers = addresses.iter().map(|address| format!("http://{address}"));
    servers.chain(["s3", "file", "http://127.0.0.1:9"].map(str::to_owned)).collect()
}

/// A running server: its address and the number of requests.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves `reply`, which gets the number of earlier requests, until the process ends.
    pub(crate) fn start(reply: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        ADDRESSES.lock().expect("no panic").push(address.clone());
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

/// Serves one request for each connection.
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
        let mut requests = requests.lock().expect("no panic");
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
