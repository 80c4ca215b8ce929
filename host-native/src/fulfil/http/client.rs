//! The connections of calls: every address that is connected to was checked before.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, retry};

use super::target::{self, Checked};
use crate::settings::Network;
use crate::tls;

/// How many clients are kept; more ports and limits than that are in use only when a service redirects to ever new ones.
const KEPT: usize = 64;

/// Clients by scheme, port and milliseconds for a connection, which they have for good. Each keeps connections open for the next call.
pub struct Clients {
    names: Arc<dyn Resolve>,
    network: Arc<Network>,
    kept: Mutex<BTreeMap<(String, u16, u64), Client>>,
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

    /// The client for an address.
    ///
    /// # Errors
    /// Why none can be made.
    pub fn at(&self, url: &Url, connect: Duration) -> reqwest::Result<Client> {
        let port = target::port(url);
        let key = (url.scheme().to_owned(), port, u64::try_from(connect.as_millis()).unwrap_or(u64::MAX));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = kept.get(&key) {
            return Ok(client.clone());
        }
        let names = Arc::new(Checked { names: Arc::clone(&self.names), network: Arc::clone(&self.network), port });
        // A proxy would connect in our place, and a repetition would be unseen.
        let client = tls::client_for(url.as_str())
            .user_agent(concat!("convengine/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .retry(retry::never())
            .connect_timeout(connect)
            .dns_resolver(names)
            .build()?;
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, client.clone());
        Ok(client)
    }
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
