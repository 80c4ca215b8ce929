//! Verifies JWTs from an external issuer against its JSON Web Key Set and reads their claims.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use convengine_core::turn::Millis;
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::meter::Meter;
use convengine_host_base::redact_url::redact_url;
use convengine_host_base::tls;
use convengine_settings::{JwtSettings, KeySet};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::scope::Scopes;

/// Timeout for fetching the keys.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// Minimum interval between fetches caused by unknown key ids, which any client can send.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum size of a key set in bytes.
const MAX_JWKS_BYTES: usize = 1024 * 1024;

/// Why a token is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenRejection {
    /// The token is invalid for this reason.
    Invalid(&'static str),
    /// The token is genuine, but expired or not valid yet.
    Outdated(&'static str),
    /// The token cannot be verified because the keys cannot be fetched.
    KeysUnavailable,
}

/// The claims of a verified token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The issuer and the subject.
    pub subject: String,
    /// The granted scopes.
    pub scopes: Scopes,
    /// When the token expires, the tolerated clock skew included.
    pub expires_at: Millis,
    /// The tenant, if the token names one.
    pub tenant: Option<String>,
    /// What the token says of its user: `id` is its subject, and other claims keep their names.
    pub user: Map<String, Value>,
}

/// The claims that are about the token and not about its user, beside those of scopes and tenant.
const PROTOCOL_CLAIMS: [&str; 7] = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"];

/// Verifies tokens with the keys of the issuer.
#[derive(Debug)]
pub struct TokenVerifier {
    jwt: JwtSettings,
    keys: RwLock<Arc<VerificationKeys>>,
    /// Time of the last fetch caused by an unknown key id. Locked during a fetch.
    last_refresh: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct VerificationKeys {
    all: Vec<VerificationKey>,
    /// When they were fetched; absent if they never were.
    fetched_at: Option<Instant>,
    /// Whether the last fetch failed and the keys are those of an earlier one.
    stale: bool,
}

struct VerificationKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl std::fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.id, self.algorithm)
    }
}

impl TokenVerifier {
    /// The required issuer.
    pub fn issuer(&self) -> &str {
        &self.jwt.issuer
    }

    /// Fetches the keys. An unreachable URL is retried later; an unusable file is an error.
    ///
    /// # Errors
    /// A usage failure if the key file is unusable.
    pub async fn new(jwt: &JwtSettings) -> Result<TokenVerifier, Failure> {
        let tokens = TokenVerifier { jwt: jwt.clone(), keys: RwLock::default(), last_refresh: Mutex::default() };
        match (fetch(&jwt.keys).await, &jwt.keys) {
            (Ok(keys), _) => tokens.store_keys(keys),
            (Err(error), KeySet::File(file)) => {
                let file = file.display();
                return Err(Failure::invalid_usage(format!("convengine.security.jwt.jwks-file: cannot use '{file}': {error}")));
            }
            (Err(error), KeySet::Url(url)) => {
                tracing::warn!(
                    error,
                    url = redact_url(url),
                    "cannot fetch the token signing keys; all tokens are rejected until a retry succeeds"
                );
                tokens.mark_stale();
            }
        }
        Ok(tokens)
    }

    /// Spawns the task that fetches the keys again every `convengine.security.jwt.refresh`, and sooner after a failure, until it is aborted.
    pub fn spawn_refresh(self: Arc<Self>) -> JoinHandle<()> {
        tokio::spawn(async move {
            loop {
                let is_stale = self.current_keys().stale;
                sleep(if is_stale { self.jwt.refresh.min(MIN_REFRESH_INTERVAL) } else { self.jwt.refresh }).await;
                self.fetch_again().await;
            }
        })
    }

