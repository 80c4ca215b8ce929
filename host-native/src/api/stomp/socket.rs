//! `/ws-convengine`: live events as STOMP over SockJS and plain WebSockets (docs/spec/data-and-api.md#8.6).

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Json};
use convengine_access::api_error::{ApiError, path_not_found};
use convengine_access::caller::{Caller, ConversationAccess};
use convengine_access::connection_share::ConnectionPermit;
use convengine_access::credential_watch::CredentialEnd;
use convengine_settings::StompSettings;
use convengine_turns::Turns;
use convengine_turns::stream::{Streams, Subscription, parse_events};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use uuid::Uuid;

use crate::api::host::Host;
use crate::api::origin;
use crate::api::routes::Routes;
use crate::api::stomp::frame::MAX_FRAME_BYTES;
use crate::api::stomp::outbox::{Outbox, XhrSession};
use crate::api::stomp::session::{SessionAction, StompSession};
use crate::api::stomp::{sockjs, xhr};

/// Interval of SockJS heartbeats.
const SOCKJS_HEARTBEAT: Duration = Duration::from_secs(25);

/// How long a client may take to connect.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long closing a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum bytes of a message; a SockJS message may contain several frames.
pub(super) const MAX_MESSAGE_BYTES: usize = 4 * MAX_FRAME_BYTES;

/// SockJS responses are never cached.
pub(super) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store, no-cache, no-transform, must-revalidate, max-age=0");

/// How long the end of a session without WebSockets can be fetched.
const SESSION_LINGER: Duration = Duration::from_secs(5);

/// Size of the read and write buffers in bytes; small because there may be many connections.
const BUFFER_BYTES: usize = 4 * 1024;

/// Adds the routes of the STOMP endpoint.
pub fn add_routes(routes: Routes, settings: &StompSettings) -> Routes {
    let endpoint = &settings.endpoint;
    let routes = routes.add_undocumented_stream(&format!("{endpoint}/websocket"), get(open_websocket));
    if !settings.sock_js {
        return routes.add_undocumented_stream(endpoint, get(open_websocket));
    }
    let routes = routes
        .add_undocumented_stream(endpoint, sockjs_greeting())
        .add_undocumented_stream(&format!("{endpoint}/"), sockjs_greeting())
        .add_undocumented_stream(&format!("{endpoint}/info"), get(sockjs_info));
    let session = format!("{endpoint}/{{server}}/{{session}}");
    routes
        .add_undocumented_stream(&format!("{session}/websocket"), get(open_sockjs))
        .add_undocumented_stream(&format!("{session}/xhr"), post(xhr::poll))
        .add_undocumented_stream(&format!("{session}/xhr_send"), post(xhr::send))
        .add_undocumented_stream(&format!("{session}/xhr_streaming"), post(xhr::stream))
}

fn sockjs_greeting() -> MethodRouter<Arc<Host>> {
    get(|| std::future::ready(([(header::CONTENT_TYPE, "text/plain; charset=UTF-8")], "Welcome to SockJS!\n")))
}

/// The SockJS info response.
async fn sockjs_info(State(host): State<Arc<Host>>, headers: HeaderMap) -> Result<Response, ApiError> {
    check_origin(&host.turns, &headers)?;
    let entropy = u32::from_be_bytes(Uuid::new_v4().into_bytes().first_chunk().copied().unwrap_or_default());
    let body = json!({"entropy": entropy, "origins": ["*:*"], "cookie_needed": false, "websocket": true});
    Ok(([(header::CACHE_CONTROL, NO_STORE)], Json(body)).into_response())
}

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

async fn open_websocket(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(permit): Extension<ConnectionPermit>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    upgrade_connection(&host, &caller, permit, &headers, upgrade, false)
}

async fn open_sockjs(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Extension(permit): Extension<ConnectionPermit>,
    headers: HeaderMap,
    names: Result<Path<(String, String)>, PathRejection>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let is_valid = names.is_ok_and(|names| ![names.0.0, names.0.1].iter().any(|name| name.is_empty() || name.contains('.')));
    if is_valid { upgrade_connection(&host, &caller, permit, &headers, upgrade, true) } else { Err(path_not_found()) }
}

