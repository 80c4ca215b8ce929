//! Ends what a caller keeps open when its credential is revoked or expires: event streams, sockets and waiting calls.
//!
//! The credentials of these are looked up every `convengine.security.keys.recheck`. A token of an issuer ends by its own time.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::Response;
use convengine_core::turn::Millis;
use convengine_host_base::clock;
use http_body::Frame;
use tokio::sync::watch;
use tokio::time::sleep;

use super::caller::Caller;

/// A stored credential, which can be revoked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credential {
    /// An API key, by its id.
    Key(Arc<str>),
    /// The token of a deployment, by its id.
    DeploymentToken(Arc<str>),
}

/// The credentials with which something is open.
#[derive(Debug, Default)]
pub struct OpenCredentials {
    open: Mutex<BTreeMap<Credential, watch::Sender<bool>>>,
}

/// The end of the credential of a caller.
#[derive(Debug)]
pub struct CredentialEnd {
    revoked: Option<watch::Receiver<bool>>,
    expires_at: Option<Millis>,
}

impl OpenCredentials {
    /// Watches the credential of a caller until the returned value is dropped.
    pub fn watch(&self, caller: &Caller) -> CredentialEnd {
        let subscribe = |credential: Credential| self.lock().entry(credential).or_insert_with(|| watch::Sender::new(false)).subscribe();
        CredentialEnd { revoked: caller.credential().map(subscribe), expires_at: caller.expires_at() }
    }

    /// Ends everything that is open with a credential.
    pub fn end(&self, credential: &Credential) {
        if let Some(open) = self.lock().remove(credential) {
            open.send_replace(true);
        }
    }

    /// The credentials with which something is still open.
    pub fn list(&self) -> Vec<Credential> {
        let mut open = self.lock();
        open.retain(|_, it| it.receiver_count() > 0);
        open.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Credential, watch::Sender<bool>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CredentialEnd {
    /// Waits until the credential is revoked or expires; forever if the caller has none that can.
    pub async fn wait(self) {
        let CredentialEnd { revoked, expires_at } = self;
        let revoked = async {
            match revoked {
                // Fails when the credential was ended before this began to wait.
                Some(mut revoked) => _ = revoked.wait_for(|it| *it).await,
                None => std::future::pending().await,
            }
        };
        let expired = async {
            match expires_at {
                Some(at) => sleep(Duration::from_millis(u64::try_from(at.saturating_sub(clock::now())).unwrap_or(0))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = revoked => {}
            () = expired => {}
        }
    }
}

/// Ends a response that is an event stream when the credential of its caller ends.
pub fn end_stream_with(open: &OpenCredentials, caller: &Caller, response: Response) -> Response {
    let content_type = response.headers().get(header::CONTENT_TYPE).map(header::HeaderValue::as_bytes);
    if !content_type.is_some_and(|it| it.starts_with(b"text/event-stream")) {
        return response;
    }
    let end = open.watch(caller);
    response.map(|body| Body::new(EndingBody { body, end: Box::pin(end.wait()) }))
}

/// A body that ends with a credential.
struct EndingBody {
    body: Body,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for EndingBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EndingBody").field(&self.body).finish()
    }
}

impl http_body::Body for EndingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::response::IntoResponse;
    use futures_util::{FutureExt, StreamExt, stream};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_credential_ends_once_it_is_revoked_or_expires() {
        let open = OpenCredentials::default();
        let (key, other) = (Caller::new("a").with_key("a"), Caller::new("b").with_deployment_token("b"));
        let (first, second, foreign) = (open.watch(&key), open.watch(&key), open.watch(&other));
        assert_eq!(open.list(), [Credential::Key("a".into()), Credential::DeploymentToken("b".into())]);
        let (mut first, mut foreign) = (Box::pin(first.wait()), Box::pin(foreign.wait()));
        assert!(first.as_mut().now_or_never().is_none() && foreign.as_mut().now_or_never().is_none());
        open.end(&Credential::Key("a".into()));
        first.await;
        second.wait().await;
        assert!(foreign.as_mut().now_or_never().is_none());
        drop(foreign);
        assert!(open.list().is_empty());
        let start = Instant::now();
        open.watch(&Caller::new("t").with_expiry(clock::now() + 5_000)).wait().await;
        assert!((4..=6).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
        assert!(open.watch(&Caller::new("administrator")).wait().now_or_never().is_none());
    }

    #[tokio::test]
    async fn event_streams_end_and_other_responses_do_not() {
        let open = OpenCredentials::default();
        let key = Caller::new("a").with_key("a");
        let endless = || Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b":\n\n"))));
        let events = ([(header::CONTENT_TYPE, "text/event-stream")], endless()).into_response();
        let mut events = end_stream_with(&open, &key, events).into_body().into_data_stream();
        let mut others = end_stream_with(&open, &key, endless().into_response()).into_body().into_data_stream();
        assert!(events.next().await.is_some() && others.next().await.is_some());
        open.end(&Credential::Key("a".into()));
        assert!(events.next().await.is_none() && others.next().await.is_some());
    }
}