    /// Verifies a token and returns its claims.
    ///
    /// # Errors
    /// [`TokenRejection`] if the token is invalid or the keys are unavailable.
    pub async fn verify(&self, token: &str) -> Result<Claims, TokenRejection> {
        // Rejects unsigned tokens and unknown algorithms.
        let header = decode_header(token).map_err(|_| TokenRejection::Invalid("token cannot be read"))?;
        if has_critical_extension(token) {
            return Err(TokenRejection::Invalid("token has an unknown critical header"));
        }
        let mut keys = self.current_keys();
        if !keys.is_valid(self.jwt.max_age) {
            return Err(TokenRejection::KeysUnavailable);
        }
        if !keys.contains(header.kid.as_deref()) {
            keys = self.refresh(header.kid.as_deref()).await;
        }
        if !keys.contains(header.kid.as_deref()) {
            return Err(if keys.stale { TokenRejection::KeysUnavailable } else { TokenRejection::Invalid("unknown signing key") });
        }
        // The key determines the algorithm, never the token.
        let key = keys.candidates(header.kid.as_deref()).find(|it| it.algorithm == header.alg);
        let key = key.ok_or(TokenRejection::Invalid("algorithm does not match the signing key"))?;
        let claims = self.read_claims(token, key)?;
        let text = |claim: &str| claims.get(claim).and_then(Value::as_str).map(str::to_owned);
        let issuer = text("iss").unwrap_or_default();
        let subject = text("sub").filter(|it| !it.is_empty()).ok_or(TokenRejection::Invalid("token has no subject"))?;
        Ok(Claims {
            subject: format!("{issuer} {subject}"),
            scopes: parse_scopes(claims.get(&self.jwt.scope_claim)),
            expires_at: self.expiry(claims.get("exp")),
            tenant: text(&self.jwt.tenant_claim),
            user: self.user_of(&subject, claims),
        })
    }

    /// Verifies the signature and the claims of a token.
    fn read_claims(&self, token: &str, key: &VerificationKey) -> Result<Map<String, Value>, TokenRejection> {
        let read = |validation: &Validation| match decode::<Map<String, Value>>(token, &key.key, validation) {
            Ok(found) => Ok(found.claims),
            Err(error) => Err(to_rejection(error.kind())),
        };
        let mut validation = self.validation(key.algorithm);
        let found = read(&validation);
        let Err(TokenRejection::Outdated(reason)) = found else { return found };
        // Times are checked before issuer and audience, which have to be right in a token of this service.
        (validation.validate_exp, validation.validate_nbf) = (false, false);
        read(&validation).and(Err(TokenRejection::Outdated(reason)))
    }

    /// What claims say of the user with this id.
    fn user_of(&self, id: &str, claims: Map<String, Value>) -> Map<String, Value> {
        let is_of_token = |name: &str| PROTOCOL_CLAIMS.contains(&name) || name == self.jwt.scope_claim || name == self.jwt.tenant_claim;
        let others = claims.into_iter().filter(|(name, _)| name != "id" && !is_of_token(name));
        [("id".to_owned(), Value::from(id))].into_iter().chain(others).collect()
    }

    /// The time from which a token is rejected.
    fn expiry(&self, claim: Option<&Value>) -> Millis {
        let seconds = claim.and_then(Value::as_f64).unwrap_or_default();
        let leeway = Millis::try_from(self.jwt.leeway.as_millis()).unwrap_or_default();
        // Saturates at the ends of the range.
        ((seconds * 1000.0) as Millis).saturating_add(leeway)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.jwt.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_audience(&[&self.jwt.audience]);
        validation.set_issuer(&[&self.jwt.issuer]);
        validation.set_required_spec_claims(&["exp", "aud", "sub", "iss"]);
        validation
    }

    /// Fetches the keys again unless that happened recently. Concurrent callers wait for the same fetch.
    async fn refresh(&self, key_id: Option<&str>) -> Arc<VerificationKeys> {
        let mut last_refresh = self.last_refresh.lock().await;
        let keys = self.current_keys();
        if keys.contains(key_id) || last_refresh.is_some_and(|instant| instant.elapsed() < MIN_REFRESH_INTERVAL) {
            return keys;
        }
        *last_refresh = Some(Instant::now());
        self.fetch_again().await;
        self.current_keys()
    }

    async fn fetch_again(&self) {
        match fetch(&self.jwt.keys).await {
            Ok(keys) => self.store_keys(keys),
            Err(error) => {
                let max_age_s = self.jwt.max_age.as_secs();
                tracing::warn!(error, max_age_s, "cannot fetch the token signing keys; using the previous ones until they are too old");
                self.mark_stale();
            }
        }
    }

