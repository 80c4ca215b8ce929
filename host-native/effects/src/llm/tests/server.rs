//! A server on loopback that sends scripted answers, byte by byte.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One answer.
#[derive(Debug, Clone)]
pub struct ScriptedResponse {
    pub bytes: Vec<u8>,
    /// Whether the connection stays open after the last byte.
    pub keeps_open: bool,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub head: String,
    pub body: Value,
}

impl ReceivedRequest {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = |line: &'_ str| line.split_once(": ").filter(|pair| pair.0.eq_ignore_ascii_case(name)).map(|pair| pair.0.len() + 2);
        self.head.lines().find_map(|line| value(line).and_then(|at| line.get(at..)))
    }

    /// Returns the path of the request.
    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).expect("a path")
    }
}

/// The server; it ends with the runtime of its test.
pub struct Server {
    pub address: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    /// Sends the first answer to the first call, and so on; the last one repeats.
    pub async fn new(answers: Vec<ScriptedResponse>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let got = Arc::new(Mutex::new(Vec::new()));
        let calls = Arc::clone(&got);
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(call) = read_request(&mut stream).await else { continue };
                let number = {
                    let mut calls = calls.lock().expect("a list");
                    calls.push(call);
                    calls.len() - 1
                };
                let answer = answers.get(number).or(answers.last()).expect("an answer");
                // The client may have disconnected.
                let _ = stream.write_all(&answer.bytes).await;
                if answer.keeps_open {
                    open.push(stream);
                } else {
                    let _ = stream.shutdown().await;
                }
            }
        });
        Server { address, received: got }
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.received.lock().expect("a list").clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
    let mut got = ReceivedRequest { head, body: Value::Null };
    let length: usize = got.header("content-length").expect("a length").parse().expect("a number");
    while bytes.len() < end + length {
        stream.read_buf(&mut bytes).await.expect("the rest");
    }
    got.body = serde_json::from_slice(&bytes[end..]).expect("JSON");
    Some(got)
}

/// An answer with `Content-Length`.
pub fn response_with_length(status: u16, headers: &str, body: &str) -> ScriptedResponse {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    ScriptedResponse { bytes: [head.as_bytes(), body.as_bytes()].concat(), keeps_open: false }
}

/// An answer that ends with its connection, so that only its own end marker shows whether it is complete.
pub fn response_until_close(body: &[u8]) -> ScriptedResponse {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    ScriptedResponse { bytes: [head, body].concat(), keeps_open: false }
}

/// An answer in chunks.
pub fn chunked_response(pieces: &[&[u8]]) -> ScriptedResponse {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n".to_vec();
    for piece in pieces.iter().filter(|it| !it.is_empty()) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    ScriptedResponse { bytes, keeps_open: false }
}