/// Checks the origin against the STOMP setting, in addition to the general CORS check.
pub(super) fn check_origin(turns: &Turns, headers: &HeaderMap) -> Result<(), ApiError> {
    let patterns = turns.stream_settings.stomp().map(|it| it.origins.as_slice()).unwrap_or_default();
    let refused = |it| format!("{it}; add it to convengine.transport.stomp.allowed-origin-pattern");
    origin::check_origin(patterns, headers).map_err(|error| ApiError::forbidden(refused(error)))
}

fn upgrade_connection(
    host: &Arc<Host>,
    caller: &Caller,
    permit: ConnectionPermit,
    headers: &HeaderMap,
    upgrade: Upgrade,
    sock_js: bool,
) -> Result<Response, ApiError> {
    check_origin(&host.turns, headers)?;
    let upgrade = upgrade.map_err(|_| ApiError::bad_request("not a WebSocket request; connect with a WebSocket"))?;
    let base = host.turns.stream_settings.stomp().map(|it| it.destination_base.clone()).unwrap_or_default();
    // Holds the streams instead of the host, which could not stop while connections hold it.
    let (streams, access, credential) = (Arc::clone(&host.turns.streams), caller.access(), host.access.open_credentials.watch(caller));
    let upgrade = upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES);
    let upgrade = upgrade.protocols(["v12.stomp", "v11.stomp", "v10.stomp"]);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let _guard = (streams.register_connection(), permit);
        let link = ClientLink::Socket(Box::new(socket));
        let connection = StompConnection { link, sock_js, session: StompSession::new(&base), subscriptions: Vec::new(), streams, access };
        connection.run(credential).await;
    }))
}

/// Serves a session without WebSockets until it ends.
pub(super) fn serve_session(
    host: &Arc<Host>,
    (name, id): (String, String),
    caller: &Caller,
    session: &XhrSession,
    incoming: mpsc::Receiver<String>,
) {
    let base = host.turns.stream_settings.stomp().map(|it| it.destination_base.clone()).unwrap_or_default();
    let (streams, sessions, outbox) = (Arc::clone(&host.turns.streams), host.xhr_sessions.clone(), Arc::clone(&session.outbox));
    let (access, credential) = (caller.access(), host.access.open_credentials.watch(caller));
    tokio::spawn(async move {
        let guard = streams.register_connection();
        let link = ClientLink::Session { outbox: Arc::clone(&outbox), incoming };
        let connection =
            StompConnection { link, sock_js: true, session: StompSession::new(&base), subscriptions: Vec::new(), streams, access };
        connection.run(credential).await;
        outbox.close();
        drop(guard);
        sleep(SESSION_LINGER).await;
        sessions.remove(&name, &id);
    });
}

/// How a client is connected.
enum ClientLink {
    Socket(Box<WebSocket>),
    /// By requests that fetch what waits, and requests that send.
    Session {
        outbox: Arc<Outbox>,
        incoming: mpsc::Receiver<String>,
    },
}

impl ClientLink {
    /// The next message of the client; `None` when it is gone.
    async fn recv(&mut self) -> Option<Message> {
        match self {
            ClientLink::Socket(socket) => socket.recv().await.and_then(Result::ok),
            ClientLink::Session { outbox, incoming } => tokio::select! {
                frame = incoming.recv() => frame.map(Message::text),
                () = outbox.wait_abandoned() => None,
            },
        }
    }
}

/// A subscription of the client.
struct StompSubscription {
    name: String,
    destination: String,
    /// Absent for a destination without events.
    subscription: Option<Subscription>,
}

/// A connected client.
struct StompConnection {
    link: ClientLink,
    sock_js: bool,
    session: StompSession,
    subscriptions: Vec<StompSubscription>,
    streams: Arc<Streams>,
    access: ConversationAccess,
}

/// The connection is lost.
struct Disconnected;

