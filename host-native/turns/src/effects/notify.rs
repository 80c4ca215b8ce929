//! Completes the requests of chains: addresses of notification channels, and tokens that resume a wait. (docs/spec/chains.md#7)

use std::borrow::Cow;

use convengine_core::turn::{EffectError, EffectErrorKind, HttpCaller, HttpRequest};

use crate::Turns;
use crate::resume_token;

/// The scheme of the address of a channel, which only the settings know.
const CHANNEL_SCHEME: &str = "notify:";

/// Completes a request with what only the server has.
///
/// # Errors
/// Returns `Unsupported` when a channel has no address.
pub async fn complete_request<'r>(turns: &Turns, request: &'r HttpRequest) -> Result<Cow<'r, HttpRequest>, EffectError> {
    if let Some(with_tokens) = resume_token::insert_tokens(turns, request).await? {
        return Ok(Cow::Owned(with_tokens));
    }
    let (HttpCaller::Notify(_), Some(name)) = (&request.caller, request.url.strip_prefix(CHANNEL_SCHEME)) else {
        return Ok(Cow::Borrowed(request));
    };
    let Some(channel) = turns.chain_settings.channels.get(name) else {
        let message = format!("the channel '{name}' has no address; set convengine.notify.{name}.url");
        return Err(EffectError::new(EffectErrorKind::Unsupported, message));
    };
    let mut complete = request.clone();
    complete.url.clone_from(&channel.url);
    complete.headers.extend(channel.token.as_ref().map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))));
    Ok(Cow::Owned(complete))
}
