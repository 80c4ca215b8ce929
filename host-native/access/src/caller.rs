//! The identity of a caller as request handlers see it.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, Uri};
use convengine_core::turn::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::credential_watch::Credential;
use super::scope::Scopes;
use crate::api_error::ApiError;

/// The header in which a key with an owner claim names the user that a request is made for.
pub const OWNER_HEADER: &str = "x-convengine-owner";

/// Maximum length of an owner in characters.
const MAX_OWNER_CHARS: usize = 255;

/// The authenticated caller of a request, or an anonymous one.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    id: Option<Arc<str>>,
    name: Option<Arc<str>>,
    owner_identity: Option<Arc<str>>,
    user: Option<Arc<Value>>,
    scopes: Scopes,
    access: ConversationAccess,
    deployment_token: Option<Arc<str>>,
    expires_at: Option<Millis>,
}

impl Caller {
    /// Creates a caller with an id that is unique within the tenant.
    pub fn new(id: &str) -> Caller {
        Caller { id: Some(id.into()), ..Caller::default() }
    }

    /// Adds the display name of the caller's key or token.
    #[must_use]
    pub fn with_name(self, name: &str) -> Caller {
        Caller { name: Some(name.into()), ..self }
    }

    /// Adds the identity that the conversations of the caller belong to.
    #[must_use]
    pub fn with_owner(self, identity: &str) -> Caller {
        let owner = Sha256::digest(identity.as_bytes()).iter().map(|it| format!("{it:02x}")).collect::<String>();
        let access = ConversationAccess { owner: Some(owner.into()), ..self.access };
        Caller { owner_identity: Some(identity.into()), access, ..self }
    }

    /// Adds who the user is that the caller speaks for, as its token or its key with an owner claim says: an object.
    #[must_use]
    pub fn with_user(self, user: Value) -> Caller {
        Caller { user: Some(user.into()), ..self }
    }

    /// Adds the API key of the caller.
    #[must_use]
    pub fn with_key(self, id: &str) -> Caller {
        Caller { access: ConversationAccess { key: Some(id.into()), ..self.access }, ..self }
    }

    /// Adds the token of the calling deployment, by its id.
    #[must_use]
    pub fn with_deployment_token(self, id: &str) -> Caller {
        Caller { deployment_token: Some(id.into()), ..self }
    }

    /// Adds the time at which the caller's token of an issuer expires.
    #[must_use]
    pub fn with_expiry(self, at: Millis) -> Caller {
        Caller { expires_at: Some(at), ..self }
    }

    /// Adds what the scopes of the caller permit.
    #[must_use]
    pub fn with_scopes(self, scopes: Scopes) -> Caller {
        let (sees_all, may_change_all) =
            (scopes.is_sufficient_for(Scopes::READ) || scopes.is_sufficient_for(Scopes::DESK), scopes.is_sufficient_for(Scopes::ADMIN));
        Caller { scopes, access: ConversationAccess { sees_all, may_change_all, ..self.access }, ..self }
    }

    /// The scopes of the caller.
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// The user that the caller speaks for; absent for other keys and for pages.
    pub fn user(&self) -> Option<&Value> {
        self.user.as_deref()
    }

    /// The display name; absent if authentication is off.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The credential, if it is stored and can be revoked.
    pub fn credential(&self) -> Option<Credential> {
        let key = self.access.key.clone().map(Credential::Key);
        key.or_else(|| self.deployment_token.clone().map(Credential::DeploymentToken))
    }

    /// The time at which the credential expires by itself.
    pub fn expires_at(&self) -> Option<Millis> {
        self.expires_at
    }

    /// The id; absent if authentication is off.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Who the caller speaks for: its user, else itself; absent if authentication is off.
    pub fn visitor_id(&self) -> Option<&str> {
        self.owner_identity.as_deref().or(self.id())
    }

    /// Which conversations the caller may use.
    pub fn access(&self) -> ConversationAccess {
        self.access.clone()
    }

    /// Prefixes an idempotency key with a digest of the caller's id, so that other callers cannot use it.
    pub fn scope_key(&self, key: String) -> String {
        let Some(id) = self.visitor_id() else { return key };
        let digest = Sha256::digest(id.as_bytes());
        let short: String = digest.iter().take(8).map(|it| format!("{it:02x}")).collect();
        format!("{short}:{key}")
    }
}

/// Which conversations and sessions a caller may use: those of nobody and its own, and others by its scopes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationAccess {
    /// The owner of what the caller begins: SHA-256 of its identity; absent for keys without owners and if authentication is off.
    pub owner: Option<Arc<str>>,
    /// The API key of the caller, if it has one; its streams end with it.
    pub key: Option<Arc<str>>,
    sees_all: bool,
    may_change_all: bool,
}

impl ConversationAccess {
    /// The access of the server itself, such as its timers, and of routes that have checked the caller.
    pub fn all() -> ConversationAccess {
        ConversationAccess { owner: None, key: None, sees_all: true, may_change_all: true }
    }

    /// Whether every conversation may be read, so that its owner need not be known.
    pub fn sees_all(&self) -> bool {
        self.sees_all
    }