    fn current_keys(&self) -> Arc<VerificationKeys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn store_keys(&self, all: Vec<VerificationKey>) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(VerificationKeys { all, fetched_at: Some(Instant::now()), stale: false });
        Meter::default().record_signing_keys(clock::now());
    }

    fn mark_stale(&self) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let all = Arc::get_mut(&mut keys).map(|it| std::mem::take(&mut it.all));
        let all = all.unwrap_or_else(|| keys.all.iter().map(VerificationKey::duplicate).collect());
        let fetched_at = keys.fetched_at;
        *keys = Arc::new(VerificationKeys { all, fetched_at, stale: true });
    }
}

impl VerificationKeys {
    /// Whether they may be used: those that were never fetched are as good as any that know no key.
    fn is_valid(&self, max_age: Duration) -> bool {
        self.fetched_at.is_none_or(|instant| instant.elapsed() <= max_age)
    }

    fn candidates(&self, id: Option<&str>) -> impl Iterator<Item = &VerificationKey> {
        let only = self.all.len() == 1;
        // A token may omit the key id if there is only one key.
        self.all.iter().filter(move |key| if id.is_some() { key.id.as_deref() == id } else { only })
    }

    fn contains(&self, id: Option<&str>) -> bool {
        self.candidates(id).next().is_some()
    }
}

impl VerificationKey {
    /// Converts a key of a JWKS. Returns `None` for keys with another use and for symmetric keys.
    fn from_jwk(key: &Jwk) -> Option<VerificationKey> {
        if key.common.public_key_use.as_ref().is_some_and(|it| *it != PublicKeyUse::Signature) {
            return None;
        }
        let given = key.common.key_algorithm.map(Algorithm::try_from).transpose().ok()?;
        let fits = |known: &[Algorithm]| match given {
            Some(it) => known.contains(&it).then_some(it),
            None => known.first().copied(),
        };
        let algorithm = match &key.algorithm {
            AlgorithmParameters::RSA(_) => {
                fits(&[Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256, Algorithm::PS384, Algorithm::PS512])
            }
            AlgorithmParameters::EllipticCurve(it) if it.curve == EllipticCurve::P256 => fits(&[Algorithm::ES256]),
            AlgorithmParameters::EllipticCurve(it) if it.curve == EllipticCurve::P384 => fits(&[Algorithm::ES384]),
            AlgorithmParameters::OctetKeyPair(it) if it.curve == EllipticCurve::Ed25519 => fits(&[Algorithm::EdDSA]),
            _ => None,
        }?;
        Some(VerificationKey { id: key.common.key_id.clone(), algorithm, key: DecodingKey::from_jwk(key).ok()? })
    }

    fn duplicate(&self) -> VerificationKey {
        VerificationKey { id: self.id.clone(), algorithm: self.algorithm, key: self.key.clone() }
    }
}

async fn fetch(from: &KeySet) -> Result<Vec<VerificationKey>, String> {
    let bytes = match from {
        KeySet::File(file) => tokio::task::spawn_blocking({
            let file = file.clone();
            move || std::fs::read(file)
        })
        .await
        .map_err(|it| it.to_string())?
        .map_err(|it| it.to_string())?,
        KeySet::Url(url) => download(url).await?,
    };
    let set: Value = serde_json::from_slice(&bytes).map_err(|it| format!("invalid JSON: {it}"))?;
    let keys = set.get("keys").and_then(Value::as_array).ok_or("'keys' is not a list")?;
    let keys: Vec<VerificationKey> = keys
        .iter()
        .filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok())
        .filter_map(|it| VerificationKey::from_jwk(&it))
        .collect();
    if keys.is_empty() { Err("no RS, PS, ES or EdDSA signing key".to_owned()) } else { Ok(keys) }
}

async fn download(url: &str) -> Result<Vec<u8>, String> {
    let message = |error: reqwest::Error| error.without_url().to_string();
    let client = tls::client_for(url).connect_timeout(FETCH_TIMEOUT).timeout(FETCH_TIMEOUT).build().map_err(message)?;
    let mut response = client.get(url).send().await.and_then(reqwest::Response::error_for_status).map_err(message)?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(message)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_JWKS_BYTES {
            return Err("key set is too large".to_owned());
        }
    }
    Ok(bytes)
}

/// Reads scopes from a claim: a string of names or an array of names.
fn parse_scopes(claim: Option<&Value>) -> Scopes {
    match claim {
        Some(Value::String(text)) => Scopes::from_names(text.split_whitespace()),
        Some(Value::Array(items)) => Scopes::from_names(items.iter().filter_map(Value::as_str)),
        _ => Scopes::default(),
    }
}

