//! Authentication, CORS and rate limit settings: `convengine.security`.

use std::path::PathBuf;
use std::time::Duration;

use convengine_host_base::redact_url::redact_url;
use reqwest::Url;

use super::groups::groups;
use super::value::{FromText, duration_or_zero, optional_list, parse_duration, scalar, whole};

/// How callers authenticate; neither way means no authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuthMode {
    /// By an API key in the database.
    pub keys: bool,
    /// By a JWT of an external issuer.
    pub jwt: bool,
}

impl AuthMode {
    /// Whether authentication is off.
    pub fn is_none(self) -> bool {
        self == AuthMode::default()
    }
}

/// Settings of `convengine.security`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecuritySettings {
    /// The authentication mode; if absent, the server is open to its own machine until there is a key, token or deployment.
    pub mode: Option<AuthMode>,
    /// How long a verified key stays cached.
    pub keys_recheck: Duration,
    /// JWT settings; present if the mode accepts JWTs, or if it is absent and they are set.
    pub jwt: Option<JwtSettings>,
    /// Allowed origins; if absent, they depend on the listen address.
    pub origins: Option<Vec<String>>,
    /// Rate limits.
    pub rates: Rates,
    /// How often an address may send wrong credentials.
    pub guessing: GuessingSettings,
}

groups! {
    /// How often an address may send wrong credentials.
    #[derive(Copy, PartialEq, Eq)]
    pub struct GuessingSettings {
        /// The number of wrong credentials in a window after which the rest of it is refused.
        pub failures: u32 as "whole::<_, _, 1, 1_000_000>" = 100,
        /// How long an address is counted, from its first wrong credential.
        pub window: Duration as "scalar" = Duration::from_mins(1),
    }
}

/// How JWTs are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtSettings {
    /// The source of the signing keys.
    pub keys: KeySet,
    /// The required issuer.
    pub issuer: String,
    /// The required audience.
    pub audience: String,
    /// The claim with the scopes.
    pub scope_claim: String,
    /// The claim with the tenant.
    pub tenant_claim: String,
    /// Tolerated clock skew.
    pub leeway: Duration,
    /// How often the signing keys are fetched again.
    pub refresh: Duration,
    /// How old the signing keys may become while they cannot be fetched.
    pub max_age: Duration,
}

/// The source of a JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySet {
    /// A URL.
    Url(String),
    /// A file.
    File(PathBuf),
}

groups! {
    /// Rate limits.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Rates {
        /// Per caller.
        pub per_key: Option<Rate> as "scalar",
        /// Per conversation, counting messages.
        pub per_conversation: Option<Rate> as "scalar",
    }
}

/// A number of calls per period with a burst limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Calls per period.
    pub count: u32,
    /// The period.
    pub per: Duration,
    /// Maximum burst of calls.
    pub burst: u32,
}

/// Maximum tolerated clock skew.
const MAX_LEEWAY: Duration = Duration::from_secs(600);

/// Maximum calls of a rate: beyond it, the interval between calls rounds to zero.
const MAX_CALLS: u32 = 100_000;

groups! {
    /// `security.*`
    pub(super) struct SecurityTree {
        mode: Option<AuthMode> as "scalar",
        keys: KeysTree,
        jwt: JwtTree,
        cors: CorsTree,
        rate: Rates,
        guessing: GuessingSettings,
    }

    struct KeysTree {
        recheck: Duration as "scalar" = Duration::from_secs(60),
    }

    struct JwtTree {
        jwks_url: Option<String> as "scalar",
        jwks_file: Option<String> as "scalar",
        issuer: Option<String> as "scalar",
        audience: Option<String> as "scalar",
        scope_claim: Option<String> as "scalar",
        tenant_claim: Option<String> as "scalar",
        leeway: Duration as "duration_or_zero" = Duration::from_secs(60),
        refresh: Duration as "scalar" = Duration::from_mins(5),
        max_age: Duration as "scalar" = Duration::from_hours(1),
    }

    struct CorsTree {
        allowed_origins: Option<Vec<String>> as "optional_list",
    }
}

impl SecuritySettings {
    pub(super) fn new(tree: SecurityTree, problems: &mut Vec<String>) -> SecuritySettings {
        // Also where tokens are not accepted as credentials: those of a page's users are verified in every mode.
        let has_jwt = tree.jwt.jwks_url.is_some() || tree.jwt.jwks_file.is_some() || tree.mode.is_some_and(|it| it.jwt);
        SecuritySettings {
            mode: tree.mode,
            keys_recheck: tree.keys.recheck,
            jwt: if has_jwt { JwtSettings::new(tree.jwt, problems) } else { None },
            origins: tree.cors.allowed_origins.map(|it| check_origins(&it, problems)),
            rates: tree.rate,
            guessing: tree.guessing,
        }
    }
}

