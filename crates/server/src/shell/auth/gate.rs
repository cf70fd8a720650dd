//! The gate: lets clients in, and follows the rights of those that are in.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use zeroize::Zeroizing;

use super::{Admission, Authentication, Callback, FurtherKeys, Issuer, RemoteClient, TokenError};
use crate::access::Access;
use crate::ids::SocketId;
use crate::shell::driver::{AskRights, Handle};

/// Maximum time between two looks at the clock of tokens, which may be set meanwhile.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(5);

/// Admission of clients.
#[derive(Clone)]
pub(in crate::shell) struct Gate {
    authentication: watch::Receiver<Arc<Authentication>>,
    issuer: Option<Issuer>,
    callback: Option<Callback>,
    max_access: Access,
    unix_time: fn() -> u64,
}

impl Gate {
    pub(in crate::shell) fn new(
        authentication: watch::Receiver<Arc<Authentication>>,
        issuer: Option<Issuer>,
        callback: Option<Callback>,
        max_access: Access,
        unix_time: fn() -> u64,
    ) -> Gate {
        Gate { authentication, issuer, callback, max_access, unix_time }
    }

    /// Are the keys of all issuers there?
    pub(in crate::shell) fn has_keys(&self) -> bool {
        self.issuer.as_ref().is_none_or(|issuer| issuer.keys().is_some())
    }

    /// The rights of a new client with this token. An unknown key is looked for at its issuer, and another service may know the token.
    pub(in crate::shell) async fn admit_new(
        &self,
        token: Option<&str>,
        address: IpAddr,
        core: &Handle,
    ) -> Result<Admission, TokenError> {
        let mut admitted = self.admit(token);
        if let (Err(TokenError::UnknownKey(_)), Some(issuer)) = (&admitted, &self.issuer) {
            issuer.refresh().await;
            admitted = self.admit(token);
        }
        match (admitted, token, &self.callback) {
            (Err(_), Some(token), Some(callback)) => {
                callback.identify(token, address, core).await.map(Admission::remote)
            }
            (admitted, ..) => admitted,
        }
    }

    /// Takes the core's questions about a client whose rights another service knows.
    pub(in crate::shell) fn asker(&self, admission: &Admission) -> Option<AskRights> {
        let client = admission.remote.clone()?;
        self.callback.as_ref().map(|callback| callback.asker(client))
    }

    /// The rights of a client with this token now.
    pub(in crate::shell) fn admit(&self, token: Option<&str>) -> Result<Admission, TokenError> {
        let authentication = Arc::clone(&self.authentication.borrow());
        let further = match self.issuer.as_ref().map(Issuer::keys) {
            None => FurtherKeys::None,
            Some(None) => FurtherKeys::Missing,
            Some(Some(keys)) => FurtherKeys::Fetched(keys),
        };
        let mut admission = authentication.admit(token, &further, (self.unix_time)())?;
        if self.max_access < Access::Write {
            let identity = Arc::unwrap_or_clone(admission.identity).limited_to(self.max_access);
            admission.identity = Arc::new(identity);
        }
        Ok(admission)
    }

    /// Tells the core when the rights of a client change or end. Never returns: the core closes the socket.
    pub(in crate::shell) async fn watch(
        &mut self,
        id: SocketId,
        mut admission: Admission,
        token: Option<Zeroizing<String>>,
        core: &Handle,
    ) {
        // This receiver has not looked since the server started, so it also sees a change since the client was let in.
        loop {
            let left = admission.expires_at.map(|at| at.saturating_sub((self.unix_time)()));
            let pause = left.map(|seconds| Duration::from_secs(seconds).min(EXPIRY_INTERVAL));
            let expiry = async {
                match pause {
                    Some(pause) => sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            let issuer_changed = async {
                match &mut self.issuer {
                    Some(issuer) => issuer.changed().await,
                    None => std::future::pending().await,
                }
            };
            // In a box, because few clients need it: it is larger than all else that is kept for a socket.
            let withdrawn = match (&self.callback, &admission.remote, &token) {
                (Some(callback), Some(client), Some(token)) => {
                    Some(Box::pin(withdrawn(callback, client, token, core)))
                }
                _ => None,
            };
            let withdrawn = async {
                match withdrawn {
                    Some(withdrawn) => withdrawn.await,
                    None => std::future::pending().await,
                }
            };
            let is_changed = tokio::select! {
                () = withdrawn => {
                    core.end_rights(id);
                    break;
                }
                () = issuer_changed => true,
                changed = self.authentication.changed() => match changed {
                    Ok(()) => true,
                    // The server ends.
                    Err(_) => break,
                },
                () = expiry => false,
            };
            if is_changed {
                match self.admit(token.as_ref().map(|token| token.as_str())) {
                    Ok(now) => {
                        if now.identity != admission.identity {
                            core.change_rights(id, Arc::clone(&now.identity));
                        }
                        admission = now;
                    }
                    // Another service knows it.
                    Err(_) if admission.remote.is_some() => {}
                    Err(_) => {
                        core.end_rights(id);
                        break;
                    }
                }
            } else if admission.expires_at.is_some_and(|at| at <= (self.unix_time)()) {
                core.end_rights(id);
                break;
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Returns when a token names this client no more. A service that fails tells nothing about that.
async fn withdrawn(callback: &Callback, client: &RemoteClient, token: &str, core: &Handle) {
    loop {
        sleep(callback.valid_for()).await;
        match callback.identify(token, client.address(), core).await {
            Ok(now) if now.name() != client.name() => return,
            Err(TokenError::Unknown) => return,
            Ok(_) | Err(_) => {}
        }
    }
}