/// Whether the header has `crit`: extensions that have to be understood, of which none is (RFC 7515, section 4.1.11).
fn has_critical_extension(token: &str) -> bool {
    let header = token.split('.').next().and_then(|header| URL_SAFE_NO_PAD.decode(header).ok());
    let header = header.and_then(|it| serde_json::from_slice::<Map<String, Value>>(&it).ok());
    header.is_none_or(|it| it.contains_key("crit"))
}

fn to_rejection(kind: &ErrorKind) -> TokenRejection {
    TokenRejection::Invalid(match kind {
        ErrorKind::ExpiredSignature => return TokenRejection::Outdated("token expired"),
        ErrorKind::ImmatureSignature => return TokenRejection::Outdated("token is not valid yet"),
        ErrorKind::InvalidAudience => "wrong audience",
        ErrorKind::InvalidIssuer => "wrong issuer",
        ErrorKind::MissingRequiredClaim(_) => "token lacks one of the claims exp, aud, sub and iss",
        ErrorKind::InvalidSignature => "invalid signature",
        _ => "token cannot be read",
    })
}

#[cfg(test)]
pub(super) mod tests {
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    use super::*;

    /// An Ed25519 key, derived from a byte.
    fn key(seed: u8) -> EncodingKey {
        let prefix = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        EncodingKey::from_ed_der(&[&prefix[..], &[seed; 32]].concat())
    }

    /// Signs a token of the issuer for the user `ada` with changes of its claims; the verifier has the key of the seed 1.
    pub fn sign(seed: u8, changes: &Value) -> String {
        let mut claims = json!({"iss": "https://id.example", "aud": "bot", "sub": "ada", "exp": seconds() + 600, "scope": "read"});
        for (name, value) in changes.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        let header = Header { kid: Some("1".to_owned()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, &claims, &key(seed)).expect("a token")
    }

    /// Seconds since 1970.
    pub fn seconds() -> i64 {
        clock::now() / 1000
    }

    /// A verifier of the tokens of the issuer, which tolerates no clock skew.
    pub async fn verifier() -> TokenVerifier {
        let mut public = json!(Jwk::from_encoding_key(&key(1), Algorithm::EdDSA).expect("a public key"));
        public["kid"] = json!("1");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("keys.json");
        std::fs::write(&file, json!({"keys": [public]}).to_string()).expect("a file");
        let jwt = JwtSettings {
            keys: KeySet::File(file),
            issuer: "https://id.example".to_owned(),
            audience: "bot".to_owned(),
            scope_claim: "scope".to_owned(),
            tenant_claim: "tenant".to_owned(),
            leeway: Duration::ZERO,
            refresh: Duration::from_mins(5),
            max_age: Duration::from_hours(1),
        };
        TokenVerifier::new(&jwt).await.expect("a verifier")
    }

    #[tokio::test]
    async fn genuine_tokens_that_are_out_of_date_are_told_from_wrong_ones() {
        let verifier = verifier().await;
        assert!(verifier.verify(&sign(1, &json!({}))).await.is_ok_and(|it| it.subject == "https://id.example ada"));
        let (past, future) = (seconds() - 60, seconds() + 60);
        for (seed, changes, expected) in [
            (1, json!({"exp": past}), TokenRejection::Outdated("token expired")),
            (1, json!({"nbf": future}), TokenRejection::Outdated("token is not valid yet")),
            (1, json!({"exp": past, "nbf": future}), TokenRejection::Outdated("token expired")),
            (2, json!({"exp": past}), TokenRejection::Invalid("invalid signature")),
            (1, json!({"exp": past, "aud": "other"}), TokenRejection::Invalid("wrong audience")),
            (1, json!({"nbf": future, "iss": "https://evil.example"}), TokenRejection::Invalid("wrong issuer")),
            (1, json!({"exp": "soon"}), TokenRejection::Invalid("token lacks one of the claims exp, aud, sub and iss")),
            (1, json!({"exp": past, "nbf": "later"}), TokenRejection::Invalid("token cannot be read")),
        ] {
            assert_eq!(verifier.verify(&sign(seed, &changes)).await, Err(expected), "{changes}");
        }
    }
}
