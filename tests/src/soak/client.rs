//! An HTTP client with one connection, which it re-establishes when it is lost.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use convengine_host::app;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::http::request::Builder;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::sleep;
use uuid::Uuid;

/// How long a message is sent again before the run fails.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(180);

/// The delay before a message is sent again.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// A client; its connection runs in the caller's local task set.
pub struct Client {
    address: String,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// Creates a client that is not connected yet; the address may begin with `http://`.
    #[must_use]
    pub fn new(address: &str) -> Client {
        Client { address: address.trim_start_matches("http://").to_owned(), sender: None }
    }

    /// Sends a message and returns status and body of the response.
    ///
    /// # Errors
    /// If there is no response; the next message is sent on a new connection.
    pub async fn send_message(&mut self, body: String, headers: &[(&str, &str)]) -> Result<(StatusCode, Bytes)> {
        self.post(app::MESSAGE_PATH, body, headers).await
    }

    /// Posts JSON to a path and returns status and body of the response.
    ///
    /// # Errors
    /// If there is no response; the next request is sent on a new connection.
    pub async fn post(&mut self, path: &str, body: String, headers: &[(&str, &str)]) -> Result<(StatusCode, Bytes)> {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        self.send(headers.iter().fold(request, |it, (name, value)| it.header(*name, *value)), body).await
    }

    /// Sends a message with one idempotency key until it is acknowledged with 200. `before_attempt` gets the number of the attempt, from 0,
    /// and the client, which it may replace by one of another server.
    ///
    /// # Errors
    /// If it is not acknowledged in time.
    pub async fn send_until_acknowledged(&mut self, body: &str, mut before_attempt: impl FnMut(u32, &mut Client)) -> Result<Bytes> {
        let (key, begun) = (Uuid::new_v4().to_string(), Instant::now());
        let mut last = String::new();
        for attempt in 0_u32.. {
            if begun.elapsed() > MESSAGE_TIMEOUT {
                break;
            }
            before_attempt(attempt, self);
            match self.send_message(body.to_owned(), &[("Idempotency-Key", &key)]).await {
                Ok((StatusCode::OK, answer)) => return Ok(answer),
                Ok((status, answer)) => last = format!("status {status}: {}", String::from_utf8_lossy(&answer)),
                Err(error) => last = format!("{error:#}"),
            }
            sleep(RETRY_DELAY).await;
        }
        bail!("a message was not acknowledged within {} s, last result: {last}", MESSAGE_TIMEOUT.as_secs())
    }

    /// Requests a path and returns status and body of the response.
    ///
    /// # Errors
    /// If there is no response.
    pub async fn get(&mut self, path: &str) -> Result<(StatusCode, Bytes)> {
        self.get_with(path, &[]).await
    }

    /// Like [`Client::get`], with headers.
    ///
    /// # Errors
    /// If there is no response.
    pub async fn get_with(&mut self, path: &str, headers: &[(&str, &str)]) -> Result<(StatusCode, Bytes)> {
        self.send(headers.iter().fold(Request::get(path), |it, (name, value)| it.header(*name, *value)), String::new()).await
    }

    async fn send(&mut self, request: Builder, body: String) -> Result<(StatusCode, Bytes)> {
        let mut sender = match self.sender.take() {
            Some(it) => it,
            None => connect(&self.address).await?,
        };
        // If the server has closed the connection, nothing of this message has been sent yet.
        if sender.ready().await.is_err() {
            sender = connect(&self.address).await?;
            sender.ready().await?;
        }
        let request = request.header(header::HOST, &self.address).body(Full::new(Bytes::from(body)))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        self.sender = Some(sender);
        Ok((status, body))
    }
}

async fn connect(address: &str) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::task::spawn_local(connection);
    Ok(sender)
}