/// The next event of a connection.
enum ConnectionEvent {
    Received(Message),
    Events(usize, Bytes),
    Heartbeat,
    SockJsHeartbeat,
    /// A subscription is too slow, or the server is stopping.
    Closing,
    /// The client has disconnected.
    ClientGone,
}

/// The deadlines of a connection.
struct Deadlines {
    heartbeat: Instant,
    sockjs_heartbeat: Instant,
    client_timeout: Instant,
}

impl StompConnection {
    /// Serves the connection until it is closed, at the latest when the credential of the caller ends.
    async fn run(mut self, credential: CredentialEnd) {
        let streams = Arc::clone(&self.streams);
        let stopped = async {
            streams.wait_closed().await;
            sleep(CLOSE_TIMEOUT).await;
        };
        tokio::select! {
            ended = self.serve() => if ended.is_err() { return },
            () = credential.wait() => {}
            // The client accepts no more data.
            () = stopped => return,
        }
        // Fails if the client has disconnected.
        let _ = timeout(CLOSE_TIMEOUT, self.close()).await;
    }

    async fn close(&mut self) -> Result<(), Disconnected> {
        if self.sock_js && matches!(self.link, ClientLink::Socket(_)) {
            self.send_raw(sockjs::CLOSE_GO_AWAY.to_owned()).await?;
        }
        match &mut self.link {
            ClientLink::Socket(socket) => socket.send(Message::Close(None)).await.map_err(|_| Disconnected),
            // The last frame of a session that has ended says so.
            ClientLink::Session { .. } => Ok(()),
        }
    }

    /// Serves the connection until it must be closed; an error means that it is already lost.
    async fn serve(&mut self) -> Result<(), Disconnected> {
        if self.sock_js {
            self.send_raw(sockjs::OPEN.to_owned()).await?;
        }
        let now = Instant::now();
        let mut times = Deadlines {
            heartbeat: now + HANDSHAKE_TIMEOUT,
            sockjs_heartbeat: now + SOCKJS_HEARTBEAT,
            client_timeout: now + HANDSHAKE_TIMEOUT,
        };
        let mut is_connected = false;
        loop {
            match self.next_event(&times).await {
                ConnectionEvent::Received(message) => {
                    for action in self.receive(message)? {
                        match action {
                            SessionAction::Send(text) => self.send(&text).await?,
                            SessionAction::Subscribe { id, destination, conversation } => {
                                if !self.subscribe(id, destination, conversation).await? {
                                    return Ok(());
                                }
                            }
                            SessionAction::Unsubscribe(name) => self.subscriptions.retain(|it| it.name != name),
                            SessionAction::Close => return Ok(()),
                        }
                        is_connected = true;
                    }
                    times.client_timeout = Instant::now() + self.client_timeout(is_connected);
                }
                ConnectionEvent::Events(index, wire) => self.send_events(index, &wire).await?,
                ConnectionEvent::Heartbeat => self.send("\n").await?,
                ConnectionEvent::SockJsHeartbeat => {
                    self.send_raw(sockjs::HEARTBEAT.to_owned()).await?;
                    times.sockjs_heartbeat = Instant::now() + SOCKJS_HEARTBEAT;
                    continue;
                }
                ConnectionEvent::Closing => return Ok(()),
                ConnectionEvent::ClientGone => return Err(Disconnected),
            }
            times.heartbeat = Instant::now() + self.session.heartbeat_interval.unwrap_or(HANDSHAKE_TIMEOUT);
        }
    }

    /// How long the client may be silent.
    fn client_timeout(&self, is_connected: bool) -> Duration {
        // Practically unlimited for clients without heartbeats.
        if is_connected { self.session.client_timeout.unwrap_or(Duration::from_secs(86_400 * 365)) } else { HANDSHAKE_TIMEOUT }
    }

