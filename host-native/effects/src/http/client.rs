//! HTTP clients that connect only to addresses that passed the network policy.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use convengine_host_base::tls;
use convengine_settings::NetworkSettings;
use quick_cache::sync::Cache;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, retry};

use super::target::{self, CheckedResolver};

/// Maximum number of cached clients; more are needed only if a service keeps redirecting to new ports.
const MAX_CLIENTS: usize = 64;

/// Clients by scheme, port and connect timeout in milliseconds, which are fixed per client. Each pools its connections.
pub struct Clients {
    resolver: Arc<dyn Resolve>,
    network: Arc<NetworkSettings>,
    cache: Cache<(String, u16, u64), Client>,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("network", &self.network).finish_non_exhaustive()
    }
}

impl Clients {
    /// Creates clients that use the system resolver.
    pub fn new(network: Arc<NetworkSettings>) -> Clients {
        Clients::with_resolver(Arc::new(SystemResolver), network)
    }

    /// Creates clients that use another resolver.
    pub fn with_resolver(resolver: Arc<dyn Resolve>, network: Arc<NetworkSettings>) -> Clients {
        Clients { resolver, network, cache: Cache::new(MAX_CLIENTS) }
    }

    /// Returns the client for a URL.
    ///
    /// # Errors
    /// The failure of building a client.
    pub fn client_for(&self, url: &Url, connect: Duration) -> reqwest::Result<Client> {
        let port = target::port(url);
        let key = (url.scheme().to_owned(), port, u64::try_from(connect.as_millis()).unwrap_or(u64::MAX));
        self.cache.get_or_insert_with(&key, || self.build(url, port, connect))
    }

    fn build(&self, url: &Url, port: u16, connect: Duration) -> reqwest::Result<Client> {
        let names = Arc::new(CheckedResolver { resolver: Arc::clone(&self.resolver), network: Arc::clone(&self.network), port });
        // A proxy would bypass the address check, and built-in retries would be invisible to the core.
        tls::client_for(url.as_str())
            .user_agent(concat!("convengine/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .retry(retry::never())
            .connect_timeout(connect)
            .dns_resolver(names)
            .build()
    }
}

/// The system resolver.
struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
