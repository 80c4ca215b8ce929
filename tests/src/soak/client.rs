//! An HTTP client with one connection, which it re-establishes when it is lost.

use anyhow::{Context, Result};
use convengine_host::app;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::http::request::Builder;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

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
        let mut request = Request::post(app::MESSAGE_PATH).header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request, body).await
    }

    /// Requests a path and returns status and body of the response.
    ///
    /// # Errors
    /// If there is no response.
    pub async fn get(&mut self, path: &str) -> Result<(StatusCode, Bytes)> {
        self.send(Request::get(path), String::new()).await
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
