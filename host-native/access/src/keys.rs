//! API keys: format, hashing and verification with a cache of verified keys.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use argon2::Argon2;
use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use convengine_host_base::clock;
use convengine_host_base::hex::to_hex;
use convengine_storage::Pool;
use convengine_storage::api_key::{self, ApiKey};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::known_credentials::KnownCredentials;

/// The prefix of every key.
pub const PREFIX: &str = "ce_";

/// Length of an id and of a secret in hexadecimal digits.
const ID_LENGTH: usize = 12;
const SECRET_LENGTH: usize = 64;

/// Maximum number of cached verified keys.
const MAX_CACHED_KEYS: usize = 10_000;

/// Limits concurrent verifications of Argon2 hashes: each takes memory.
static HASH_PERMITS: Semaphore = Semaphore::const_new(4);

/// Generates a key for a tenant. Returns its id and the full key.
pub fn generate(tenant: Option<&str>) -> (String, String) {
    let random = || Uuid::new_v4().simple().to_string();
    let id: String = random().chars().take(ID_LENGTH).collect();
    let tenant = tenant.map_or(String::new(), |it| format!("{it}_"));
    let key = format!("{PREFIX}{tenant}{id}_{}{}", random(), random());
    (id, key)
}

/// Parses a key into its tenant and id. Returns `None` if the text is not a key.
pub fn parse_key(text: &str) -> Option<(Option<&str>, &str)> {
    let parts: Vec<&str> = text.strip_prefix(PREFIX)?.split('_').collect();
    let (tenant, id, secret) = match parts.as_slice() {
        [id, secret] => (None, *id, *secret),
        [tenant, id, secret] => (Some(*tenant), *id, *secret),
        _ => return None,
    };
    let hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (id.len() == ID_LENGTH && secret.len() == SECRET_LENGTH && hexadecimal(id) && hexadecimal(secret)).then_some((tenant, id))
}

/// Marks a hash as the SHA-256 digest of the full key. Older keys have an Argon2 hash.
const DIGEST_PREFIX: &str = "sha256:";

/// Hashes a full key, so that a copy of the database does not reveal it. Keys have 244 random bits, which no fast hash gives away.
pub fn hash(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().fold(DIGEST_PREFIX.to_owned(), |text, it| text + &format!("{it:02x}"))
}

/// Whether a key matches a stored hash.
async fn verify(key: &str, stored_hash: &str) -> bool {
    if stored_hash.starts_with(DIGEST_PREFIX) {
        let pairs = hash(key).into_bytes().into_iter().zip(stored_hash.bytes());
        // In constant time for hashes of the usual length.
        return stored_hash.len() == DIGEST_PREFIX.len() + 64 && pairs.fold(0, |differ, (one, other)| differ | (one ^ other)) == 0;
    }
    let (key, stored_hash) = (key.to_owned(), stored_hash.to_owned());
    let Ok(_permit) = HASH_PERMITS.acquire().await else { return false };
    let verified = tokio::task::spawn_blocking(move || {
        PasswordHash::new(&stored_hash).is_ok_and(|hash| Argon2::default().verify_password(key.as_bytes(), &hash).is_ok())
    });
    verified.await.unwrap_or(false)
}

/// The API keys of a tenant. Verified keys are cached: a revoked key stays valid until its entry expires.
#[derive(Debug)]
pub struct ApiKeyCache {
    recheck: Duration,
    cache: Mutex<BTreeMap<[u8; 32], CachedKey>>,
}

#[derive(Debug, Clone)]
struct CachedKey {
    key: ApiKey,
    expires_at: Instant,
}

impl ApiKeyCache {
    /// Creates a cache whose entries are looked up again after `recheck`.
    pub fn new(recheck: Duration) -> ApiKeyCache {
        ApiKeyCache { recheck, cache: Mutex::default() }
    }

    /// Returns the stored key that a text matches, or `None` if it is unknown, revoked or expired. One that is not among the known
    /// credentials is looked up with `may_look_up`, and only so often.
    pub async fn find_active(
        &self,
        readers: &Pool,
        credentials: &KnownCredentials,
        text: &str,
        id: &str,
        may_look_up: bool,
    ) -> sqlx::Result<Option<ApiKey>> {
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let cached = self.lock_cache().get(&digest).cloned();
        if let Some(cached) = cached.as_ref().filter(|entry| entry.expires_at > Instant::now()) {
            return Ok(Some(cached.key.clone()).filter(|key| key.is_valid_at(clock::now())));
        }
        let hash_text = to_hex(&digest);
        // The keys that are known by their id have an older hash, whose verification is costly.
        let has_older_hash = may_look_up && credentials.contains(id);
        if cached.is_none() && !has_older_hash && !credentials.may_exist(readers, &hash_text, may_look_up).await? {
            return Ok(None);
        }
        let found = api_key::find(readers, id).await?;
        let same = found.as_ref().zip(cached.as_ref()).is_some_and(|(found, cached)| found.hash == cached.key.hash);
        let fits = match &found {
            Some(found) => same || verify(text, &found.hash).await,
            None => false,
        };
        let now = clock::now();
        let found = found.filter(|key| fits && key.is_valid_at(now));
        credentials.record_lookup(&hash_text, found.is_some());
        let Some(mut key) = found else {
            self.lock_cache().remove(&digest);
            return Ok(None);
        };
        if !key.hash.starts_with(DIGEST_PREFIX) {
            let new = hash(text);
            match api_key::replace_hash(readers, id, &key.hash, &new).await {
                Ok(()) => key.hash = new,
                Err(error) => tracing::debug!(%error, "cannot replace the hash of an API key"),
            }
        }
        if let Err(error) = api_key::record_use(readers, id, now).await {
            tracing::debug!(%error, "cannot record the use of an API key");
        }
        let mut cache = self.lock_cache();
        if cache.len() >= MAX_CACHED_KEYS {
            let now = Instant::now();
            cache.retain(|_, it| it.expires_at > now);
        }
        if cache.len() < MAX_CACHED_KEYS {
            cache.insert(digest, CachedKey { key: key.clone(), expires_at: Instant::now() + self.recheck });
        }
        Ok(Some(key))
    }

