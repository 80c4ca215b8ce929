//! A reader of lines that ends at a line that is too long, so that a server cannot fill the memory.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// Reads until a line exceeds the limit, then fails.
pub struct BoundedReader<R> {
    inner: R,
    limit: usize,
    length: usize,
    /// Set when a line was too long.
    exceeded: Arc<AtomicBool>,
}

impl<R> BoundedReader<R> {
    /// Creates a reader whose lines have at most `limit` bytes.
    pub fn new(inner: R, limit: usize, exceeded: Arc<AtomicBool>) -> BoundedReader<R> {
        BoundedReader { inner, limit, length: 0, exceeded }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.inner).poll_read(context, buffer);
        for byte in buffer.filled().get(before..).unwrap_or_default() {
            self.length = if *byte == b'\n' { 0 } else { self.length + 1 };
            if self.length > self.limit {
                self.exceeded.store(true, Ordering::Relaxed);
                // A failed read fills nothing.
                buffer.set_filled(before);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long")));
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_long_line_ends_the_stream() {
        for (input, is_read) in [("abc\nabcd\n\nab", true), ("abc\nabcde\n", false)] {
            let exceeded = Arc::new(AtomicBool::new(false));
            let mut text = String::new();
            let read = BoundedReader::new(input.as_bytes(), 4, Arc::clone(&exceeded)).read_to_string(&mut text).await;
            assert_eq!((read.is_ok(), exceeded.load(Ordering::Relaxed)), (is_read, !is_read), "{input}");
        }
    }
}
