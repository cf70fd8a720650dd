//! Clients with TLS.

use super::certificate_file;
use crate::serve::{Server, Socket};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use tungstenite::ClientRequestBuilder;

pub(super) type SecureStream = StreamOwned<ClientConnection, TcpStream>;

/// Connects, with the handshake done.
pub(super) fn connect(address: &str) -> SecureStream {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(certificate_file("ca.pem")).expect("a certificate");
    roots.add(authority).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions");
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a connection");
    let stream = TcpStream::connect(address).expect("a server");
    stream.set_nodelay(true).expect("a socket");
    let mut stream = StreamOwned::new(connection, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).expect("a handshake");
    }
    stream
}

/// The certificate that the server showed.
pub(super) fn shown_certificate(stream: &SecureStream) -> Vec<u8> {
    stream.conn.peer_certificates().expect("a handshake")[0].to_vec()
}

/// Opens a WebSocket.
pub(super) fn open(server: &Server) -> Socket<SecureStream> {
    let url = format!("wss://{}/", server.address).parse().expect("a URL");
    let stream = connect(&server.address);
    let opened = tungstenite::client(ClientRequestBuilder::new(url), stream);
    let (socket, _) = opened.unwrap_or_else(|error| panic!("{error}"));
    socket.get_ref().sock.set_read_timeout(Some(Duration::from_millis(10))).expect("a socket");
    Socket(socket)
}

/// The answer to a request.
pub(super) fn secure_get(server: &Server, path: &str) -> String {
    let mut stream = connect(&server.address);
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("a server");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer, and a notice of the end");
    answer
}
