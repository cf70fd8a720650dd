//! Transport: connections by address, TLS and its certificates.

mod addresses;
mod certificate;
mod client;
mod forwarded;
mod handshakes;
mod provider;
mod tls;

pub use certificate::{Certificate, CertificateError};
pub use client::{Authorities, ClientError, ServiceUrl, ServiceUrlError};
pub use forwarded::{ForwardedError, NetworkError, TrustedProxies};

pub(super) use addresses::{AddressPermit, Addresses};
pub(super) use certificate::watch_expiry;
pub(super) use client::{HttpClient, RequestLimits};
pub(super) use tls::{HandshakeError, Tls};
