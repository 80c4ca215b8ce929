//! What a connection waits for, shared by the connection and the requests on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

/// What a connection waits for.
#[derive(Debug)]
pub struct ConnectionPhase {
    header_timeout: Duration,
    idle_timeout: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// Wakes the connection when its deadline changes.
    reader: Option<Waker>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The rest of the headers, until this time.
    Headers(Instant),
    /// The next request, until this time.
    Idle(Instant),
    /// The end of the response.
    Response,
    /// Whatever another protocol waits for.
    Upgraded,
}

impl ConnectionPhase {
    /// A new connection, which waits for its first request.
    pub fn new(header_timeout: Duration, idle_timeout: Duration) -> ConnectionPhase {
        let phase = Phase::Headers(Instant::now() + header_timeout);
        ConnectionPhase { header_timeout, idle_timeout, state: Mutex::new(State { phase, reader: None }) }
    }

    /// A request has arrived.
    pub fn begin_response(&self) {
        self.lock().phase = Phase::Response;
    }

    /// The response has been written, or its client is gone.
    pub fn end_response(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Response {
            state.phase = Phase::Idle(Instant::now() + self.idle_timeout);
            if let Some(reader) = state.reader.take() {
                reader.wake();
            }
        }
    }

    /// Another protocol takes over, which has time limits of its own.
    pub fn upgrade(&self) {
        self.lock().phase = Phase::Upgraded;
    }

    /// Bytes have arrived.
    pub(super) fn receive(&self) {
        let mut state = self.lock();
        if let Phase::Idle(_) = state.phase {
            state.phase = Phase::Headers(Instant::now() + self.header_timeout);
        }
    }

    /// Whether no request is being answered.
    pub(super) fn is_between_responses(&self) -> bool {
        matches!(self.lock().phase, Phase::Headers(_) | Phase::Idle(_))
    }

    /// The time until which bytes must arrive, if there is one. The reader is woken when that changes.
    pub(super) fn deadline(&self, reader: &Waker) -> Option<Instant> {
        let mut state = self.lock();
        match state.phase {
            Phase::Headers(until) | Phase::Idle(until) => Some(until),
            Phase::Response => {
                state.reader = Some(reader.clone());
                None
            }
            Phase::Upgraded => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
