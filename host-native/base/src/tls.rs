//! HTTP clients with and without TLS.

use reqwest::{Client, ClientBuilder, redirect};

use crate::crypto::install_crypto_provider;

/// Creates a client builder for a URL. The client follows no redirects, because a redirect would receive the API key.
///
/// Without TLS the system certificates are not loaded, so that plain HTTP works on machines that have none.
pub fn client_for(address: &str) -> ClientBuilder {
    install_crypto_provider();
    let builder = Client::builder().redirect(redirect::Policy::none());
    if address.starts_with("https:") { builder } else { builder.tls_certs_only([]) }
}
