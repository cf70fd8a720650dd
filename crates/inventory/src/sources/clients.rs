//! Clients of stores: one for each bucket or server, created on first use.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Uri, header};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use crate::error::Error;
use crate::location::Store;
use crate::options::Options;
use crate::row_result::{Failure, FailureKind};
use crate::sources::allow_list::Policy;
use crate::sources::secrets::Secrets;
use crate::sources::web::{Guard, WebConnector};

/// Maximum number of cached clients. An inventory may name any number of servers: at the limit the cache is cleared.
const MAX_CLIENTS: usize = 1024;

type Client = Result<StoreClients, Failure>;

/// Clients of one bucket or server.
#[derive(Clone)]
pub(crate) struct StoreClients {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Client without retries, for web servers, whose tags may be weak; tags of stores never are.
    pub(crate) once: Option<Arc<dyn ObjectStore>>,
}

/// Origin of a name that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NamedBy {
    /// The program, which may name anything.
    Caller,
    /// A row of an inventory. A redirect may lead only to servers and addresses that the row may name.
    Row,
}

/// Cached clients.
pub(crate) struct Stores {
    options: Options,
    policy: Policy,
    secrets: Secrets,
    clients: Mutex<HashMap<(Store, NamedBy), Client>>,
}

/// Whether any client has an option of this name.
pub(crate) fn is_known_option(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    AmazonS3ConfigKey::from_str(&name).is_ok()
        || GoogleConfigKey::from_str(&name).is_ok()
        || AzureConfigKey::from_str(&name).is_ok()
        || ClientConfigKey::from_str(&name).is_ok()
}

/// Whether the option of this name is the URL of a store.
fn is_endpoint(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    AmazonS3ConfigKey::from_str(&name).is_ok_and(|key| key == AmazonS3ConfigKey::Endpoint)
        || AzureConfigKey::from_str(&name).is_ok_and(|key| key == AzureConfigKey::Endpoint)
        || GoogleConfigKey::from_str(&name).is_ok_and(|key| key == GoogleConfigKey::BaseUrl)
}

fn is_url(value: &str) -> bool {
    Url::parse(value).is_ok_and(|url| url.has_host()) && value.parse::<Uri>().is_ok()
}

impl Stores {
    pub(crate) fn new(options: &Options) -> Result<Stores, Error> {
        if let Some(name) = options.store.keys().find(|name| !is_known_option(name)) {
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
            // The client would use the endpoint for every bucket.
            let what = "aws_endpoint with aws_virtual_hosted_style_request: buckets would not be told apart";
            return Err(Error::Refused(what.to_owned()));
        }
        // The clients panic on some values that are no URLs.
        let no_url = options.store.iter().find(|(name, value)| is_endpoint(name) && !is_url(value));
        if let Some((name, _)) = no_url {
            return Err(Error::Refused(format!("{name}: no URL of a server")));
        }
        // The TLS provider is set once per process. One that was set before stays.
        static CALCULATOR: Once = Once::new();
        CALCULATOR.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
        let policy = Policy::new(options.only.clone());
        let secrets = Secrets::new(&options.store);
        Ok(Stores { options: options.clone(), policy, secrets, clients: Mutex::default() })
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(crate) fn client(&self, store: &Store, named_by: NamedBy) -> Client {
        let key = (store.clone(), named_by);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return client.clone();
        }
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let failure = |error: object_store::Error| Failure::new(FailureKind::Failed, error.to_string());
        let client = self.clients(store, named_by).map_err(|error| self.secrets.hide(failure(error)));
        clients.insert(key, client.clone());
        client
    }

    fn clients(&self, store: &Store, named_by: NamedBy) -> object_store::Result<StoreClients> {
        let once = match store {
            Store::Http(_) => Some(self.make(store, named_by, 0)?),
            _ => None,
        };
        Ok(StoreClients { store: self.make(store, named_by, self.options.retries)?, once })
    }

    fn make(
        &self,
        store: &Store,
        named_by: NamedBy,
        retries: usize,
    ) -> object_store::Result<Arc<dyn ObjectStore>> {
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
                // Without this header, objects stored as gzip arrive decompressed: with other bytes and another length.
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
                let guard = match named_by {
                    NamedBy::Caller => None,
                    NamedBy::Row => Some(Guard::new(self.policy.clone(), url)?),
                };
                // A row that lists `http://` asks for it explicitly.
                let builder = HttpBuilder::new()
                    .with_client_options(http.with_allow_http(true))
                    .with_retry(retries)
                    .with_http_connector(WebConnector::new(guard));
                let builder = self
                    .options::<ClientConfigKey>()
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value));
                Arc::new(builder.with_url(url).build()?)
            }
        })
    }

    /// The options of the client of one kind of store.
    fn options<K: FromStr>(&self) -> impl Iterator<Item = (K, &String)> {
        let known =
            |(name, value): (&String, _)| Some((K::from_str(&name.to_ascii_lowercase()).ok()?, value));
        self.options.store.iter().filter_map(known)
    }

    fn http(&self) -> ClientOptions {
        // Large objects may take any time, so only the gap between reads has a timeout.
        ClientOptions::new()
            .with_timeout_disabled()
            .with_read_timeout(self.options.timeout)
            .with_connect_timeout(self.options.timeout)
            .with_pool_max_idle_per_host(self.options.connections.get())
    }
}
