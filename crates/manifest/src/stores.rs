//! Clients of stores: one for each bucket or server, made when it is first asked.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::answer::{Failure, Kind};
use crate::error::Error;
use crate::options::Options;
use crate::place::Store;
use crate::web::Web;

/// Clients that are kept. An inventory may name any number of servers; all are forgotten then, and made anew.
const KEPT: usize = 1024;

type Client = Result<Clients, Failure>;

/// Who asks one bucket or server.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Who asks once and no more, for servers whose tags may be weak: those of stores never are.
    pub(crate) once: Option<Arc<dyn ObjectStore>>,
}

/// All that have been asked so far.
pub(crate) struct Stores {
    options: Options,
    clients: Mutex<HashMap<Store, Client>>,
}

/// Whether any client knows an option of this name.
pub(crate) fn knows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    AmazonS3ConfigKey::from_str(&name).is_ok()
        || GoogleConfigKey::from_str(&name).is_ok()
        || AzureConfigKey::from_str(&name).is_ok()
        || ClientConfigKey::from_str(&name).is_ok()
}

impl Stores {
    pub(crate) fn new(options: &Options) -> Result<Stores, Error> {
        if let Some(name) = options.store.keys().find(|name| !knows(name)) {
            return Err(Error::Refused(format!("{name}: no store has such an option")));
        }
        let has = |wanted: AmazonS3ConfigKey, value: fn(&str) -> bool| {
            let mut options = options.store.iter();
            options.any(|(name, given)| {
                AmazonS3ConfigKey::from_str(&name.to_ascii_lowercase()).is_ok_and(|key| key == wanted)
                    && value(given)
            })
        };
        let is_on = |value: &str| {
            !matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off" | "n" | "f")
        };
        if has(AmazonS3ConfigKey::Endpoint, |_| true)
            && has(AmazonS3ConfigKey::VirtualHostedStyleRequest, is_on)
        {
            // The client would take the endpoint for the one of every bucket.
            let what = "aws_endpoint with aws_virtual_hosted_style_request: buckets would not be told apart";
            return Err(Error::Refused(what.to_owned()));
        }
        // What TLS is calculated with is said once for a process. Who said so before us was not wrong.
        static CALCULATOR: Once = Once::new();
        CALCULATOR.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        Ok(Stores { options: options.clone(), clients: Mutex::default() })
    }

    pub(crate) fn client(&self, store: &Store) -> Client {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(store) {
            return client.clone();
        }
        if clients.len() >= KEPT {
            clients.clear();
        }
        let client = self.clients(store).map_err(|error| Failure::new(Kind::Failed, error.to_string()));
        clients.insert(store.clone(), client.clone());
        client
    }

    fn clients(&self, store: &Store) -> object_store::Result<Clients> {
        let once = match store {
            Store::Http(_) => Some(self.make(store, 0)?),
            _ => None,
        };
        Ok(Clients { store: self.make(store, self.options.retries)?, once })
    }

    fn make(&self, store: &Store, retries: usize) -> object_store::Result<Arc<dyn ObjectStore>> {
        let http = self.http();
        let retries = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: retries,
            retry_timeout: Duration::from_secs(180),
        };
        Ok(match store {
            Store::S3(bucket) => {
                let builder = AmazonS3Builder::new().with_client_options(http).with_retry(retries);
                let builder = self
                    .options::<AmazonS3ConfigKey>()
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value));
                Arc::new(builder.with_bucket_name(bucket).build()?)
            }
            Store::Google(bucket) => {
                // Without it, what is stored as gzip comes unpacked: other bytes, and another number of them.
                let packed =
                    HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
                let http = http.with_default_headers(packed);
                let builder = GoogleCloudStorageBuilder::new().with_client_options(http).with_retry(retries);
                let builder = self
                    .options::<GoogleConfigKey>()
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value));
                Arc::new(builder.with_bucket_name(bucket).build()?)
            }
            Store::Azure(url) => {
                let builder = MicrosoftAzureBuilder::new().with_client_options(http).with_retry(retries);
                let builder = self
                    .options::<AzureConfigKey>()
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value));
                Arc::new(builder.with_url(url).build()?)
            }
            Store::Http(url) => {
                // Who lists `http://` has said that it may be so.
                let builder = HttpBuilder::new()
                    .with_client_options(http.with_allow_http(true))
                    .with_retry(retries)
                    .with_http_connector(Web);
                let builder = self
                    .options::<ClientConfigKey>()
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value));
                Arc::new(builder.with_url(url).build()?)
            }
        })
    }

    /// The options that the client of one kind of store knows.
    fn options<K: FromStr>(&self) -> impl Iterator<Item = (K, &String)> {
        let known =
            |(name, value): (&String, _)| Some((K::from_str(&name.to_ascii_lowercase()).ok()?, value));
        self.options.store.iter().filter_map(known)
    }

    fn http(&self) -> ClientOptions {
        // Large objects take as long as they take. What counts is that bytes come.
        ClientOptions::new()
            .with_timeout_disabled()
            .with_read_timeout(self.options.timeout)
            .with_connect_timeout(self.options.timeout)
            .with_pool_max_idle_per_host(self.options.connections.get())
    }
}