impl JwtSettings {
    fn new(tree: JwtTree, problems: &mut Vec<String>) -> Option<JwtSettings> {
        let keys = match (tree.jwks_url, tree.jwks_file) {
            (Some(url), None) => match Url::parse(&url) {
                Ok(it) if ["http", "https"].contains(&it.scheme()) && it.has_host() => Some(KeySet::Url(url)),
                _ => {
                    let url = redact_url(&url);
                    problems.push(format!("convengine.security.jwt.jwks-url: invalid URL '{url}'; use https://HOST/PATH"));
                    None
                }
            },
            (None, Some(file)) => Some(KeySet::File(PathBuf::from(file))),
            _ => {
                let line = "convengine.security.jwt: no unique source of signing keys; set either jwks-url or jwks-file";
                problems.push(line.to_owned());
                None
            }
        };
        // Required because issuers share keys and issue tokens for other services, too.
        let (issuer, audience) = (tree.issuer.filter(|it| !it.is_empty()), tree.audience.filter(|it| !it.is_empty()));
        let missing = [("issuer", &issuer), ("audience", &audience)].into_iter().filter(|it| it.1.is_none()).map(|it| it.0);
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            let names = missing.join(" and convengine.security.jwt.");
            problems.push(format!("convengine.security.jwt.{names}: missing; set what tokens must have"));
        }
        if tree.max_age <= tree.refresh {
            problems.push("convengine.security.jwt.max-age: not longer than security.jwt.refresh; set a longer one".to_owned());
        }
        Some(JwtSettings {
            keys: keys?,
            issuer: issuer?,
            audience: audience?,
            scope_claim: tree.scope_claim.unwrap_or_else(|| "scope".to_owned()),
            tenant_claim: tree.tenant_claim.unwrap_or_else(|| "tenant".to_owned()),
            leeway: tree.leeway.min(MAX_LEEWAY),
            refresh: tree.refresh,
            max_age: tree.max_age,
        })
    }
}

impl FromText for Rate {
    fn from_text(text: &str) -> Result<Rate, String> {
        Rate::parse(text).ok_or_else(|| format!("invalid rate '{text}'; use a value such as 60/m or 60/m burst 10"))
    }
}

impl Rate {
    /// Parses a rate such as `60/m` or `60/m burst 10`.
    fn parse(text: &str) -> Option<Rate> {
        let (rate, burst) = match text.split_once("burst") {
            Some((rate, burst)) => (rate, Some(burst.trim().parse::<u32>().ok()?)),
            None => (text, None),
        };
        let (count, unit) = rate.split_once('/')?;
        let count = count.trim().parse::<u32>().ok()?;
        let per = parse_duration(&format!("1{}", unit.trim())).filter(|_| unit.trim() != "ms")?;
        let burst = burst.unwrap_or(count);
        let fits = |it: u32| (1..=MAX_CALLS).contains(&it);
        (fits(count) && fits(burst) && !unit.trim().is_empty()).then_some(Rate { count, per, burst })
    }
}

impl FromText for AuthMode {
    fn from_text(text: &str) -> Result<AuthMode, String> {
        let mut mode = AuthMode::default();
        for word in text.split(',').map(|word| word.trim().to_lowercase()) {
            match word.as_str() {
                "none" if text.eq_ignore_ascii_case("none") => {}
                "keys" => mode.keys = true,
                "jwt" => mode.jwt = true,
                _ => return Err(format!("unknown mode '{text}'; use none, keys, jwt or keys,jwt")),
            }
        }
        Ok(mode)
    }
}

