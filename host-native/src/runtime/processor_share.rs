//! Keeps processors free for users: while they are served, at most half of the processors work in the background, half of the time.
//!
//! Each tenant has places of its own, so that one whose database is slow holds up no other; its users count for all. A turn that waits for a
//! service, such as a model, gives its place back meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use crate::work_class::WorkClass;

/// How long after a turn of a user the next one is expected.
const PRESENCE: Duration = Duration::from_secs(1);

/// The longest rest of a place. Work that took longer has waited for something.
const MAX_REST: Duration = Duration::from_millis(50);

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

/// A place to work, released on drop; while users are served, after a rest that is as long as the work was.
#[derive(Debug)]
pub struct WorkPlace {
    held: Option<(OwnedSemaphorePermit, Instant)>,
    users: &'static Presence,
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
        let mut place = WorkPlace { held: None, users: self.users };
        if WorkClass::current() == WorkClass::Background && self.users.is_recent() {
            // The semaphore is never closed.
            place.held = Arc::clone(&self.places).acquire_owned().await.ok().map(|it| (it, Instant::now()));
        }
        place
    }
}

impl Drop for WorkPlace {
    fn drop(&mut self) {
        if let Some((permit, since)) = self.held.take()
            && self.users.is_recent()
        {
            tokio::spawn(async move {
                sleep(since.elapsed().min(MAX_REST)).await;
                drop(permit);
            });
        }
    }
}

impl Presence {
    fn note(&self) {
        *self.lock() = Some(Instant::now());
    }

    fn is_recent(&self) -> bool {
        self.lock().is_some_and(|it| it.elapsed() < PRESENCE)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes that a turn of a user begins or ends.
pub fn note_user() {
    USERS.note();
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::time::advance;

    use super::*;
    use crate::work_class::in_background;

    #[tokio::test(start_paused = true)]
    async fn work_in_the_background_takes_turns_while_users_are_served() {
        let users: &'static Presence = Box::leak(Box::default());
        let share = ProcessorShare { places: Arc::new(Semaphore::new(1)), users };
        let enter = || in_background(share.enter());
        drop([enter().await, enter().await]);
        users.note();
        let held = enter().await;
        assert!(enter().now_or_never().is_none());
        assert!(share.enter().now_or_never().is_some(), "users wait for nobody");
        let next = enter();
        advance(Duration::from_millis(20)).await;
        drop(held);
        let freed = Instant::now();
        drop(next.await);
        assert_eq!(freed.elapsed(), Duration::from_millis(20), "it rests for as long as it was held");
        let _held = enter().await;
        advance(PRESENCE).await;
        assert!(enter().now_or_never().is_some(), "nobody needs the processors");
    }
}
