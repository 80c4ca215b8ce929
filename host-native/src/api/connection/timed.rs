//! A connection with time limits: clients that stop reading or stay silent are disconnected. Responses that the HTTP library writes itself
//! get the headers of all others here.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep, sleep_until};

use super::{ConnectionPhase, own_response};

/// How long a write may stall.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that fails once a write stalls too long, or no request arrives in time.
#[derive(Debug)]
pub struct TimedConnection<S> {
    stream: S,
    stalled: Option<Pin<Box<Sleep>>>,
    silent: Option<Pin<Box<Sleep>>>,
    /// What is left of a response of the HTTP library with its added headers, and how much of it was written.
    own_response: Option<(Vec<u8>, usize)>,
    /// Whether the next bytes to be written begin a response. Otherwise they may be those of a body.
    is_at_start: bool,
    pub(super) phase: Arc<ConnectionPhase>,
    /// Counts the connection while it is open.
    _permit: Option<OwnedSemaphorePermit>,
}

impl<S> TimedConnection<S> {
    /// Limits the time of a connection.
    pub fn new(stream: S, phase: Arc<ConnectionPhase>, permit: Option<OwnedSemaphorePermit>) -> TimedConnection<S> {
        TimedConnection { stream, stalled: None, silent: None, own_response: None, is_at_start: true, phase, _permit: permit }
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

impl<S: AsyncWrite + Unpin> TimedConnection<S> {
    /// Takes a response of the HTTP library, to write it with more headers. Returns whether the bytes are one.
    fn take_own_response(&mut self, bytes: &[u8]) -> bool {
        // A handler's response is whole when it is written first, or its handler still answers.
        if self.is_at_start && self.phase.is_between_responses() {
            self.own_response = own_response::with_headers(bytes).map(|it| (it, 0));
        }
        self.is_at_start = false;
        self.own_response.is_some()
    }

    /// Writes what is left of a response of the HTTP library.
    fn poll_own_response(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((bytes, from)) = self.own_response.take() {
            let rest = bytes.get(from..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let written = self.poll_with_timeout(context, |stream, context| stream.poll_write(context, rest));
            match written {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => self.own_response = Some((bytes, from + count)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.own_response = Some((bytes, from));
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedConnection<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_own_response(context))?;
        if self.take_own_response(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        self.poll_with_timeout(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        ready!(self.poll_own_response(context))?;
        // The library writes its own response in one part.
        let bytes: &[u8] = if let [bytes] = parts { bytes } else { &[] };
        if self.take_own_response(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        self.poll_with_timeout(context, |stream, context| stream.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_own_response(context))?;
        // The library flushes once it has written everything.
        self.is_at_start = self.phase.is_between_responses();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_own_response(context))?;
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

    #[tokio::test]
    async fn a_response_of_the_http_library_gets_headers_however_slowly_it_is_read() {
        let (near, mut far) = tokio::io::duplex(7);
        let mut connection = TimedConnection::new(near, phase(), None);
        let reading = tokio::spawn(async move {
            let mut all = String::new();
            far.read_to_string(&mut all).await.map(|_| all)
        });
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.expect("written");
        connection.shutdown().await.expect("closed");
        drop(connection);
        let all = reading.await.expect("no panic").expect("text");
        assert!(all.starts_with("HTTP/1.1 400 Bad Request\r\n") && all.ends_with("\r\n\r\n"), "{all}");
        assert_eq!(all.matches("content-security-policy: ").count(), 1, "{all}");
        let (near, mut far) = tokio::io::duplex(64);
        let phase = phase();
        phase.begin_response();
        let mut connection = TimedConnection::new(near, phase, None);
        let body = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        connection.write_all(body).await.expect("written");
        drop(connection);
        let mut all = Vec::new();
        far.read_to_end(&mut all).await.expect("bytes");
        assert_eq!(all, body, "it may be a body");
    }

    #[tokio::test]
    async fn also_after_other_responses_but_not_in_a_body() {
        const MALFORMED: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
        let (near, mut far) = tokio::io::duplex(4096);
        let phase = phase();
        let mut connection = TimedConnection::new(near, Arc::clone(&phase), None);
        phase.begin_response();
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n").await.expect("written");
        connection.flush().await.expect("flushed");
        connection.write_all(MALFORMED).await.expect("written");
        // The handler's part ends before the last bytes are written.
        phase.end_response();
        connection.write_all(MALFORMED).await.expect("written");
        connection.flush().await.expect("flushed");
        // The next request has arrived with the first one.
        connection.write_all(MALFORMED).await.expect("written");
        connection.shutdown().await.expect("closed");
        drop(connection);
        let mut all = String::new();
        far.read_to_string(&mut all).await.expect("text");
        let responses: Vec<&str> = all.split("HTTP/1.1 400 Bad Request").collect();
        let with_headers: Vec<bool> =
            responses.iter().map(|response| response.contains("x-request-id: ") && response.contains("nosniff")).collect();
        assert_eq!(with_headers, [false, false, false, true], "{all}");
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
