//! Keeps processors free for users: while they are served, at most half of the processors work in the background, half of the time.
//!
//! Each tenant has places of its own, so that one whose database is slow holds up no other; its users count for all. A place is a matter of
//! milliseconds: work that keeps one for longer waits for something else, such as a lock, and loses it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::work_class::WorkClass;

/// How long after a turn of a user the next one is expected.
const PRESENCE: Duration = Duration::from_secs(1);

/// How long a place is kept at most.
const MAX_HOLD: Duration = Duration::from_millis(50);

/// The users of this process.
static USERS: Presence = Presence(Mutex::new(None));

/// When a turn of a user began or ended last.
#[derive(Debug, Default)]
struct Presence(Mutex<Option<Instant>>);

/// The share of a tenant's work in the background in the processors.
#[derive(Debug)]
pub struct ProcessorShare {
    places: Arc<Semaphore>,
    users: &'static Presence,
}

/// A place to work, released on drop. The next one gets it after a rest that is as long as the work was.
#[derive(Debug)]
pub struct WorkPlace {
    _released: Option<oneshot::Sender<()>>,
}

impl Default for ProcessorShare {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, std::num::NonZero::get);
        ProcessorShare { places: Arc::new(Semaphore::new((processors / 2).max(1))), users: &USERS }
    }
}

impl ProcessorShare {
    /// Waits for a place to work for the current class: in the background and while users are served for one of few, otherwise not at all.
    pub async fn enter(&self) -> WorkPlace {
        if WorkClass::current() == WorkClass::User || !self.users.is_recent() {
            return WorkPlace::free();
        }
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&self.places).acquire_owned().await else { return WorkPlace::free() };
        let (sender, released) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let since = Instant::now();
            let _ = timeout(MAX_HOLD, released).await;
            sleep(since.elapsed()).await;
            drop(permit);
        });
        WorkPlace { _released: Some(sender) }
    }
}

impl WorkPlace {
    /// A place that takes none of the others.
    pub fn free() -> WorkPlace {
        WorkPlace { _released: None }
    }
}

impl Presence {
    fn note(&self) {
        *self.lock() = Some(Instant::now());
    }

    fn is_recent(&self) -> bool {
        self.lock().is_some_and(|instant| instant.elapsed() < PRESENCE)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes that a turn of a user begins or ends.
pub fn note_user() {
    USERS.note();
}

/// Whether a turn of a user has begun or ended within the last second.
pub fn has_users() -> bool {
    USERS.is_recent()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::advance;

    use super::*;
    use crate::work_class::in_background;

    fn share() -> (ProcessorShare, &'static Presence) {
        let users: &'static Presence = Box::leak(Box::default());
        (ProcessorShare { places: Arc::new(Semaphore::new(1)), users }, users)
    }

    #[tokio::test(start_paused = true)]
    async fn work_in_the_background_takes_turns_while_users_are_served() {
        let (share, users) = share();
        let enter = || in_background(share.enter());
        drop([enter().await, enter().await]);
        users.note();
        let held = enter().await;
        assert!(enter().now_or_never().is_none());
        assert!(share.enter().now_or_never().is_some(), "users wait for nobody");
        sleep(Duration::from_millis(20)).await;
        drop(held);
        let freed = Instant::now();
        let _held = enter().await;
        let rest = freed.elapsed().as_millis();
        assert!((20..=23).contains(&rest), "it rests for as long as it was held, not for {rest} ms");
        advance(PRESENCE).await;
        assert!(enter().now_or_never().is_some(), "nobody needs the processors");
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_waits_for_something_else_loses_its_place() {
        let (share, users) = share();
        users.note();
        let begun = Instant::now();
        let _waiting = in_background(share.enter()).await;
        let _next = in_background(share.enter()).await;
        assert!(begun.elapsed() <= MAX_HOLD * 2 + Duration::from_millis(5), "{:?}", begun.elapsed());
    }
}