    async fn next_event(&mut self, times: &Deadlines) -> ConnectionEvent {
        let beats = self.session.heartbeat_interval.is_some();
        let StompConnection { link, subscriptions, streams, sock_js, .. } = self;
        tokio::select! {
            message = link.recv() => message.map_or(ConnectionEvent::ClientGone, ConnectionEvent::Received),
            (index, wire) = poll_fn(|context| poll_all(subscriptions, context)) => wire.map_or(ConnectionEvent::Closing, |it| ConnectionEvent::Events(index, it)),
            () = sleep_until(times.heartbeat), if beats => ConnectionEvent::Heartbeat,
            () = sleep_until(times.sockjs_heartbeat), if *sock_js => ConnectionEvent::SockJsHeartbeat,
            () = sleep_until(times.client_timeout) => ConnectionEvent::ClientGone,
            () = streams.wait_closed() => ConnectionEvent::Closing,
        }
    }

    /// Handles a message of the client.
    fn receive(&mut self, message: Message) -> Result<Vec<SessionAction>, Disconnected> {
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(bytes) if !self.sock_js => return Ok(self.session.receive(&bytes)),
            Message::Binary(_) | Message::Close(_) => return Err(Disconnected),
            Message::Ping(_) | Message::Pong(_) => return Ok(Vec::new()),
        };
        if !self.sock_js {
            return Ok(self.session.receive(text.as_bytes()));
        }
        let messages = sockjs::decode(text.as_str()).ok_or(Disconnected)?;
        Ok(messages.iter().flat_map(|message| self.session.receive(message.as_bytes())).collect())
    }

    /// Subscribes to a conversation. Returns whether the connection stays open: a conversation of another caller closes it.
    async fn subscribe(&mut self, name: String, destination: String, conversation: Option<String>) -> Result<bool, Disconnected> {
        let subscription = match conversation {
            Some(it) => {
                let may_subscribe = self.streams.may_subscribe(&it, &self.access).await;
                if !may_subscribe.as_ref().is_ok_and(|it| *it) {
                    let unknown = "conversation not found; subscribe to one of yours";
                    let reason = if may_subscribe.is_ok() { unknown } else { "database is unavailable; connect again later" };
                    self.send(&self.session.render_error(reason)).await?;
                    return Ok(false);
                }
                Some(self.streams.subscribe_from(&it, None, &self.access).await.0)
            }
            None => None,
        };
        self.subscriptions.push(StompSubscription { name, destination, subscription });
        Ok(true)
    }

    async fn send_events(&mut self, index: usize, wire: &Bytes) -> Result<(), Disconnected> {
        let Some(StompSubscription { name, destination, .. }) = self.subscriptions.get(index) else { return Ok(()) };
        // Clients of the original server know only events with a stage.
        let envelopes =
            parse_events(std::str::from_utf8(wire).unwrap_or_default()).filter(|it| !["TOKEN", "TOOL_PROGRESS"].contains(&it.name));
        let texts: Vec<String> = envelopes.map(|it| self.session.render_message(name, destination, it.id, it.data)).collect();
        for text in texts {
            self.send(&text).await?;
        }
        Ok(())
    }

    async fn send(&mut self, text: &str) -> Result<(), Disconnected> {
        if let ClientLink::Session { outbox, .. } = &self.link {
            return outbox.push_message(text).map_err(|_| Disconnected);
        }
        let text = if self.sock_js { sockjs::encode_all(&[text]) } else { text.to_owned() };
        self.send_raw(text).await
    }

    async fn send_raw(&mut self, text: String) -> Result<(), Disconnected> {
        match &mut self.link {
            ClientLink::Socket(socket) => socket.send(Message::text(text)).await.map_err(|_| Disconnected),
            ClientLink::Session { outbox, .. } => outbox.push_frame(&text).map_err(|_| Disconnected),
        }
    }
}

/// Polls all subscriptions for events; `None` if one of them has ended.
fn poll_all(subscriptions: &mut [StompSubscription], context: &mut Context<'_>) -> Poll<(usize, Option<Bytes>)> {
    for (index, it) in subscriptions.iter_mut().enumerate() {
        if let Some(Poll::Ready(wire)) = it.subscription.as_mut().map(|it| it.poll(context)) {
            return Poll::Ready((index, wire));
        }
    }
    Poll::Pending
}
