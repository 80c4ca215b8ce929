//! The sessions of SockJS clients without WebSockets: what waits to be fetched, and who fetches it. Performs no I/O.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use super::sockjs;

/// How long a session lives without a request that fetches its messages.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum bytes that wait to be fetched; one message may exceed it.
const MAX_BACKLOG_BYTES: usize = 1024 * 1024;

/// Maximum bytes of the messages that are sent in one frame.
const MAX_BATCH_BYTES: usize = 128 * 1024;

/// Maximum frames of the client that wait to be handled.
const MAX_INCOMING: usize = 16;

/// Maximum number of sessions of a caller.
const MAX_SESSIONS_PER_CALLER: usize = 256;

/// Maximum number of sessions of a tenant.
const MAX_SESSIONS: usize = 4_096;

/// A frame that waits to be fetched.
#[derive(Debug)]
enum Pending {
    /// A message, which may share a frame with others.
    Message(String),
    /// A frame of its own.
    Frame(String),
}

#[derive(Debug)]
struct State {
    pending: VecDeque<Pending>,
    bytes: usize,
    has_receiver: bool,
    /// When the last request that fetched messages ended.
    detached_at: Instant,
    /// Whether the session has ended; its last frame is fetched again and again.
    is_closed: bool,
}

/// The messages of a session for its client.
#[derive(Debug)]
pub struct Outbox {
    state: Mutex<State>,
    /// Notified of new frames.
    filled: Notify,
    /// Notified when a request begins or ends to fetch.
    changed: Notify,
}

/// The client does not fetch what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow;

impl Outbox {
    fn new() -> Outbox {
        let state = State { pending: VecDeque::new(), bytes: 0, has_receiver: false, detached_at: Instant::now(), is_closed: false };
        Outbox { state: Mutex::new(state), filled: Notify::new(), changed: Notify::new() }
    }

    /// Adds a message.
    ///
    /// # Errors
    /// [`Overflow`] when too much waits already.
    pub fn push_message(&self, text: &str) -> Result<(), Overflow> {
        self.push(Pending::Message(text.to_owned()), text.len())
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// [`Overflow`] when too much waits already.
    pub fn push_frame(&self, frame: &str) -> Result<(), Overflow> {
        self.push(Pending::Frame(frame.to_owned()), frame.len())
    }

    fn push(&self, pending: Pending, bytes: usize) -> Result<(), Overflow> {
        let mut state = self.state();
        if state.bytes > MAX_BACKLOG_BYTES {
            return Err(Overflow);
        }
        state.bytes += bytes;
        state.pending.push_back(pending);
        self.filled.notify_one();
        Ok(())
    }

    /// Ends the session; what waits can still be fetched.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.filled.notify_one();
    }

    /// Begins to fetch; `None` while another request does.
    pub fn attach(self: &Arc<Self>) -> Option<Receiver> {
        let mut state = self.state();
        if state.has_receiver {
            return None;
        }
        state.has_receiver = true;
        self.changed.notify_one();
        Some(Receiver(Arc::clone(self)))
    }

