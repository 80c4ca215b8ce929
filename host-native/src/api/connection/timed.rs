//! A connection with time limits: clients that stop reading or stay silent are disconnected.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep, sleep_until};

use super::ConnectionPhase;

/// How long a write may stall.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that fails once a write stalls too long, or no request arrives in time.
#[derive(Debug)]
pub struct TimedConnection<S> {
    stream: S,
    stalled: Option<Pin<Box<Sleep>>>,
    silent: Option<Pin<Box<Sleep>>>,
    pub(super) phase: Arc<ConnectionPhase>,
    /// Counts the connection while it is open.
    _permit: Option<OwnedSemaphorePermit>,
}

impl<S> TimedConnection<S> {
    /// Limits the time of a connection.
    pub fn new(stream: S, phase: Arc<ConnectionPhase>, permit: Option<OwnedSemaphorePermit>) -> TimedConnection<S> {
        TimedConnection { stream, stalled: None, silent: None, phase, _permit: permit }
    }
}

impl<S: AsyncWrite + Unpin> TimedConnection<S> {
    fn poll_with_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedConnection<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_with_timeout(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.poll_with_timeout(context, |stream, context| stream.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedConnection<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let filled = buffer.filled().len();
        if let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            if buffer.filled().len() > filled {
                this.phase.receive();
            }
            return Poll::Ready(outcome);
        }
        let Some(until) = this.phase.deadline(context.waker()) else { return Poll::Pending };
        let silent = this.silent.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if silent.deadline() != until {
            silent.as_mut().reset(until);
        }
        silent.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn only_a_stalled_client_is_disconnected() {
        let (near, mut far) = tokio::io::duplex(4);
        let mut connection = TimedConnection::new(near, phase(), None);
        let reading = tokio::spawn(async move {
            let mut taken = [0; 4];
            for _ in 0..3 {
                sleep(WRITE_TIMEOUT - Duration::from_secs(1)).await;
                far.read_exact(&mut taken).await.expect("bytes");
            }
            far
        });
        connection.write_all(&[0; 16]).await.expect("slow is no stall");
        let _far = reading.await.expect("no panic");
        let start = Instant::now();
        let error = connection.write_all(&[0; 8]).await.expect_err("a stall");
        assert_eq!((error.kind(), start.elapsed()), (io::ErrorKind::TimedOut, WRITE_TIMEOUT));
    }

    fn phase() -> Arc<ConnectionPhase> {
        Arc::new(ConnectionPhase::new(Duration::from_secs(10), Duration::from_secs(75)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_disconnected_unless_it_waits_for_a_response() {
        let (near, mut far) = tokio::io::duplex(64);
        let phase = phase();
        let mut connection = TimedConnection::new(near, Arc::clone(&phase), None);
        let mut byte = [0];
        let start = Instant::now();
        far.write_all(b"G").await.expect("a byte");
        connection.read_exact(&mut byte).await.expect("a byte");
        sleep(Duration::from_secs(6)).await;
        far.write_all(b"E").await.expect("a byte");
        connection.read_exact(&mut byte).await.expect("a byte");
        let error = connection.read_exact(&mut byte).await.expect_err("the headers do not end");
        assert_eq!((error.kind(), start.elapsed()), (io::ErrorKind::TimedOut, Duration::from_secs(10)));
        phase.begin_response();
        let (ended, start) = (Arc::clone(&phase), Instant::now());
        let response = tokio::spawn(async move {
            sleep(Duration::from_secs(1000)).await;
            ended.end_response();
        });
        // The reader is not polled again unless it is woken.
        let error = connection.read_exact(&mut byte).await.expect_err("no other request");
        assert_eq!((error.kind(), start.elapsed()), (io::ErrorKind::TimedOut, Duration::from_secs(1075)));
        response.await.expect("no panic");
        phase.upgrade();
        let silence = tokio::time::timeout(Duration::from_secs(100_000), connection.read_exact(&mut byte)).await;
        assert!(silence.is_err(), "another protocol has limits of its own");
    }
}
