//! The crypto provider of the process, which HTTP clients and connections to databases require.

/// Installs it; repeated calls have no effect.
pub fn install_crypto_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
