//! The connections of calls: every address that is connected to was checked before.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, redirect, retry};

use super::target::Checked;
use crate::settings::Network;

/// How many clients are kept; more ports and limits than that are in use only when a service redirects to ever new ones.
const KEPT: usize = 64;

/// Clients by port and by the milliseconds for a connection, which they have for good. Each keeps connections open for the next call.
pub struct Clients {
    names: Arc<dyn Resolve>,
    network: Arc<Network>,
    kept: Mutex<BTreeMap<(u16, u64), Client>>,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("network", &self.network).finish_non_exhaustive()
    }
}

impl Clients {
    /// Clients that ask the machine for names.
    pub fn new(network: Arc<Network>) -> Clients {
        Clients::resolving(Arc::new(Machine), network)
    }

    /// Clients that ask somebody for names.
    pub fn resolving(names: Arc<dyn Resolve>, network: Arc<Network>) -> Clients {
        Clients { names, network, kept: Mutex::default() }
    }

    /// The client for a port.
    ///
    /// # Errors
    /// Why none can be made.
    pub fn at(&self, port: u16, connect: Duration) -> reqwest::Result<Client> {
        let key = (port, u64::try_from(connect.as_millis()).unwrap_or(u64::MAX));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = kept.get(&key) {
            return Ok(client.clone());
        }
        let names = Arc::new(Checked { names: Arc::clone(&self.names), network: Arc::clone(&self.network), port });
        // A proxy would connect in our place, and neither redirects nor repetitions may pass unseen.
        let client = build(|it| {
            it.no_proxy().redirect(redirect::Policy::none()).retry(retry::never()).connect_timeout(connect).dns_resolver(names)
        })?;
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, client.clone());
        Ok(client)
    }
}

/// Makes a client. Where the machine has no certificates to trust, it can still call `http` addresses.
///
/// # Errors
/// Why none can be made.
pub fn build(with: impl FnOnce(ClientBuilder) -> ClientBuilder + Clone) -> reqwest::Result<Client> {
    provide();
    let builder = || Client::builder().user_agent(concat!("convengine/", env!("CARGO_PKG_VERSION")));
    with.clone()(builder()).build().or_else(|_| with(builder()).tls_certs_only([]).build())
}

/// Gives the process its encryption, which every client needs, even one that calls `http` addresses only.
pub fn provide() {
    // Who comes second finds the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Asks the machine for names.
struct Machine;

impl Resolve for Machine {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