    /// Whether every conversation may be continued: the caller is one of the team.
    pub fn may_change_all(&self) -> bool {
        self.may_change_all
    }

    /// Whether the caller may see how a conversation is carried on: what models, tools and rows have said.
    pub fn sees_internals(&self) -> bool {
        self.sees_all
    }

    /// Whether a conversation with this owner may be read.
    pub fn may_read(&self, owner: Option<&str>) -> bool {
        self.sees_all || self.is_own(owner)
    }

    /// Whether a conversation with this owner may be continued or rated.
    pub fn may_change(&self, owner: Option<&str>) -> bool {
        self.may_change_all || self.is_own(owner)
    }

    fn is_own(&self, owner: Option<&str>) -> bool {
        owner.is_none() || owner == self.owner.as_deref()
    }
}

/// Reads the owner that a request with a key names.
///
/// # Errors
/// 400 if a key with an owner claim names none, or another key names one.
pub fn read_owner<'h>(headers: &'h HeaderMap, is_required: bool, uri: &Uri) -> Result<Option<&'h str>, ApiError> {
    let refuse = |message: String| Err(ApiError::new(StatusCode::BAD_REQUEST, uri, message).with_code("invalid_owner"));
    let mut values = headers.get_all(OWNER_HEADER).iter();
    let owner = values.next().map(|value| value.to_str().unwrap_or_default().trim());
    match owner {
        None if is_required => refuse("missing X-Convengine-Owner; name the user that the request is made for".to_owned()),
        None => Ok(None),
        Some(_) if !is_required => {
            refuse("X-Convengine-Owner needs a key with an owner claim; create one with --owner-claim, or omit the header".to_owned())
        }
        Some(owner)
            if !owner.bytes().all(|it| it.is_ascii_graphic())
                || owner.is_empty()
                || owner.len() > MAX_OWNER_CHARS
                || values.next().is_some() =>
        {
            refuse(format!("invalid X-Convengine-Owner; send one of 1 to {MAX_OWNER_CHARS} visible ASCII characters"))
        }
        Some(owner) => Ok(Some(owner)),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn idempotency_keys_differ_by_caller_and_user() {
        let key = || "k".to_owned();
        let (one, two) = (Caller::new("key:1"), Caller::new("key:2"));
        assert_eq!(Caller::default().scope_key(key()), "k");
        assert_eq!(one.scope_key(key()), one.scope_key(key()));
        assert_ne!(one.scope_key(key()), two.scope_key(key()));
        assert_ne!(one.clone().with_owner("key:1:a").scope_key(key()), one.clone().with_owner("key:1:b").scope_key(key()));
        assert_eq!(one.scope_key(key()).len(), 18);
    }

    #[test]
    fn a_visitor_is_the_user_if_it_is_known() {
        let key = Caller::new("key 1");
        assert_eq!((Caller::default().visitor_id(), key.visitor_id()), (None, Some("key 1")));
        assert_eq!(key.with_owner("key 1:ada").visitor_id(), Some("key 1:ada"));
    }

    #[test]
    fn conversations_belong_to_their_owner() {
        let caller = |identity: Option<&str>, scopes: Scopes| {
            let caller = Caller::new("c").with_scopes(scopes);
            identity.map_or(caller.clone(), |identity| caller.with_owner(identity)).access()
        };
        let (ada, eve) = (caller(Some("ada"), Scopes::CONVERSE), caller(Some("eve"), Scopes::CONVERSE));
        let owner = ada.owner.clone().expect("an owner");
        assert!(owner.len() == 64 && Some(&owner) != eve.owner.as_ref());
        for (access, reads, changes) in [
            (ada, true, true),
            (eve, false, false),
            (caller(None, Scopes::CONVERSE), false, false),
            (caller(Some("eve"), Scopes::READ), true, false),
            (caller(None, Scopes::DESK), true, false),
            (caller(None, Scopes::ADMIN), true, true),
            (ConversationAccess::all(), true, true),
            (ConversationAccess::default(), false, false),
        ] {
            assert_eq!((access.may_read(Some(&owner)), access.may_change(Some(&owner))), (reads, changes), "{access:?}");
            assert!(access.may_read(None) && access.may_change(None), "a conversation of nobody");
        }
    }

    #[test]
    fn a_key_with_an_owner_claim_names_the_user() {
        let uri = Uri::from_static("/x");
        let read = |values: &[&str], is_required| {
            let headers: HeaderMap = values
                .iter()
                .map(|value| (axum::http::HeaderName::from_static(OWNER_HEADER), HeaderValue::from_str(value).expect("a value")))
                .collect();
            read_owner(&headers, is_required, &uri).map(|owner| owner.map(str::to_owned))
        };
        assert_eq!(read(&[" ada "], true).ok(), Some(Some("ada".to_owned())));
        assert_eq!(read(&[], false).ok(), Some(None));
        for (values, is_required) in [(&[][..], true), (&[""], true), (&["\u{e4}"], true), (&["a", "b"], true), (&["ada"], false)] {
            assert!(read(values, is_required).is_err_and(|it| it.has_code("invalid_owner")), "{values:?}");
        }
        assert!(read(&[&"a".repeat(256)], true).is_err());
    }
}
