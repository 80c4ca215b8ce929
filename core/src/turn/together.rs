//! Several pieces of a turn's code that wait at the same time.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Code that ends with an output.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs all to their ends; what each comes to, in the order in which they are given.
///
/// A turn is polled after each answer, so that what the next effects are follows from the order of the answers, which is recorded.
pub async fn together<T>(pieces: Vec<Pending<'_, T>>) -> Vec<T> {
    let mut pieces: Vec<(Pending<'_, T>, Option<T>)> = pieces.into_iter().map(|it| (it, None)).collect();
    poll_fn(|context| {
        for (piece, output) in pieces.iter_mut().filter(|it| it.1.is_none()) {
            if let Poll::Ready(done) = piece.as_mut().poll(context) {
                *output = Some(done);
            }
        }
        if pieces.iter().all(|it| it.1.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    pieces.into_iter().filter_map(|it| it.1).collect()
}