    fn lock_cache(&self) -> MutexGuard<'_, BTreeMap<[u8; 32], CachedKey>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::PasswordHasher;
    use argon2::{Algorithm, Params, Version};

    use super::*;
    use convengine_storage::testing::sqlite;

    #[test]
    fn a_key_has_a_tenant_an_id_and_a_secret() {
        let (id, key) = generate(None);
        assert_eq!(parse_key(&key), Some((None, id.as_str())));
        let (id, key) = generate(Some("acme-2"));
        assert!(key.starts_with("ce_acme-2_"), "{key}");
        assert_eq!(parse_key(&key), Some((Some("acme-2"), id.as_str())));
        for text in ["", "ce_", "ce__", "x", &key[1..], &key[..key.len() - 1], &format!("{key}_1"), &key.replace("_acme-2_", "_acme-2")] {
            assert_eq!(parse_key(text), None, "{text}");
        }
    }

    #[tokio::test]
    async fn a_key_is_valid_until_its_revocation_is_noticed() {
        let database = sqlite().await;
        let (id, key) = generate(Some("a"));
        let stored = ApiKey {
            key_id: id.clone(),
            name: "n".to_owned(),
            hash: hash(&key),
            scopes: "read".to_owned(),
            owner_claim: false,
            created_at: 1,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        api_key::insert(&database.pool, &stored).await.expect("a key");
        assert!(!stored.hash.contains(&key) && stored.hash.starts_with("sha256:"), "{}", stored.hash);
        let (lasting, brief) = (ApiKeyCache::new(Duration::from_secs(60)), ApiKeyCache::new(Duration::ZERO));
        let pool = &database.pool;
        let known = KnownCredentials::read(pool).await.expect("hashes");
        let counts =
            async |keys: &ApiKeyCache, text: &str| keys.find_active(pool, &known, text, &id, true).await.expect("an answer").is_some();
        assert!(counts(&lasting, &key).await && counts(&brief, &key).await);
        // Neither another secret nor the same secret under another tenant is valid.
        let mut other = key.clone();
        other.replace_range(key.len() - 1.., if key.ends_with('0') { "1" } else { "0" });
        assert!(!counts(&lasting, &other).await && !counts(&lasting, &key.replace("ce_a_", "ce_b_")).await);
        let with_other_id = async |keys: &ApiKeyCache| keys.find_active(pool, &known, &key, "0123456789ab", true).await.expect("an answer");
        assert!(with_other_id(&lasting).await.is_some(), "cached by the full key");
        assert!(with_other_id(&ApiKeyCache::new(Duration::ZERO)).await.is_none());
        assert!(api_key::find(&database.pool, &id).await.expect("an answer").expect("a key").last_used_at.is_some());
        assert!(api_key::revoke(&database.pool, &id, 5).await.expect("an answer"));
        assert!(counts(&lasting, &key).await && !counts(&brief, &key).await);
        assert!(!api_key::revoke(&database.pool, &id, 6).await.expect("an answer"), "already revoked");
    }

    #[tokio::test]
    async fn only_a_key_with_an_older_hash_costs_its_verification_and_only_once() {
        let database = sqlite().await;
        let (id, key) = generate(None);
        let params = Params::new(4096, 2, 1, None).expect("parameters");
        let older = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let older = older.hash_password_with_salt(key.as_bytes(), b"0123456789abcdef").expect("a hash").to_string();
        let name = "n".to_owned();
        let stored = ApiKey {
            key_id: id.clone(),
            name,
            hash: older.clone(),
            scopes: "read".to_owned(),
            owner_claim: false,
            created_at: 1,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        api_key::insert(&database.pool, &stored).await.expect("a key");
        let keys = ApiKeyCache::new(Duration::ZERO);
        let known = KnownCredentials::read(&database.pool).await.expect("hashes");
        let counts =
            async |text: &str, id: &str| keys.find_active(&database.pool, &known, text, id, true).await.expect("an answer").is_some();
        let hash_of = async || api_key::find(&database.pool, &id).await.expect("an answer").expect("a key").hash;
        assert!(!counts(&key.replace(&id, "0123456789ab"), &id).await && hash_of().await == older, "another text changes nothing");
        assert!(counts(&key, &id).await);
        assert_eq!(hash_of().await, hash(&key), "the first use replaces the hash");
        // Without permits, a verification with Argon2 would wait forever.
        let _all = HASH_PERMITS.acquire_many(4).await.expect("permits");
        assert!(counts(&key, &id).await && !counts(&key.replace(&id, "0123456789ab"), &id).await);
        assert!(!counts(&generate(None).1, "0123456789ab").await, "a key that does not exist");
    }
}