/// Returns the valid origins of a list.
fn check_origins(entries: &[String], problems: &mut Vec<String>) -> Vec<String> {
    let mut origins = Vec::new();
    for origin in entries {
        let parsed = Url::parse(origin).map(|url| url.origin().ascii_serialization());
        if origin != "*" && parsed.as_deref() != Ok(origin) {
            let line = "use a value such as https://app.example without a path, or * for every origin";
            problems.push(format!("convengine.security.cors.allowed-origins: invalid origin '{origin}'; {line}"));
            continue;
        }
        origins.push(origin.clone());
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::super::tree::read_test_tree;
    use super::*;
    use serde_json::{Value, json};

    fn read(security: Value) -> (SecuritySettings, Vec<String>) {
        let (tree, mut problems) = read_test_tree(&json!({"security": security}));
        (SecuritySettings::new(tree.security, &mut problems), problems)
    }

    #[test]
    fn auth_modes_are_read_or_rejected() {
        let jwt = json!({"jwks-url": "https://id.example/keys", "audience": "bot", "issuer": "https://id.example"});
        for (mode, expected) in [
            (json!("none"), Some(AuthMode::default())),
            (json!("keys"), Some(AuthMode { keys: true, jwt: false })),
            (json!("JWT"), Some(AuthMode { keys: false, jwt: true })),
            (json!("keys, jwt"), Some(AuthMode { keys: true, jwt: true })),
            (Value::Null, None),
        ] {
            let (security, problems) = read(json!({"mode": mode, "jwt": jwt}));
            assert_eq!((security.mode, problems.len()), (expected, 0), "{problems:?}");
            assert!(security.jwt.is_some(), "tokens of users are verified in every mode");
        }
        for mode in [json!("oauth"), json!("none,keys"), json!("keys,"), json!(5)] {
            assert_eq!(read(json!({"mode": mode})).1.len(), 1, "{mode}");
        }
        for (jwt, lines) in [
            (json!({"audience": "bot", "issuer": "i"}), 1),
            (json!({"jwks-url": "ftp://x", "audience": "bot", "issuer": "i"}), 1),
            (json!({"jwks-url": "https://x", "jwks-file": "y"}), 2),
            (json!({"jwks-file": "keys.json", "audience": "bot", "issuer": "i", "leeway": "often"}), 1),
            (json!({"jwks-file": "keys.json"}), 1),
            (json!({"jwks-file": "keys.json", "audience": "bot"}), 1),
            (json!({"jwks-file": "keys.json", "audience": "", "issuer": "i"}), 1),
        ] {
            assert_eq!(read(json!({"mode": "jwt", "jwt": jwt})).1.len(), lines, "{jwt}");
        }
        let (security, _) =
            read(json!({"mode": "jwt", "jwt": {"jwks-file": "k", "audience": "bot", "issuer": "i", "leeway": "1h", "scope-claim": "scp"}}));
        let jwt = security.jwt.expect("tokens");
        assert!(read(json!({"mode": "keys", "jwt": {"jwks-file": "k"}})).1[0].contains("issuer and convengine.security.jwt.audience"));
        assert!(read(json!({"mode": "keys"})).0.jwt.is_none());
        assert_eq!((jwt.leeway, jwt.scope_claim.as_str(), jwt.tenant_claim.as_str()), (MAX_LEEWAY, "scp", "tenant"));
    }

    #[test]
    fn no_clock_skew_need_be_tolerated() {
        let with = |name: &str, value: Value| {
            let mut jwt = json!({"jwks-file": "k", "audience": "bot", "issuer": "i"});
            jwt[name] = value;
            let (security, problems) = read(json!({"mode": "jwt", "jwt": jwt}));
            (security.jwt.map(|jwt| jwt.leeway), problems)
        };
        for none in [json!("0s"), json!("0"), json!(0), json!(" 0ms ")] {
            assert_eq!(with("leeway", none.clone()), (Some(Duration::ZERO), Vec::new()), "{none}");
        }
        assert_eq!(with("leeway", json!("5s")).0, Some(Duration::from_secs(5)));
        for (name, wrong) in [("leeway", "-1s"), ("leeway", "0x"), ("refresh", "0s"), ("max-age", "0s")] {
            let (_, problems) = with(name, json!(wrong));
            assert!(problems.len() == 1 && problems[0].contains(name) && problems[0].contains("not a duration"), "{name}: {problems:?}");
        }
    }

    #[test]
    fn rates_have_a_count_a_time_and_a_burst() {
        let minute = Duration::from_secs(60);
        assert_eq!(Rate::parse("60/m"), Some(Rate { count: 60, per: minute, burst: 60 }));
        assert_eq!(Rate::parse(" 5 / h burst 2"), Some(Rate { count: 5, per: minute * 60, burst: 2 }));
        for text in ["", "60", "0/m", "5/", "5/ms", "5/week", "-1/s", "5/m burst", "5/m burst 0", "100001/s", "1/d burst 100001"] {
            assert_eq!(Rate::parse(text), None, "{text}");
        }
        let (security, problems) = read(json!({"rate": {"per-key": "often", "per-conversation": "2/s"}}));
        assert!(security.rates.per_key.is_none() && security.rates.per_conversation.is_some());
        assert!(problems[0].starts_with("convengine.security.rate.per-key: invalid rate 'often'"), "{problems:?}");
    }

    #[test]
    fn guesses_are_counted_in_a_window() {
        let (security, problems) = read(json!({"guessing": {"failures": "5", "window": "10s"}}));
        assert_eq!((security.guessing.failures, security.guessing.window, problems.len()), (5, Duration::from_secs(10), 0));
        for guessing in [json!({"failures": 0}), json!({"window": "soon"}), json!({"failure": 1})] {
            let (security, problems) = read(json!({"guessing": guessing}));
            assert_eq!((security.guessing, problems.len()), (GuessingSettings::default(), 1), "{problems:?}");
        }
    }

    #[test]
    fn origins_are_exact() {
        let read_origins = |value: Value| read(json!({"cors": {"allowed-origins": value}}));
        assert_eq!(read_origins(json!("https://a.example, http://localhost:3000")).0.origins.map(|it| it.len()), Some(2));
        assert_eq!(read_origins(json!(["*"])).0.origins, Some(vec!["*".to_owned()]));
        assert_eq!((read_origins(Value::Null).0.origins, read_origins(json!([])).0.origins), (None, Some(Vec::new())));
        for origin in
            ["a.example", "https://a.example/", "https://a.example/x", "https://A.example", "https://a.example:443", "null", "file:///"]
        {
            assert_eq!(read_origins(json!([origin])).1.len(), 1, "{origin}");
        }
    }
}
