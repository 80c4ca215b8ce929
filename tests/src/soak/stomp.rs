//! A STOMP client, over SockJS or plain WebSockets.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use convengine_host::api::stomp::frame::{Frame, Parsed, Version, parse_within};
use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// The maximum size of an event, in bytes.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// A STOMP connection.
pub struct StompClient {
    socket: WebSocketStream<TcpStream>,
    sock_js: bool,
    buffer: Vec<u8>,
    /// The server's response to the WebSocket handshake.
    pub response: Response,
}

impl StompClient {
    /// Opens a WebSocket on a path with these headers. A SockJS path ends with a server id, a session id and `/websocket`. `buffer` is the
    /// size of the socket's receive buffer.
    ///
    /// # Errors
    /// If the server rejects the handshake.
    pub async fn open(address: &str, path: &str, headers: &[(&str, &str)], buffer: Option<u32>) -> Result<StompClient> {
        let address: SocketAddr = address.trim_start_matches("http://").parse()?;
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        let stream = socket.connect(address).await?;
        let mut request = format!("ws://{address}{path}").into_client_request()?;
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse()?;
            request.headers_mut().insert(name, value.parse()?);
        }
        let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
        let (socket, response) = client_async_with_config(request, stream, Some(config)).await?;
        let sock_js = path.split('/').count() > 3;
        let mut stomp = StompClient { socket, sock_js, buffer: Vec::new(), response };
        if sock_js {
            let first = stomp.receive().await?;
            ensure!(first.as_deref() == Some("o"), "SockJS did not open: {first:?}");
        }
        Ok(stomp)
    }

    /// Opens a connection and negotiates STOMP version 1.2.
    ///
    /// # Errors
    /// If the server rejects the connection.
    pub async fn connect(address: &str, path: &str) -> Result<StompClient> {
        let mut stomp = StompClient::open(address, path, &[], None).await?;
        stomp.send(&Frame::new("CONNECT", &[("accept-version", "1.2,1.1,1.0"), ("heart-beat", "0,0")])).await?;
        let answer = stomp.next_frame().await?.context("no answer")?;
        ensure!(answer.command == "CONNECTED" && answer.parse_header("version") == Some("1.2"), "{answer:?}");
        Ok(stomp)
    }

    /// Subscribes to a conversation, and waits for the receipt.
    ///
    /// # Errors
    /// If the server rejects the subscription.
    pub async fn subscribe(&mut self, id: &str, conversation: &str) -> Result<()> {
        let destination = format!("/topic/convengine/audit/{conversation}");
        self.send(&Frame::new("SUBSCRIBE", &[("id", id), ("destination", &destination), ("receipt", id)])).await?;
        let answer = self.next_frame().await?.context("no answer")?;
        ensure!(answer.command == "RECEIPT" && answer.parse_header("receipt-id") == Some(id), "{answer:?}");
        Ok(())
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn send(&mut self, frame: &Frame) -> Result<()> {
        self.send_text(&frame.render(Version::V12)).await
    }

    /// Sends a text as one message.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn send_text(&mut self, text: &str) -> Result<()> {
        let text = if self.sock_js { serde_json::json!([text]).to_string() } else { text.to_owned() };
        Ok(self.socket.send(Message::text(text)).await?)
    }

    /// Returns the next frame, or `None` at the end. Heartbeats are skipped.
    ///
    /// # Errors
    /// If the data is not a frame, or the connection fails.
    pub async fn next_frame(&mut self) -> Result<Option<Frame>> {
        loop {
            match parse_within(&self.buffer, Version::V12, MAX_EVENT_BYTES)? {
                Parsed::Frame(frame, length) => {
                    self.buffer.drain(..length);
                    return Ok(Some(frame));
                }
                Parsed::Heartbeat(length) => drop(self.buffer.drain(..length)),
                Parsed::Incomplete(_) => {}
            }
            let Some(text) = self.receive().await? else { return Ok(None) };
            self.buffer.extend(self.unwrap_sockjs(&text)?.into_bytes());
        }
    }

    /// Returns the next WebSocket message, or `None` at the end.
    ///
    /// # Errors
    /// If the connection fails.
    pub async fn receive(&mut self) -> Result<Option<String>> {
        loop {
            match self.socket.next().await {
                None | Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(Message::Text(text))) => return Ok(Some(text.to_string())),
                Some(Ok(_)) => {}
                Some(Err(error)) => bail!("the connection failed: {error}"),
            }
        }
    }

    fn unwrap_sockjs(&self, text: &str) -> Result<String> {
        if !self.sock_js {
            return Ok(text.to_owned());
        }
        match text.split_at_checked(1) {
            Some(("h", "")) => Ok(String::new()),
            Some(("a", list)) => Ok(serde_json::from_str::<Vec<String>>(list)?.concat()),
            Some(("c", _)) => Ok(String::new()),
            _ => bail!("invalid SockJS frame: {text}"),
        }
    }
}
