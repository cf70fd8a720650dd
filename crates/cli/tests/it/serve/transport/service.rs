//! An HTTP server of tests, without and with TLS.

use hashmill_testkit::wait;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) line: String,
    pub(super) body: String,
}

/// Answers a request with status and body. `None`: never.
type Respond = dyn Fn(&Request) -> Option<(u16, String)> + Send + Sync;

/// A running server, which ends with the process.
pub(super) struct Service {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Service {
    /// Starts a server on a free port.
    pub(super) fn start(
        respond: impl Fn(&Request) -> Option<(u16, String)> + Send + Sync + 'static,
    ) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Service::serve(listener, Some, respond)
    }

    /// Starts a server whose connections are wrapped, such as in TLS. `None`: the handshake failed.
    pub(super) fn serve<S: Read + Write>(
        listener: TcpListener,
        wrap: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
        respond: impl Fn(&Request) -> Option<(u16, String)> + Send + Sync + 'static,
    ) -> Service {
        let address = listener.local_addr().expect("an address");
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (wrap, respond): (_, Arc<Respond>) = (Arc::new(wrap), Arc::new(respond));
        let received = Arc::clone(&requests);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (wrap, respond, received) =
                    (Arc::clone(&wrap), Arc::clone(&respond), Arc::clone(&received));
                thread::spawn(move || {
                    if let Some(stream) = wrap(stream) {
                        converse(stream, &*respond, &received);
                    }
                });
            }
        });
        Service { address, requests }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    #[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The requests until now.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic").clone()
    }

    /// Waits for this number of requests.
    pub(super) fn wait_for_requests(&self, count: usize) {
        wait::until("requests", || self.requests().len() >= count);
    }
}

/// Answers the requests of a connection.
fn converse<S: Read + Write>(stream: S, respond: &Respond, received: &Mutex<Vec<Request>>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream) {
        received.lock().expect("no panic").push(request.clone());
        let Some((status, body)) = respond(&request) else {
            // The client gives up in its time, and closes the connection.
            drop(stream.read_to_end(&mut Vec::new()));
            return;
        };
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n", body.len());
        // The client may have gone.
        if stream.get_mut().write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

fn read_request<S: Read>(stream: &mut BufReader<S>) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut lines = lines.into_iter();
    let line = lines.next()?;
    let header = |line: String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: BTreeMap<String, String> = lines.filter_map(header).collect();
    let len = headers.get("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
    let mut body = vec![0; len];
    stream.read_exact(&mut body).ok()?;
    Some(Request { line, body: String::from_utf8(body).ok()? })
}
