//! The time limit for the body of a request.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// The bytes for each of which a body gets one more second than the limit, so that large bodies may take longer but no body can trickle.
const BYTES_PER_SECOND: u64 = 4096;

/// The body did not arrive in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("request body timed out; send it again without pauses")]
pub struct BodyTimedOut;

/// A request body that fails with [`BodyTimedOut`] when it does not arrive in time.
#[derive(Debug)]
pub struct TimedBody {
    body: Body,
    limit: Duration,
    /// Begins with the first attempt to read.
    started_at: Option<Instant>,
    received: u64,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl TimedBody {
    /// Limits the time of a body.
    pub fn new(body: Body, limit: Duration) -> TimedBody {
        TimedBody { body, limit, started_at: None, received: 0, deadline: None }
    }
}

impl http_body::Body for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let started_at = *this.started_at.get_or_insert_with(Instant::now);
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            if let Some(Ok(frame)) = &frame {
                this.received += frame.data_ref().map_or(0, |it| it.len() as u64);
            }
            return Poll::Ready(frame);
        }
        let until = started_at + this.limit + Duration::from_secs(this.received / BYTES_PER_SECOND);
        let deadline = this.deadline.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if deadline.deadline() != until {
            deadline.as_mut().reset(until);
        }
        deadline.as_mut().poll(context).map(|()| Some(Err(axum::Error::new(BodyTimedOut))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether a body ended because it did not arrive in time.
pub fn is_timeout(error: &axum::Error) -> bool {
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(error) = cause {
        if error.is::<BodyTimedOut>() {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::future::poll_fn;

    use http_body::Body as _;
    use tokio::time::sleep;

    /// A body of chunks, each after a pause, that never ends.
    struct Trickle {
        chunk: usize,
        pause: Duration,
        next: Option<Pin<Box<Sleep>>>,
    }

    impl http_body::Body for Trickle {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let pause = self.pause;
            let next = self.next.get_or_insert_with(|| Box::pin(sleep(pause)));
            if next.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.next = None;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![0; self.chunk])))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_ends_and_a_slow_upload_does_not() {
        let second = Duration::from_secs(1);
        for (chunk, ends_after) in [(1, Some(30)), (1024, Some(40)), (8192, None)] {
            let mut body = TimedBody::new(Body::new(Trickle { chunk, pause: second, next: None }), 30 * second);
            let start = Instant::now();
            let error = loop {
                let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.expect("no end");
                if let Err(error) = frame {
                    break Some(error);
                }
                if start.elapsed() > 1000 * second {
                    break None;
                }
            };
            assert_eq!(error.as_ref().map(is_timeout), ends_after.map(|_| true), "{chunk}");
            assert!(ends_after.is_none_or(|seconds| start.elapsed().as_secs().abs_diff(seconds) <= 1), "{chunk}: {:?}", start.elapsed());
        }
    }
}
