//! Connections of clients: their number, and how long they may be silent.
//!
//! A client has `header-timeout` for the headers of a request, `body-timeout` for its body and `idle-timeout` between requests
//! (`convengine.http`). A response may take any time, but not its client: one that stops reading is disconnected. WebSockets have time
//! limits of their own.

pub mod body_timeout;
pub mod exchange;
mod file_limit;
mod own_response;
mod phase;
mod timed;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::connect_info::Connected;
use axum::http::StatusCode;
use axum::serve::{IncomingStream, Listener};
use convengine_host_base::clock;
use convengine_settings::HttpSettings;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::api::response_headers;
pub use phase::ConnectionPhase;
pub use timed::TimedConnection;

/// How many refusals may be sent at once; other connections are closed without one.
const MAX_REFUSALS: usize = 64;

/// How long sending a refusal may take.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// How often the log reports refused connections.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// The listener of the server. Connections beyond the maximum get 503 and are closed.
#[derive(Debug)]
pub struct LimitedListener {
    listener: TcpListener,
    settings: HttpSettings,
    connections: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    reported_at: Option<Instant>,
}

/// The client of a request.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address of the connection.
    pub address: SocketAddr,
    /// What the connection waits for.
    pub phase: Arc<ConnectionPhase>,
}

impl Connected<IncomingStream<'_, LimitedListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Peer {
        Peer { address: *stream.remote_addr(), phase: Arc::clone(&stream.io().phase) }
    }
}

impl LimitedListener {
    /// Limits the connections of a listener.
    pub fn new(listener: TcpListener, settings: HttpSettings) -> LimitedListener {
        let connections = Arc::new(Semaphore::new(file_limit::allow_connections(settings.max_connections)));
        LimitedListener { listener, settings, connections, refusals: Arc::new(Semaphore::new(MAX_REFUSALS)), reported_at: None }
    }

    fn refuse(&mut self, stream: TcpStream) {
        if self.reported_at.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
            self.reported_at = Some(Instant::now());
            let limit = self.settings.max_connections;
            tracing::warn!(
                limit,
                "too many connections: new ones get 503; raise convengine.http.max-connections or find the clients that hold them open"
            );
        }
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let _ = timeout(REFUSAL_TIMEOUT, send_refusal(&stream)).await;
            drop((stream, permit));
        });
    }
}

impl Listener for LimitedListener {
    type Io = TimedConnection<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else {
                self.refuse(stream);
                continue;
            };
            // Events are small and must not wait for the next one to fill a packet.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "cannot set TCP_NODELAY; small packets may be delayed");
            }
            let phase = ConnectionPhase::new(self.settings.header_timeout, self.settings.idle_timeout);
            return (TimedConnection::new(stream, Arc::new(phase), Some(permit)), address);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Sends a 503 response, and reads what the client sends until it has read the response: closing before would discard it.
async fn send_refusal(stream: &TcpStream) -> io::Result<()> {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let body = json!({
        "timestamp": clock::format_iso(clock::now()),
        "status": status.as_u16(),
        "error": status.canonical_reason(),
        "path": "",
        "message": "too many connections; try again later",
    });
    let body = body.to_string();
    let headers = response_headers::lines();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 5\r\n{headers}\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    let mut bytes = response.as_bytes();
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    let mut discarded = [0; 1024];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut discarded) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
