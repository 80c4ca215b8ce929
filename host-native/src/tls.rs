//! Encrypted connections: which crypto library they use, and clients that have none.

use reqwest::{Client, ClientBuilder, redirect};

/// Chooses the crypto library of the process, without which no HTTP client can be made; a second call changes nothing.
pub fn install() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for an address. It follows no redirects, because a key would go along to whoever is named there.
///
/// Without TLS the certificates of the machine are not read, so that a machine without any can reach its neighbours.
pub fn client_for(address: &str) -> ClientBuilder {
    install();
    let builder = Client::builder().redirect(redirect::Policy::none());
    if address.starts_with("https:") { builder } else { builder.tls_certs_only([]) }
}
