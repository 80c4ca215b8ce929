//! Runs several futures of one turn concurrently.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs all futures to completion; returns their outputs in the order given.
///
/// A turn is polled after each answer, so the next effects follow from the order of the answers, which is journaled. Effects that the
/// futures request before their first wait are in one slice, and the host performs them at the same time. One that fails does not stop the
/// others.
///
/// ```
/// use std::future::Future;
/// use std::task::{Context, Poll, Waker};
/// use convengine_turn::{BoxFuture, join};
///
/// let parts: Vec<BoxFuture<'_, u32>> = vec![Box::pin(async { 1 }), Box::pin(async { 2 })];
/// let mut all = Box::pin(join(parts));
/// assert_eq!(all.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(vec![1, 2]));
/// ```
pub async fn join<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut futures: Vec<(BoxFuture<'_, T>, Option<T>)> = futures.into_iter().map(|it| (it, None)).collect();
    poll_fn(|context| {
        for (future, output) in futures.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *output = Some(value);
            }
        }
        if futures.iter().all(|(_, output)| output.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    futures.into_iter().filter_map(|it| it.1).collect()
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    /// A future that is polled a number of times before it is ready.
    fn ready_after(polls: u32) -> BoxFuture<'static, u32> {
        let mut remaining = polls;
        Box::pin(poll_fn(move |_| {
            remaining = remaining.checked_sub(1).unwrap_or_else(|| unreachable!("code that has ended is not polled"));
            if remaining == 0 { Poll::Ready(polls) } else { Poll::Pending }
        }))
    }

    #[test]
    fn outputs_are_in_the_order_given() {
        let mut all = Box::pin(join(vec![ready_after(3), ready_after(1), ready_after(2)]));
        let mut poll = || all.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!((poll(), poll(), poll()), (Poll::Pending, Poll::Pending, Poll::Ready(vec![3, 1, 2])));
        let mut none = Box::pin(join(Vec::<BoxFuture<'_, u32>>::new()));
        assert_eq!(none.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Vec::new()));
    }
}