    /// Waits until no request has fetched messages for 5 s.
    pub async fn wait_abandoned(&self) {
        loop {
            let deadline = {
                let state = self.state();
                (!state.has_receiver).then(|| state.detached_at + ABANDON_TIMEOUT)
            };
            match deadline {
                Some(it) if it <= Instant::now() => return,
                Some(it) => tokio::select! {
                    () = sleep_until(it) => {}
                    () = self.changed.notified() => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    /// Takes the next frame: messages in a row share one.
    fn take(&self) -> Option<String> {
        let mut state = self.state();
        let mut batch: Vec<String> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = state.pending.pop_front() {
            match next {
                Pending::Message(text) if batch.is_empty() || bytes + text.len() <= MAX_BATCH_BYTES => {
                    bytes += text.len();
                    batch.push(text);
                }
                Pending::Frame(frame) if batch.is_empty() => {
                    state.bytes -= frame.len();
                    return Some(frame);
                }
                other => {
                    state.pending.push_front(other);
                    break;
                }
            }
        }
        state.bytes -= bytes;
        match batch.is_empty() {
            false => Some(sockjs::encode_all(&batch)),
            true => state.is_closed.then(|| sockjs::CLOSE_GO_AWAY.to_owned()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that fetches the messages of a session, the only one at a time.
#[derive(Debug)]
pub struct Receiver(Arc<Outbox>);

impl Receiver {
    /// Waits for the next frame, and returns whether it is the last one.
    pub async fn next(&self) -> (String, bool) {
        loop {
            if let Some(frame) = self.0.take() {
                let is_last = frame == sockjs::CLOSE_GO_AWAY;
                return (frame, is_last);
            }
            self.0.filled.notified().await;
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.has_receiver, state.detached_at) = (false, Instant::now());
        self.0.changed.notify_one();
    }
}

/// A session.
#[derive(Debug, Clone)]
pub struct XhrSession {
    /// What waits for the client.
    pub outbox: Arc<Outbox>,
    /// The frames of the client.
    pub incoming: mpsc::Sender<String>,
}

/// The sessions of a tenant, by caller and id: nobody fetches those of another caller.
#[derive(Debug, Clone, Default)]
pub struct XhrSessions(Arc<Mutex<HashMap<(String, String), XhrSession>>>);

/// There are too many sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySessions;

impl XhrSessions {
    /// Returns a session.
    pub fn find(&self, caller: &str, id: &str) -> Option<XhrSession> {
        self.sessions().get(&(caller.to_owned(), id.to_owned())).cloned()
    }

    /// Returns a session, and for a new one the frames that its client will send.
    ///
    /// # Errors
    /// [`TooManySessions`] when the caller or the tenant has too many.
    pub fn open(&self, caller: &str, id: &str) -> Result<(XhrSession, Option<mpsc::Receiver<String>>), TooManySessions> {
        let mut sessions = self.sessions();
        let key = (caller.to_owned(), id.to_owned());
        if let Some(session) = sessions.get(&key) {
            return Ok((session.clone(), None));
        }
        let of_caller = sessions.keys().filter(|it| it.0 == caller).count();
        if of_caller >= MAX_SESSIONS_PER_CALLER || sessions.len() >= MAX_SESSIONS {
            return Err(TooManySessions);
        }
        let (incoming, frames) = mpsc::channel(MAX_INCOMING);
        let session = XhrSession { outbox: Arc::new(Outbox::new()), incoming };
        sessions.insert(key, session.clone());
        Ok((session, Some(frames)))
    }

    /// Forgets a session.
    pub fn remove(&self, caller: &str, id: &str) {
        self.sessions().remove(&(caller.to_owned(), id.to_owned()));
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<(String, String), XhrSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn messages_in_a_row_share_a_frame() {
        let outbox = Arc::new(Outbox::new());
        outbox.push_frame("o").expect("room");
        outbox.push_message("a").expect("room");
        outbox.push_message("b").expect("room");
        outbox.push_frame("h").expect("room");
        let receiver = outbox.attach().expect("nobody else fetches");
        assert!(outbox.attach().is_none());
        for frame in ["o", "a[\"a\",\"b\"]", "h"] {
            assert_eq!(receiver.next().await, (frame.to_owned(), false));
        }
        outbox.close();
        assert_eq!(receiver.next().await, (sockjs::CLOSE_GO_AWAY.to_owned(), true));
        let more = "x".repeat(MAX_BACKLOG_BYTES + 1);
        assert_eq!((outbox.push_message(&more), outbox.push_message("y")), (Ok(()), Err(Overflow)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_abandoned_when_nobody_fetches() {
        let outbox = Arc::new(Outbox::new());
        let receiver = outbox.attach().expect("nobody else fetches");
        let start = Instant::now();
        let waits = {
            let outbox = Arc::clone(&outbox);
            tokio::spawn(async move { outbox.wait_abandoned().await })
        };
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(receiver);
        waits.await.expect("no panic");
        assert_eq!(start.elapsed(), Duration::from_secs(65));
    }

    #[test]
    fn sessions_belong_to_their_caller_and_are_bounded() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let _context = runtime.enter();
        let sessions = XhrSessions::default();
        assert!(sessions.open("a", "1").expect("room").1.is_some() && sessions.open("a", "1").expect("room").1.is_none());
        assert!(sessions.find("b", "1").is_none());
        for id in 2..=MAX_SESSIONS_PER_CALLER {
            sessions.open("a", &id.to_string()).expect("room");
        }
        assert_eq!(sessions.open("a", "more").err(), Some(TooManySessions));
        assert!(sessions.open("b", "1").is_ok());
        sessions.remove("a", "1");
        assert!(sessions.open("a", "more").is_ok());
    }
}
