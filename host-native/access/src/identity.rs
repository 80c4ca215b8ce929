//! Who the user of a session is: what a signed token or a key with an owner claim says. What a page says of its user is kept beside it, as
//! unverified data of a visitor (docs/decisions/0058-who-somebody-is.md).

use std::sync::Arc;

use axum::http::{StatusCode, Uri};
use convengine_core::turn::Map;
use serde_json::{Value, json};

use super::caller::Caller;
use super::client_address::ClientAddress;
use super::guessing::{ClientGuesses, Guess, GuessThrottle};
use super::scope::Scopes;
use super::tokens::{TokenRejection, TokenVerifier};
use crate::api_error::ApiError;

/// The member of a request with the signed token of its user.
pub const USER_TOKEN: &str = "user_token";

/// Who the user of a session is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// What is verified: an object.
    pub user: Option<Value>,
    /// What nobody has verified: an object whose member `verified` is false.
    pub visitor: Option<Value>,
}

impl Identity {
    /// The members of an event that say who the user is.
    pub fn into_members(self) -> Map {
        let members = [("user", self.user), ("visitor", self.visitor)];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Verifies the tokens of users of a tenant.
#[derive(Debug, Clone, Default)]
pub struct UserVerifier {
    tokens: Option<Arc<TokenVerifier>>,
    tenant: Option<String>,
    guesses: Option<ClientGuesses>,
}

impl UserVerifier {
    /// Creates the verifier of a tenant; a single tenant has no name.
    pub fn new(tokens: Option<Arc<TokenVerifier>>, tenant: Option<String>) -> UserVerifier {
        UserVerifier { tokens, tenant, guesses: None }
    }

    /// Counts wrong tokens as guesses of an address.
    #[must_use]
    pub fn for_client(&self, throttle: &Arc<GuessThrottle>, client: ClientAddress) -> UserVerifier {
        UserVerifier { guesses: Some(ClientGuesses::new(Arc::clone(throttle), client)), ..self.clone() }
    }

    /// Says who the user of a new session is, by its caller and the members `user_token`, `user` and `visitor` of the request.
    ///
    /// # Errors
    /// As [`UserVerifier::verify_member`].
    pub async fn identify(&self, uri: &Uri, caller: &Caller, members: &Map) -> Result<Identity, ApiError> {
        let object = |name: &str| members.get(name).filter(|member| member.is_object()).cloned();
        let (stated, visitor) = (object("user"), object("visitor"));
        match self.verify_member(uri, members).await? {
            Some(user) => Ok(Identity { user: Some(user), visitor: unverified(stated, visitor) }),
            // The team plays users in the simulator, and its backends speak for theirs.
            None if caller.scopes().is_sufficient_for(Scopes::ADMIN) => Ok(Identity { user: stated, visitor: unverified(None, visitor) }),
            None => Ok(Identity { user: caller.user().cloned(), visitor: unverified(stated, visitor) }),
        }
    }

    /// Verifies the member `user_token` of a request. Returns the user that it names; `None` without one.
    ///
    /// # Errors
    /// 401 `invalid_user_token` for a token that is wrong, expired or of another service or tenant, 422 `user_token_unsupported` if the
    /// server has no keys to verify it with, 429 if the address has sent too many wrong ones, 503 if the keys cannot be fetched.
    pub async fn verify_member(&self, uri: &Uri, members: &Map) -> Result<Option<Value>, ApiError> {
        let Some(token) = members.get(USER_TOKEN).filter(|it| !it.is_null()) else { return Ok(None) };
        let verified = self.verify(uri, token).await;
        verified.map(Some).map_err(|refused| match &self.guesses {
            Some(guesses) => guesses.count(refused, uri),
            None => refused,
        })
    }

    /// Verifies the token of a user. Returns the user that it names.
    async fn verify(&self, uri: &Uri, token: &Value) -> Result<Value, ApiError> {
        let Some(tokens) = &self.tokens else {
            let message = "user_token cannot be verified here; set convengine.security.jwt.jwks-url or .jwks-file, .issuer and .audience";
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, uri, message).with_code("user_token_unsupported"));
        };
        let refuse = |reason: &str| {
            let message = format!("invalid user_token: {reason}; send a new one of the user, or omit it for a visitor");
            ApiError::new(StatusCode::UNAUTHORIZED, uri, message).with_code("invalid_user_token")
        };
        let invalid = |reason: &str| refuse(reason).with_guess(Guess::Wrong);
        let token = token.as_str().ok_or_else(|| invalid("expected a string"))?;
        let claims = tokens.verify(token).await.map_err(|rejection| match rejection {
            TokenRejection::Invalid(reason) => invalid(reason),
            TokenRejection::Outdated(reason) => refuse(reason),
            TokenRejection::KeysUnavailable => {
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, "cannot fetch the token signing keys; try again later")
            }
        })?;
        // With a single unnamed tenant the claim is not a tenant name.
        if self.tenant.is_some() && claims.tenant != self.tenant {
            return Err(refuse("token is of another tenant"));
        }
        Ok(Value::Object(claims.user))
    }
}

