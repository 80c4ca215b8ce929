//! The share of a tenant in the connections of the server: requests that are answered and streams that are open, so that those of one
//! tenant leave room for those of others.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use http_body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api_error::ApiError;

/// The connections that a tenant may still use.
#[derive(Debug, Clone)]
pub struct ConnectionShare(Option<Arc<Semaphore>>);

/// A connection in use, until the last clone is dropped. Handlers get it as an extension of the request.
#[derive(Debug, Clone)]
pub struct ConnectionPermit(Option<Arc<OwnedSemaphorePermit>>);

impl ConnectionShare {
    /// Creates a share of so many connections, or one without a limit.
    pub fn new(connections: Option<usize>) -> ConnectionShare {
        ConnectionShare(connections.map(|permits| Arc::new(Semaphore::new(permits))))
    }

    /// Takes a connection.
    ///
    /// # Errors
    /// 503 if the tenant uses all of its share.
    pub fn acquire(&self, uri: &Uri) -> Result<ConnectionPermit, ApiError> {
        let Some(free) = &self.0 else { return Ok(ConnectionPermit(None)) };
        let permit = Arc::clone(free).try_acquire_owned().map_err(|_| {
            let message = "too many requests and streams of this tenant are open; try again later, or raise convengine.share.connections";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, uri, message)
        })?;
        Ok(ConnectionPermit(Some(Arc::new(permit))))
    }
}

impl ConnectionPermit {
    /// Keeps the connection in use until the response was sent or its client is gone.
    pub fn hold_during(self, response: Response) -> Response {
        match self.0 {
            Some(permit) => response.map(|body| Body::new(HeldBody { body, _permit: permit })),
            None => response,
        }
    }
}

#[derive(Debug)]
struct HeldBody {
    body: Body,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl http_body::Body for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;

    use super::*;

    #[test]
    fn a_share_is_used_up_until_a_response_ends() {
        let (share, uri) = (ConnectionShare::new(Some(1)), Uri::from_static("/x"));
        let response = share.acquire(&uri).expect("free").hold_during(Response::new(Body::from("hello")));
        assert_eq!(response.body().size_hint().exact(), Some(5));
        assert!(share.acquire(&uri).is_err());
        drop(response);
        assert!(share.acquire(&uri).is_ok());
        let unlimited = ConnectionShare::new(None);
        assert!((0..5).map(|_| unlimited.acquire(&uri)).all(|it| it.is_ok()));
    }
}
