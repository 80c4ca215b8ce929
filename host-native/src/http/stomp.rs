//! `/ws-convengine`: live events as STOMP over SockJS and plain WebSockets (docs/spec/data-and-api.md#8.6).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use uuid::Uuid;

use super::error::{ApiError, not_found};
use super::origin;
use crate::access::routes::Routes;
use crate::drive::Host;
use crate::settings::Stomp;
use crate::stomp::frame::LONGEST;
use crate::stomp::session::{Asked, Session};
use crate::stomp::sockjs;
use crate::stream::{Streams, Subscription, events};

/// Interval of SockJS heartbeats.
const SOCKJS_BEAT: Duration = Duration::from_secs(25);

/// How long a client may take to connect.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long closing a connection may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Maximum bytes of a message; a SockJS message may contain several frames.
const MESSAGE: usize = 4 * LONGEST;

/// Size of the read and write buffers in bytes; small because there may be many connections.
const BUFFER: usize = 4 * 1024;

/// Adds the routes of the STOMP endpoint.
pub fn routes(routes: Routes, settings: &Stomp) -> Routes {
    let endpoint = &settings.endpoint;
    let routes = routes.stream(&format!("{endpoint}/websocket"), get(plain));
    if !settings.sock_js {
        return routes.stream(endpoint, get(plain));
    }
    let routes = routes.stream(endpoint, greeting()).stream(&format!("{endpoint}/"), greeting()).stream(&format!("{endpoint}/info"), get(info));
    routes.stream(&format!("{endpoint}/{{server}}/{{session}}/websocket"), get(wrapped))
}

fn greeting() -> MethodRouter<Arc<Host>> {
    get(|| std::future::ready(([(header::CONTENT_TYPE, "text/plain; charset=UTF-8")], "Welcome to SockJS!\n")))
}

/// The SockJS info response.
async fn info(State(host): State<Arc<Host>>, uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    check(&host, &headers, &uri)?;
    let entropy = u32::from_be_bytes(Uuid::new_v4().into_bytes().first_chunk().copied().unwrap_or_default());
    let body = json!({"entropy": entropy, "origins": ["*:*"], "cookie_needed": false, "websocket": true});
    let fresh = HeaderValue::from_static("no-store, no-cache, no-transform, must-revalidate, max-age=0");
    Ok(([(header::CACHE_CONTROL, fresh)], Json(body)).into_response())
}

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

async fn plain(State(host): State<Arc<Host>>, uri: Uri, headers: HeaderMap, upgrade: Upgrade) -> Result<Response, ApiError> {
    open(&host, &uri, &headers, upgrade, false)
}

async fn wrapped(
    State(host): State<Arc<Host>>,
    uri: Uri,
    headers: HeaderMap,
    names: Result<Path<(String, String)>, PathRejection>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let is_valid = names.is_ok_and(|it| ![it.0.0, it.0.1].iter().any(|it| it.is_empty() || it.contains('.')));
    if is_valid { open(&host, &uri, &headers, upgrade, true) } else { Err(not_found(&uri)) }
}

/// Checks the origin against the STOMP setting, in addition to the general CORS check.
fn check(host: &Host, headers: &HeaderMap, uri: &Uri) -> Result<(), ApiError> {
    let patterns = host.offers.stomp().map(|it| it.origins.as_slice()).unwrap_or_default();
    let refused = |it| format!("{it}; add it to convengine.transport.stomp.allowed-origin-pattern");
    origin::check(patterns, headers).map_err(|it| ApiError::new(StatusCode::FORBIDDEN, uri, refused(it)))
}

fn open(host: &Arc<Host>, uri: &Uri, headers: &HeaderMap, upgrade: Upgrade, sock_js: bool) -> Result<Response, ApiError> {
    check(host, headers, uri)?;
    let upgrade = upgrade.map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, uri, "not a WebSocket request; connect with a WebSocket"))?;
    let base = host.offers.stomp().map(|it| it.destination.clone()).unwrap_or_default();
    // Holds the streams instead of the host, which could not stop while connections hold it.
    let streams = Arc::clone(&host.streams);
    let upgrade = upgrade.max_message_size(MESSAGE).max_frame_size(MESSAGE).read_buffer_size(BUFFER).write_buffer_size(BUFFER);
    let upgrade = upgrade.protocols(["v12.stomp", "v11.stomp", "v10.stomp"]);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let _guard = streams.enter();
        let connection = Connection { socket, sock_js, session: Session::new(&base), heard: Vec::new(), streams };
        connection.run().await;
    }))
}

/// A subscription of the client.
struct Heard {
    name: String,
    destination: String,
    /// Absent for a destination without events.
    subscription: Option<Subscription>,
}

/// A connected client.
struct Connection {
    socket: WebSocket,
    sock_js: bool,
    session: Session,
    heard: Vec<Heard>,
    streams: Arc<Streams>,
}

/// The connection is lost.
struct End;

/// The next event of a connection.
enum Next {
    Received(Message),
    Told(usize, Bytes),
    Beat,
    SockJsBeat,
    /// A subscription is too slow, or the server is stopping.
    Over,
    /// The client has disconnected.
    Gone,
}

/// The deadlines of a connection.
struct Times {
    beat: Instant,
    sockjs_beat: Instant,
    gone: Instant,
}