/// Joins what a page says of its user, and marks it. Members of `visitor` win over those of `user`.
fn unverified(user: Option<Value>, visitor: Option<Value>) -> Option<Value> {
    let mut joined: Option<Map> = None;
    for statement in [user, visitor].into_iter().flatten() {
        if let Value::Object(members) = statement {
            joined.get_or_insert_default().extend(members);
        }
    }
    let mut joined = joined?;
    joined.insert("verified".to_owned(), json!(false));
    Some(Value::Object(joined))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::http::HeaderMap;

    use super::super::tokens::tests::{seconds, sign, verifier};
    use super::*;
    use convengine_settings::GuessingSettings;

    #[tokio::test]
    async fn a_wrong_token_is_a_guess_and_one_that_is_out_of_date_is_none() {
        let throttle = Arc::new(GuessThrottle::new(GuessingSettings { failures: 2, window: Duration::from_secs(3600) }));
        let client = ClientAddress::find("192.0.2.1".parse().ok(), &HeaderMap::new(), &[]);
        let users = UserVerifier::new(Some(Arc::new(verifier().await)), Some("a".to_owned())).for_client(&throttle, client);
        let status = async |token: String| {
            let members = Map::from_iter([(USER_TOKEN.to_owned(), json!(token))]);
            users.verify_member(&Uri::from_static("/v1/public/x"), &members).await.map_or_else(|refused| refused.status().as_u16(), |_| 200)
        };
        let (right, expired) = (sign(1, &json!({"tenant": "a"})), sign(1, &json!({"tenant": "a", "exp": seconds() - 60})));
        for _ in 0..5 {
            assert_eq!([status(right.clone()).await, status(expired.clone()).await], [200, 401]);
            assert_eq!(status(sign(1, &json!({"tenant": "b"}))).await, 401, "genuine, but of another tenant");
        }
        let wrong = sign(2, &json!({"tenant": "a"}));
        assert_eq!([status(wrong.clone()).await, status("x".to_owned()).await, status(wrong).await], [401, 401, 429]);
        assert_eq!([status(right).await, status(expired).await], [200, 401], "others behind the same address");
    }

    async fn identify(caller: &Caller, members: Value) -> Result<Identity, ApiError> {
        let uri = Uri::from_static("/v1/public/runtime/sessions");
        UserVerifier::default().identify(&uri, caller, members.as_object().unwrap_or(&Map::new())).await
    }

    fn marked(visitor: Value) -> Identity {
        Identity { user: None, visitor: Some(visitor) }
    }

    #[tokio::test]
    async fn a_page_says_nothing_but_of_a_visitor() {
        let page = Caller::new("deployment 1").with_owner("deployment 1").with_scopes(Scopes::CONVERSE);
        let of_page = async |members: Value| identify(&page, members).await.expect("an identity");
        assert_eq!(of_page(json!({})).await, Identity::default());
        assert_eq!(of_page(json!({"user": {"id": "u-2"}})).await, marked(json!({"id": "u-2", "verified": false})));
        let both = json!({"user": {"id": "u-2", "name": "Eve"}, "visitor": {"id": "u-3", "verified": true}});
        assert_eq!(of_page(both).await, marked(json!({"id": "u-3", "name": "Eve", "verified": false})));
        assert_eq!(of_page(json!({"user": "u-2", "visitor": null, "user_token": null})).await, Identity::default());
    }

    #[tokio::test]
    async fn a_key_without_an_owner_claim_proves_nobody() {
        let key = Caller::new("key 1").with_scopes(Scopes::CONVERSE);
        let found = identify(&key, json!({"user": {"id": "u-2"}})).await.expect("an identity");
        assert_eq!(found, marked(json!({"id": "u-2", "verified": false})));
    }

    #[tokio::test]
    async fn an_owner_is_the_user_whatever_the_request_says() {
        let user = json!({"id": "u-1"});
        let owner = Caller::new("key 1").with_owner("key 1:u-1").with_user(user.clone()).with_scopes(Scopes::CONVERSE);
        let found = identify(&owner, json!({"user": {"id": "u-2"}})).await.expect("an identity");
        assert_eq!(found, Identity { user: Some(user), ..marked(json!({"id": "u-2", "verified": false})) });
    }

    #[tokio::test]
    async fn the_team_states_who_a_user_is() {
        let team = Caller::new("key 1").with_user(json!({"id": "me"})).with_scopes(Scopes::ADMIN);
        let stated = json!({"user": {"id": "u-2"}, "visitor": {"id": "u-3"}});
        let found = identify(&team, stated).await.expect("an identity");
        assert_eq!(found, Identity { user: Some(json!({"id": "u-2"})), ..marked(json!({"id": "u-3", "verified": false})) });
        assert_eq!(identify(&team, json!({})).await.ok(), Some(Identity::default()), "who tries an assistant is not its user");
    }

    #[tokio::test]
    async fn a_token_that_nobody_can_verify_is_refused() {
        let team = Caller::new("key 1").with_scopes(Scopes::ADMIN);
        let refused = identify(&team, json!({"user_token": "a.b.c"})).await.expect_err("no keys are configured");
        assert!(refused.has_code("user_token_unsupported") && refused.message().contains("convengine.security.jwt.jwks-url"));
    }
}
