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

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    /// Code that is polled so many times before it ends.
    fn after(polls: u32) -> Pending<'static, u32> {
        let mut left = polls;
        Box::pin(poll_fn(move |_| {
            left = left.checked_sub(1).unwrap_or_else(|| unreachable!("code that has ended is not polled"));
            if left == 0 { Poll::Ready(polls) } else { Poll::Pending }
        }))
    }

    #[test]
    fn outputs_stand_in_the_order_of_their_pieces_whichever_ends_first() {
        let mut all = Box::pin(together(vec![after(3), after(1), after(2)]));
        let mut poll = || all.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!((poll(), poll(), poll()), (Poll::Pending, Poll::Pending, Poll::Ready(vec![3, 1, 2])));
        let mut none = Box::pin(together(Vec::<Pending<'_, u32>>::new()));
        assert_eq!(none.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Vec::new()));
    }
}