impl Connection {
    async fn run(mut self) {
        let streams = Arc::clone(&self.streams);
        let stopped = async {
            streams.closed().await;
            sleep(FAREWELL).await;
        };
        tokio::select! {
            ended = self.converse() => if ended.is_err() { return },
            // The client accepts no more data.
            () = stopped => return,
        }
        // Fails if the client has disconnected.
        let _ = timeout(FAREWELL, self.say_goodbye()).await;
    }

    async fn say_goodbye(&mut self) -> Result<(), End> {
        if self.sock_js {
            self.send_raw(sockjs::GO_AWAY.to_owned()).await?;
        }
        self.socket.send(Message::Close(None)).await.map_err(|_| End)
    }

    /// Serves the connection until it must be closed; an error means that it is already lost.
    async fn converse(&mut self) -> Result<(), End> {
        if self.sock_js {
            self.send_raw(sockjs::OPEN.to_owned()).await?;
        }
        let now = Instant::now();
        let mut times = Times { beat: now + PATIENCE, sockjs_beat: now + SOCKJS_BEAT, gone: now + PATIENCE };
        let mut is_connected = false;
        loop {
            match self.next(&times).await {
                Next::Received(message) => {
                    for action in self.read(message)? {
                        match action {
                            Asked::Send(text) => self.send(&text).await?,
                            Asked::Listen { id, destination, conversation } => self.listen(id, destination, conversation).await,
                            Asked::Leave(name) => self.heard.retain(|it| it.name != name),
                            Asked::Close => return Ok(()),
                        }
                        is_connected = true;
                    }
                    times.gone = Instant::now() + self.silence(is_connected);
                }
                Next::Told(index, wire) => self.tell(index, &wire).await?,
                Next::Beat => self.send("\n").await?,
                Next::SockJsBeat => {
                    self.send_raw(sockjs::BEAT.to_owned()).await?;
                    times.sockjs_beat = Instant::now() + SOCKJS_BEAT;
                    continue;
                }
                Next::Over => return Ok(()),
                Next::Gone => return Err(End),
            }
            times.beat = Instant::now() + self.session.sends_every.unwrap_or(PATIENCE);
        }
    }

    /// How long the client may be silent.
    fn silence(&self, is_connected: bool) -> Duration {
        // Practically unlimited for clients without heartbeats.
        if is_connected { self.session.gone_after.unwrap_or(Duration::from_secs(86_400 * 365)) } else { PATIENCE }
    }

    async fn next(&mut self, times: &Times) -> Next {
        let beats = self.session.sends_every.is_some();
        let Connection { socket, heard, streams, sock_js, .. } = self;
        tokio::select! {
            message = socket.recv() => message.and_then(Result::ok).map_or(Next::Gone, Next::Received),
            (index, wire) = poll_fn(|context| poll_all(heard, context)) => wire.map_or(Next::Over, |it| Next::Told(index, it)),
            () = sleep_until(times.beat), if beats => Next::Beat,
            () = sleep_until(times.sockjs_beat), if *sock_js => Next::SockJsBeat,
            () = sleep_until(times.gone) => Next::Gone,
            () = streams.closed() => Next::Over,
        }
    }

    /// Handles a message of the client.
    fn read(&mut self, message: Message) -> Result<Vec<Asked>, End> {
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(bytes) if !self.sock_js => return Ok(self.session.receive(&bytes)),
            Message::Binary(_) | Message::Close(_) => return Err(End),
            Message::Ping(_) | Message::Pong(_) => return Ok(Vec::new()),
        };
        if !self.sock_js {
            return Ok(self.session.receive(text.as_bytes()));
        }
        let messages = sockjs::unwrapped(text.as_str()).ok_or(End)?;
        Ok(messages.iter().flat_map(|it| self.session.receive(it.as_bytes())).collect())
    }

    async fn listen(&mut self, name: String, destination: String, conversation: Option<String>) {
        let subscription = match conversation {
            Some(it) => Some(self.streams.listen(&it, None).await.0),
            None => None,
        };
        self.heard.push(Heard { name, destination, subscription });
    }

    async fn tell(&mut self, index: usize, wire: &Bytes) -> Result<(), End> {
        let Some(Heard { name, destination, .. }) = self.heard.get(index) else { return Ok(()) };
        // Clients of the original server know only events with a stage.
        let envelopes = events(std::str::from_utf8(wire).unwrap_or_default()).filter(|it| it.name != "TOKEN");
        let texts: Vec<String> = envelopes.map(|it| self.session.message(name, destination, it.id, it.data)).collect();
        for text in texts {
            self.send(&text).await?;
        }
        Ok(())
    }

    async fn send(&mut self, text: &str) -> Result<(), End> {
        let text = if self.sock_js { sockjs::wrapped(text) } else { text.to_owned() };
        self.send_raw(text).await
    }

    async fn send_raw(&mut self, text: String) -> Result<(), End> {
        self.socket.send(Message::text(text)).await.map_err(|_| End)
    }
}

/// Polls all subscriptions for events; `None` if one of them has ended.
fn poll_all(subscriptions: &mut [Heard], context: &mut Context<'_>) -> Poll<(usize, Option<Bytes>)> {
    for (index, it) in subscriptions.iter_mut().enumerate() {
        if let Some(Poll::Ready(wire)) = it.subscription.as_mut().map(|it| it.poll(context)) {
            return Poll::Ready((index, wire));
        }
    }
    Poll::Pending
}
